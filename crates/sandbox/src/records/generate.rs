//! Many work items for the first project: varied, and the same in every run. May use: `door`, `views`, this folder.

use std::collections::HashMap;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use uuid::Uuid;

use crate::door::auth::MEMBER;
use crate::records::chance::RandomNumbers;
use crate::records::kinds::{CycleItem, External, Item, ModuleItem, Stamp};
use crate::records::store::World;
use crate::records::table::Id;
use crate::views::items::PRIORITIES;

const VERBS: [&str; 12] = [
    "Fix",
    "Improve",
    "Document",
    "Remove",
    "Test",
    "Rename",
    "Speed up",
    "Design",
    "Review",
    "Translate",
    "Measure",
    "Replace",
];
const THINGS: [&str; 14] = [
    "login form",
    "search",
    "export",
    "settings page",
    "dashboard",
    "import",
    "mail template",
    "sidebar",
    "invoice list",
    "user menu",
    "calendar",
    "help text",
    "API client",
    "chart",
];
const PLACES: [&str; 9] = [
    "on mobile",
    "for guests",
    "in the admin area",
    "after an update",
    "in dark mode",
    "with long names",
    "behind a proxy",
    "for large projects",
    "in old browsers",
];
/// 2025-01-06T08:00:00Z in seconds.
const START: i64 = 1_736_150_400;
/// Seconds between two work items.
const STEP: i64 = 97;

/// Adds `count` work items to the first project, and some of them to its cycles and modules.
pub(crate) fn work_items(world: &mut World, count: usize) {
    let Some(project) = world.projects.iter().next() else {
        return;
    };
    let (project, first) = (project.id, project.last_number + 1);
    let mut maker = Maker::new(world, project);
    if maker.people.is_empty() || maker.states.is_empty() {
        return;
    }
    world.items.reserve(count);
    for (index, number) in (0..count).zip(first..) {
        let item = maker.item(index, number);
        maker.join(world, &item);
        world.items.add(item);
    }
    if let Some(project) = world.projects.any_mut(project) {
        project.last_number += whole(count);
    }
}

fn whole(number: usize) -> i64 {
    i64::try_from(number).unwrap_or_default()
}

/// The values of a project that its work items are generated from.
struct Maker {
    chance: RandomNumbers,
    project: Id,
    workspace: Id,
    people: Vec<Id>,
    labels: Vec<Id>,
    /// The states, and whether a work item in the state is completed.
    states: Vec<(Id, bool)>,
    cycles: Vec<Id>,
    modules: Vec<Id>,
    /// The last `sort_order` of each state.
    orders: HashMap<Id, f64>,
    previous: Option<Id>,
}

impl Maker {
    fn new(world: &World, project: Id) -> Self {
        let members = world.project_members.of(project).filter(|member| member.active && member.role >= MEMBER);
        let states = world.states.of(project).filter(|state| !state.hidden());
        let mut orders: HashMap<Id, f64> = HashMap::new();
        for item in world.items.of(project) {
            let order = orders.entry(item.state).or_insert(0.0);
            *order = order.max(item.sort_order);
        }
        Self {
            chance: RandomNumbers::new(0x5eed),
            project,
            workspace: world.projects.any(project).map(|project| project.workspace).unwrap_or_default(),
            people: members.map(|member| member.user).collect(),
            labels: world.labels.of(project).map(|label| label.id).collect(),
            states: states.map(|state| (state.id, state.group == "completed")).collect(),
            cycles: world.cycles.of(project).map(|cycle| cycle.id).collect(),
            modules: world.modules.of(project).map(|module| module.id).collect(),
            orders,
            previous: None,
        }
    }

    /// Returns the next work item. Each random draw affects the later ones, so their order must stay.
    fn item(&mut self, index: usize, number: i64) -> Item {
        let id = Uuid::new_v5(&self.project, format!("item {number}").as_bytes());
        let (created_at, updated_at) = self.times(index);
        let (state, done) = self.chance.pick(&self.states);
        let order = self.orders.entry(state).or_insert(55_535.0);
        *order += 10_000.0;
        let sort_order = *order;
        let (start_date, target_date) = self.days(created_at);
        let chance = &mut self.chance;
        let name = format!("{} {} {}", chance.pick(&VERBS), chance.pick(&THINGS), chance.pick(&PLACES));
        let author = chance.pick(&self.people);
        Item {
            id,
            project: self.project,
            workspace: self.workspace,
            created_at,
            updated_at,
            created_by: Some(author),
            updated_by: chance.once_in(2).then_some(author),
            deleted_at: None,
            description_html: format!("<p>{name} ({number}).</p>"),
            name,
            priority: chance.pick(&PRIORITIES),
            point: None,
            start_date,
            target_date,
            sequence_id: number,
            sort_order,
            completed_at: done.then_some(updated_at),
            archived_at: None,
            is_draft: false,
            external: if chance.once_in(10) {
                External { source: Some("import".to_owned()), id: Some(format!("old-{number}")) }
            } else {
                External::default()
            },
            parent: self.previous.replace(id).filter(|_| chance.once_in(8)),
            state,
            estimate_point: None,
            type_id: None,
            assignees: some(chance, &self.people),
            labels: some(chance, &self.labels),
        }
    }

    /// Creation and change of a work item. Some pairs are created at the same instant, as imports do.
    fn times(&mut self, index: usize) -> (Timestamp, Timestamp) {
        let step = if index % 250 == 1 { index - 1 } else { index };
        let created = Timestamp::from_second(START + whole(step) * STEP).unwrap_or_default();
        let later = whole(self.chance.below(30 * 86_400)).seconds().microseconds(whole(index));
        (created, created.checked_add(later).unwrap_or(created))
    }

    /// First and last day of a work item. Half of the items have a first day, and half of these a last day.
    fn days(&mut self, created: Timestamp) -> (Option<Date>, Option<Date>) {
        let day = TimeZone::UTC.to_datetime(created).date();
        let start = self.chance.once_in(2).then_some(day);
        let target = start.filter(|_| self.chance.once_in(2)).and_then(|start| {
            let days = whole(self.chance.below(40));
            start.checked_add(days.days()).ok()
        });
        (start, target)
    }

    /// Sometimes adds a work item to a cycle or module.
    fn join(&mut self, world: &mut World, item: &Item) {
        let stamp = Stamp {
            created_at: item.created_at,
            updated_at: item.created_at,
            created_by: item.created_by,
            updated_by: None,
        };
        if !self.cycles.is_empty() && self.chance.once_in(5) {
            world.cycle_items.add(CycleItem {
                id: Uuid::new_v5(&item.id, b"cycle"),
                cycle: self.chance.pick(&self.cycles),
                item: item.id,
                project: item.project,
                workspace: item.workspace,
                stamp: stamp.clone(),
                deleted_at: None,
            });
        }
        if !self.modules.is_empty() && self.chance.once_in(4) {
            world.module_items.add(ModuleItem {
                id: Uuid::new_v5(&item.id, b"module"),
                module: self.chance.pick(&self.modules),
                item: item.id,
                project: item.project,
                workspace: item.workspace,
                stamp,
                deleted_at: None,
            });
        }
    }
}

/// Returns up to two entries of a list, in the list's order.
fn some(chance: &mut RandomNumbers, list: &[Id]) -> Vec<Id> {
    let mut picked: Vec<usize> =
        (0..chance.below(3)).filter(|_| !list.is_empty()).map(|_| chance.below(list.len())).collect();
    picked.sort_unstable();
    picked.dedup();
    picked.into_iter().map(|index| list[index]).collect()
}
