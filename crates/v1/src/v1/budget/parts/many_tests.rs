//! Tests with many keys: a new key costs a check of itself, not of all other keys. May use: this folder.

use super::*;
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

const WINDOW: Duration = Duration::from_secs(60);
const KNOWN: usize = 2_000;
const NEW: usize = 50;

/// A table that only this process writes.
struct Table {
    members: Members,
    rows: Mutex<HashMap<String, i64>>,
    changes: AtomicUsize,
    statements: AtomicUsize,
}

impl Ledger for Table {
    fn me(&self) -> Uuid {
        Uuid::from_u128(1)
    }

    fn members(&self) -> Option<Members> {
        Some(self.members.clone())
    }

    fn mark(&self, _: bool) {}

    fn exchange(&self, changes: Vec<Change>, _: i64) -> Pin<Box<dyn Future<Output = Option<Seen>> + Send + '_>> {
        self.statements.fetch_add(1, Relaxed);
        self.changes.fetch_add(changes.len(), Relaxed);
        let mut rows = self.rows.lock();
        let written = changes.into_iter().map(|change| {
            let version = rows.entry(change.name.clone()).or_insert(change.version);
            *version += 1;
            (change.name, *version)
        });
        let seen = Seen { now: 1_000_000, written: written.collect(), rows: Vec::new() };
        Box::pin(std::future::ready(Some(seen)))
    }
}

/// Keys in use, and the number of checks of a key's demand.
#[derive(Default)]
struct Keys {
    all: Mutex<HashMap<String, Demand>>,
    looks: AtomicUsize,
}

impl Lanes for Arc<Keys> {
    fn demands(&self) -> HashMap<String, Demand> {
        let all = self.all.lock().clone();
        self.looks.fetch_add(all.len(), Relaxed);
        all
    }

    fn demand(&self, name: &str) -> Demand {
        self.looks.fetch_add(1, Relaxed);
        self.all.lock().get(name).copied().unwrap_or_default()
    }

    fn told(&self, _: &str, _: usize, _: usize) {}

    fn grown(&self, _: &str) {}
}

#[tokio::test(start_paused = true)]
async fn a_new_key_gets_its_part_at_once_and_costs_no_look_at_all_others() {
    let me = Uuid::from_u128(1);
    let living = HashSet::from([me, Uuid::from_u128(2)]);
    let members = Members { living, all_know: true, all_divide: true };
    let table = Arc::new(Table {
        members,
        rows: Mutex::default(),
        changes: AtomicUsize::new(0),
        statements: AtomicUsize::new(0),
    });
    let (held, keys) = (Arc::<Held>::default(), Arc::<Keys>::default());
    let lanes = Arc::clone(&keys);
    let work = divide(
        Arc::clone(&table) as Arc<dyn Ledger>,
        Arc::clone(&held),
        WINDOW,
        || 2,
        move || Some(Arc::clone(&lanes)),
    );
    tokio::spawn(work);
    let use_key = |number: usize| {
        let (name, demand) = (format!("key {number}"), Demand { used: 0, waiting: 1, quota: 60, learned: 0 });
        keys.all.lock().insert(name.clone(), demand);
        held.ask(&name);
        name
    };
    for number in 0..KNOWN {
        use_key(number);
    }
    sleep(Duration::from_secs(20)).await;
    let part = |name: &str| held.calls(name, 60, 2).expect("parts count");
    assert!((0..KNOWN).all(|number| part(&format!("key {number}")) > 0));
    let (looks, changes, begun) = (keys.looks.load(Relaxed), table.changes.load(Relaxed), Instant::now());
    for number in KNOWN..KNOWN + NEW {
        let (name, asked) = (use_key(number), Instant::now());
        while part(&name) == 0 {
            sleep(Duration::from_millis(1)).await;
        }
        assert!(asked.elapsed() < Duration::from_millis(100), "{name} waited {:?}", asked.elapsed());
    }
    let (looks, changes) = (keys.looks.load(Relaxed) - looks, table.changes.load(Relaxed) - changes);
    // All keys are checked once a second, and each written row is checked once more.
    let seconds = begun.elapsed().as_secs() as usize + 1;
    assert!(looks <= 2 * seconds * (KNOWN + NEW) + 10 * NEW, "{looks} looks for {NEW} new keys in {seconds} s");
    assert!(changes <= 2 * NEW, "{changes} rows were written");
}
