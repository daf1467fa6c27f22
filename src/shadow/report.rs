//! Results of all comparisons, for operators.
//!
//! May use: `migration` (dates), `store` (rows), this folder.

use super::found::Outcome;
use crate::migration::date;
use crate::store::{ShadowCount, ShadowDifference, Store, StoreError};
use jiff::Timestamp;
use serde::Serialize;
use std::collections::BTreeMap;

/// Results for the reads of one operation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Line {
    /// The operation.
    pub operation: String,
    /// Reads with the same answer on both sides.
    pub equal: i64,
    /// Reads with different answers.
    pub different: i64,
    /// Reads whose answers cannot be compared.
    pub not_comparable: i64,
    /// Reads that were dropped.
    pub dropped: i64,
    /// Reads that the other side did not answer.
    pub failed: i64,
}

/// A difference in the form for operators.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReportedDifference {
    pub operation: String,
    pub place: String,
    /// Value or kind in the gateway's answer.
    pub ours: String,
    /// Value or kind in the other side's answer.
    pub theirs: String,
    pub requests: i64,
    pub first: String,
    pub last: String,
}

/// The report.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The first day with counts; none when nothing was compared.
    pub since: Option<String>,
    /// Results by operation, the ones with most differences first.
    pub operations: Vec<Line>,
    /// Differences, those seen last first.
    pub differences: Vec<ReportedDifference>,
}

impl Report {
    /// Reads the report from `store`.
    pub async fn read(store: &Store) -> Result<Self, StoreError> {
        let counts = store.shadow_counts().await?;
        Ok(Self::of(&counts, &store.shadow_differences().await?))
    }

    fn of(counts: &[ShadowCount], differences: &[ShadowDifference]) -> Self {
        let mut lines: BTreeMap<&str, Line> = BTreeMap::new();
        for count in counts {
            let line = lines.entry(&count.operation).or_default();
            line.operation.clone_from(&count.operation);
            let sum = match count.outcome.parse() {
                Ok(Outcome::Equal) => &mut line.equal,
                Ok(Outcome::Different) => &mut line.different,
                Ok(Outcome::NotComparable) => &mut line.not_comparable,
                Ok(Outcome::Dropped) => &mut line.dropped,
                Ok(Outcome::Failed) => &mut line.failed,
                Err(_) => continue,
            };
            *sum += count.requests;
        }
        let mut operations: Vec<Line> = lines.into_values().collect();
        operations.sort_by_key(|line| std::cmp::Reverse(line.different));
        let told = |found: &ShadowDifference| ReportedDifference {
            operation: found.operation.clone(),
            place: found.place.clone(),
            ours: found.ours.clone(),
            theirs: found.theirs.clone(),
            requests: found.requests,
            first: instant(found.first_at),
            last: instant(found.last_at),
        };
        Self {
            since: counts.iter().map(|count| count.day).min().map(date),
            operations,
            differences: differences.iter().map(told).collect(),
        }
    }
}

/// Formats a time to the second, in UTC.
fn instant(micros: i64) -> String {
    let second = Timestamp::from_second(micros.div_euclid(1_000_000));
    second.map_or_else(|_| micros.to_string(), |second| second.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shadow::text::text;

    #[test]
    fn the_report_adds_days_up_and_fits_a_terminal() {
        let count = |day, outcome: &str, requests| ShadowCount {
            day,
            operation: "states_list".into(),
            outcome: outcome.into(),
            requests,
        };
        let difference = ShadowDifference {
            operation: "states_list".into(),
            place: "/data/*/name".into(),
            ours: "a\u{1b}[2J".into(),
            theirs: "x".repeat(200),
            requests: 2,
            first_at: 0,
            last_at: 1_700_000_000_000_000,
        };
        let counts = [count(20_779, "equal", 3), count(20_780, "equal", 4), count(20_780, "different", 2)];
        let report = Report::of(&counts, &[difference]);
        assert_eq!((report.operations[0].equal, report.operations[0].different), (7, 2));
        let shown = text(&report);
        assert!(
            shown.contains("Compared since 2026-11-22.") && shown.contains("last 2023-11-14T22:13:20Z"),
            "{shown}"
        );
        assert!(shown.lines().all(|line| line.chars().count() <= 100) && !shown.contains('\u{1b}'), "{shown}");
        assert!(text(&Report::default()).contains("Nothing was compared yet"));
    }
}
