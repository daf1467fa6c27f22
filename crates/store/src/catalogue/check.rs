//! What must hold of every catalogue, whatever was done to it. May use: this folder.

use super::model::{Catalogue, Context, Property, PropertyType};
use super::scope::overlap;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use uuid::Uuid;

impl Catalogue {
    /// Every violated rule in words; empty for a sound catalogue.
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
            let pairs =
                types.iter().filter_map(|kind| kind.external_id.as_ref().zip(kind.external_source.as_ref()));
            for (id, source) in repeated(pairs) {
                faults.push(format!("{place} has several types with the external pair `{id}`, `{source}`"));
            }
        }
    }

    fn check_properties(&self, faults: &mut Vec<String>) {
        let mut names: BTreeMap<Option<Uuid>, Vec<&String>> = BTreeMap::new();
        for property in self.properties.values() {
            names.entry(property.project).or_default().push(&property.name);
            let is_relation = property.property_type == PropertyType::Relation;
            if is_relation != property.relation_type.is_some() {
                faults.push(format!("property {} pairs its kind with a wrong relation type", property.id));
            }
        }
        for (owner, names) in names {
            for name in repeated(names) {
                faults.push(format!("{} has several properties named `{name}`", place(owner)));
            }
        }
    }

    fn check_options(&self, property: &Property, faults: &mut Vec<String>) {
        let options = self.options_of(property.id);
        if property.property_type != PropertyType::Option && !options.is_empty() {
            faults.push(format!("property {} has options but is not of type OPTION", property.id));
        }
        if property.project.is_some() {
            if options.iter().filter(|option| option.is_default).count() > 1 {
                faults.push(format!("property {} has several default options", property.id));
            }
            return;
        }
        let contexts = self.contexts_of(property.id);
        let linked: HashSet<Uuid> =
            contexts.iter().flat_map(|context| context.options.iter().map(|link| link.option)).collect();
        for option in options.iter().filter(|option| !linked.contains(&option.id)) {
            faults.push(format!("option {} of the workspace is offered by no context", option.id));
        }
    }

    fn check_contexts(&self, property: &Property, faults: &mut Vec<String>) {
        let contexts = self.contexts_of(property.id);
        for name in repeated(contexts.iter().map(|context| &context.name)) {
            faults.push(format!("property {} has several contexts named `{name}`", property.id));
        }
        let pairs = contexts
            .iter()
            .filter_map(|context| context.external_id.as_ref().zip(context.external_source.as_ref()));
        for (id, source) in repeated(pairs) {
            faults.push(format!("property {}: several contexts with the pair `{id}`, `{source}`", property.id));
        }
        if contexts.iter().filter(|context| context.all_projects).count() > 1 {
            faults.push(format!("property {} has several contexts for all projects", property.id));
        }
        for (index, context) in contexts.iter().enumerate() {
            self.check_context(context, faults);
            for other in contexts[index + 1..].iter().filter(|other| overlap(context, other)) {
                faults.push(format!("contexts {} and {} overlap with equal specificity", context.id, other.id));
            }
        }
    }

    fn check_context(&self, context: &Context, faults: &mut Vec<String>) {
        let id = context.id;
        for (all, list, axis) in
            [(context.all_projects, &context.projects, "project"), (context.all_types, &context.types, "type")]
        {
            if all != list.is_empty() {
                faults.push(format!("context {id}: the {axis} axis needs either its wildcard or a list"));
            }
            if !repeated(list).is_empty() {
                faults.push(format!("context {id} lists a {axis} twice"));
            }
        }
        for type_id in
            context.types.iter().filter(|id| self.types.get(id).is_none_or(|kind| kind.project.is_some()))
        {
            faults.push(format!("context {id} lists {type_id}, which is no live type of the workspace"));
        }
        if context.external_id.is_some() != context.external_source.is_some() {
            faults.push(format!("context {id} holds half an external pair"));
        }
        if !context.is_multi && context.options.iter().filter(|link| link.is_default).count() > 1 {
            faults.push(format!("context {id} takes one value but has several default options"));
        }
        if !repeated(context.options.iter().map(|link| link.option)).is_empty() {
            faults.push(format!("context {id} offers an option twice"));
        }
        for link in context.options.iter().filter(|link| self.option_of(context.property, link.option).is_none()) {
            faults.push(format!("context {id} offers {}, which is no option of its property", link.option));
        }
    }
}

fn place(owner: Option<Uuid>) -> String {
    owner.map_or_else(|| "the workspace".to_owned(), |project| format!("project {project}"))
}

/// What occurs more than once.
fn repeated<T: std::hash::Hash + Eq + Ord>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut counts: HashMap<T, usize> = HashMap::new();
    for one in all {
        *counts.entry(one).or_default() += 1;
    }
    let mut repeated: Vec<T> = counts.into_iter().filter(|(_, count)| *count > 1).map(|(one, _)| one).collect();
    repeated.sort();
    repeated
}
