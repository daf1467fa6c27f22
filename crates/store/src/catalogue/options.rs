//! Rules of the choices of an option property (14.4): order, defaults, deletion.
//!
//! A workspace property offers its options through contexts (O73). An option created through the option routes or
//! inline with the property belongs to the context that covers everything. An option is deleted when no context offers
//! it any more. May use: `refusal`, `v2`, this folder.

use super::defaults;
use super::edit::{Edit, Effect, STEP};
use super::entry::Entry;
use super::faults::{flag, nullable_text, take, text};
use super::model::{ContextOption, Property, PropertyOption, PropertyType};
use crate::refusal::Refusal;
use crate::v2::body::Given;
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use uuid::Uuid;

impl Edit {
    /// Adds a choice at the end and returns its id.
    ///
    /// # Errors
    /// 404 for the property; 400 when it takes no options, when no context covers everything, or, on the
    /// workspace, for a second default.
    pub fn create_option(&mut self, property: Uuid, given: &Given) -> Result<Uuid, Refusal> {
        let owner = self.property(property)?;
        if owner.property_type != PropertyType::Option {
            return Err(Refusal::invalid("Only a property of type OPTION has options."));
        }
        if owner.project.is_none() && self.after.catch_all(property).is_none() {
            return Err(Refusal::invalid(NO_CATCH_ALL));
        }
        let meant = self.meant_by_defaults(property);
        let mut places = self.option_places(property);
        let id = self.new_option(&mut places, &given_entry(given));
        self.keep_meant(property, &meant);
        if flag(given, "is_default") == Some(true) {
            self.claim_default(&owner, id)?;
        }
        Ok(id)
    }

