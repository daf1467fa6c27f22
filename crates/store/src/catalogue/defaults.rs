//! Default values: strings that must be readable for the kind of the property (O69), and preselected options (O77).
//! May use: `v2`, this folder.

use super::choices::Choices;
use super::decimals;
use super::faults::{FAULTY, Faults};
use super::model::{Context, Property, PropertyType, RelationType};
use super::text_forms::{is_email, is_url};
use crate::v2::{time, value};

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

/// Returns why `text` cannot be a default of the property. It may name one of `options`.
pub(super) fn fault(property: &Property, options: &Choices, text: &str) -> Option<&'static str> {
    let (fits, message) = match property.property_type {
        PropertyType::Text | PropertyType::File => (true, ""),
        PropertyType::Datetime => (time::read(text).is_some(), "must be an ISO 8601 timestamp or a date"),
        PropertyType::Decimal if decimals::is_number(text) => (decimals::read(text).is_some(), decimals::TOO_LONG),
        PropertyType::Decimal => (false, "must be a number, written as a string"),
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
