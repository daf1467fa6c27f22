//! Figures of v1: calls, its quota, and whether it can be used.
//!
//! May use: `tally`, `v1`, this folder.

use super::family::{Family, Kind};
use crate::tally::Calls;
use crate::v1::{Client, Health};

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
    let mut left = Family::new(
        Kind::Gauge,
        "causeway_v1_budget_calls_left",
        "Calls of v1's quota that are left this minute: to the client's key that has the fewest, and to the \
         gateway's own",
    );
    for (keys, fewest) in [("clients", budget.clients), ("service", budget.service)] {
        if let Some(fewest) = fewest {
            left = left.with(&[("keys", keys)], fewest as f64);
        }
    }
    let waiting =
        Family::new(Kind::Gauge, "causeway_v1_budget_waiting", "Calls that wait for v1's quota, by urgency");
    let lanes = ["write", "read", "index"].into_iter().zip(budget.waiting);
    let waiting = lanes.fold(waiting, |family, (lane, count)| family.with(&[("lane", lane)], count as f64));
    let usable = match client.breaker().health() {
        Health::Unreachable(_) => 0.0,
        Health::Ok | Health::Unknown => 1.0,
    };
    vec![
        Family::new(Kind::Gauge, "causeway_v1_usable", "0 while v1 is not asked because it fails, else 1")
            .with(&[], usable),
        Family::new(Kind::Gauge, "causeway_v1_calls_under_way", "Calls to v1 that are under way")
            .with(&[], places.under_way as f64),
        Family::new(Kind::Gauge, "causeway_v1_calls_waiting", "Calls to v1 that wait for one under way to end")
            .with(&[], places.waiting as f64),
        Family::new(Kind::Gauge, "causeway_v1_calls_limit", "Calls to v1 that may be under way at present")
            .with(&[], places.limit as f64),
        Family::new(Kind::Gauge, "causeway_v1_budget_keys", "Keys whose part of v1's quota is counted at present")
            .with(&[], budget.keys as f64),
        left,
        waiting,
    ]
}
