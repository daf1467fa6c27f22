//! The report: how much has moved, who still calls v1, and what of v1 nobody calls any more.
//!
//! May use: `plan`, this folder.

use super::counts::{Counts, as_date, as_date_or_null};
use super::left::{Left, left};
use crate::plan::Plan;
use serde::Serialize;
use std::collections::BTreeMap;

/// Days without a call after which an operation of v1 is ready to be switched off, unless others are given.
pub const QUIET: i64 = 14;

/// Calls of one client.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ClientLine {
    /// Product and version.
    pub client: String,
    /// Calls of v1.
    pub v1: i64,
    /// Calls of v2.
    pub v2: i64,
    /// Day of the last call of v1.
    #[serde(serialize_with = "as_date_or_null")]
    pub last_v1: Option<i64>,
    /// Calls of v1 and v2 by day, the first day first.
    pub days: Vec<(i64, i64)>,
}

/// Calls with one credential.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CallerLine {
    /// Fingerprint of the credential.
    pub fingerprint: String,
    /// Kind of credential; empty when it is not known.
    pub kind: String,
    /// The person.
    pub person: String,
    /// Title of the key, or name of the app.
    pub title: String,
    /// Calls of v1.
    pub v1: i64,
    /// Calls of v2.
    pub v2: i64,
    /// Day of the last call of v1.
    #[serde(serialize_with = "as_date_or_null")]
    pub last_v1: Option<i64>,
}

/// Calls of one operation of v2.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OperationLine {
    pub operation: String,
    pub calls: i64,
}

/// The report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// First day with counts; none when there are none.
    #[serde(serialize_with = "as_date_or_null")]
    pub since: Option<i64>,
    /// Today.
    #[serde(serialize_with = "as_date")]
    pub today: i64,
    /// Calls of v1.
    pub v1: i64,
    /// Calls of v2.
    pub v2: i64,
    /// Calls by client, those with most calls of v1 first.
    pub clients: Vec<ClientLine>,
    /// Calls by credential, in the same order.
    pub callers: Vec<CallerLine>,
    /// Operations of v1 that are called.
    pub left: Vec<Left>,
    /// Operations of v1 that were called once, and by nobody for so many days, whatever part of the calls is wanted.
    pub ready: Vec<String>,
    /// The number of days that counts for `ready`.
    pub quiet: i64,
    /// Operations of v1 that nobody has called since counting began.
    pub never: Vec<String>,
    /// Operations of v2 that are called.
    pub used: Vec<OperationLine>,
}

impl Report {
    /// Of `counts`; an operation that was not called in `quiet` days is ready to be switched off.
    pub fn of(plan: &Plan, counts: &Counts, today: i64, quiet: i64) -> Self {
        let since = counts.rows.iter().map(|row| row.day).min();
        let (mut clients, mut callers) = (BTreeMap::new(), BTreeMap::new());
        let mut used: BTreeMap<&str, i64> = BTreeMap::new();
        let first = since.unwrap_or(today);
        let days = usize::try_from(today - first + 1).unwrap_or(1).clamp(1, 3660);
        for row in &counts.rows {
            let v1 = counts.is_v1(&row.operation);
            let client: &mut ClientLine = clients.entry(row.client.as_str()).or_insert_with(|| ClientLine {
                client: row.client.clone(),
                days: vec![(0, 0); days],
                ..ClientLine::default()
            });
            let caller: &mut CallerLine = callers.entry(row.caller.as_str()).or_insert_with(|| {
                let known = counts.caller(&row.caller).cloned();
                let (kind, person, title) =
                    known.map(|known| (known.kind, known.person, known.title)).unwrap_or_default();
                CallerLine { fingerprint: row.caller.clone(), kind, person, title, ..CallerLine::default() }
            });
            let day = usize::try_from(row.day - first).ok().and_then(|day| client.days.get_mut(day));
            if v1 {
                client.v1 += row.calls;
                caller.v1 += row.calls;
                client.last_v1 = client.last_v1.max(Some(row.day));
                caller.last_v1 = caller.last_v1.max(Some(row.day));
            } else {
                client.v2 += row.calls;
                caller.v2 += row.calls;
                *used.entry(&row.operation).or_default() += row.calls;
            }
            if let Some(day) = day {
                *(if v1 { &mut day.0 } else { &mut day.1 }) += row.calls;
            }
        }
        let mut clients: Vec<ClientLine> = clients.into_values().collect();
        clients.sort_by(|a, b| (b.v1, b.v2, &a.client).cmp(&(a.v1, a.v2, &b.client)));
        let mut callers: Vec<CallerLine> = callers.into_values().collect();
        callers.sort_by(|a, b| (b.v1, b.v2, &a.fingerprint).cmp(&(a.v1, a.v2, &b.fingerprint)));
        let left = left(plan, counts);
        // Who else calls an operation counts, also where only some of the calls are wanted.
        let quietly = counts.last_calls.iter().filter(|(_, last)| **last <= today - quiet);
        let ready = quietly.map(|(operation, _)| operation.clone()).collect();
        let uncalled = plan.v1.all().iter().filter(|row| row.served && !counts.last_calls.contains_key(&row.id));
        let never = uncalled.map(|row| row.id.clone()).collect();
        let mut used: Vec<OperationLine> = used
            .into_iter()
            .map(|(operation, calls)| OperationLine { operation: operation.into(), calls })
            .collect();
        used.sort_by(|a, b| (b.calls, &a.operation).cmp(&(a.calls, &b.operation)));
        let sum = |of: fn(&ClientLine) -> i64| clients.iter().map(of).sum();
        let (v1, v2) = (sum(|client| client.v1), sum(|client| client.v2));
        Self { since, today, v1, v2, clients, callers, left, ready, quiet, never, used }
    }

    /// How much has moved, in whole percent: all only when nothing is left.
    pub fn moved(&self) -> i64 {
        moved(self.v1, self.v2)
    }
}

/// Share of v2 in whole percent, never rounded up to all.
pub fn moved(v1: i64, v2: i64) -> i64 {
    if v1 + v2 == 0 { 0 } else { v2 * 100 / (v1 + v2) }
}
