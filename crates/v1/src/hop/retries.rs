//! What may be repeated at all. May use: nothing of this crate.

use std::sync::atomic::{AtomicI64, Ordering};

/// Repetitions that may be made at once after a time without any.
const AT_ONCE: i64 = 10;
/// Calls that earn one repetition.
const CALLS: i64 = 10;

/// What may be repeated at all: one call in ten, so that repeating never doubles the load of a v1 that fails.
#[derive(Debug)]
pub struct Retries(AtomicI64);

impl Default for Retries {
    fn default() -> Self {
        Self(AtomicI64::new(AT_ONCE * CALLS))
    }
}

impl Retries {
    /// A call is made that is no repetition.
    pub fn earn(&self) {
        if self.0.load(Ordering::Relaxed) < AT_ONCE * CALLS {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether one more repetition may be made, which is counted then.
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
