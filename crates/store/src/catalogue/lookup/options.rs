//! Options and contexts of properties. May use: this folder.

use super::super::model::{Catalogue, Context, PropertyOption, PropertyType};
use super::in_order;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use uuid::Uuid;

impl Catalogue {
    /// Returns the options of a property, in their order.
    pub fn options_of(&self, property: Uuid) -> Vec<&Arc<PropertyOption>> {
        self.options_of_many(&[property].into()).remove(&property).unwrap_or_default()
    }

    /// Returns the options of each property that has any, in their order; scans all options once.
    pub fn options_of_many(&self, properties: &HashSet<Uuid>) -> HashMap<Uuid, Vec<&Arc<PropertyOption>>> {
        let mut options: HashMap<Uuid, Vec<_>> = HashMap::new();
        for option in self.options.values().filter(|option| properties.contains(&option.property)) {
            options.entry(option.property).or_default().push(option);
        }
        let place = |option: &&Arc<PropertyOption>| (option.sort_order, option.created_at, option.id);
        options.into_iter().map(|(property, options)| (property, in_order(options, place))).collect()
    }

    /// Returns the options that the option route of a workspace property lists; empty when nothing is found (14.4).
    pub fn options_of_workspace(&self, property: Uuid) -> Vec<&Arc<PropertyOption>> {
        match self.properties.get(&property) {
            Some(found) if found.project.is_none() && found.property_type == PropertyType::Option => {
                self.options_of(property)
            }
            _ => Vec::new(),
        }
    }

    /// Returns an option if it belongs to this property.
    pub fn option_of(&self, property: Uuid, id: Uuid) -> Option<&Arc<PropertyOption>> {
        self.options.get(&id).filter(|option| option.property == property)
    }

    /// Returns the contexts of a property, in their order.
    pub fn contexts_of(&self, property: Uuid) -> Vec<&Arc<Context>> {
        self.contexts_of_many(&[property].into())
    }

    /// Returns the contexts of all these properties, sorted by place; scans all contexts once.
    pub(in crate::catalogue) fn contexts_of_many(&self, properties: &HashSet<Uuid>) -> Vec<&Arc<Context>> {
        let contexts = self.contexts.values().filter(|context| properties.contains(&context.property));
        in_order(contexts.collect(), |context| (context.sort_order, context.created_at, context.id))
    }

    /// Returns a context if it belongs to this property.
    pub fn context_of(&self, property: Uuid, id: Uuid) -> Option<&Arc<Context>> {
        self.contexts.get(&id).filter(|context| context.property == property)
    }
}
