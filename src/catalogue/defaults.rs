//! Default values: strings that must be readable for the kind of the property (O69).

use super::model::{Property, PropertyOption, PropertyType, RelationType};
use super::values::{is_email, is_url};
use crate::v2::{time, value};

/// Why `text` is no default of the property; `options` are those it may name.
pub(super) fn fault(property: &Property, options: &[&PropertyOption], text: &str) -> Option<&'static str> {
    let (fits, message) = match property.property_type {
        PropertyType::Text | PropertyType::File => (true, ""),
        PropertyType::Datetime => (time::read(text).is_some(), "must be an ISO 8601 timestamp or a date"),
        PropertyType::Decimal => (is_number(text), "must be a number, written as a string"),
        PropertyType::Boolean => {
            (["true", "false"].contains(&text.to_ascii_lowercase().as_str()), "must be \"true\" or \"false\"")
        }
        PropertyType::Option => {
            (options.iter().any(|option| names(option, text)), "must be the name or id of an option")
        }
        PropertyType::Relation if property.relation_type == Some(RelationType::RichText) => (true, ""),
        PropertyType::Relation => (value::read_uuid(text).is_some(), "must be the id of a record"),
        PropertyType::Url => (is_url(text), "must be an absolute http or https URL"),
        PropertyType::Email => (is_email(text), "must be an e-mail address"),
        PropertyType::Formula => (false, "a formula takes no default"),
    };
    if fits { None } else { Some(message) }
}

/// Whether `text` is the id or, ignoring case, the name of the option.
pub(super) fn names(option: &PropertyOption, text: &str) -> bool {
    value::read_uuid(text) == Some(option.id) || option.name.to_lowercase() == text.trim().to_lowercase()
}

fn is_number(text: &str) -> bool {
    text.trim().parse::<f64>().is_ok_and(f64::is_finite)
}
