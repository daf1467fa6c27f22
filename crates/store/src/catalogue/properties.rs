//! Rules of custom properties (14.3): kinds, defaults, inline options, and the seeded context. May use: `refusal`,
//! `v2`, this folder.

use super::defaults;
use super::edit::{Edit, Effect, STEP};
use super::entries::entries;
use super::entry::Entry;
use super::entry_form::EntryForm;
use super::faults::{self, Faults, flag, nullable_text, take, text};
use super::model::{Context, Property, PropertyType};
use super::values::ValueKind;
use crate::refusal::Refusal;
use crate::v2::body::Given;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;
use uuid::Uuid;

/// Name of the context that every workspace property starts with.
pub const SEEDED: &str = "Default";

/// Place of the first record in an order that clients may change.
pub(super) const FIRST: f64 = 65_535.0;

impl Edit {
    /// Creates a property of the workspace (`None`) or of a project, with inline options, and returns its id.
    /// A workspace property gets its `Default` context.
    ///
    /// # Errors
    /// 400 with every member that breaks a rule.
    pub fn create_property(&mut self, owner: Option<Uuid>, given: &Given) -> Result<Uuid, Refusal> {
        let mut faults = Faults::default();
        let mut property = self.blank_property(owner, &text(given, "display_name").unwrap_or_default());
        assign(&mut property, given, &mut faults);
        let form = EntryForm::inline(owner.is_some(), true);
        let entries = entries(given, form, &mut faults).unwrap_or_default();
        judge_entries(&property, &entries, &mut faults);
        let id = property.id;
        self.after.properties.insert(id, Arc::new(property.clone()));
        if owner.is_none() {
            self.seed_context(&property);
        }
        let mut places = self.option_places(id);
        for entry in &entries {
            let option = self.new_option(&mut places, entry);
            if entry.is_default == Some(true) {
                self.set_default(option, true);
            }
        }
        self.judge_default(&property, &mut faults);
        faults.or(())?;
        Ok(id)
    }

    /// Changes a property. Its name and recorded values stay. Members of the seeded context that still equal those of
    /// the property change with them.
    ///
    /// # Errors
    /// 404; 400 with every member that breaks a rule.
    pub fn update_property(&mut self, id: Uuid, given: &Given) -> Result<(), Refusal> {
        let before = self.property(id)?;
        let mut faults = Faults::default();
        let mut property = before.clone();
        take(&mut property.display_name, text(given, "display_name"));
        assign(&mut property, given, &mut faults);
        let entries = entries(given, EntryForm::inline(property.project.is_some(), false), &mut faults);
        self.after.properties.insert(id, Arc::new(property.clone()));
        let followers = self.follow(&before, &property);
        if let Some(entries) = entries {
            judge_kind(&property, &entries, &mut faults);
            self.restate_options(&property, &entries, given.contains_key("default_value"), &mut faults);
        }
        if property.property_type != PropertyType::Option {
            let options = self.after.options_of(id).into_iter().map(|option| option.id).collect();
            self.drop_options(id, options);
        }
        self.follow_default(&property, &followers);
        let is_same_kind = ValueKind::of(&property) == ValueKind::of(&before);
        if given.contains_key("default_value") {
            self.judge_default(&property, &mut faults);
        } else if property.is_multi != before.is_multi || !is_same_kind {
            // A change of the options has rewritten the default.
            self.judge_default(&self.property(id)?, &mut faults);
        }
        if !is_same_kind {
            self.judge_defaults_of_contexts(&property, &mut faults);
        }
        if before.is_multi && !property.is_multi {
            self.judge_followers(&property, given, &mut faults);
        }
        self.settle_defaults(id);
        faults.or(())
    }

    /// Deletes a property with its options, contexts, attachments and values.
    pub fn delete_property(&mut self, id: Uuid) -> Result<(), Refusal> {
        self.after.properties.remove(&id).ok_or_else(Refusal::not_found)?;
        self.after.options.retain(|_, option| option.property != id);
        self.after.contexts.retain(|_, context| context.property != id);
        self.after.attachments.retain(|(_, property), _| *property != id);
        self.effects.push(Effect::PropertyGone(id));
        Ok(())
    }

