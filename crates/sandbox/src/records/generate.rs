//! Many work items for the first project: varied, and the same in every run. Uses the store and the
//! record types.

use std::collections::HashMap;

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use uuid::Uuid;

use crate::door::auth::MEMBER;
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
/// Seconds from one work item to the next.
const STEP: i64 = 97;

/// A small generator of even numbers in the sense of chance (splitmix64).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end.max(1)).unwrap_or(1)).unwrap_or_default()
    }

    fn pick<'t>(&mut self, list: &[&'t str]) -> &'t str {
        list[self.below(list.len())]
    }

    /// True once in `times` calls.
    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// Adds `count` work items to the first project, and a part of them to its cycles and modules.
pub(crate) fn work_items(world: &mut World, count: usize) {
    let Some(project) = world.projects.iter().next() else {
        return;
    };
    let (project, workspace, first) = (project.id, project.workspace, project.last_number + 1);
    let members = world.project_members.of(project);
    let people: Vec<Id> = members.filter(|m| m.active && m.role >= MEMBER).map(|m| m.user).collect();
    let labels: Vec<Id> = world.labels.of(project).map(|label| label.id).collect();
    let states: Vec<(Id, bool)> = world
        .states
        .of(project)
        .filter(|state| !state.hidden())
        .map(|state| (state.id, state.group == "completed"))
        .collect();
    if people.is_empty() || states.is_empty() {
        return;
    }
    let cycles: Vec<Id> = world.cycles.of(project).map(|cycle| cycle.id).collect();
    let modules: Vec<Id> = world.modules.of(project).map(|module| module.id).collect();
    let mut orders: HashMap<Id, f64> = HashMap::new();
    for item in world.items.of(project) {
        let order = orders.entry(item.state).or_insert(0.0);
        *order = order.max(item.sort_order);
    }
    let mut chance = Chance(0x5eed);
    let mut previous: Option<Id> = None;
    world.items.reserve(count);
    for index in 0..count {
        let number = first + i64::try_from(index).unwrap_or_default();
        let id = Uuid::new_v5(&project, format!("item {number}").as_bytes());
        // Now and then two are made at the same instant, as imports do.
        let step = if index % 250 == 1 { index - 1 } else { index };
        let at = i64::try_from(step);
        let second = START + at.unwrap_or_default() * STEP;
        let created = Timestamp::from_second(second).unwrap_or_default();
        let later = i64::try_from(chance.below(30 * 86_400)).unwrap_or_default();
        let updated = created
            .checked_add(later.seconds())
            .and_then(|at| at.checked_add(i64::try_from(index).unwrap_or_default().microseconds()))
            .unwrap_or(created);
        let (state, done) = states[chance.below(states.len())];
        let order = orders.entry(state).or_insert(55_535.0);
        *order += 10_000.0;
        let start = TimeZone::UTC.to_datetime(created).date();
        let start = chance.once_in(2).then_some(start);
        let target = start.filter(|_| chance.once_in(2));
        let target = target.and_then(|start| {
            let days = i64::try_from(chance.below(40)).unwrap_or_default();
            start.checked_add(days.days()).ok()
        });
        let name = format!("{} {} {}", chance.pick(&VERBS), chance.pick(&THINGS), chance.pick(&PLACES));
        let author = people[chance.below(people.len())];
        let item = Item {
            id,
            project,
            workspace,
            created_at: created,
            updated_at: updated,
            created_by: Some(author),
            updated_by: chance.once_in(2).then_some(author),
            deleted_at: None,
            description_html: format!("<p>{name} ({number}).</p>"),
            name,
            priority: PRIORITIES[chance.below(PRIORITIES.len())],
            point: None,
            start_date: start,
            target_date: target,
            sequence_id: number,
            sort_order: *order,
            completed_at: done.then_some(updated),
            archived_at: None,
            is_draft: false,
            external: if chance.once_in(10) {
                External { source: Some("import".to_owned()), id: Some(format!("old-{number}")) }
            } else {
                External::default()
            },
            parent: previous.filter(|_| chance.once_in(8)),
            state,
            estimate_point: None,
            type_id: None,
            assignees: some(&mut chance, &people),
            labels: some(&mut chance, &labels),
        };
        join(world, &mut chance, &item, &cycles, &modules);
        previous = Some(id);
        world.items.add(item);
    }
    if let Some(project) = world.projects.any_mut(project) {
        project.last_number += i64::try_from(count).unwrap_or_default();
    }
}

/// Up to two entries of a list, in the list's order.
fn some(chance: &mut Chance, list: &[Id]) -> Vec<Id> {
    let mut picked: Vec<usize> =
        (0..chance.below(3)).filter(|_| !list.is_empty()).map(|_| chance.below(list.len())).collect();
    picked.sort_unstable();
    picked.dedup();
    picked.into_iter().map(|index| list[index]).collect()
}

/// Puts a work item into a cycle or module once in a while.
fn join(world: &mut World, chance: &mut Chance, item: &Item, cycles: &[Id], modules: &[Id]) {
    let stamp = Stamp {
        created_at: item.created_at,
        updated_at: item.created_at,
        created_by: item.created_by,
        updated_by: None,
    };
    if !cycles.is_empty() && chance.once_in(5) {
        world.cycle_items.add(CycleItem {
            id: Uuid::new_v5(&item.id, b"cycle"),
            cycle: cycles[chance.below(cycles.len())],
            item: item.id,
            project: item.project,
            workspace: item.workspace,
            stamp: stamp.clone(),
            deleted_at: None,
        });
    }
    if !modules.is_empty() && chance.once_in(4) {
        world.module_items.add(ModuleItem {
            id: Uuid::new_v5(&item.id, b"module"),
            module: modules[chance.below(modules.len())],
            item: item.id,
            project: item.project,
            workspace: item.workspace,
            stamp,
            deleted_at: None,
        });
    }
}
