//! The runtime's clock for `governor`, so that tests with a stopped clock hold the limits too. May use: nothing of
//! this crate.

use governor::clock::Clock;
use std::time::Instant;

/// The clock of the runtime; the system's outside of one.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RuntimeClock;

impl Clock for RuntimeClock {
    type Instant = Instant;

    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }
}
