//! Use of v1's quota: calls by credential and operation, for the operator.
//!
//! Credentials are shown as the beginning of their SHA-256. May use: `context`.

use crate::context::{Priority, Spender};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

/// Largest number of separate pairs of credential and operation; further pairs are counted together.
const MOST: usize = 10_000;

/// The spender of all calls on the pass-through.
static PASS_THROUGH: LazyLock<Spender> = LazyLock::new(|| named("pass_through"));

/// Calls made since the last report, by credential and operation.
#[derive(Debug, Default)]
pub struct SpentCalls(Mutex<HashMap<Spender, u64>>);

/// Calls of one credential for one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// The credential and the operation.
    pub spender: Spender,
    /// Number of calls.
    pub calls: u64,
}

impl SpentCalls {
    /// Counts a call of the gateway itself.
    pub(super) fn add(&self, spender: Option<&Spender>, priority: Priority) {
        let spender = spender.cloned().unwrap_or_else(|| {
            named(match priority {
                Priority::Index => "index",
                Priority::Read | Priority::Write => "proof",
            })
        });
        tracing::debug!(
            credential = format_args!("{:016x}", spender.credential),
            operation = &*spender.operation,
            ?priority,
            "a v1 call is spent"
        );
        self.count(spender);
    }

    /// Counts a call on the pass-through.
    pub(super) fn add_foreign(&self) {
        self.count(PASS_THROUGH.clone());
    }

    fn count(&self, spender: Spender) {
        let mut by = self.0.lock();
        let known = by.len() < MOST || by.contains_key(&spender);
        let spender = if known { spender } else { named("other") };
        *by.entry(spender).or_default() += 1;
    }

    /// Returns the calls since this method was last called, the largest share first.
    pub fn since_last_report(&self) -> Vec<Share> {
        let spent = std::mem::take(&mut *self.0.lock());
        let mut shares: Vec<Share> = spent.into_iter().map(|(spender, calls)| Share { spender, calls }).collect();
        shares.sort_by(|a, b| b.calls.cmp(&a.calls).then_with(|| a.spender.operation.cmp(&b.spender.operation)));
        shares
    }
}

fn named(operation: &str) -> Spender {
    Spender { credential: 0, operation: Arc::from(operation) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ada(operation: &str) -> Spender {
        Spender { credential: 7, operation: operation.into() }
    }

    #[test]
    fn calls_are_counted_by_credential_and_operation_and_reported_once() {
        let spent = SpentCalls::default();
        for operation in ["states_list", "labels_list", "states_list"] {
            spent.add(Some(&ada(operation)), Priority::Read);
        }
        spent.add(None, Priority::Index);
        let shares = spent.since_last_report();
        assert_eq!(shares[0], Share { spender: ada("states_list"), calls: 2 });
        assert_eq!(shares.iter().map(|share| share.calls).sum::<u64>(), 4);
        assert!(spent.since_last_report().is_empty());
    }

    #[test]
    fn the_table_is_bounded() {
        let spent = SpentCalls::default();
        for credential in 0..2 * MOST as u64 {
            spent.add(Some(&Spender { credential, ..ada("x") }), Priority::Read);
        }
        let shares = spent.since_last_report();
        assert!(shares.len() <= MOST + 1);
        assert_eq!(shares.iter().map(|share| share.calls).sum::<u64>(), 2 * MOST as u64);
    }
}
