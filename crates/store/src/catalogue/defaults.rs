//! Default values: strings that must be readable for the kind of the property (O69).

use super::choices::Choices;
use super::model::{Property, PropertyType, RelationType};
use super::text_forms::{is_email, is_url};
use crate::v2::{time, value};

/// Why `text` is no default of the property; `options` are those it may name.
pub(super) fn fault(property: &Property, options: &Choices, text: &str) -> Option<&'static str> {
    let (fits, message) = match property.property_type {
        PropertyType::Text | PropertyType::File => (true, ""),
        PropertyType::Datetime => (time::read(text).is_some(), "must be an ISO 8601 timestamp or a date"),
        PropertyType::Decimal => (is_number(text), "must be a number, written as a string"),
        PropertyType::Boolean => {
            (["true", "false"].contains(&text.to_ascii_lowercase().as_str()), "must be \"true\" or \"false\"")
        }
        PropertyType::Option => (options.first(text).is_some(), "must be the name or id of an option"),
        PropertyType::Relation if property.relation_type == Some(RelationType::RichText) => (true, ""),
        PropertyType::Relation => (value::read_uuid(text).is_some(), "must be the id of a record"),
        PropertyType::Url => (is_url(text), "must be an absolute http or https URL"),
        PropertyType::Email => (is_email(text), "must be an e-mail address"),
        PropertyType::Formula => (false, "a formula takes no default"),
    };
    if fits { None } else { Some(message) }
}

fn is_number(text: &str) -> bool {
    text.trim().parse::<f64>().is_ok_and(f64::is_finite)
}
