//! Saving as the real v1 does it. A write loads a row and works for a while. Then it saves every column of the row
//! as it was loaded, with its own change applied. All changes that other writes saved meanwhile are lost, deletes and
//! archiving included. A check made when the row was loaded, such as for a free external pair, may no longer hold
//! when it is saved. People and labels of a work item, and people of a module, are separate rows at v1, so they
//! are saved only when they were sent.
//!
//! The sandbox does this only on request, because most tests need one result, not one of several. May use: this folder.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;

use crate::records::chance::mixed;
use crate::records::kinds::{Comment, Cycle, Item, Label, Module, State};
use crate::records::store::World;
use crate::records::table::{Id, Row, Table};

/// Time that writes take between loading and saving.
#[derive(Debug)]
pub(crate) struct Pace {
    seed: u64,
    longest: Duration,
    writes: AtomicU64,
}

impl Pace {
    /// Creates times up to `longest`, in an order that `seed` decides.
    pub(crate) fn new(seed: u64, longest: Duration) -> Self {
        Self { seed, longest, writes: AtomicU64::new(0) }
    }

    /// Returns the time of the next write.
    pub(crate) fn next(&self) -> Duration {
        let turn = self.writes.fetch_add(1, Ordering::Relaxed);
        let share = mixed(self.seed ^ mixed(turn)) >> 32;
        self.longest.mul_f64(share as f64 / f64::from(u32::MAX))
    }
}

/// A row that a view is about to change.
pub(crate) trait Watched {
    /// Undoes the view's change of the row; returns the row to save later.
    fn hold(self: Box<Self>, world: &mut World) -> Option<Box<dyn Held>>;
}

/// A row that is saved later.
pub(crate) trait Held: Send {
    /// Saves all columns of the row.
    fn save(self: Box<Self>, world: &mut World, now: Timestamp);
}

/// Watches the row that a write is going to load, or the table to which it adds a row when the path names no row.
pub(crate) type Saved = fn(Id, &mut World) -> Box<dyn Watched>;

pub(crate) fn states(id: Id, world: &mut World) -> Box<dyn Watched> {
    Box::new(watched::<State>(|world| &mut world.states, |own, _, _, at| own.stamp.updated_at = at, id, world))
}

pub(crate) fn labels(id: Id, world: &mut World) -> Box<dyn Watched> {
    Box::new(watched::<Label>(|world| &mut world.labels, |own, _, _, at| own.stamp.updated_at = at, id, world))
}

pub(crate) fn cycles(id: Id, world: &mut World) -> Box<dyn Watched> {
    Box::new(watched::<Cycle>(|world| &mut world.cycles, |own, _, _, at| own.stamp.updated_at = at, id, world))
}

pub(crate) fn modules(id: Id, world: &mut World) -> Box<dyn Watched> {
    Box::new(watched::<Module>(|world| &mut world.modules, finish_module, id, world))
}

pub(crate) fn items(id: Id, world: &mut World) -> Box<dyn Watched> {
    let watch = watched::<Item>(|world| &mut world.items, finish_item, id, world);
    if id.is_nil() { Box::new(NewItem(watch)) } else { Box::new(watch) }
}

pub(crate) fn comments(id: Id, world: &mut World) -> Box<dyn Watched> {
    Box::new(watched::<Comment>(|world| &mut world.comments, |own, _, _, at| own.stamp.updated_at = at, id, world))
}

type Tables<T> = fn(&mut World) -> &mut Table<T>;
/// Completes a row before it is saved: `own` is saved, `before` was loaded, `now` is the present row.
type Finish<T> = fn(own: &mut T, before: &T, now: &T, at: Timestamp);

struct Watch<T> {
    table: Tables<T>,
    finish: Finish<T>,
    before: Option<T>,
    rows: usize,
}

struct Hold<T> {
    table: Tables<T>,
    finish: Finish<T>,
    before: Option<T>,
    after: T,
}

fn watched<T: Row + Clone>(table: Tables<T>, finish: Finish<T>, id: Id, world: &mut World) -> Watch<T> {
    let rows = table(world);
    Watch { table, finish, before: rows.any(id).cloned(), rows: rows.len() }
}

impl<T: Row + Clone> Watch<T> {
    fn take(self, world: &mut World) -> Option<Hold<T>> {
        let rows = (self.table)(world);
        let after = match &self.before {
            Some(before) => {
                let after = rows.any(before.id()).cloned();
                rows.put(before.clone());
                after
            }
            None if rows.len() > self.rows => rows.take_last(),
            None => None,
        };
        Some(Hold { table: self.table, finish: self.finish, before: self.before, after: after? })
    }
}

impl<T: Row + Clone + Send + 'static> Watched for Watch<T> {
    fn hold(self: Box<Self>, world: &mut World) -> Option<Box<dyn Held>> {
        Some(Box::new(self.take(world)?))
    }
}

impl<T: Row + Clone + Send> Held for Hold<T> {
    fn save(self: Box<Self>, world: &mut World, now: Timestamp) {
        world.revision += 1;
        let rows = (self.table)(world);
        let Self { mut after, before, finish, .. } = *self;
        match before {
            Some(before) => {
                let there = rows.any(before.id()).cloned();
                finish(&mut after, &before, there.as_ref().unwrap_or(&before), now);
                rows.put(after);
            }
            None => rows.add(after),
        }
    }
}

/// A new work item. Its number is the next one when it is created, and counts as used only when it is saved.
struct NewItem(Watch<Item>);

impl Watched for NewItem {
    fn hold(self: Box<Self>, world: &mut World) -> Option<Box<dyn Held>> {
        let held = self.0.take(world)?;
        let number = held.after.sequence_id;
        if let Some(project) = world.projects.get_mut(held.after.project)
            && project.last_number == number
        {
            project.last_number -= 1;
        }
        Some(Box::new(NumberedItem(held)))
    }
}

struct NumberedItem(Hold<Item>);

impl Held for NumberedItem {
    fn save(self: Box<Self>, world: &mut World, now: Timestamp) {
        let (project, number) = (self.0.after.project, self.0.after.sequence_id);
        if let Some(project) = world.projects.get_mut(project) {
            project.last_number = project.last_number.max(number);
        }
        Box::new(self.0).save(world, now);
    }
}

fn finish_module(own: &mut Module, before: &Module, now: &Module, at: Timestamp) {
    own.stamp.updated_at = at;
    if own.members == before.members {
        own.members.clone_from(&now.members);
    }
}

fn finish_item(own: &mut Item, before: &Item, now: &Item, at: Timestamp) {
    own.updated_at = at;
    if own.assignees == before.assignees {
        own.assignees.clone_from(&now.assignees);
    }
    if own.labels == before.labels {
        own.labels.clone_from(&now.labels);
    }
}
