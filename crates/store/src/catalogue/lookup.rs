//! What is defined where: the look-ups that reads, writes and work items share. For many properties of the workspace at
//! once contexts are sorted by property first, so that to resolve one costs its own contexts and not those of the whole
//! workspace. May use: `plan`, `refusal`, `v2`, this folder.

use super::model::{
    Attachment, Catalogue, Context, Features, Property, PropertyOption, PropertyType, WorkItemType,
};
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
            .filter_map(|((_, kind), since)| Some((since, self.types.get(kind)?)))
            .filter(|(_, kind)| kind.is_active && !kind.is_epic)
            .min_by_key(|(since, kind)| (!kind.is_default, **since, kind.id))
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
        let links = self.attachments.range((type_id, Uuid::nil())..=(type_id, Uuid::max()));
        let place =
            |((_, property), link): &(&(Uuid, Uuid), &Attachment)| (link.sort_order, link.created_at, *property);
        let links = in_order(links.collect(), place).into_iter();
        links.filter_map(|((_, property), _)| self.properties.get(property).cloned()).collect()
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

/// Of the contexts of one property the one in effect for items of the type in the project: the most specific.
pub(super) fn in_effect<'c>(
    contexts: impl Iterator<Item = &'c Arc<Context>>,
    project: Uuid,
    type_id: Uuid,
) -> Option<&'c Arc<Context>> {
    contexts.filter(|context| context.covers(project, type_id)).min_by_key(|context| (context.tier(), context.id))
}

/// The contexts of a catalogue by their property.
pub(super) struct ByProperty<'c>(HashMap<Uuid, Vec<&'c Arc<Context>>>);

impl<'c> ByProperty<'c> {
    /// Of all contexts, which are walked once.
    pub(super) fn of(catalogue: &'c Catalogue) -> Self {
        let mut contexts: HashMap<Uuid, Vec<_>> = HashMap::new();
        for context in catalogue.contexts.values() {
            contexts.entry(context.property).or_default().push(context);
        }
        Self(contexts)
    }

    fn contexts(&self, property: Uuid) -> &[&'c Arc<Context>] {
        self.0.get(&property).map(Vec::as_slice).unwrap_or_default()
    }

    /// As [`Catalogue::resolve`].
    pub(super) fn resolve(&self, property: Uuid, project: Uuid, type_id: Uuid) -> Option<&'c Arc<Context>> {
        in_effect(self.contexts(property).iter().copied(), project, type_id)
    }

    /// Whether a property that the type does not carry applies to its items in the project all the same: the context
    /// in effect lists the type (O65).
    pub(super) fn bring(&self, property: Uuid, project: Uuid, type_id: Uuid) -> bool {
        self.resolve(property, project, type_id).is_some_and(|context| context.types.contains(&type_id))
    }
}

/// What of the workspace one project shows.
pub(super) struct Reach<'c> {
    project: Uuid,
    contexts: ByProperty<'c>,
    imported: HashSet<Uuid>,
    /// Properties that imported types carry: they show even where no context makes them apply (O86).
    carried: HashSet<Uuid>,
}

impl<'c> Reach<'c> {
    /// In this project.
    pub(super) fn of(catalogue: &'c Catalogue, project: Uuid) -> Self {
        let imports = catalogue.imports.range((project, Uuid::nil())..=(project, Uuid::max()));
        let imported: HashSet<Uuid> = imports.map(|((_, kind), _)| *kind).collect();
        let carried = |kind: &Uuid| catalogue.attachments.range((*kind, Uuid::nil())..=(*kind, Uuid::max()));
        let carried = imported.iter().flat_map(carried).map(|((_, property), _)| *property).collect();
        Self { project, contexts: ByProperty::of(catalogue), imported, carried }
    }

