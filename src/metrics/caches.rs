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
        family(Kind::Gauge, "causeway_cache_entries", "Entries, by cache", |of| of.entries as f64),
        family(Kind::Gauge, "causeway_cache_weight", "Weight of the entries, in the unit of their cache", |of| {
            of.weight as f64
        }),
        family(Kind::Counter, "causeway_cache_hits", "Reads answered from the cache", |of| of.hits as f64),
        family(
            Kind::Counter,
            "causeway_cache_hit_age_seconds",
            "Sum of the ages of the values in these hits; divided by the hits it is the average age",
            |of| of.hit_age.as_secs_f64(),
        ),
        family(
            Kind::Counter,
            "causeway_cache_reads",
            "Reads started because the cache had no usable value",
            |of| of.reads as f64,
        ),
        family(Kind::Counter, "causeway_cache_evictions", "Entries evicted to make room", |of| of.evicted as f64),
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
        counter("causeway_index_builds", "Started builds of an index", figures.builds),
        counter("causeway_index_refreshes", "Started reads of changes", figures.refreshes),
        counter(
            "causeway_index_heard_refreshes",
            "Refreshes from answers that another gateway process had read, without a call of v1",
            figures.heard,
        ),
    ]
}

pub(super) fn store(store: &Store) -> Vec<Family> {
    let (used, (open, idle)) = (store.engine().used(), store.engine().connections());
    let writable = if store.engine().is_writable() { 1.0 } else { 0.0 };
    let uses = [("statement", &used.statements), ("read", &used.reads), ("write", &used.writes)];
    let connections = [("used", open.saturating_sub(idle) as f64), ("idle", idle as f64)];
    vec![
        Family::new(Kind::Counter, "causeway_store_uses", "Statements and transactions at the store, by kind")
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
        gauge(
            "causeway_store_writable",
            "0 while the store can only be read or cannot be used, and after a write that found its disk full; else 1",
            writable,
        ),
    ]
}
