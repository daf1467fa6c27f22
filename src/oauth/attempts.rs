//! Limit for failed attempts to prove a key, and for registrations of apps, by client address.
//!
//! Both are counted in memory, in a bounded number of one-minute windows. So guessing is slow, and many addresses
//! cannot fill the memory.
//!
//! May use: `cache`, `network`.

use crate::cache::{Bounds, Cache};
use crate::network::network;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Time for which attempts count, from the first one.
pub const WINDOW: Duration = Duration::from_secs(60);
const ADDRESSES: u64 = 20_000;

/// Counts attempts by address.
#[derive(Debug, Clone)]
pub struct Attempts {
    allowed: usize,
    counts: Cache<IpAddr, Arc<AtomicUsize>>,
}

impl Attempts {
    /// Creates a counter that allows `allowed` attempts in a window.
    pub fn new(allowed: usize) -> Self {
        let counts = Cache::new(Bounds::of(ADDRESSES).for_time(WINDOW));
        Self { allowed, counts }
    }

    /// Counts an attempt before it is made, so that concurrent attempts cannot exceed the limit. Give the attempt back
    /// with [`Attempts::succeeded`]. Returns false when no attempt is left.
    pub fn take(&self, address: IpAddr) -> bool {
        let count = self.counts.get_or_insert(network(address), Arc::default);
        let more = |count: usize| (count < self.allowed).then_some(count + 1);
        count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// Gives an attempt back: it was not a guess.
    pub fn succeeded(&self, address: IpAddr) {
        if let Some(count) = self.counts.get(&network(address)) {
            let less = |count: usize| Some(count.saturating_sub(1));
            let _ = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_count_by_network_and_successes_do_not() {
        let attempts = Attempts::new(2);
        let (one, neighbour): (IpAddr, IpAddr) = ("2001:db8::1".parse().unwrap(), "2001:db8::2".parse().unwrap());
        for _ in 0..5 {
            assert!(attempts.take(one));
            attempts.succeeded(one);
        }
        // A refused attempt is no guess either.
        assert!(attempts.take(one) && attempts.take(one) && !attempts.take(one) && !attempts.take(one));
        for _ in 0..2 {
            attempts.succeeded(one);
        }
        assert!(attempts.take(one) && attempts.take(neighbour) && !attempts.take(one));
        assert!(attempts.take("10.0.0.1".parse().unwrap()));
    }
}
