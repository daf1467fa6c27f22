//! The records of the sandbox: one table for each kind of record, and the queries that several resources use. May use:
//! this folder.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::records::kinds::{
    Activity, ApiKey, Comment, Cycle, CycleItem, EstimatePoint, IntakeEntry, Item, ItemType, Label, Link, Module,
    ModuleItem, Project, ProjectMember, Relation, State, User, Workspace, WorkspaceMember,
};
use crate::records::table::{Id, Table};

/// A remembered order of work items, and the revision of the world for which it is valid.
type Remembered = (u64, Arc<Vec<u32>>);

/// All data of the sandbox.
#[derive(Debug, Default)]
pub(crate) struct World {
    /// People, in the order in which their accounts were created.
    pub(crate) users: Table<User>,
    /// Keys by their value.
    pub(crate) keys: HashMap<String, ApiKey>,
    /// Workspaces.
    pub(crate) workspaces: Vec<Workspace>,
    /// Workspace memberships, grouped by workspace.
    pub(crate) workspace_members: Table<WorkspaceMember>,
    /// Projects, grouped by workspace.
    pub(crate) projects: Table<Project>,
    /// Project memberships, grouped by project.
    pub(crate) project_members: Table<ProjectMember>,
    /// States, grouped by project.
    pub(crate) states: Table<State>,
    /// Labels, grouped by project (workspace-level ones by workspace).
    pub(crate) labels: Table<Label>,
    /// Cycles, grouped by project.
    pub(crate) cycles: Table<Cycle>,
    /// Work items in cycles, grouped by project.
    pub(crate) cycle_items: Table<CycleItem>,
    /// Modules, grouped by project.
    pub(crate) modules: Table<Module>,
    /// Work items in modules, grouped by module.
    pub(crate) module_items: Table<ModuleItem>,
    /// Work items, grouped by project.
    pub(crate) items: Table<Item>,
    /// Comments, grouped by work item.
    pub(crate) comments: Table<Comment>,
    /// Links, grouped by work item.
    pub(crate) links: Table<Link>,
    /// Relations between work items, grouped by project.
    pub(crate) relations: Table<Relation>,
    /// Activities, grouped by work item.
    pub(crate) activities: Table<Activity>,
    /// Intake entries, grouped by project.
    pub(crate) intake: Table<IntakeEntry>,
    /// Work item types.
    pub(crate) types: Vec<ItemType>,
    /// The type that a new work item of a project gets.
    pub(crate) default_types: HashMap<Id, Id>,
    /// Estimate points.
    pub(crate) estimate_points: Vec<EstimatePoint>,
    /// Grows with every write request. Orders remembered for an older revision are stale.
    pub(crate) revision: u64,
    orders: Mutex<HashMap<(Id, String), Remembered>>,
}

impl World {
    /// The workspace with that slug; slugs are case-sensitive (`perm_workspace_slug_other_case`).
    pub(crate) fn workspace(&self, slug: &str) -> Option<&Workspace> {
        self.workspaces.iter().find(|w| w.slug == slug)
    }

    /// The workspace with that id.
    pub(crate) fn workspace_by_id(&self, id: Id) -> Option<&Workspace> {
        self.workspaces.iter().find(|w| w.id == id)
    }

    /// The person's role in the workspace, if the membership is active.
    pub(crate) fn workspace_role(&self, slug: &str, user: Id) -> Option<u8> {
        let workspace = self.workspace(slug)?;
        self.workspace_members.of(workspace.id).find(|m| m.user == user && m.active).map(|m| m.role)
    }

    /// The person's active membership of a project of that workspace.
    pub(crate) fn membership(&self, slug: &str, project: Id, user: Id) -> Option<&ProjectMember> {
        let workspace = self.workspace(slug)?;
        self.projects.get(project).filter(|p| p.workspace == workspace.id)?;
        self.active_member(project, user)
    }

    /// The person's active membership of a project.
    pub(crate) fn active_member(&self, project: Id, user: Id) -> Option<&ProjectMember> {
        self.project_members.of(project).find(|m| m.user == user && m.active)
    }

