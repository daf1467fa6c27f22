//! Members that an entry of `options` may carry, and members that change nothing (O6). May use: `v2`.

use crate::v2::body::Given;
use serde_json::Value;

/// Members that an entry may carry besides its name, text and flag; all others change nothing (O6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryForm {
    /// Whether the property is new, so that an entry has a name but no id yet.
    pub(super) is_new: bool,
    pub(super) takes_pair: bool,
}

impl EntryForm {
    /// Form of an entry in a context: id or name, no external pair.
    pub const IN_CONTEXT: Self = Self { is_new: false, takes_pair: false };

    /// Returns the form of an entry inline with a property. Only a property of a project takes an external pair.
    pub fn inline(in_project: bool, is_new: bool) -> Self {
        Self { is_new, takes_pair: in_project }
    }

    pub(super) fn takes(self, member: &str) -> bool {
        match member {
            "id" => !self.is_new,
            "external_id" | "external_source" => self.takes_pair,
            other => ["name", "description", "is_default"].contains(&other),
        }
    }
}

/// Returns the members of `options` entries that change nothing.
pub fn ignored_inside(given: &Given, form: EntryForm) -> Vec<String> {
    let entries = given.get("options").and_then(Value::as_array).into_iter().flatten().enumerate();
    let objects = entries.filter_map(|(index, entry)| Some((index, entry.as_object()?)));
    let members = objects.flat_map(|(index, members)| members.keys().map(move |name| (index, name)));
    let ignored = members.filter(|(_, name)| !form.takes(name));
    ignored.map(|(index, name)| format!("options.{index}.{name}")).collect()
}
