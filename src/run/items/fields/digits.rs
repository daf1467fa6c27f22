//! Numbers of custom values with all the digits that the client sent; a number parsed from JSON may have lost some. May
//! use: what `run` may use.

use crate::catalogue::Applicable;
use crate::catalogue::values::ValueKind;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;

/// The custom fields of a body in their original text; parsed on first use.
pub(super) struct BodyFields<'b> {
    body: &'b [u8],
    fields: OnceCell<HashMap<String, &'b RawValue>>,
}

impl<'b> BodyFields<'b> {
    pub(super) fn of(body: &'b [u8]) -> Self {
        Self { body, fields: OnceCell::new() }
    }

    /// Returns the `value` of a property. If the property takes numbers, doubles are replaced by their original text.
    pub(super) fn with_digits<'v>(&self, property: &Applicable, value: &'v Value) -> Cow<'v, Value> {
        if ValueKind::of(&property.property) != ValueKind::Decimal || !holds_doubles(value) {
            return Cow::Borrowed(value);
        }
        let fields = self.fields.get_or_init(|| fields_of(self.body).unwrap_or_default());
        let raw = fields.get(&property.property.name);
        raw.and_then(|raw| texts(value, raw)).map_or(Cow::Borrowed(value), Cow::Owned)
    }
}

/// Parses the custom fields. Of two members with one name the last counts, as in the check of the body.
fn fields_of(body: &[u8]) -> Option<HashMap<String, &RawValue>> {
    let members: HashMap<String, &RawValue> = serde_json::from_slice(body).ok()?;
    serde_json::from_str(members.get("custom_fields")?.get()).ok()
}

fn holds_doubles(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(elements) => elements.iter().any(Value::is_f64),
        _ => false,
    }
}

fn texts(value: &Value, raw: &RawValue) -> Option<Value> {
    let text = |value: &Value, raw: &RawValue| match value.is_f64() {
        true => Value::String(raw.get().to_owned()),
        false => value.clone(),
    };
    match value {
        Value::Array(elements) => {
            let raws: Vec<&RawValue> = serde_json::from_str(raw.get()).ok()?;
            Some(elements.iter().zip(raws).map(|(value, raw)| text(value, raw)).collect())
        }
        single => Some(text(single, raw)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn doubles_are_the_texts_that_were_sent() {
        let body =
            br#"{"custom_fields": {"n": 1}, "custom\u005ffields": {"n": [1.10, 3, 0.1234567890123456789, "x"]}}"#;
        let given: Value = serde_json::from_slice(body).unwrap();
        let (fields, value) = (fields_of(body).unwrap(), &given["custom_fields"]["n"]);
        assert!(holds_doubles(value));
        assert_eq!(texts(value, fields["n"]), Some(json!(["1.10", 3, "0.1234567890123456789", "x"])));
        assert!(!holds_doubles(&json!([1, "0.5"])) && holds_doubles(&json!(0.5)));
    }
}
