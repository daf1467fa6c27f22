//! The report: how much has moved, who still calls v1, and which v1 operations nobody calls any more.
//!
//! May use: `plan`, this folder.

use super::counts::{Counts, as_date, as_date_or_null};
use super::left::{RemainingOperation, left};
use crate::plan::Plan;
use serde::Serialize;
use std::collections::BTreeMap;

/// Default number of days without a call after which a v1 operation is ready to be switched off.
pub const QUIET: i64 = 14;

/// Calls of one client.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ClientLine {
    /// Product and version.
    pub client: String,
    /// Number of v1 calls.
    pub v1: i64,
    /// Number of v2 calls.
    pub v2: i64,
    /// Day of the last call of v1.
    #[serde(serialize_with = "as_date_or_null")]
    pub last_v1: Option<i64>,
    /// Numbers of v1 and v2 calls by day, the first day first.
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
    /// Number of v1 calls.
    pub v1: i64,
    /// Number of v2 calls.
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
    /// First day with counts; `None` when there are no counts.
    #[serde(serialize_with = "as_date_or_null")]
    pub since: Option<i64>,
    /// Today.
    #[serde(serialize_with = "as_date")]
    pub today: i64,
    /// Number of v1 calls.
    pub v1: i64,
    /// Number of v2 calls.
    pub v2: i64,
    /// Calls by client; the client with the most v1 calls first.
    pub clients: Vec<ClientLine>,
    /// Calls by credential, in the same order.
    pub callers: Vec<CallerLine>,
    /// Operations of v1 that are called.
    pub left: Vec<RemainingOperation>,
    /// v1 operations that were called before, but by nobody in the last `quiet` days, whatever the selection.
    pub ready: Vec<String>,
    /// Number of days without a call that makes an operation `ready`.
    pub quiet: i64,
    /// v1 operations without any call since counting began.
    pub never: Vec<String>,
    /// Operations of v2 that are called.
    pub used: Vec<OperationLine>,
}

impl Report {
    /// Builds the report of `counts`. An operation without a call in `quiet` days is ready to be switched off.
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
        // Calls of all callers count here, also when only some calls are selected.
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

    /// Returns how much has moved, in whole percent; 100 only when no v1 call is left.
    pub fn moved(&self) -> i64 {
        moved(self.v1, self.v2)
    }
}

/// Returns the share of v2 in whole percent, never rounded up to 100.
pub fn moved(v1: i64, v2: i64) -> i64 {
    if v1 + v2 == 0 { 0 } else { v2 * 100 / (v1 + v2) }
}
