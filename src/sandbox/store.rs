//! What the sandbox remembers: one table per kind of record and the questions several resources ask
//! of them. Uses nothing but the record types of [`super::records`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use uuid::Uuid;

use super::records::{
    Activity, ApiKey, Comment, Cycle, CycleItem, EstimatePoint, IntakeEntry, Item, ItemType, Label, Link, Module,
    ModuleItem, Project, ProjectMember, Relation, State, User, Workspace, WorkspaceMember,
};

/// An id of any record.
pub(super) type Id = Uuid;

/// A record that lives in a [`Table`].
pub(super) trait Row {
    /// Its own id.
    fn id(&self) -> Id;
    /// The record it is grouped under (project, work item, cycle, …).
    fn owner(&self) -> Id;
    /// Whether it was deleted; deleted rows stay, as in v1.
    fn gone(&self) -> bool;
}

/// Records in the order of their creation, found by id or by owner.
#[derive(Debug)]
pub(super) struct Table<T> {
    rows: Vec<T>,
    by_id: HashMap<Id, usize>,
    by_owner: HashMap<Id, Vec<usize>>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { rows: Vec::new(), by_id: HashMap::new(), by_owner: HashMap::new() }
    }
}

impl<T: Row> Table<T> {
    /// Adds a record as the youngest.
    pub(super) fn add(&mut self, row: T) {
        let index = self.rows.len();
        self.by_id.insert(row.id(), index);
        self.by_owner.entry(row.owner()).or_default().push(index);
        self.rows.push(row);
    }

    /// Number of all records, deleted ones included.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Puts a record in the place of the one with its id.
    pub(super) fn put(&mut self, row: T) {
        if let Some(&index) = self.by_id.get(&row.id()) {
            self.rows[index] = row;
        }
    }

    /// Takes the youngest record away, as if it had never been added.
    pub(super) fn take_last(&mut self) -> Option<T> {
        let row = self.rows.pop()?;
        self.by_id.remove(&row.id());
        if let Some(indexes) = self.by_owner.get_mut(&row.owner()) {
            indexes.pop();
        }
        Some(row)
    }

    /// The record, deleted or not.
    pub(super) fn any(&self, id: Id) -> Option<&T> {
        self.by_id.get(&id).map(|&i| &self.rows[i])
    }

    /// The record, deleted or not, for changing it.
    pub(super) fn any_mut(&mut self, id: Id) -> Option<&mut T> {
        self.by_id.get(&id).map(|&i| &mut self.rows[i])
    }

    /// The record unless it was deleted.
    pub(super) fn get(&self, id: Id) -> Option<&T> {
        self.any(id).filter(|row| !row.gone())
    }

    /// The record for changing it, unless it was deleted.
    pub(super) fn get_mut(&mut self, id: Id) -> Option<&mut T> {
        self.any_mut(id).filter(|row| !row.gone())
    }

    /// The record at a position of [`Table::position`].
    pub(super) fn at(&self, index: usize) -> &T {
        &self.rows[index]
    }

    /// Its place in the order of creation: the smaller, the older.
    pub(super) fn position(&self, id: Id) -> usize {
        self.by_id.get(&id).copied().unwrap_or(usize::MAX)
    }

    /// The undeleted records of an owner, oldest first.
    pub(super) fn of(&self, owner: Id) -> impl DoubleEndedIterator<Item = &T> {
        self.indexes_of(owner).iter().map(|&i| &self.rows[i]).filter(|row| !row.gone())
    }

    /// The positions of all records of an owner, deleted ones included.
    pub(super) fn indexes_of(&self, owner: Id) -> &[usize] {
        self.by_owner.get(&owner).map_or(&[], Vec::as_slice)
    }

    /// Changes every undeleted record of an owner.
    pub(super) fn change_of(&mut self, owner: Id, mut change: impl FnMut(&mut T)) {
        for &index in self.by_owner.get(&owner).map_or(&[][..], Vec::as_slice) {
            let row = &mut self.rows[index];
            if !row.gone() {
                change(row);
            }
        }
    }

    /// All undeleted records, oldest first.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.rows.iter().filter(|row| !row.gone())
    }

    /// All undeleted records for changing them, oldest first.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.rows.iter_mut().filter(|row| !row.gone())
    }

    /// Makes room for that many more records.
    pub(super) fn reserve(&mut self, more: usize) {
        self.rows.reserve(more);
        self.by_id.reserve(more);
    }
}

/// A remembered order of work items: valid for one revision of the world.
type Remembered = (u64, Arc<Vec<u32>>);

