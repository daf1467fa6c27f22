//! Rules that must hold for every catalogue after any change. May use: this folder.

mod contexts;
mod properties;

use super::model::Catalogue;
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

impl Catalogue {
    /// Returns a message for every violated rule; empty for a sound catalogue.
    pub fn check(&self) -> Vec<String> {
        let mut faults = Vec::new();
        self.check_references(&mut faults);
        self.check_types(&mut faults);
        self.check_properties(&mut faults);
        for property in self.properties.values() {
            self.check_options(property, &mut faults);
            self.check_contexts(property, &mut faults);
        }
        faults
    }

    fn check_references(&self, faults: &mut Vec<String>) {
        for option in self.options.values().filter(|option| !self.properties.contains_key(&option.property)) {
            faults.push(format!("option {} belongs to no live property", option.id));
        }
        for context in self.contexts.values() {
            if self.properties.get(&context.property).is_none_or(|property| property.project.is_some()) {
                faults.push(format!("context {} belongs to no live property of the workspace", context.id));
            }
        }
        for (type_id, property) in self.attachments.keys() {
            let owners = (self.types.get(type_id), self.properties.get(property));
            let (Some(kind), Some(found)) = owners else {
                faults.push(format!("attachment of property {property} to type {type_id} misses one of them"));
                continue;
            };
            if kind.project != found.project {
                faults.push(format!("property {property} is attached to type {type_id} of another owner"));
            }
        }
        for (project, type_id) in self.imports.keys() {
            if self.types.get(type_id).is_none_or(|kind| kind.project.is_some()) {
                faults.push(format!("project {project} imports {type_id}, which is no live type of the workspace"));
            }
        }
    }

    fn check_types(&self, faults: &mut Vec<String>) {
        let owners: BTreeSet<Option<Uuid>> = self.types.values().map(|kind| kind.project).chain([None]).collect();
        for owner in owners {
            let types = self.types_of(owner);
            let place = place(owner);
            let defaults = types.iter().filter(|kind| kind.is_default).count();
            if defaults > 1 {
                faults.push(format!("{place} has {defaults} default types"));
            }
            if defaults == 0 && owner.is_none() && self.features.flags[0] {
                faults.push("the workspace manages types but has no default type".to_owned());
            }
            for kind in types.iter().filter(|kind| kind.is_default && (!kind.is_active || kind.is_epic)) {
                faults.push(format!("default type {} is inactive or an epic", kind.id));
            }
            for name in repeated(types.iter().map(|kind| &kind.name)) {
                faults.push(format!("{place} has several types named `{name}`"));
            }
            for (id, source) in repeated(types.iter().filter_map(|kind| kind.external_pair())) {
                faults.push(format!("{place} has several types with the external pair `{id}`, `{source}`"));
            }
        }
    }
}

fn place(owner: Option<Uuid>) -> String {
    owner.map_or_else(|| "the workspace".to_owned(), |project| format!("project {project}"))
}

/// Returns the elements that occur more than once, in their order.
fn repeated<T: Ord>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut counts: BTreeMap<T, usize> = BTreeMap::new();
    for one in all {
        *counts.entry(one).or_default() += 1;
    }
    counts.into_iter().filter(|(_, count)| *count > 1).map(|(one, _)| one).collect()
}
