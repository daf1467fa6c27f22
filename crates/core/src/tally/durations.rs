//! Durations, counted in steps (a histogram).
//!
//! May use: this folder.

use super::counter::Counter;
use std::time::Duration;

/// Upper bounds of the steps in microseconds: from an answer out of memory to the longest request.
const BOUNDS: [u64; 14] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 5_000_000, 30_000_000,
];

/// A histogram of durations.
#[derive(Debug, Default)]
pub struct Durations {
    steps: [Counter; BOUNDS.len() + 1],
    micros: Counter,
}

/// The content of [`Durations`].
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// Upper bound of each step in seconds, and the number of durations in it; the last has no bound.
    pub steps: Vec<(f64, u64)>,
    /// Number of all durations.
    pub count: u64,
    /// Sum of all durations in seconds.
    pub sum: f64,
}

impl Durations {
    /// Counts one duration.
    pub fn add(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let step = BOUNDS.iter().position(|bound| micros <= *bound).unwrap_or(BOUNDS.len());
        self.steps[step].add(1);
        self.micros.add(micros);
    }

    /// Returns the content.
    pub fn spread(&self) -> Spread {
        let bounds = BOUNDS.iter().map(|micros| *micros as f64 / 1e6).chain([f64::INFINITY]);
        let steps: Vec<(f64, u64)> = bounds.zip(self.steps.iter().map(Counter::get)).collect();
        let count = steps.iter().map(|(_, count)| count).sum();
        Spread { steps, count, sum: self.micros.get() as f64 / 1e6 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_counted_in_steps() {
        let durations = Durations::default();
        for micros in [0, 100, 101, 40_000_000] {
            durations.add(Duration::from_micros(micros));
        }
        let spread = durations.spread();
        assert_eq!((spread.count, spread.steps.len()), (4, 15));
        let counted: Vec<u64> = spread.steps.iter().map(|(_, count)| *count).collect();
        assert_eq!((counted[0], counted[1], counted[14]), (2, 1, 1));
        assert!((spread.sum - 40.000201).abs() < 1e-9);
    }
}
