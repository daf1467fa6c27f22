//! What is defined where: the look-ups that reads, writes and work items share. May use: `plan`, `refusal`, `v2`, this
//! folder.

use super::model::{Catalogue, Context, Features, Property, PropertyOption, PropertyType, WorkItemType};
use super::reach::Reach;
use crate::plan::TypeMode;
use crate::refusal::Refusal;
use crate::v2::time::Micros;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use uuid::Uuid;

impl Catalogue {
    /// The catalogue of a workspace in which nothing was defined yet.
    pub fn empty(workspace: Uuid, created_at: Micros) -> Self {
        let id = Uuid::new_v5(&workspace, b"features");
        let features = Features { id, created_at, ..Features::default() };
        Self { workspace, features: Arc::new(features), ..Self::default() }
    }

    /// The mode in effect; `available` says whether the plan has types of the workspace (O31).
    pub fn mode(&self, available: bool) -> TypeMode {
        if available && self.features.flags[0] { TypeMode::Workspace } else { TypeMode::Project }
    }

    /// Types owned by the workspace (`None`) or a project, epics included, oldest first.
    pub fn types_of(&self, owner: Option<Uuid>) -> Vec<&Arc<WorkItemType>> {
        let mut types: Vec<_> = self.types.values().filter(|kind| kind.project == owner).collect();
        types.sort_by_key(|kind| (kind.created_at, kind.id));
        types
    }

    /// Types available in a project, own and imported, without epics, oldest first.
    pub fn types_on_project(&self, project: Uuid) -> Vec<&Arc<WorkItemType>> {
        let mut types: Vec<_> = self.types.values().filter(|kind| self.is_listed(project, kind)).collect();
        types.sort_by_key(|kind| (kind.created_at, kind.id));
        types
    }

    /// A type available in a project, own or imported; epics are none.
    pub fn type_on_project(&self, project: Uuid, id: Uuid) -> Option<&Arc<WorkItemType>> {
        self.types.get(&id).filter(|kind| self.is_listed(project, kind))
    }

    fn is_listed(&self, project: Uuid, kind: &WorkItemType) -> bool {
        let here = match kind.project {
            Some(owner) => owner == project,
            None => self.imports.contains_key(&(project, kind.id)),
        };
        here && !kind.is_epic
    }

    /// The type a new item of the project gets when none is asked for.
    ///
    /// In workspace mode the default of the workspace when it was imported, else the first imported type that
    /// is active (O62); in project mode the project's own default. Where the mode's own side has none, the
    /// other side's serves, because both are listed in both modes (O32).
    pub fn default_type(&self, project: Uuid, mode: TypeMode) -> Option<&Arc<WorkItemType>> {
        let own = self.types.values().find(|kind| kind.project == Some(project) && kind.is_default);
        let imported = self
            .imports
            .range((project, Uuid::nil())..=(project, Uuid::max()))
            .filter_map(|(_, import)| Some((import, self.types.get(&import.type_id)?)))
            .filter(|(_, kind)| kind.is_active && !kind.is_epic)
            .min_by_key(|(import, kind)| (!kind.is_default, import.created_at, kind.id))
            .map(|(_, kind)| kind);
        match mode {
            TypeMode::Workspace => imported.or(own),
            TypeMode::Project => own.or(imported),
        }
    }

    /// A type that a write on this surface (`None`: the workspace's) may change.
    ///
    /// # Errors
    /// 404 for a type that is not there; on a project, 409 for one it merely imported (O86).
    pub fn writable_type(&self, surface: Option<Uuid>, id: Uuid) -> Result<&Arc<WorkItemType>, Refusal> {
        let kind = self.types.get(&id).ok_or_else(Refusal::not_found)?;
        match surface {
            _ if kind.project == surface => Ok(kind),
            Some(project) if self.is_listed(project, kind) => Err(Refusal::ManagedAtWorkspace),
            _ => Err(Refusal::not_found()),
        }
    }

    /// A property that a write on this surface (`None`: the workspace's) may change.
    ///
    /// # Errors
    /// 404 for a property that is not there; on a project, 409 for one of the workspace that shows there (O86).
    pub fn writable_property(&self, surface: Option<Uuid>, id: Uuid) -> Result<&Arc<Property>, Refusal> {
        let property = self.properties.get(&id).ok_or_else(Refusal::not_found)?;
        match surface {
            _ if property.project == surface => Ok(property),
            Some(project) if self.shows(project, property) => Err(Refusal::ManagedAtWorkspace),
            _ => Err(Refusal::not_found()),
        }
    }

