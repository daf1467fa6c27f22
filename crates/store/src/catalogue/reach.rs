//! Contexts in effect in a place. To resolve many properties of the workspace, contexts are first grouped by property:
//! resolving one property then costs its own contexts and not those of the whole workspace. May use: this folder.

use super::model::{Catalogue, Context, Property};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use uuid::Uuid;

/// Returns the most specific of the contexts of one property for items of the type in the project.
pub(super) fn in_effect<'c>(
    contexts: impl Iterator<Item = &'c Arc<Context>>,
    project: Uuid,
    type_id: Uuid,
) -> Option<&'c Arc<Context>> {
    contexts.filter(|context| context.covers(project, type_id)).min_by_key(|context| (context.tier(), context.id))
}

/// The contexts of a catalogue, grouped by property.
pub(super) struct ByProperty<'c>(HashMap<Uuid, Vec<&'c Arc<Context>>>);

impl<'c> ByProperty<'c> {
    /// Builds the groups from all contexts in one scan.
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

    /// Returns the same as [`Catalogue::resolve`].
    pub(super) fn resolve(&self, property: Uuid, project: Uuid, type_id: Uuid) -> Option<&'c Arc<Context>> {
        in_effect(self.contexts(property).iter().copied(), project, type_id)
    }

    /// Checks whether a property that is not attached to the type still applies to its items in the project, because
    /// the context in effect lists the type (O65).
    pub(super) fn bring(&self, property: Uuid, project: Uuid, type_id: Uuid) -> bool {
        self.resolve(property, project, type_id).is_some_and(|context| context.types.contains(&type_id))
    }
}

/// The definitions of the workspace that one project shows.
pub(super) struct Reach<'c> {
    project: Uuid,
    contexts: ByProperty<'c>,
    imported: HashSet<Uuid>,
    /// Properties attached to imported types. The project shows them even if no context makes them apply (O86).
    carried: HashSet<Uuid>,
}

impl<'c> Reach<'c> {
    /// Builds the reach of `project`.
    pub(super) fn of(catalogue: &'c Catalogue, project: Uuid) -> Self {
        let imported: HashSet<Uuid> = catalogue.imports_of(project).map(|(kind, _)| kind).collect();
        let carried = imported.iter().flat_map(|kind| catalogue.attachments_of(*kind));
        let carried = carried.map(|(property, _)| property).collect();
        Self { project, contexts: ByProperty::of(catalogue), imported, carried }
    }

    /// Checks whether the project shows the property: its own, or one that reaches a type it has imported.
    pub(super) fn shows(&self, property: &Property) -> bool {
        if let Some(owner) = property.project {
            return owner == self.project;
        }
        // Only a type that some context lists can be brought.
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

    /// Pseudo-random numbers, the same in each run.
    struct Chance(u64);

    impl Chance {
        fn below(&mut self, end: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % end
        }

        /// Returns each id with a probability of one half.
        fn some(&mut self, ids: &[Uuid]) -> Vec<Uuid> {
            ids.iter().copied().filter(|_| self.below(2) == 0).collect()
        }
    }

    const PROJECTS: [Uuid; 2] = [Uuid::from_u128(1), Uuid::from_u128(2)];

    /// Builds a workspace with properties whose contexts cover random projects and types.
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
                // Compare all types, not only those up to the first that brings the property.
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
