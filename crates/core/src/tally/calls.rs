//! Calls to v1: their purpose, their outcome and their duration.
//!
//! May use: this folder.

use super::counter::Counter;
use super::durations::Durations;
use std::time::Duration;
use strum::VariantNames;

/// The outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum Outcome {
    /// A success.
    Ok,
    /// 4xx except 429.
    Refused,
    /// 429.
    Throttled,
    /// 5xx.
    Failed,
    /// No answer in time.
    Timeout,
    /// No connection.
    Unreachable,
    /// The connection broke, or the answer could not be used.
    Broken,
    /// The client left before the answer to its passed-through call.
    Left,
}

impl Outcome {
    /// Returns the outcome for the status of an answer.
    pub fn of_status(status: u16) -> Self {
        match status {
            429 => Self::Throttled,
            400..=499 => Self::Refused,
            500..=599 => Self::Failed,
            _ => Self::Ok,
        }
    }
}

/// Purposes of calls that are made for no operation.
const OTHERS: [&str; 3] = ["gateway", "index", "pass_through"];

/// The purpose of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Called {
    /// An operation, by its position.
    Operation(u16),
    /// The gateway itself, such as proofs that several requests share.
    Gateway,
    /// Building or refreshing an index.
    Index,
    /// A client, on the pass-through.
    PassThrough,
}

/// Calls to v1 by purpose and outcome.
#[derive(Debug)]
pub struct Calls {
    operations: Vec<String>,
    counts: Vec<[Counter; Outcome::VARIANTS.len()]>,
    /// Durations of the gateway's own reads and writes, and of the pass-through.
    reads: Durations,
    writes: Durations,
    passing: Durations,
}

impl Calls {
    /// Creates the counters for operations of these names.
    pub fn new(operations: Vec<String>) -> Self {
        let counts = (0..operations.len() + OTHERS.len()).map(|_| Default::default()).collect();
        let (reads, writes, passing) = Default::default();
        Self { operations, counts, reads, writes, passing }
    }

    /// Counts a call that has ended.
    pub fn add(&self, called: Called, read: bool, outcome: Outcome, took: Duration) {
        let known = self.operations.len();
        let row = match called {
            Called::Operation(operation) if usize::from(operation) < known => usize::from(operation),
            Called::Operation(_) | Called::Gateway => known,
            Called::Index => known + 1,
            Called::PassThrough => known + 2,
        };
        self.counts[row][outcome as usize].add(1);
        match called {
            Called::PassThrough => self.passing.add(took),
            _ if read => self.reads.add(took),
            _ => self.writes.add(took),
        }
    }

    /// Returns purpose, outcome and count of the calls, where there were any.
    pub fn rows(&self) -> impl Iterator<Item = (&str, &'static str, u64)> {
        let names = self.operations.iter().map(String::as_str).chain(OTHERS);
        let rows = names.zip(&self.counts).flat_map(|(name, counts)| {
            Outcome::VARIANTS.iter().zip(counts).map(move |(outcome, count)| (name, *outcome, count.get()))
        });
        rows.filter(|(_, _, count)| *count > 0)
    }

    /// Returns the durations by kind.
    pub fn durations(&self) -> [(&'static str, &Durations); 3] {
        [("read", &self.reads), ("write", &self.writes), ("pass_through", &self.passing)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_what_they_were_for() {
        let calls = Calls::new(vec!["states_list".into()]);
        let took = Duration::from_millis(70);
        calls.add(Called::Operation(0), true, Outcome::of_status(200), took);
        calls.add(Called::Operation(7), true, Outcome::Timeout, took);
        calls.add(Called::PassThrough, false, Outcome::of_status(429), took);
        let expected = [("states_list", "ok", 1), ("gateway", "timeout", 1), ("pass_through", "throttled", 1)];
        assert_eq!(calls.rows().collect::<Vec<_>>(), expected);
        assert_eq!(
            calls.durations().map(|(name, took)| (name, took.spread().count)),
            [("read", 2), ("write", 0), ("pass_through", 1)]
        );
    }
}
