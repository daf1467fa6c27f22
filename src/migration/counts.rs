//! The wanted counts and the callers behind them; and days. A day is a number since 1970 in the program, and a date in
//! the output for people and programs.
//!
//! May use: `plan`, `store`.

use crate::plan::Plan;
use crate::store::{Store, StoreError, UsageCaller, UsageRow};
use jiff::{Span, civil};
use serde::{Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};

/// Selection of counts.
#[derive(Debug, Clone, Default)]
pub struct CountSelection {
    /// Number of last days, today included; all days when absent.
    pub days: Option<i64>,
    /// Only this client.
    pub client: Option<String>,
    /// Only this caller: a fingerprint, or the name of a person.
    pub caller: Option<String>,
    /// Only this operation of v1 or v2.
    pub operation: Option<String>,
}

/// Counts and their callers.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// Counts.
    pub rows: Vec<UsageRow>,
    /// Day of the last call of each v1 operation by any caller, whatever the selection.
    pub last_calls: BTreeMap<String, i64>,
    v1: BTreeSet<String>,
    callers: BTreeMap<String, UsageCaller>,
}

impl Counts {
    /// Reads the selected counts.
    pub async fn read(store: &Store, plan: &Plan, wanted: &CountSelection, today: i64) -> Result<Self, StoreError> {
        let since = wanted.days.map_or(0, |days| today - days + 1);
        let callers = store.usage_callers().await?.into_iter().map(|caller| (caller.fingerprint.clone(), caller));
        let mut counts = Self { rows: store.usage().await?, callers: callers.collect(), ..Self::default() };
        counts.v1 = counts.rows.iter().map(|row| &row.operation).filter(|id| is_v1(plan, id)).cloned().collect();
        for row in counts.rows.iter().filter(|row| counts.v1.contains(&row.operation)) {
            let last = counts.last_calls.entry(row.operation.clone()).or_insert(row.day);
            *last = row.day.max(*last);
        }
        let of = |wanted: &Option<String>, value: &str| wanted.as_ref().is_none_or(|wanted| wanted == value);
        let Self { rows, callers, .. } = &mut counts;
        rows.retain(|row| {
            let person = callers.get(&row.caller).map_or("", |caller| caller.person.as_str());
            row.day >= since
                && of(&wanted.client, &row.client)
                && of(&wanted.operation, &row.operation)
                && (of(&wanted.caller, &row.caller) || of(&wanted.caller, person))
        });
        Ok(counts)
    }

    /// Checks whether an operation is one of v1.
    pub fn is_v1(&self, operation: &str) -> bool {
        self.v1.contains(operation)
    }

    /// Returns the caller behind a fingerprint.
    pub fn caller(&self, fingerprint: &str) -> Option<&UsageCaller> {
        self.callers.get(fingerprint)
    }
}

fn is_v1(plan: &Plan, operation: &str) -> bool {
    // An operation that the mappings no longer have was counted under its own name.
    let is_gone = || operation.starts_with("v1_") && plan.operation(operation).is_none();
    operation.starts_with("v1 ") || plan.v1.by_id(operation).is_some() || is_gone()
}

/// Returns the date of a day, such as `2026-11-22`.
pub fn date(day: i64) -> String {
    let date = Span::new().try_days(day).ok().and_then(|span| civil::date(1970, 1, 1).checked_add(span).ok());
    date.map_or_else(|| day.to_string(), |date| date.to_string())
}

pub(super) fn as_date<S: Serializer>(day: &i64, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&date(*day))
}

/// Serializes a day as its date; null when there is none.
pub(super) fn as_date_or_null<S: Serializer>(day: &Option<i64>, to: S) -> Result<S::Ok, S::Error> {
    day.map(date).serialize(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_a_date() {
        assert_eq!((date(0).as_str(), date(20_779).as_str()), ("1970-01-01", "2026-11-22"));
    }
}