    /// Whether the project shows the property: its own, or one that reaches a type it has imported.
    pub(super) fn shows(&self, property: &Property) -> bool {
        if let Some(owner) = property.project {
            return owner == self.project;
        }
        // No other type can be brought than one that some context lists.
        let listed = self.contexts.contexts(property.id).iter().flat_map(|context| &context.types);
        let mut listed = listed.filter(|kind| self.imported.contains(*kind));
        self.carried.contains(&property.id)
            || listed.any(|kind| self.contexts.bring(property.id, self.project, *kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{Attachment, Context, Edit};
    use serde_json::json;

    /// Numbers that look like chance and are the same each time.
    struct Chance(u64);

    impl Chance {
        fn below(&mut self, end: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % end
        }

        /// Each of these with even chance.
        fn some(&mut self, ids: &[Uuid]) -> Vec<Uuid> {
            ids.iter().copied().filter(|_| self.below(2) == 0).collect()
        }
    }

    const PROJECTS: [Uuid; 2] = [Uuid::from_u128(1), Uuid::from_u128(2)];

    /// A workspace with properties whose contexts cover this and that.
    fn furnished(chance: &mut Chance) -> Catalogue {
        let mut edit = Edit::begin(&Catalogue::empty(Uuid::from_u128(9), 0), 0);
        let named = |name: &str, value: String| json!({ name: value }).as_object().cloned().unwrap();
        let types: Vec<Uuid> =
            (0..5).map(|n| edit.create_type(None, &named("name", format!("t{n}"))).unwrap()).collect();
        for n in 0..40 {
            let property = edit.create_property(None, &named("display_name", format!("p{n}"))).unwrap();
            let seeded = edit.after.contexts_of(property)[0].clone();
            if chance.below(2) == 0 {
                edit.after.contexts.remove(&seeded.id);
            }
            for place in 0..chance.below(3) {
                let (projects, kinds) = (chance.some(&PROJECTS), chance.some(&types));
                let context = Context {
                    id: Uuid::from_u128(u128::from(n * 10 + place)),
                    all_projects: projects.is_empty(),
                    all_types: kinds.is_empty(),
                    projects,
                    types: kinds,
                    ..Context::clone(&seeded)
                };
                edit.after.contexts.insert(context.id, Arc::new(context));
            }
            for type_id in chance.some(&types).into_iter().take(1) {
                let link = Attachment { sort_order: 1.0, created_at: 0 };
                edit.after.attachments.insert((type_id, property), link);
            }
        }
        for project in PROJECTS {
            for type_id in chance.some(&types) {
                edit.after.imports.insert((project, type_id), 0);
            }
        }
        edit.after
    }

    #[test]
    fn many_properties_resolve_as_each_by_itself() {
        let mut chance = Chance(7);
        let (mut shown, mut hidden) = (0, 0);
        for _ in 0..20 {
            let all = furnished(&mut chance);
            let contexts = ByProperty::of(&all);
            for (project, property) in
                PROJECTS.iter().flat_map(|project| all.properties.keys().map(move |id| (*project, *id)))
            {
                let brings = |kind: &Uuid| {
                    let alone = all.resolve(property, project, *kind);
                    assert_eq!(contexts.resolve(property, project, *kind), alone);
                    all.is_attached(*kind, property) || alone.is_some_and(|context| context.types.contains(kind))
                };
                let imported = all.types.keys().filter(|kind| all.imports.contains_key(&(project, **kind)));
                // All of them are compared, and not only until the first that brings it.
                let expected = imported.filter(|kind| brings(kind)).count() > 0;
                assert_eq!(all.property_on_project(project, property).is_some(), expected);
                assert_eq!(all.properties_on_project(project).iter().any(|found| found.id == property), expected);
                *if expected { &mut shown } else { &mut hidden } += 1;
            }
        }
        assert!(shown > 100 && hidden > 100, "{shown} {hidden}");
    }

    #[test]
    fn a_property_is_asked_for_its_own_contexts_alone() {
        let all = furnished(&mut Chance(7));
        let contexts = ByProperty::of(&all);
        let looked_at = all.properties.keys().map(|id| contexts.contexts(*id).len());
        assert_eq!(looked_at.sum::<usize>(), all.contexts.len());
    }
}
