//! Properties that apply to an item, and their rules there.
//!
//! A property of a project applies as it is to all types it is attached to. A workspace property applies through the
//! one context that resolves for the item's project and type: the most specific wins and nothing is merged (chapter
//! 15). May use: this folder.

use super::choices::Choices;
use super::model::{Catalogue, Context, Property, PropertyOption, PropertyType};
use super::reach::{ByProperty, in_effect};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use uuid::Uuid;

/// A property as it applies to items of one type in one project.
#[derive(Debug, Clone)]
pub struct Applicable {
    /// The property.
    pub property: Arc<Property>,
    /// Whether a value must be given on create.
    pub is_required: bool,
    /// Whether it takes several values.
    pub is_multi: bool,
    /// Value of an item whose request gives none. For options these are ids, and a flagged option wins over the
    /// stored default (15.11).
    pub default_value: Vec<String>,
    /// Offered choices, in order.
    pub options: Vec<Offered>,
}

/// A choice that an item may take.
#[derive(Debug, Clone)]
pub struct Offered {
    /// The option.
    pub option: Arc<PropertyOption>,
    /// Whether it is preselected here.
    pub is_default: bool,
}

impl Context {
    /// Checks whether the context covers items of the type in the project.
    pub fn covers(&self, project: Uuid, type_id: Uuid) -> bool {
        (self.all_projects || self.projects.contains(&project)) && (self.all_types || self.types.contains(&type_id))
    }

    /// Returns the specificity, from 1 (listed projects and types) to 4 (all and all); the lower wins.
    pub fn tier(&self) -> u8 {
        1 + 2 * u8::from(self.all_projects) + u8::from(self.all_types)
    }
}

impl Catalogue {
    /// Returns the context of a workspace property that is in effect for items of the type in the project.
    pub fn resolve(&self, property: Uuid, project: Uuid, type_id: Uuid) -> Option<&Arc<Context>> {
        in_effect(self.contexts.values().filter(|context| context.property == property), project, type_id)
    }

    /// Checks whether the property is attached to the type.
    pub(super) fn is_attached(&self, type_id: Uuid, property: Uuid) -> bool {
        self.attachments.contains_key(&(type_id, property))
    }

    /// Returns the active properties that apply to items of the type in the project: first the attached ones in
    /// attachment order, then those that a context brings. Empty for a type that is not available there.
    pub fn applicable(&self, project: Uuid, type_id: Uuid) -> Vec<Applicable> {
        let contexts = ByProperty::of(self);
        let mut properties = self.reaching(project, type_id, &contexts);
        properties.retain(|property| property.is_active);
        let own = properties.iter().filter(|property| property.project.is_some()).map(|property| property.id);
        let mut options = self.options_of_many(&own.collect());
        let apply = |property: Arc<Property>| {
            let options = options.remove(&property.id).unwrap_or_default();
            let context = contexts.resolve(property.id, project, type_id);
            self.apply(property, options, context)
        };
        properties.into_iter().filter_map(apply).collect()
    }

    /// Returns the names of the properties that would apply to items of the type in the project if they were active.
    pub fn switched_off(&self, project: Uuid, type_id: Uuid) -> HashSet<String> {
        let contexts = ByProperty::of(self);
        let mut properties = self.reaching(project, type_id, &contexts);
        properties.retain(|property| {
            let resolves = || contexts.resolve(property.id, project, type_id).is_some();
            !property.is_active && (property.project.is_some() || resolves())
        });
        properties.iter().map(|property| property.name.clone()).collect()
    }

    /// Returns the properties, also inactive ones, on the type in the project: first the attached ones in attachment
    /// order, then those that a context brings.
    fn reaching(&self, project: Uuid, type_id: Uuid, contexts: &ByProperty<'_>) -> Vec<Arc<Property>> {
        let Some(kind) = self.type_on_project(project, type_id) else { return Vec::new() };
        let mut properties = self.attached(type_id);
        if kind.project.is_none() {
            for property in self.properties_of(None) {
                let brought = || contexts.bring(property.id, project, type_id);
                if !self.is_attached(type_id, property.id) && brought() {
                    properties.push(Arc::clone(property));
                }
            }
        }
        properties
    }

    /// Applies a property. `options` are those of a project property; `context` is that of a workspace property.
    fn apply(
        &self,
        property: Arc<Property>,
        options: Vec<&Arc<PropertyOption>>,
        context: Option<&Arc<Context>>,
    ) -> Option<Applicable> {
        let mut applicable = if property.project.is_some() {
            Applicable {
                is_required: property.is_required,
                is_multi: property.is_multi,
                default_value: property.default_value.clone(),
                options: options
                    .into_iter()
                    .map(|option| Offered { option: Arc::clone(option), is_default: option.is_default })
                    .collect(),
                property,
            }
        } else {
            let context = context?;
            Applicable {
                is_required: context.is_required,
                is_multi: context.is_multi,
                default_value: context.default_value.clone(),
                options: self.offered(context),
                property,
            }
        };
        // No client can write a formula's value, so it must not be required.
        applicable.is_required &= applicable.property.property_type != PropertyType::Formula;
        Some(applicable.with_effective_default())
    }

    /// Returns the choices of a context, in the order of the context.
    pub fn offered(&self, context: &Context) -> Vec<Offered> {
        let mut links: Vec<_> = context.options.iter().collect();
        links.sort_by(|a, b| a.sort_order.total_cmp(&b.sort_order).then_with(|| a.option.cmp(&b.option)));
        let options = links.into_iter().filter_map(|link| Some((self.options.get(&link.option)?, link.is_default)));
        options.map(|(option, is_default)| Offered { option: Arc::clone(option), is_default }).collect()
    }

