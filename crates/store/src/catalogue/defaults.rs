//! Default values: strings that must be readable for the kind of the property (O69), and preselected options (O77).
//! May use: `plan` (human keys), `v2`, this folder.

use super::choices::Choices;
use super::faults::{FAULTY, Faults};
use super::model::{Context, Property};
use super::text_forms::is_email;
use super::values::{ValueKind, WrittenElement, one};
use crate::plan::HumanKey;
use crate::v2::value::read_uuid;
use serde_json::Value;

/// Checks that every element is readable for the kind, and that there is only one unless `is_multi`. The faults of
/// elements that are no texts are known already.
pub(super) fn judge(property: &Property, options: &Choices, is_multi: bool, texts: &[String], faults: &mut Faults) {
    if texts.len() > 1 && !is_multi {
        faults.add("default_value", "more than one needs is_multi");
    }
    for (index, text) in texts.iter().enumerate().filter(|(_, text)| !text.contains(FAULTY)) {
        if let Some(message) = fault(property, options, text) {
            faults.add(format!("default_value.{index}"), message);
        }
    }
}

/// Checks O77: one preselected choice, unless the context takes several values.
pub(super) fn judge_preselected(context: &Context, restated: bool, faults: &mut Faults) {
    if !context.is_multi && context.options.iter().filter(|link| link.is_default).count() > 1 {
        let field = if restated { "options" } else { "is_multi" };
        faults.add(field, "several options are defaults, which needs is_multi");
    }
}

/// Returns why `text` cannot be a default of the property: it must be a text that can be sent as a value (O37). It may
/// name one of `options`. Of people and work items only the form is checked, because each project has others. Any text
/// can be rich text here: the sanitiser reads it when a new work item takes the default.
pub(super) fn fault(property: &Property, options: &Choices, text: &str) -> Option<String> {
    let written = match ValueKind::of(property) {
        ValueKind::Formula => return Some("a formula takes no default".into()),
        ValueKind::Html => return None,
        ValueKind::Option if options.first(text).is_some() => return None,
        ValueKind::Option => return Some("must be the name or id of an option".into()),
        kind => one(kind, options, &Value::from(text)),
    };
    match written {
        Err(message) => Some(message),
        Ok(WrittenElement::Person(named)) if read_uuid(&named).is_none() && !is_email(&named) => {
            Some("must be the id or the e-mail address of a person".into())
        }
        Ok(WrittenElement::Item(named)) if read_uuid(&named).is_none() && HumanKey::in_body(&named).is_none() => {
            Some("must be the id or the key of a work item".into())
        }
        Ok(_) => None,
    }
}
