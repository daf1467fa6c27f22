//! Figures of the caches, the indices and the store.
//!
//! May use: `fresh`, `index`, `store`, this folder.

use super::family::{Family, Kind, counter, gauge};
use crate::fresh::Figures;
use crate::index::Indexes;
use crate::store::Store;

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
