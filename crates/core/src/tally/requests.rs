//! Requests of clients: their number per operation, and the status, source and duration of their answers.
//!
//! May use: this folder.

use super::counter::Counter;
use super::durations::Durations;
use super::labels::{Kind, STATUSES, Source, class};
use std::time::Duration;
use strum::VariantNames;

/// Requests by operation, status and source.
#[derive(Debug)]
pub struct Requests {
    /// Names of the operations, and whether their records are the gateway's own.
    operations: Vec<(String, bool)>,
    counts: Vec<[[Counter; Source::VARIANTS.len()]; STATUSES.len()]>,
    took: Vec<Durations>,
}

/// Requests of one operation that were answered alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row<'r> {
    /// The operation, or the kind of a request that is no operation.
    pub operation: &'r str,
    /// Class of the status.
    pub status: &'static str,
    /// Source of the answers.
    pub source: &'static str,
    /// Number of requests.
    pub count: u64,
}

impl Requests {
    /// Creates counters for these operations: their names, and whether their records are the gateway's own.
    pub fn new(operations: Vec<(String, bool)>) -> Self {
        let rows = operations.len() + Kind::VARIANTS.len();
        let (counts, took) = ((0..rows).map(|_| Default::default()), (0..rows).map(|_| Durations::default()));
        Self { counts: counts.collect(), took: took.collect(), operations }
    }

    /// Checks whether these are the operations that are counted.
    pub fn are_for(&self, operations: &[(String, bool)]) -> bool {
        self.operations == operations
    }

    /// Checks whether the records of an operation are the gateway's own.
    pub fn is_own(&self, operation: u16) -> bool {
        self.operations.get(usize::from(operation)).is_some_and(|(_, own)| *own)
    }

    /// Counts a request that has ended, under `operation` by its position, or else under `kind`.
    pub fn add(&self, operation: Option<u16>, kind: Kind, status: Option<u16>, source: Source, took: Duration) {
        let row = self.row(operation, kind);
        self.counts[row][class(status)][source as usize].add(1);
        self.took[row].add(took);
    }

    /// Returns the name of an operation, or of the kind when it is no operation.
    pub fn name_of(&self, operation: Option<u16>, kind: Kind) -> &str {
        self.name(self.row(operation, kind))
    }

    fn row(&self, operation: Option<u16>, kind: Kind) -> usize {
        let known = operation.map(usize::from).filter(|operation| *operation < self.operations.len());
        known.unwrap_or(self.operations.len() + kind as usize)
    }

    fn name(&self, row: usize) -> &str {
        match self.operations.get(row) {
            Some((name, _)) => name,
            None => Kind::VARIANTS[row - self.operations.len()],
        }
    }

    /// Returns all counts.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        let rows = self.counts.iter().enumerate().flat_map(|(row, statuses)| {
            let operation = self.name(row);
            STATUSES.into_iter().zip(statuses).flat_map(move |(status, sources)| {
                let counted = Source::VARIANTS.iter().zip(sources);
                counted.map(move |(source, count)| Row { operation, status, source, count: count.get() })
            })
        });
        rows.filter(|row| row.count > 0)
    }

    /// Returns the durations by operation, also of operations without any.
    pub fn durations(&self) -> impl Iterator<Item = (&str, &Durations)> {
        self.took.iter().enumerate().map(|(row, took)| (self.name(row), took))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_what_they_were() {
        let requests = Requests::new(vec![("states_list".into(), false), ("types_list".into(), true)]);
        let took = Duration::from_millis(1);
        requests.add(Some(0), Kind::Unknown, Some(200), Source::Cache, took);
        requests.add(Some(0), Kind::Unknown, Some(204), Source::Cache, took);
        requests.add(None, Kind::PassThrough, None, Source::V1, took);
        // An unknown operation counts as no operation.
        requests.add(Some(9), Kind::Unknown, Some(503), Source::Nothing, took);
        let row = |operation, status, source, count| Row { operation, status, source, count };
        let expected = [
            row("states_list", "2xx", "cache", 2),
            row("pass_through", "left", "v1", 1),
            row("unknown", "5xx", "none", 1),
        ];
        assert_eq!(requests.rows().collect::<Vec<_>>(), expected);
        assert!(requests.is_own(1) && !requests.is_own(0) && !requests.is_own(9));
        let counted = requests.durations().filter(|(_, took)| took.spread().count > 0);
        assert_eq!(counted.map(|(name, _)| name).collect::<Vec<_>>(), ["states_list", "pass_through", "unknown"]);
    }
}