    pub(super) fn property(&self, id: Uuid) -> Result<Property, Refusal> {
        self.after.properties.get(&id).map(|property| Property::clone(property)).ok_or_else(Refusal::not_found)
    }

    fn blank_property(&mut self, owner: Option<Uuid>, display_name: &str) -> Property {
        let siblings = self.after.properties_of(owner);
        let taken = siblings.iter().map(|property| property.name.as_str()).collect();
        let last = siblings.iter().map(|property| property.sort_order).reduce(f64::max);
        Property {
            id: Uuid::new_v4(),
            project: owner,
            name: slug(display_name, &taken),
            display_name: display_name.to_owned(),
            is_active: true,
            settings: json!({}),
            validation_rules: json!({}),
            logo_props: json!({}),
            sort_order: last.map_or(FIRST, |last| last + STEP),
            created_at: self.stamp(),
            ..Property::default()
        }
    }

    /// Creates the first context of a workspace property: it covers everything and has the property's own settings.
    fn seed_context(&mut self, property: &Property) {
        let context = Context {
            id: Uuid::new_v4(),
            property: property.id,
            name: SEEDED.to_owned(),
            all_projects: true,
            all_types: true,
            is_required: property.is_required,
            is_multi: property.is_multi,
            is_default: true,
            default_value: property.default_value.clone(),
            settings: property.settings.clone(),
            sort_order: FIRST,
            created_at: self.stamp(),
            ..Context::default()
        };
        self.after.contexts.insert(context.id, Arc::new(context));
    }

    /// Applies a change of the property to the seeded context: to each member that still equals the property's old one.
    /// Returns the context if its default is to follow too, by [`Edit::follow_default`].
    fn follow(&mut self, before: &Property, property: &Property) -> Vec<Uuid> {
        let mut followers = Vec::new();
        let contexts = self.after.contexts.values_mut();
        for context in contexts.filter(|context| context.property == property.id && context.is_default) {
            let context = Arc::make_mut(context);
            if context.is_required == before.is_required {
                context.is_required = property.is_required;
            }
            if context.is_multi == before.is_multi {
                context.is_multi = property.is_multi;
            }
            if context.default_value == before.default_value && property.default_value != before.default_value {
                followers.push(context.id);
            }
            if context.settings == before.settings {
                context.settings.clone_from(&property.settings);
            }
        }
        followers
    }

    /// Gives the property's default to the contexts that follow it. A context whose own rules refuse the default keeps
    /// its own (O69): it may take one value only, or not offer the option. The options of the request must be in place.
    fn follow_default(&mut self, property: &Property, followers: &[Uuid]) {
        let Ok(Property { default_value: texts, .. }) = self.property(property.id) else { return };
        for id in followers {
            let Some(context) = self.after.contexts.get(id) else { continue };
            let offered = self.after.choices_in(context);
            let mut faults = Faults::default();
            defaults::judge(property, &offered, context.is_multi, &texts, &mut faults);
            if let Some(context) = self.after.contexts.get_mut(id).filter(|_| faults.is_empty()) {
                Arc::make_mut(context).default_value.clone_from(&texts);
            }
        }
    }

    /// Checks O77 for the seeded context, which takes one value from now on, as its property does. It may still have
    /// several defaults of its own: its options may be preselected independently of those of the property.
    fn judge_followers(&self, property: &Property, given: &Given, faults: &mut Faults) {
        let contexts = self.after.contexts_of(property.id).into_iter();
        for context in contexts.filter(|context| context.is_default && !context.is_multi) {
            defaults::judge_preselected(context, given.contains_key("options"), faults);
            if context.default_value.len() > 1 && context.default_value != property.default_value {
                faults.add("is_multi", "the seeded context has several default values, which needs is_multi");
            }
        }
    }

    /// Checks the default values of contexts: a new kind of the property may not be able to read them.
    fn judge_defaults_of_contexts(&self, property: &Property, faults: &mut Faults) {
        let options = self.after.choices_of(property.id);
        let contexts = self.after.contexts_of(property.id).into_iter();
        // The default of the property itself is checked separately.
        for context in contexts.filter(|context| context.default_value != property.default_value) {
            if context.default_value.iter().any(|text| defaults::fault(property, &options, text).is_some()) {
                let message =
                    format!("the default value of the context {:?} cannot be one of this kind", context.name);
                faults.add("property_type", message);
            }
        }
    }

