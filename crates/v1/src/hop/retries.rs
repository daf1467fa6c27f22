//! A limit for the number of retries. May use: nothing of this crate.

use std::sync::atomic::{AtomicI64, Ordering};

/// Retries that may be made in a row after a time without any.
const AT_ONCE: i64 = 10;
/// Number of calls that earn one retry.
const CALLS: i64 = 10;

/// Budget of retries: one for ten calls, so that retries never double the load of a failing v1.
#[derive(Debug)]
pub struct Retries(AtomicI64);

impl Default for Retries {
    fn default() -> Self {
        Self(AtomicI64::new(AT_ONCE * CALLS))
    }
}

impl Retries {
    /// Counts a call that is not a retry.
    pub fn earn(&self) {
        if self.0.load(Ordering::Relaxed) < AT_ONCE * CALLS {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Takes one retry from the budget. Returns false when none is left.
    pub fn take(&self) -> bool {
        let spend = |left: i64| (left >= CALLS).then_some(left - CALLS);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_call_in_ten_is_repeated() {
        let retries = Retries::default();
        let mut repeated = 0;
        for _ in 0..1000 {
            retries.earn();
            repeated += i64::from(retries.take());
        }
        assert!((100..=100 + AT_ONCE).contains(&repeated), "{repeated}");
    }
}