    /// Properties owned by the workspace (`None`) or a project, inactive and unattached ones included, in their order.
    pub fn properties_of(&self, owner: Option<Uuid>) -> Vec<&Arc<Property>> {
        in_order(self.properties.values().filter(|property| property.project == owner).collect(), place)
    }

    /// Properties a project shows: its own, and those its imported types carry (O86).
    pub fn properties_on_project(&self, project: Uuid) -> Vec<&Arc<Property>> {
        let reach = Reach::of(self, project);
        in_order(self.properties.values().filter(|property| reach.shows(property)).collect(), place)
    }

    /// One property a project shows.
    pub fn property_on_project(&self, project: Uuid, id: Uuid) -> Option<&Arc<Property>> {
        self.properties.get(&id).filter(|property| self.shows(project, property))
    }

    fn shows(&self, project: Uuid, property: &Property) -> bool {
        Reach::of(self, project).shows(property)
    }

    /// Options of a property, in their order.
    pub fn options_of(&self, property: Uuid) -> Vec<&Arc<PropertyOption>> {
        self.options_of_many(&[property].into()).remove(&property).unwrap_or_default()
    }

    /// Options of each of these properties that has any, in their order; all options are walked once.
    pub fn options_of_many(&self, properties: &HashSet<Uuid>) -> HashMap<Uuid, Vec<&Arc<PropertyOption>>> {
        let mut options: HashMap<Uuid, Vec<_>> = HashMap::new();
        for option in self.options.values().filter(|option| properties.contains(&option.property)) {
            options.entry(option.property).or_default().push(option);
        }
        let place = |option: &&Arc<PropertyOption>| (option.sort_order, option.created_at, option.id);
        options.into_iter().map(|(property, options)| (property, in_order(options, place))).collect()
    }

    /// Options of a workspace property as its option route lists them: a look-up that finds nothing is empty (14.4).
    pub fn options_of_workspace(&self, property: Uuid) -> Vec<&Arc<PropertyOption>> {
        match self.properties.get(&property) {
            Some(found) if found.project.is_none() && found.property_type == PropertyType::Option => {
                self.options_of(property)
            }
            _ => Vec::new(),
        }
    }

    /// An option of this very property.
    pub fn option_of(&self, property: Uuid, id: Uuid) -> Option<&Arc<PropertyOption>> {
        self.options.get(&id).filter(|option| option.property == property)
    }

    /// Contexts of a property, in their order.
    pub fn contexts_of(&self, property: Uuid) -> Vec<&Arc<Context>> {
        let contexts = self.contexts.values().filter(|context| context.property == property);
        in_order(contexts.collect(), |context| (context.sort_order, context.created_at, context.id))
    }

    /// A context of this very property.
    pub fn context_of(&self, property: Uuid, id: Uuid) -> Option<&Arc<Context>> {
        self.contexts.get(&id).filter(|context| context.property == property)
    }

    /// Properties on a type, in attachment order.
    pub fn attached(&self, type_id: Uuid) -> Vec<Arc<Property>> {
        let links = self.attachments.range((type_id, Uuid::nil())..=(type_id, Uuid::max())).map(|(_, link)| link);
        let links = in_order(links.collect(), |link| (link.sort_order, link.created_at, link.property));
        links.into_iter().filter_map(|link| self.properties.get(&link.property).cloned()).collect()
    }
}

/// The place of a property among others.
fn place(property: &&Arc<Property>) -> (f64, Micros, Uuid) {
    (property.sort_order, property.created_at, property.id)
}

/// Records by their places; where two have the same, the older one goes first.
fn in_order<T>(mut records: Vec<T>, place: impl Fn(&T) -> (f64, Micros, Uuid)) -> Vec<T> {
    records.sort_by(|one, other| {
        let ((one, one_since, one_id), (other, other_since, other_id)) = (place(one), place(other));
        one.total_cmp(&other).then((one_since, one_id).cmp(&(other_since, other_id)))
    });
    records
}