    /// Whether the person belongs to any project of that workspace.
    pub(crate) fn in_some_project(&self, slug: &str, user: Id) -> bool {
        self.workspace(slug).is_some_and(|workspace| {
            self.projects.of(workspace.id).any(|p| self.active_member(p.id, user).is_some())
        })
    }

    /// The project, if it belongs to that workspace.
    pub(crate) fn project_in(&self, slug: &str, project: Id) -> Option<&Project> {
        let workspace = self.workspace(slug)?;
        self.projects.get(project).filter(|p| p.workspace == workspace.id)
    }

    /// Whether reads below the project show anything: archived projects appear empty
    /// (`projects_archived_states`, `projects_archived_items`).
    pub(crate) fn readable(&self, project: Id) -> bool {
        self.projects.get(project).is_some_and(|p| p.archived_at.is_none())
    }

    /// Whether work items in a state are hidden from every read (`triage_get`). The flag `is_triage` alone hides the
    /// state, but not its work items.
    pub(crate) fn is_triage_state(&self, state: Id) -> bool {
        self.states.any(state).is_some_and(|state| state.group == "triage")
    }

    /// Whether reads show the work item: not deleted, archived, draft or in triage.
    pub(crate) fn shown(&self, item: &Item) -> bool {
        item.deleted_at.is_none()
            && item.archived_at.is_none()
            && !item.is_draft
            && !self.is_triage_state(item.state)
    }

    /// Returns the visible work items of a project in an order, which is computed once for each revision.
    pub(crate) fn remembered_order(
        &self,
        project: Id,
        name: &str,
        compute: impl FnOnce() -> Vec<u32>,
    ) -> Arc<Vec<u32>> {
        let key = (project, name.to_owned());
        let mut orders = self.orders.lock();
        if let Some((revision, order)) = orders.get(&key)
            && *revision == self.revision
        {
            return Arc::clone(order);
        }
        orders.retain(|_, (revision, _)| *revision == self.revision);
        let order = Arc::new(compute());
        orders.insert(key, (self.revision, Arc::clone(&order)));
        order
    }

    /// Moves a work item's `updated_at`, as v1's background queue does after writes to the item or to records
    /// around it.
    pub(crate) fn touch(&mut self, item: Id, now: Timestamp) {
        if let Some(item) = self.items.get_mut(item) {
            item.updated_at = now;
        }
    }

    /// Deletes a work item with everything below it: children, comments, links, memberships in
    /// cycles and modules (`items_child_after_parent_delete`, `comments_list_of_deleted_item`). Children can be in
    /// other projects: an expanded parent names its project (`lists_expand_parent`).
    pub(crate) fn delete_item(&mut self, id: Id, now: Timestamp) {
        let mut waiting = vec![id];
        while let Some(id) = waiting.pop() {
            let Some(item) = self.items.get_mut(id) else {
                continue;
            };
            item.deleted_at = Some(now);
            self.comments.change_of(id, |c| c.deleted_at = Some(now));
            self.links.change_of(id, |l| l.deleted_at = Some(now));
            for row in self.cycle_items.iter_mut().filter(|r| r.item == id) {
                row.deleted_at = Some(now);
            }
            for row in self.module_items.iter_mut().filter(|r| r.item == id) {
                row.deleted_at = Some(now);
            }
            waiting.extend(self.items.iter().filter(|child| child.parent == Some(id)).map(|child| child.id));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::records::clock::Clock;
    use crate::records::seed;

    #[test]
    fn children_in_other_projects_are_deleted_with_their_parent() {
        let clock = Clock::new(None);
        let mut world = seed::recorded(&clock);
        let parent = world.items.iter().next().expect("an item");
        let (parent, project) = (parent.id, parent.project);
        let child = world.items.iter().find(|item| item.project != project).expect("an item elsewhere").id;
        world.items.change(child, |item| item.parent = Some(parent));
        world.delete_item(parent, clock.now());
        assert!(world.items.get(child).is_none());
    }
}
