//! A model of v1's list, with writes between any two calls. May use: `refusal`, `translate`, `v2`, this
//! folder.

use super::plain_item;
use crate::index::build::Sizes;
use crate::index::source::{Cut, Mark, Page, Source};
use crate::index::verified::Verified;
use crate::refusal::Refusal;
use crate::translate::work_items::Item;
use crate::v2::time::Micros;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};
use uuid::Uuid;

pub const SMALL: Sizes = Sizes { page: 4, delta: 2 };

pub fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

pub fn content(verified: &Verified) -> Vec<Item> {
    verified.rows.items().collect()
}

/// A write on v1. A number chooses one of the existing items.
#[derive(Debug, Clone, Copy)]
pub enum Write {
    Nothing,
    Create,
    /// Changes an item; `updated_at` is this many milliseconds late (trap 56).
    Update(usize, i64),
    Delete(usize),
    Archive(usize),
    Restore(usize),
    /// Deletes one item and creates one, so that the total stays the same.
    Swap(usize),
}

pub fn writes(most: usize) -> impl Strategy<Value = Vec<Write>> {
    let write = prop_oneof![
        6 => Just(Write::Nothing),
        2 => Just(Write::Create),
        3 => (any::<usize>(), 0..5000_i64).prop_map(|(at, late)| Write::Update(at, late)),
        2 => any::<usize>().prop_map(Write::Delete),
        1 => any::<usize>().prop_map(Write::Archive),
        1 => any::<usize>().prop_map(Write::Restore),
        2 => any::<usize>().prop_map(Write::Swap),
    ];
    proptest::collection::vec(write, 0..most)
}

#[derive(Default)]
pub struct World {
    pub shown: Vec<Item>,
    hidden: Vec<Item>,
    pub clock: Micros,
    numbers: i64,
    coming: VecDeque<Write>,
    pub calls: usize,
    /// Number of calls that compare ids.
    pub sweeps: usize,
    /// The wrong count that the next of these calls returns.
    pub miscount: Option<usize>,
}

/// The double of v1, and the start of our clock.
pub struct Model(Mutex<World>, Instant);

impl Model {
    pub fn of(items: usize) -> Self {
        let model = Self(Mutex::default(), Instant::now());
        (0..items).for_each(|_| model.world().carry_out(Write::Create));
        model
    }

    pub fn world(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap()
    }

    /// The items that v1 shows, by id.
    pub fn truth(&self) -> Vec<Item> {
        let mut items = self.world().shown.clone();
        items.sort_by_key(|item| item.id);
        items
    }

    /// Number of calls since the last call of this method.
    pub fn calls(&self) -> usize {
        std::mem::take(&mut self.world().calls)
    }

    /// Our clock, which runs as v1's does.
    pub fn clock(&self) -> Instant {
        self.1 + Duration::from_micros(self.world().clock as u64)
    }

    /// Carries out writes at once, some time after the previous ones.
    pub fn now(&self, writes: &[Write]) {
        let mut world = self.world();
        world.pause(writes);
        writes.iter().for_each(|write| world.carry_out(*write));
    }

    /// Carries out one of the writes before each of the next calls.
    pub fn meanwhile(&self, writes: &[Write]) {
        let mut world = self.world();
        world.pause(writes);
        world.coming = writes.iter().copied().collect();
    }

    fn call(&self) -> MutexGuard<'_, World> {
        let mut world = self.world();
        world.calls += 1;
        if let Some(write) = world.coming.pop_front() {
            world.carry_out(write);
        }
        world
    }
}

impl World {
    /// Lets time pass, sometimes less than a change may be late.
    fn pause(&mut self, writes: &[Write]) {
        self.clock += [20_000_000, 1_000_000, 4_000_000, 11_000_000][writes.len() % 4];
    }

    pub fn carry_out(&mut self, write: Write) {
        self.clock += 10_000;
        let (now, shown, hidden) = (self.clock, self.shown.len(), self.hidden.len());
        match write {
            Write::Create => self.create(),
            Write::Update(at, late) if shown > 0 => {
                let item = &mut self.shown[at % shown];
                item.updated_at = (now - late * 1000).max(item.updated_at + 1);
                item.name.push('x');
            }
            Write::Delete(at) if shown > 0 => drop(self.shown.remove(at % shown)),
            Write::Archive(at) if shown > 0 => {
                let item = self.shown.remove(at % shown);
                self.hidden.push(Item { updated_at: now, ..item });
            }
            Write::Restore(at) if hidden > 0 => {
                let item = self.hidden.remove(at % hidden);
                self.shown.push(Item { updated_at: now, ..item });
            }
            Write::Swap(at) if shown > 0 => {
                self.shown.remove(at % shown);
                self.create();
            }
            _ => {}
        }
    }

    fn create(&mut self) {
        self.numbers += 1;
        let number = self.numbers;
        let spread = (number as u128).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        self.shown.push(Item {
            name: format!("Item {number}"),
            sequence_id: number,
            // Some items are created at the same instant.
            created_at: self.clock - self.clock % 20_000,
            updated_at: self.clock,
            ..plain_item(Uuid::from_u128(spread))
        });
    }

    fn page<T>(&self, newest: bool, cut: Cut, row: impl Fn(&Item) -> T) -> Page<T> {
        let mut items: Vec<&Item> = self.shown.iter().collect();
        items.sort_by_key(|item| {
            (if newest { -item.updated_at } else { 0 }, item.created_at, item.updated_at, item.id)
        });
        let from = (cut.number * cut.size).min(items.len());
        let to = (from + cut.size).min(items.len());
        Page {
            total: items.len(),
            more: to < items.len(),
            rows: items[from..to].iter().map(|item| row(item)).collect(),
        }
    }
}

impl Source for Model {
    async fn items(&self, cut: Cut) -> Result<Page<Item>, Refusal> {
        tokio::task::yield_now().await;
        Ok(self.call().page(true, cut, Item::clone))
    }

    async fn marks(&self, cut: Cut) -> Result<Page<Mark>, Refusal> {
        tokio::task::yield_now().await;
        self.world().sweeps += 1;
        let miscount = self.world().miscount.take();
        let page = self.call().page(false, cut, |item| Mark { id: item.id, updated_at: item.updated_at });
        Ok(Page { total: miscount.unwrap_or(page.total), ..page })
    }

    async fn record(&self, id: Uuid) -> Result<Option<Item>, Refusal> {
        Ok(self.call().shown.iter().find(|item| item.id == id).cloned())
    }
}