/// Everything the sandbox knows.
#[derive(Debug, Default)]
pub(super) struct World {
    /// People, in the order in which their accounts were made.
    pub(super) users: Table<User>,
    /// Keys by their value.
    pub(super) keys: HashMap<String, ApiKey>,
    /// Workspaces.
    pub(super) workspaces: Vec<Workspace>,
    /// Workspace memberships, grouped by workspace.
    pub(super) workspace_members: Table<WorkspaceMember>,
    /// Projects, grouped by workspace.
    pub(super) projects: Table<Project>,
    /// Project memberships, grouped by project.
    pub(super) project_members: Table<ProjectMember>,
    /// States, grouped by project.
    pub(super) states: Table<State>,
    /// Labels, grouped by project (workspace-level ones by workspace).
    pub(super) labels: Table<Label>,
    /// Cycles, grouped by project.
    pub(super) cycles: Table<Cycle>,
    /// Work items in cycles, grouped by cycle.
    pub(super) cycle_items: Table<CycleItem>,
    /// Modules, grouped by project.
    pub(super) modules: Table<Module>,
    /// Work items in modules, grouped by module.
    pub(super) module_items: Table<ModuleItem>,
    /// Work items, grouped by project.
    pub(super) items: Table<Item>,
    /// Comments, grouped by work item.
    pub(super) comments: Table<Comment>,
    /// Links, grouped by work item.
    pub(super) links: Table<Link>,
    /// Relations between work items, grouped by the item they start from.
    pub(super) relations: Table<Relation>,
    /// Activities, grouped by work item.
    pub(super) activities: Table<Activity>,
    /// Intake entries, grouped by project.
    pub(super) intake: Table<IntakeEntry>,
    /// Work item types.
    pub(super) types: Vec<ItemType>,
    /// The type a new work item of a project gets.
    pub(super) default_types: HashMap<Id, Id>,
    /// Estimate points.
    pub(super) estimate_points: Vec<EstimatePoint>,
    /// Grows with every write request; orders remembered for an older one are stale.
    pub(super) revision: u64,
    orders: Mutex<HashMap<(Id, String), Remembered>>,
}

impl World {
    /// The workspace of that slug; slugs are case-sensitive (`perm_workspace_slug_other_case`).
    pub(super) fn workspace(&self, slug: &str) -> Option<&Workspace> {
        self.workspaces.iter().find(|w| w.slug == slug)
    }

    /// The workspace with that id.
    pub(super) fn workspace_by_id(&self, id: Id) -> Option<&Workspace> {
        self.workspaces.iter().find(|w| w.id == id)
    }

    /// The person's role in the workspace, if the membership is switched on.
    pub(super) fn workspace_role(&self, slug: &str, user: Id) -> Option<u8> {
        let workspace = self.workspace(slug)?;
        self.workspace_members.of(workspace.id).find(|m| m.user == user && m.active).map(|m| m.role)
    }

    /// The person's switched-on membership of a project of that workspace.
    pub(super) fn membership(&self, slug: &str, project: Id, user: Id) -> Option<&ProjectMember> {
        let workspace = self.workspace(slug)?;
        self.projects.get(project).filter(|p| p.workspace == workspace.id)?;
        self.active_member(project, user)
    }

    /// The person's switched-on membership of a project.
    pub(super) fn active_member(&self, project: Id, user: Id) -> Option<&ProjectMember> {
        self.project_members.of(project).find(|m| m.user == user && m.active)
    }

    /// Whether the person belongs to any project of that workspace.
    pub(super) fn in_some_project(&self, slug: &str, user: Id) -> bool {
        self.workspace(slug).is_some_and(|workspace| {
            self.projects.of(workspace.id).any(|p| self.active_member(p.id, user).is_some())
        })
    }

    /// The project if it is one of that workspace.
    pub(super) fn project_in(&self, slug: &str, project: Id) -> Option<&Project> {
        let workspace = self.workspace(slug)?;
        self.projects.get(project).filter(|p| p.workspace == workspace.id)
    }

    /// Whether reads below the project show anything: archived projects read as empty
    /// (`projects_archived_states`, `projects_archived_items`).
    pub(super) fn readable(&self, project: Id) -> bool {
        self.projects.get(project).is_some_and(|p| p.archived_at.is_none())
    }

    /// Whether a state is kept from every read (`states_get_triage_seeded`,
    /// `states_get_after_is_triage`).
    pub(super) fn hidden_state(&self, state: Id) -> bool {
        self.states.any(state).is_some_and(State::hidden)
    }

    /// Whether reads show the work item: not deleted, archived, draft or in triage.
    pub(super) fn shown(&self, item: &Item) -> bool {
        item.deleted_at.is_none() && item.archived_at.is_none() && !item.is_draft && !self.hidden_state(item.state)
    }

    /// The visible work items of a project in an order, computed once per revision.
    pub(super) fn remembered_order(
        &self,
        project: Id,
        name: &str,
        compute: impl FnOnce() -> Vec<u32>,
    ) -> Arc<Vec<u32>> {
        let key = (project, name.to_owned());
        let mut orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Moves a work item's `updated_at`, as the background queue does after writes around it.
    pub(super) fn touch(&mut self, item: Id, now: Timestamp) {
        if let Some(item) = self.items.get_mut(item) {
            item.updated_at = now;
        }
    }

    /// Deletes a work item with everything below it: children, comments, links, memberships of
    /// cycles and modules (`items_child_after_parent_delete`, `comments_list_of_deleted_item`).
    pub(super) fn delete_item(&mut self, id: Id, now: Timestamp) {
        let mut waiting = vec![id];
        while let Some(id) = waiting.pop() {
            let Some(item) = self.items.get_mut(id) else {
                continue;
            };
            item.deleted_at = Some(now);
            let project = item.project;
            self.comments.change_of(id, |c| c.deleted_at = Some(now));
            self.links.change_of(id, |l| l.deleted_at = Some(now));
            for row in self.cycle_items.iter_mut().filter(|r| r.item == id) {
                row.deleted_at = Some(now);
            }
            for row in self.module_items.iter_mut().filter(|r| r.item == id) {
                row.deleted_at = Some(now);
            }
            waiting.extend(self.items.of(project).filter(|child| child.parent == Some(id)).map(|child| child.id));
        }
    }
}
