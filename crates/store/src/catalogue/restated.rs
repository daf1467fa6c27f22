//! The options of a property sent as a whole (O66): finds the option of each entry, and deletes the options without
//! one. May use: this folder.

use super::choices::{Choices, Named, plain};
use super::edit::Edit;
use super::entry::Entry;
use super::faults::Faults;
use super::model::{Property, PropertyOption};
use super::options::NO_CATCH_ALL;
use std::collections::HashSet;
use std::sync::Arc;
use uuid::Uuid;

impl Edit {
    /// Replaces the set of an existing property's options (O66). Entries match by id, else by name ignoring case. New
    /// names are added, missing options are deleted. At most one option of each context is preselected (O73).
    /// `beside_default` tells whether the body has a `default_value` too, which is about these options.
    pub(super) fn restate_options(
        &mut self,
        owner: &Property,
        entries: &[Entry],
        beside_default: bool,
        faults: &mut Faults,
    ) {
        let mut meant = self.meant_by_defaults(owner.id);
        if beside_default {
            self.note_sent_default(owner, &mut meant);
        }
        let mut present = Present::of(&self.after.options_of(owner.id), entries);
        let mut places = self.option_places(owner.id);
        let (mut order, mut claimed) = (Vec::new(), Vec::new());
        let no_home = owner.project.is_none() && places.home.is_none();
        for entry in entries {
            let id = match present.meant_by(entry) {
                Ok(Some(id)) => {
                    self.amend_option(id, entry);
                    id
                }
                Ok(None) if no_home => {
                    faults.add(format!("options.{}.name", entry.index), NO_CATCH_ALL);
                    continue;
                }
                Ok(None) => self.new_option(&mut places, entry),
                Err((member, reason)) => {
                    faults.add(format!("options.{}.{member}", entry.index), reason);
                    continue;
                }
            };
            present.kept.insert(id);
            order.push(id);
            match entry.is_default {
                Some(true) => claimed.push((entry.index, id)),
                Some(false) => self.set_default(id, false),
                None => {}
            }
        }
        self.remove_options(owner.id, present.gone());
        self.order_options(owner.id, &order);
        self.keep_meant(owner.id, &meant);
        self.claim_defaults(owner, claimed, faults);
    }

    /// Preselects the claimed options, at most one of each context.
    fn claim_defaults(&mut self, owner: &Property, claimed: Vec<(usize, Uuid)>, faults: &mut Faults) {
        let mut homes = HashSet::new();
        for (index, id) in claimed {
            let home = self.after.options.get(&id).and_then(|option| self.after.home_of(option));
            if homes.insert(home.map(|context| context.id)) {
                self.clear_defaults_beside(owner, id);
                self.set_default(id, true);
            } else {
                faults.add(format!("options.{index}.is_default"), "another option is the default already");
            }
        }
    }
}

/// The options that a property has before they are restated.
struct Present {
    all: HashSet<Uuid>,
    /// Options that stay: at first only those that an entry names by id.
    kept: HashSet<Uuid>,
    /// Options that no entry names by id.
    free: Choices,
    /// Names of options that are given by id and keep their name.
    named_by_id: HashSet<String>,
}

impl Present {
    fn of(options: &[&Arc<PropertyOption>], entries: &[Entry]) -> Self {
        let keeping: HashSet<Uuid> =
            entries.iter().filter(|entry| entry.name.is_none()).filter_map(|entry| entry.id).collect();
        let kept: HashSet<Uuid> = entries.iter().filter_map(|entry| entry.id).collect();
        let named_by_id =
            options.iter().filter(|option| keeping.contains(&option.id)).map(|option| plain(&option.name));
        Self {
            all: options.iter().map(|option| option.id).collect(),
            free: Choices::of(options.iter().map(|option| &***option).filter(|option| !kept.contains(&option.id))),
            named_by_id: named_by_id.collect(),
            kept,
        }
    }

    /// Returns the option that the entry means; `None` for a new option. An error has the faulty member and the reason.
    fn meant_by(&self, entry: &Entry) -> Result<Option<Uuid>, (&'static str, &'static str)> {
        if let Some(id) = entry.id {
            let is_known = self.all.contains(&id);
            return if is_known { Ok(Some(id)) } else { Err(("id", "is not an option of this property")) };
        }
        let Some(name) = &entry.name else { return Ok(None) };
        match self.free.named(name) {
            Named::One(id) => Ok(Some(id)),
            // Each option that is not meant is deleted with its values.
            Named::Several(_) => Err(("name", "is the name of several options; use the id")),
            Named::Nothing if self.named_by_id.contains(&plain(name)) => {
                Err(("name", "is the name of an option that is given by id"))
            }
            Named::Nothing => Ok(None),
        }
    }

    /// Returns the options that no entry means.
    fn gone(&self) -> Vec<Uuid> {
        self.all.iter().copied().filter(|id| !self.kept.contains(id)).collect()
    }
}
