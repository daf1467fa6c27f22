//! Figures of the client side and of v1's webhooks: requests, connections, places, limits, grants and keys.
//!
//! May use: `edge`, `hints`, `limits`, `load`, `oauth`, `retirement`, `shadow`, `tally`, this folder.

use super::family::{Family, Kind, counter, gauge};
use crate::edge::{Stack, Tls};
use crate::hints::HintTally;
use crate::limits::Limits;
use crate::load::Memory;
use crate::oauth::EventKind;
use crate::retirement::Retirement;
use crate::shadow::Tally;
use crate::tally::{Counter, Requests};
use strum::VariantNames;

pub(super) fn requests(requests: &Requests) -> Vec<Family> {
    let mut count = Family::new(
        Kind::Counter,
        "causeway_requests",
        "Requests that have ended, by operation, class of status (left: the client was gone) and where the answer \
         came from",
    );
    for row in requests.rows() {
        let labels = [("operation", row.operation), ("status", row.status), ("source", row.source)];
        count = count.with(&labels, row.count as f64);
    }
    let mut took = Family::new(
        Kind::Histogram,
        "causeway_request_duration_seconds",
        "Time from the arrival of a request to the end of its answer, by operation",
    );
    for (operation, durations) in requests.durations() {
        let spread = durations.spread();
        if spread.count > 0 {
            took = took.with_spread(&[("operation", operation)], spread);
        }
    }
    vec![count, took]
}

pub(super) fn places(stack: &Stack, memory: &Memory, limit: usize) -> Vec<Family> {
    let traffic = stack.traffic();
    let places = stack.places();
    let taken = Family::new(Kind::Gauge, "causeway_places_taken", "Occupied places for requests, by pool");
    let size = Family::new(Kind::Gauge, "causeway_places", "All places for requests, by pool");
    let (open, accepted) = (traffic.open() as f64, traffic.accepted.get());
    let turned_away = traffic.turned_away.get();
    vec![
        gauge("causeway_connections_open", "Connections of clients that are open", open),
        counter("causeway_connections_accepted", "Accepted connections of clients", accepted),
        counter(
            "causeway_connections_turned_away",
            "Connections of clients that were refused because all places were taken",
            turned_away,
        ),
        taken.by("pool", places.iter().map(|(pool, used, _)| (*pool, *used as f64))),
        size.by("pool", places.iter().map(|(pool, _, all)| (*pool, *all as f64))),
        gauge("causeway_memory_used_bytes", "Memory of requests and answers on their way", memory.used() as f64),
        gauge(
            "causeway_memory_limit_bytes",
            "Largest memory of requests and answers on their way (limits.memory)",
            limit as f64,
        ),
    ]
}

pub(super) fn certificate(tls: Option<&Tls>) -> Vec<Family> {
    let family = Family::new(
        Kind::Gauge,
        "causeway_tls_certificate_expiry_timestamp_seconds",
        "Earliest expiry of the certificate of the listener and its chain, in seconds since 1970",
    );
    vec![tls.into_iter().fold(family, |family, tls| family.with(&[], tls.ends_at() as f64))]
}

pub(super) fn limits(limits: &Limits) -> Vec<Family> {
    let mut family = Family::new(
        Kind::Counter,
        "causeway_limited_requests",
        "Requests that were counted against a limit of the gateway (limits.rate), by limit and outcome",
    );
    for (limit, passed, refused) in limits.figures() {
        family = family.with(&[("limit", limit), ("outcome", "passed")], passed as f64);
        family = family.with(&[("limit", limit), ("outcome", "refused")], refused as f64);
    }
    vec![family]
}

pub(super) fn events(events: &[Counter]) -> Vec<Family> {
    let family = Family::new(
        Kind::Counter,
        "causeway_oauth_events",
        "Events of grants, tokens and gateway keys in this process; those of commands are not among them",
    );
    // Only a command mints keys, in a process without metrics.
    let minted = <&str>::from(EventKind::KeyMinted);
    let named = EventKind::VARIANTS.iter().zip(events).filter(|(name, _)| **name != minted);
    vec![family.by("event", named.map(|(name, count)| (*name, count.get() as f64)))]
}

pub(super) fn hints(tally: &HintTally) -> Vec<Family> {
    let family = Family::new(
        Kind::Counter,
        "causeway_hints",
        "Deliveries of v1's webhooks, by what they were about (refused: not signed with a secret of the workspace)",
    );
    vec![family.by("outcome", tally.figures().map(|(name, count)| (name, count as f64)))]
}

pub(super) fn brownouts(retirement: Option<&Retirement>) -> Vec<Family> {
    let mut family = Family::new(
        Kind::Counter,
        "causeway_brownout_requests",
        "Calls of v1 that were in a brownout since the settings were read, by the operation of the window",
    );
    for ((operation, dry_run), count) in retirement.map(Retirement::figures).unwrap_or_default() {
        let outcome = if dry_run { "counted" } else { "refused" };
        family = family.with(&[("operation", operation), ("outcome", outcome)], count as f64);
    }
    vec![family]
}

pub(super) fn compared(tally: &Tally) -> Vec<Family> {
    let family = Family::new(
        Kind::Counter,
        "causeway_shadow_requests",
        "Reads that were to be compared with the deployment's own v2, by outcome",
    );
    vec![family.by("outcome", tally.figures().map(|(name, count)| (name, count as f64)))]
}