    /// Checks O69 for the property after the change.
    fn judge_default(&self, property: &Property, faults: &mut Faults) {
        let options = self.after.choices_of(property.id);
        defaults::judge(property, &options, property.is_multi, &property.default_value, faults);
    }
}

/// Checks O70: only an OPTION property has options.
pub(super) fn judge_kind(property: &Property, entries: &[Entry], faults: &mut Faults) {
    if property.property_type != PropertyType::Option && !entries.is_empty() {
        faults.add("options", "only a property of type OPTION has options");
    }
}

/// Checks the same for new options; at most one may be preselected.
fn judge_entries(property: &Property, entries: &[Entry], faults: &mut Faults) {
    judge_kind(property, entries, faults);
    for second in entries.iter().filter(|entry| entry.is_default == Some(true)).skip(1) {
        faults.add(format!("options.{}.is_default", second.index), "another option is the default already");
    }
}

fn assign(property: &mut Property, given: &Given, faults: &mut Faults) {
    take(&mut property.property_type, word(given, "property_type"));
    if given.contains_key("relation_type") {
        property.relation_type = word(given, "relation_type");
    } else if property.property_type != PropertyType::Relation {
        property.relation_type = None;
    }
    match (property.property_type == PropertyType::Relation, property.relation_type.is_some()) {
        (true, false) => faults.add("relation_type", "is required for a property of type RELATION"),
        (false, true) => faults.add("relation_type", "is for properties of type RELATION only"),
        _ => {}
    }
    take(&mut property.description, nullable_text(given, "description"));
    for (name, stored) in [
        ("is_required", &mut property.is_required),
        ("is_multi", &mut property.is_multi),
        ("is_active", &mut property.is_active),
    ] {
        *stored = flag(given, name).unwrap_or(*stored);
    }
    take(&mut property.default_value, faults::strings(given, "default_value", faults));
    take(&mut property.settings, faults::object(given, "settings", faults));
    take(&mut property.validation_rules, faults::object(given, "validation_rules", faults));
    take(&mut property.external_id, nullable_text(given, "external_id"));
    take(&mut property.external_source, nullable_text(given, "external_source"));
}

/// Reads a word of an enumeration; it was checked with the body.
fn word<T: DeserializeOwned>(given: &Given, name: &str) -> Option<T> {
    given.get(name).filter(|value| !value.is_null()).and_then(|value: &Value| T::deserialize(value).ok())
}

/// Returns the name of a property: the slug of its label (O64), made different from all of `taken`.
pub fn slug(label: &str, taken: &HashSet<&str>) -> String {
    let mut stem = String::with_capacity(label.len());
    for c in label.chars().map(|c| c.to_ascii_lowercase()) {
        if c.is_ascii_alphanumeric() {
            stem.push(c);
        } else if !stem.is_empty() && !stem.ends_with('_') {
            stem.push('_');
        }
    }
    let stem = match stem.trim_end_matches('_') {
        "" => "property",
        stem => stem,
    };
    if !taken.contains(stem) {
        return stem.to_owned();
    }
    (2_u64..).map(|n| format!("{stem}_{n}")).find(|name| !taken.contains(name.as_str())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_is_the_label_in_lower_case_with_runs_of_other_characters_as_one_underscore() {
        let none = HashSet::new();
        for (label, name) in [
            ("Story points", "story_points"),
            ("  Due -- (by)  ", "due_by"),
            ("R2D2", "r2d2"),
            ("Größe", "gr_e"),
            ("___", "property"),
            ("名前", "property"),
        ] {
            assert_eq!(slug(label, &none), name, "{label}");
        }
    }

    #[test]
    fn a_clashing_slug_counts_up_from_two() {
        let taken = HashSet::from(["risk", "risk_2", "property"]);
        assert_eq!(slug("Risk!", &taken), "risk_3");
        assert_eq!(slug("?", &taken), "property_2");
        assert_eq!(slug("risk 2", &taken), "risk_2_2");
    }
}
