//! Figures of v1: calls, its quota, and whether it can be used.
//!
//! May use: `tally`, `v1`, this folder.

use super::family::{Family, Kind, gauge};
use crate::tally::Calls;
use crate::v1::{Breaker, Client};

pub(super) fn calls(calls: &Calls) -> Vec<Family> {
    let mut count = Family::new(Kind::Counter, "causeway_v1_calls", "Ended calls to v1, by operation and result");
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
    let (budget, places) = (client.budget.figures(), client.concurrency.figures());
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
    let (under_way, limit) = (places.under_way as f64, places.limit as f64);
    vec![
        gauge("causeway_v1_usable", "0 while v1 is not asked because it fails, else 1", usable(&client.breaker)),
        gauge("causeway_v1_calls_under_way", "Calls to v1 that are under way", under_way),
        gauge("causeway_v1_calls_waiting", "Calls to v1 that wait for one under way to end", places.waiting as f64),
        gauge("causeway_v1_calls_limit", "Calls to v1 that may be under way at present", limit),
        gauge("causeway_v1_budget_keys", "Keys whose part of v1's quota is counted at present", budget.keys as f64),
        left.by("keys", fewest.filter_map(|(keys, fewest)| Some((keys, fewest? as f64)))),
        waiting.by("lane", lanes.map(|(lane, count)| (lane, count as f64))),
    ]
}

/// Returns 0 from the failures that open the breaker until v1 gives a good answer. Unlike the health in `/readyz`, this
/// does not change only because nobody asks v1, so that an alert notices an outage with few requests.
fn usable(breaker: &Breaker) -> f64 {
    if breaker.closed_for().is_none() { 1.0 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::{Ended, Health};
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn v1_is_unusable_until_it_answers_however_rarely_it_is_asked() {
        let breaker = Breaker::default();
        while usable(&breaker) > 0.0 {
            breaker.admit(1).unwrap().ended(Ended::Unreachable);
        }
        tokio::time::advance(Duration::from_secs(180)).await;
        assert_eq!((breaker.health(), usable(&breaker)), (Health::Unknown, 0.0));
        breaker.admit(1).unwrap().ended(Ended::Answered);
        assert_eq!((breaker.health(), usable(&breaker)), (Health::Ok, 1.0));
    }
}
