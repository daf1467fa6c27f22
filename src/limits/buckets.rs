//! One bucket per key, refilled evenly. A client that stays within the limit in every minute is never refused. May use:
//! `refusal`, `settings`, `units`.

use crate::refusal::Refusal;
use crate::settings::RateSettings;
use crate::units::seconds_up;
use governor::clock::Clock;
use governor::middleware::StateInformationMiddleware;
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};
use std::hash::Hash;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The time over which requests are counted.
const MINUTE: Duration = Duration::from_secs(60);
/// Number of requests between two clean-ups that drop the buckets of keys that are no longer used.
const ROUND: usize = 4096;
/// Number of buckets from which a new key shares a bucket.
const MANY: usize = 100_000;

/// The clock of the runtime, so that tests can stop it; the system's clock outside of a runtime.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RuntimeClock;

impl Clock for RuntimeClock {
    type Instant = Instant;

    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }
}

/// SHA-256 of a credential as it was presented.
pub type CredentialId = [u8; 32];

/// Kinds of credentials, each with its own limit (O15).
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Class {
    /// A v1 API key of a person.
    ApiKey,
    /// A token of the authorization server.
    #[strum(serialize = "oauth")]
    OAuth,
    /// A key for one workspace.
    Workspace,
    /// A key of a service.
    Service,
    /// A token from elsewhere.
    External,
}

impl Class {
    pub const ALL: [Self; 5] = [Self::ApiKey, Self::OAuth, Self::Workspace, Self::Service, Self::External];

    /// Returns the name of the setting, which is also the name of the policy in headers.
    pub fn name(self) -> &'static str {
        self.into()
    }

    pub(super) fn rate(self, settings: &RateSettings) -> u32 {
        match self {
            Self::ApiKey => settings.api_key,
            Self::OAuth => settings.oauth,
            Self::Workspace => settings.workspace,
            Self::Service => settings.service,
            Self::External => settings.external,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RemainingQuota {
    pub remaining: u32,
    /// Time until the bucket is full again.
    pub reset: Duration,
}

pub(super) fn limited(wait: Duration, detail: String) -> Refusal {
    Refusal::RateLimited { retry_after: seconds_up(wait).max(1), detail }
}

type Limiter<K> = RateLimiter<K, HashMapStateStore<K>, RuntimeClock, StateInformationMiddleware>;

pub(super) struct Buckets<K: Hash + Eq + Clone> {
    limiter: Limiter<K>,
    limit: NonZeroU32,
    taken: AtomicUsize,
}

impl<K: Hash + Eq + Clone> Buckets<K> {
    /// Creates buckets of `limit` requests a minute; none for 0, which means no limit.
    pub(super) fn new(limit: u32) -> Option<Self> {
        let limit = NonZeroU32::new(limit)?;
        let limiter = RateLimiter::hashmap_with_clock(Quota::per_minute(limit), RuntimeClock);
        Some(Self { limiter: limiter.with_middleware(), limit, taken: AtomicUsize::new(0) })
    }

    /// Returns buckets of `limit` requests a minute: `before` when they have this size, otherwise new ones.
    pub(super) fn resized(before: Option<&Arc<Self>>, limit: u32) -> Option<Arc<Self>> {
        match before {
            Some(before) if before.limit() == limit => Some(Arc::clone(before)),
            _ => Self::new(limit).map(Arc::new),
        }
    }

    pub(super) fn limit(&self) -> u32 {
        self.limit.get()
    }

    /// Returns the time in which one slot comes back.
    fn interval(&self) -> Duration {
        MINUTE / self.limit.get()
    }

    /// Returns the time until a bucket is full whose next slot is free in `wait`.
    pub(super) fn full_after(&self, wait: Duration) -> Duration {
        wait + self.interval() * (self.limit.get() - 1)
    }

    /// Returns the state of a bucket in which `remaining` slots are left.
    pub(super) fn left(&self, remaining: u32) -> RemainingQuota {
        RemainingQuota { remaining, reset: self.interval() * self.limit.get().saturating_sub(remaining) }
    }

    /// Takes one slot of the bucket of `key`; an error is the time to the next slot.
    pub(super) fn take(&self, key: &K) -> Result<RemainingQuota, Duration> {
        self.drop_idle();
        match self.limiter.check_key(key) {
            Ok(state) => Ok(self.left(state.remaining_burst_capacity())),
            Err(not_until) => Err(not_until.wait_time_from(RuntimeClock.now())),
        }
    }

    /// Drops full buckets now and then: a full bucket is equal to no bucket.
    fn drop_idle(&self) {
        let taken = self.taken.fetch_add(1, Ordering::Relaxed);
        if taken % ROUND == ROUND - 1 {
            self.limiter.retain_recent();
            self.limiter.shrink_to_fit();
        }
    }

    /// Checks whether too many buckets are in use for new keys to get their own.
    pub(super) fn is_crowded(&self) -> bool {
        self.limiter.len() >= MANY
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.limiter.len()
    }
}
