//! Figures of v1, of what is kept, and of the process; those of the process have the names that Prometheus' own
//! libraries use, and are read from `/proc`: elsewhere there are none but the version.
//!
//! The crates for this bring a registry of their own; reading four lines is less than a second registry.
//!
//! May use: `fresh`, `index`, `store`, `tally`, `v1`, this folder.

use super::family::{Family, Kind, counter, gauge};
use crate::fresh::Figures;
use crate::index::Indexes;
use crate::store::{self, Store, last_step};
use crate::tally::Calls;
use crate::v1::{Client, Health};
use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::sync::LazyLock;

pub(super) fn calls(calls: &Calls) -> Vec<Family> {
    let mut count = Family::new(
        Kind::Counter,
        "causeway_v1_calls",
        "Calls to v1 that have ended, by the operation they were made for and how they ended",
    );
    for (operation, result, number) in calls.rows() {
        count = count.with(&[("operation", operation), ("result", result)], number as f64);
    }
    let mut took = Family::new(
        Kind::Histogram,
        "causeway_v1_call_duration_seconds",
        "Time that calls to v1 took, by kind; of what passes through until the head of the answer",
    );
    for (kind, durations) in calls.durations() {
        took = took.with_spread(&[("kind", kind)], durations.spread());
    }
    vec![count, took]
}

pub(super) fn state(client: &Client) -> Vec<Family> {
    let (budget, places) = (client.budget().figures(), client.concurrency().figures());
    let left = Family::new(
        Kind::Gauge,
        "causeway_v1_budget_calls_left",
        "Calls of v1's quota that are left this minute: to the client's key that has the fewest, and to the \
         gateway's own",
    );
    let fewest = [("clients", budget.clients), ("service", budget.service)].into_iter();
    let waiting =
        Family::new(Kind::Gauge, "causeway_v1_budget_waiting", "Calls that wait for v1's quota, by urgency");
    let lanes = ["write", "read", "index"].into_iter().zip(budget.waiting);
    let usable = match client.breaker().health() {
        Health::Unreachable(_) => 0.0,
        Health::Ok | Health::Unknown => 1.0,
    };
    let (under_way, limit) = (places.under_way as f64, places.limit as f64);
    vec![
        gauge("causeway_v1_usable", "0 while v1 is not asked because it fails, else 1", usable),
        gauge("causeway_v1_calls_under_way", "Calls to v1 that are under way", under_way),
        gauge("causeway_v1_calls_waiting", "Calls to v1 that wait for one under way to end", places.waiting as f64),
        gauge("causeway_v1_calls_limit", "Calls to v1 that may be under way at present", limit),
        gauge("causeway_v1_budget_keys", "Keys whose part of v1's quota is counted at present", budget.keys as f64),
        left.by("keys", fewest.filter_map(|(keys, fewest)| Some((keys, fewest? as f64)))),
        waiting.by("lane", lanes.map(|(lane, count)| (lane, count as f64))),
    ]
}

