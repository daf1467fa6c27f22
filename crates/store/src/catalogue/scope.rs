//! The scope of a context: two axes, each a wildcard or a list. No two contexts of a property may be equally
//! specific in one place (15.1–15.6, 15.13). May use: `v2`, this folder.

use super::faults::{Faults, flag, ids, listed};
use super::model::{Catalogue, Context};
use crate::v2::body::Given;
use std::collections::HashSet;
use uuid::Uuid;

/// One of the two axes of a body.
struct Axis {
    flag: &'static str,
    list: &'static str,
    things: &'static str,
}

const PROJECTS: Axis = Axis { flag: "applies_to_all_projects", list: "project_ids", things: "projects" };
const TYPES: Axis = Axis { flag: "applies_to_all_work_item_types", list: "issue_type_ids", things: "types" };

/// Returns the ids of a body that v1 must know as projects of the workspace.
pub fn named_projects(given: &Given) -> Vec<Uuid> {
    ids(given, PROJECTS.list).unwrap_or_default()
}

/// Writes the scope that a body asks for.
pub(super) fn assign(
    catalogue: &Catalogue,
    context: &mut Context,
    given: &Given,
    projects: &HashSet<Uuid>,
    faults: &mut Faults,
) {
    let is_type = |id: &Uuid| catalogue.types.get(id).is_some_and(|kind| kind.project.is_none());
    PROJECTS.assign(given, &mut context.all_projects, &mut context.projects, |id| projects.contains(id), faults);
    TYPES.assign(given, &mut context.all_types, &mut context.types, is_type, faults);
}

impl Axis {
    fn assign(
        &self,
        given: &Given,
        all: &mut bool,
        stored: &mut Vec<Uuid>,
        known: impl Fn(&Uuid) -> bool,
        faults: &mut Faults,
    ) {
        let sent = ids(given, self.list);
        *all = flag(given, self.flag).unwrap_or(*all);
        if *all {
            if sent.is_some() {
                faults.add(self.list, format!("must not come with {} true", self.flag));
            }
            stored.clear();
            return;
        }
        if let Some(sent) = sent {
            let mut seen = HashSet::new();
            let repeated: Vec<Uuid> = sent.iter().copied().filter(|id| !seen.insert(*id)).collect();
            // A stored id was valid once. The caller may not see it any more, but may keep it.
            let unknown = sent.iter().copied().filter(|id| !known(id) && !stored.contains(id));
            let unknown: Vec<Uuid> = unknown.collect();
            if !repeated.is_empty() {
                faults.add(self.list, format!("given more than once: {}", listed(&repeated)));
            }
            if !unknown.is_empty() {
                faults.add(self.list, format!("not {} of this workspace: {}", self.things, listed(&unknown)));
            }
            *stored = sent;
        }
        if stored.is_empty() {
            faults.add(self.list, format!("must not be empty unless {} is true", self.flag));
        }
    }
}

/// Checks a context against the other contexts of its property.
pub(super) fn judge_overlap(catalogue: &Catalogue, context: &Context, faults: &mut Faults) {
    let contexts = catalogue.contexts_of(context.property);
    let others = contexts.into_iter().filter(|other| other.id != context.id);
    for other in others {
        if context.all_projects && other.all_projects {
            let message = format!("the context `{}` applies to all projects already", other.name);
            faults.add(PROJECTS.flag, message);
        } else if overlap(context, other) {
            let field = if context.all_types { PROJECTS.list } else { TYPES.list };
            faults.add(field, format!("the context `{}` covers some of this just as specifically", other.name));
        }
    }
}

/// Checks whether two contexts have the same tier and cover some of the same items.
pub(super) fn overlap(one: &Context, other: &Context) -> bool {
    one.tier() == other.tier()
        && (one.all_projects || have_one_in_common(&one.projects, &other.projects))
        && (one.all_types || have_one_in_common(&one.types, &other.types))
}

fn have_one_in_common(some: &[Uuid], others: &[Uuid]) -> bool {
    let some: HashSet<&Uuid> = some.iter().collect();
    others.iter().any(|id| some.contains(id))
}