    /// Returns the options that an item of the type in the project may point at. `None`: the property does not cover
    /// the item, and its values are deleted. For kinds without options an empty set has no meaning.
    ///
    /// Attachment does not matter: a property that is detached on the workspace is hidden, not deleted (O75).
    pub fn offers(&self, property: Uuid, project: Uuid, type_id: Uuid) -> Option<HashSet<Uuid>> {
        let found = self.properties.get(&property)?;
        match found.project {
            Some(owner) if owner == project => {
                Some(self.options_of(property).into_iter().map(|option| option.id).collect())
            }
            Some(_) => None,
            None => {
                let context = self.resolve(property, project, type_id)?;
                Some(context.options.iter().map(|link| link.option).collect())
            }
        }
    }

    /// Returns the options that an item of the type in the project may point at when a value is written, as
    /// [`Catalogue::offers`] does. `None`: no value is stored, because a property of the project was detached
    /// meanwhile, and its recorded values are deleted with that change.
    pub fn takes(&self, property: Uuid, project: Uuid, type_id: Uuid) -> Option<HashSet<Uuid>> {
        let of_project = self.properties.get(&property)?.project.is_some();
        if of_project && !self.is_attached(type_id, property) {
            None
        } else {
            self.offers(property, project, type_id)
        }
    }

    /// Returns the options of the property that are preselected, as the property shows them. For a workspace property
    /// the context that covers everything decides, else the first context that offers the option.
    pub fn preselected(&self, property: Uuid) -> HashSet<Uuid> {
        self.preselected_of_many(&[property].into())
    }

    /// Returns the preselected options of all these properties; scans all contexts and options once.
    pub fn preselected_of_many(&self, properties: &HashSet<Uuid>) -> HashSet<Uuid> {
        // Of each option that a context offers: whether its home covers all, and whether it is a default there.
        let mut homes: HashMap<Uuid, (bool, bool)> = HashMap::new();
        for context in self.contexts_of_many(properties) {
            let covers_all = context.tier() == 4;
            let mut here: HashMap<Uuid, bool> = HashMap::new();
            for link in &context.options {
                *here.entry(link.option).or_default() |= link.is_default;
            }
            for (option, is_default) in here {
                let home = homes.entry(option).or_insert((covers_all, is_default));
                if covers_all && !home.0 {
                    *home = (true, is_default);
                }
            }
        }
        let flagged =
            self.options.values().filter(|option| option.is_default && properties.contains(&option.property));
        let flagged = flagged.map(|option| option.id).filter(|id| !homes.contains_key(id));
        let flagged: HashSet<Uuid> = flagged.collect();
        homes.into_iter().filter(|(_, (_, is_default))| *is_default).map(|(id, _)| id).chain(flagged).collect()
    }

    /// Returns the home of an option of a workspace property: the context that covers everything, else the first.
    pub(super) fn home_of(&self, option: &PropertyOption) -> Option<&Arc<Context>> {
        let contexts = self.contexts_of(option.property).into_iter();
        let mut linking = contexts.filter(|context| context.options.iter().any(|link| link.option == option.id));
        let first = linking.next()?;
        Some(std::iter::once(first).chain(linking).find(|context| context.tier() == 4).unwrap_or(first))
    }

    /// Returns the context of a workspace property that covers all projects and all types.
    pub(super) fn catch_all(&self, property: Uuid) -> Option<&Arc<Context>> {
        self.contexts.values().find(|context| context.property == property && context.tier() == 4)
    }
}

impl Applicable {
    fn with_effective_default(mut self) -> Self {
        if self.property.property_type == PropertyType::Option {
            let flagged: Vec<_> = self.options.iter().filter(|offered| offered.is_default).collect();
            let ids: Vec<String> = if flagged.is_empty() {
                let options = if self.default_value.is_empty() { &[][..] } else { &self.options };
                let choices = Choices::of(options.iter().map(|offered| &*offered.option));
                self.default_value.iter().filter_map(|text| choices.first(text)).map(|id| id.to_string()).collect()
            } else {
                flagged.into_iter().map(|offered| offered.option.id.to_string()).collect()
            };
            self.default_value = ids;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use crate::catalogue::{Catalogue, Edit};
    use serde_json::{Value, json};
    use std::collections::HashSet;
    use uuid::Uuid;

    #[test]
    fn preselected_options_of_many_properties_are_those_of_each() {
        let mut edit = Edit::begin(&Catalogue::empty(Uuid::from_u128(9), 0), 0);
        let (mut properties, mut expected) = (HashSet::new(), HashSet::new());
        for n in 0..8 {
            let option = |o| json!({"name": format!("o{o}"), "is_default": o == n % 4});
            let options: Value = (0..3).map(option).collect();
            let body = json!({"display_name": format!("p{n}"), "property_type": "OPTION", "options": options});
            let owner = (n % 2 == 1).then_some(Uuid::from_u128(1));
            let id = edit.create_property(owner, body.as_object().unwrap()).unwrap();
            if n < 6 {
                properties.insert(id);
                expected.extend(edit.after.options_of(id).get(n % 4).map(|option| option.id));
            }
        }
        assert_eq!(expected.len(), 5);
        assert_eq!(edit.after.preselected_of_many(&properties), expected);
    }
}