    /// Changes a choice; values that point at it stay.
    ///
    /// # Errors
    /// 404; on the workspace, 400 for a second default.
    pub fn update_option(&mut self, id: Uuid, given: &Given) -> Result<(), Refusal> {
        let option = self.after.options.get(&id).ok_or_else(Refusal::not_found)?;
        let owner = self.property(option.property)?;
        let meant = self.meant_by_defaults(owner.id);
        self.amend_option(id, &given_entry(given));
        self.keep_meant(owner.id, &meant);
        match flag(given, "is_default") {
            Some(true) => self.claim_default(&owner, id),
            Some(false) => {
                self.set_default(id, false);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Deletes a choice from its property and every context, with the values that point at it. No other choice
    /// becomes the default.
    pub fn delete_option(&mut self, id: Uuid) -> Result<(), Refusal> {
        let property = self.after.options.get(&id).ok_or_else(Refusal::not_found)?.property;
        self.drop_options(property, vec![id]);
        Ok(())
    }

    /// Applies the option route's rule for a new default: on a project the flag moves (O72). On the workspace no other
    /// option may have the flag.
    fn claim_default(&mut self, owner: &Property, id: Uuid) -> Result<(), Refusal> {
        let option = self.after.options.get(&id).ok_or_else(Refusal::not_found)?;
        if owner.project.is_none() {
            let home = self.after.home_of(option).ok_or_else(Refusal::not_found)?;
            if home.options.iter().any(|link| link.is_default && link.option != id) {
                return Err(Refusal::field("is_default", "another option is the default; clear it first"));
            }
        } else {
            self.clear_defaults(owner);
        }
        self.set_default(id, true);
        Ok(())
    }

    /// Returns the places for new options of the property.
    pub(super) fn option_places(&self, property: Uuid) -> Places {
        let options = self.after.options.values().filter(|option| option.property == property);
        let home = self.after.catch_all(property);
        let links = home.iter().flat_map(|context| &context.options);
        Places {
            property,
            last: options.map(|option| option.sort_order).fold(0.0, f64::max),
            home: home.map(|context| context.id),
            last_in_home: links.map(|link| link.sort_order).fold(0.0, f64::max),
        }
    }

    /// Creates an option at the end; on the workspace also at the end of its home context.
    pub(super) fn new_option(&mut self, places: &mut Places, entry: &Entry) -> Uuid {
        let id = self.unlinked_option(places, entry);
        if let Some(context) = places.home.and_then(|home| self.after.contexts.get_mut(&home)) {
            places.last_in_home += STEP;
            let link = ContextOption { option: id, is_default: false, sort_order: places.last_in_home };
            Arc::make_mut(context).options.push(link);
        }
        id
    }

    /// Creates an option at the end. No context offers it yet.
    pub(super) fn unlinked_option(&mut self, places: &mut Places, entry: &Entry) -> Uuid {
        places.last += STEP;
        let option = PropertyOption {
            id: Uuid::new_v4(),
            property: places.property,
            name: entry.name.clone().unwrap_or_default(),
            description: entry.description.clone().unwrap_or_default(),
            is_default: false,
            sort_order: places.last,
            logo_props: json!({}),
            external_id: entry.external_id.clone().flatten(),
            external_source: entry.external_source.clone().flatten(),
            created_at: self.stamp(),
        };
        let id = option.id;
        self.after.options.insert(id, Arc::new(option));
        id
    }

    /// Writes the members of an entry to an option, except its flag.
    pub(super) fn amend_option(&mut self, id: Uuid, entry: &Entry) {
        let Some(option) = self.after.options.get_mut(&id) else { return };
        let option = Arc::make_mut(option);
        take(&mut option.name, entry.name.clone());
        take(&mut option.description, entry.description.clone());
        take(&mut option.external_id, entry.external_id.clone());
        take(&mut option.external_source, entry.external_source.clone());
    }

    /// Gives options the order in which they were sent, on their property and in each context that is the home of one
    /// of them.
    pub(super) fn order_options(&mut self, property: Uuid, ids: &[Uuid]) {
        let place = |rank: usize| (rank + 1) as f64 * STEP;
        let ranks: HashMap<Uuid, usize> = ids.iter().enumerate().map(|(rank, id)| (*id, rank)).collect();
        for (rank, id) in ids.iter().enumerate() {
            let Some(option) = self.after.options.get_mut(id) else { continue };
            if option.sort_order != place(rank) {
                Arc::make_mut(option).sort_order = place(rank);
            }
        }
        let options = ids.iter().filter_map(|id| self.after.options.get(id));
        let homes: HashSet<Uuid> = options.filter_map(|option| Some(self.after.home_of(option)?.id)).collect();
        let contexts = self.after.contexts.values_mut();
        for context in contexts.filter(|context| context.property == property && homes.contains(&context.id)) {
            let mut linked: Vec<Uuid> = context.options.iter().map(|link| link.option).collect();
            linked.sort_by_key(|id| ranks.get(id));
            let places: HashMap<Uuid, f64> =
                linked.into_iter().enumerate().map(|(rank, id)| (id, place(rank))).collect();
            let is_placed = |link: &ContextOption| places.get(&link.option) == Some(&link.sort_order);
            if !context.options.iter().all(is_placed) {
                for link in &mut Arc::make_mut(context).options {
                    link.sort_order = places.get(&link.option).copied().unwrap_or(link.sort_order);
                }
            }
        }
    }

    /// Deletes options with their links, the values that point at them, and the defaults that name them.
    pub(super) fn drop_options(&mut self, property: Uuid, ids: Vec<Uuid>) {
        let meant = self.meant_by_defaults(property);
        self.remove_options(property, ids);
        self.keep_meant(property, &meant);
    }

    /// Deletes options with their links and the values that point at them. Defaults that name them are left.
    pub(super) fn remove_options(&mut self, property: Uuid, ids: Vec<Uuid>) {
        if ids.is_empty() {
            return;
        }
        let gone: HashSet<Uuid> = ids.iter().copied().collect();
        for context in self.after.contexts.values_mut().filter(|context| context.property == property) {
            if context.options.iter().any(|link| gone.contains(&link.option)) {
                Arc::make_mut(context).options.retain(|link| !gone.contains(&link.option));
            }
        }
        for id in &ids {
            self.after.options.remove(id);
        }
        self.effects.push(Effect::OptionsGone(property, ids));
    }

    /// Removes defaults that the property or context can no longer read, because its kind has changed.
    pub(super) fn settle_defaults(&mut self, property: Uuid) {
        let Ok(owner) = self.property(property) else { return };
        let options = self.after.choices_of(property);
        let is_readable = |text: &String| defaults::fault(&owner, &options, text).is_none();
        let kept = self.after.properties.get_mut(&property);
        if let Some(kept) = kept.filter(|kept| !kept.default_value.iter().all(is_readable)) {
            Arc::make_mut(kept).default_value.retain(is_readable);
        }
        for context in self.after.contexts.values_mut().filter(|context| context.property == property) {
            if !context.default_value.iter().all(is_readable) {
                Arc::make_mut(context).default_value.retain(is_readable);
            }
        }
    }

    /// Sets an option's flag where the property shows it: on the option itself in a project, on the link of its home
    /// context in the workspace.
    pub(super) fn set_default(&mut self, id: Uuid, is_default: bool) {
        let Some(option) = self.after.options.get(&id) else { return };
        let home = self.after.home_of(option).map(|context| context.id);
        if let Some(context) = home.and_then(|home| self.after.contexts.get_mut(&home)) {
            for link in &mut Arc::make_mut(context).options {
                if link.option == id {
                    link.is_default = is_default;
                }
            }
        } else if let Some(option) = self.after.options.get_mut(&id) {
            Arc::make_mut(option).is_default = is_default;
        }
    }

    fn clear_defaults(&mut self, owner: &Property) {
        for option in self.after.options.values_mut().filter(|option| option.property == owner.id) {
            if option.is_default {
                Arc::make_mut(option).is_default = false;
            }
        }
    }

    /// Clears the flag of the other options before `id` gets it.
    pub(super) fn clear_defaults_beside(&mut self, owner: &Property, id: Uuid) {
        let Some(option) = self.after.options.get(&id) else { return };
        let home = self.after.home_of(option).map(|context| context.id);
        match home.and_then(|home| self.after.contexts.get_mut(&home)) {
            Some(context) => {
                Arc::make_mut(context).options.iter_mut().for_each(|link| link.is_default = false);
            }
            None => self.clear_defaults(owner),
        }
    }
}

/// Places for new options of a property; they move on with each new option.
pub(super) struct Places {
    property: Uuid,
    last: f64,
    pub(super) home: Option<Uuid>,
    last_in_home: f64,
}

/// Error message when a workspace property cannot take another option by itself.
pub(super) const NO_CATCH_ALL: &str =
    "no context of the property covers all projects and all types; add the option through a context";

fn given_entry(given: &Given) -> Entry {
    Entry {
        name: text(given, "name"),
        description: text(given, "description"),
        external_id: nullable_text(given, "external_id"),
        external_source: nullable_text(given, "external_source"),
        ..Entry::default()
    }
}