pub(super) fn caches(caches: &[(&'static str, Figures)]) -> Vec<Family> {
    let family = |kind, name, help, value: fn(&Figures) -> f64| {
        Family::new(kind, name, help).by("cache", caches.iter().map(|(cache, figures)| (*cache, value(figures))))
    };
    vec![
        family(Kind::Gauge, "causeway_cache_entries", "Entries that are kept, by cache", |of| of.entries as f64),
        family(Kind::Gauge, "causeway_cache_weight", "What they weigh, in the unit of their cache", |of| {
            of.weight as f64
        }),
        family(Kind::Counter, "causeway_cache_hits", "Times that what is kept was of use", |of| of.hits as f64),
        family(
            Kind::Counter,
            "causeway_cache_hit_age_seconds",
            "How old it was then, all times together; divided by the hits it is the usual age",
            |of| of.hit_age.as_secs_f64(),
        ),
        family(Kind::Counter, "causeway_cache_reads", "Times that it had to be read anew", |of| of.reads as f64),
        family(Kind::Counter, "causeway_cache_evictions", "Entries that had to make room", |of| of.evicted as f64),
    ]
}

pub(super) fn indexes(indexes: &Indexes) -> Vec<Family> {
    let figures = indexes.figures();
    let oldest = figures.oldest.as_secs_f64();
    vec![
        gauge("causeway_index_lists", "Lists of work items that have an index", figures.indexes as f64),
        gauge("causeway_index_items", "Work items in all indices", figures.items as f64),
        gauge("causeway_index_size_bytes", "Memory that all indices take", figures.bytes as f64),
        gauge("causeway_index_oldest_age_seconds", "Age of the index that was read longest ago", oldest),
        counter("causeway_index_builds", "Builds of an index that were begun", figures.builds),
        counter("causeway_index_refreshes", "Reads of what had changed that were begun", figures.refreshes),
        counter(
            "causeway_index_heard_refreshes",
            "Refreshes by what another gateway process had read, without a call of v1",
            figures.heard,
        ),
    ]
}

pub(super) fn store(store: &Store) -> Vec<Family> {
    let (used, (open, idle)) = (store.engine().used(), store.engine().connections());
    let writable = if store.is_read_only() { 0.0 } else { 1.0 };
    let uses = [("statement", &used.statements), ("read", &used.reads), ("write", &used.writes)];
    let connections = [("used", open.saturating_sub(idle) as f64), ("idle", idle as f64)];
    vec![
        Family::new(
            Kind::Counter,
            "causeway_store_uses",
            "Single statements and transactions that were begun at the store, by kind",
        )
        .by("kind", uses.map(|(kind, count)| (kind, count.get() as f64))),
        Family::new(
            Kind::Histogram,
            "causeway_store_write_wait_seconds",
            "Time that writers waited for their transaction to begin",
        )
        .with_spread(&[], used.waits.spread()),
        Family::new(
            Kind::Gauge,
            "causeway_store_connections",
            "Connections to the store, by whether they are used",
        )
        .by("state", connections),
        gauge("causeway_store_writable", "0 while the store can only be read, else 1", writable),
    ]
}

pub(super) fn process() -> Vec<Family> {
    let schema = last_step(store::Kind::Sqlite).to_string();
    let mut families =
        vec![Family::new(Kind::Gauge, "causeway_build_info", "Always 1; its labels say which version runs").with(
            &[("version", env!("CARGO_PKG_VERSION")), ("commit", env!("BUILT_FROM_COMMIT")), ("schema", &schema)],
            1.0,
        )];
    families.extend(read().unwrap_or_default());
    families
}

fn read() -> Option<Vec<Family>> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in brackets, may hold blanks.
    let rest: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |at: usize| rest.get(at).and_then(|text| text.parse::<f64>().ok());
    let (ticks, page) = (rustix::param::clock_ticks_per_second() as f64, rustix::param::page_size() as f64);
    let files = fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1);
    let mut families = vec![
        Family::new(Kind::Counter, "process_cpu_seconds", "User and system time of the process")
            .with(&[], (number(11)? + number(12)?) / ticks),
        gauge("process_threads", "Threads of the process", number(17)?),
        gauge("process_virtual_memory_bytes", "Virtual memory of the process", number(20)?),
        gauge("process_resident_memory_bytes", "Resident memory of the process", number(21)? * page),
        gauge("process_open_fds", "Files that the process has open", files as f64),
    ];
    if let Some(most) = rustix::process::getrlimit(rustix::process::Resource::Nofile).current {
        families.push(gauge("process_max_fds", "Files that the process may open", most as f64));
    }
    let started = *BOOTED + number(19)? / ticks;
    families.push(gauge("process_start_time_seconds", "When the process started, since 1970", started));
    Some(families)
}

/// When the machine started, since 1970. From the clocks, because the service may see nothing of `/proc` but processes
/// (`ProcSubset=pid`); and once, because they are not read at the same instant, and a figure that moves looks like a restart.
static BOOTED: LazyLock<f64> = LazyLock::new(|| {
    let seconds = |clock| {
        let time = clock_gettime(clock);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    seconds(ClockId::Realtime) - seconds(ClockId::Boottime)
});
