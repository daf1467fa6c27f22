//! Faults of properties and their options. May use: this folder.

use super::super::model::{Catalogue, Property, PropertyType};
use super::{place, repeated};
use std::collections::{BTreeMap, HashSet};
use uuid::Uuid;

impl Catalogue {
    pub(super) fn check_properties(&self, faults: &mut Vec<String>) {
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

    pub(super) fn check_options(&self, property: &Property, faults: &mut Vec<String>) {
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
}
