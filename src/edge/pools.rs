//! The pools of the HTTP surface: limits of concurrent requests, bodies and answers, by kind of request.
//!
//! A stranger can fill the pools of the pass-through, of tokens or of pages. Pools are separate, so v2 does not lose
//! places by that. In each kind, request bodies have a pool of their own: a request that still waits for its body takes
//! no place from requests that are served.
//!
//! May use: `load`, `settings`.

use crate::load::{Asker, Memory, Pool, Share};
use crate::settings::LimitSettings;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName};
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::time::Duration;

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// Concurrent deliveries of v1's webhooks. A pool limits each client to a share only once half of it is taken. Half of
/// this number is more than the deliveries that may wait for their bodies, so no delivery is rejected for its share.
const HINTS: usize = 256;

/// Time for which a pool may be full before the gateway reports that it is not ready.
const FULL: Duration = Duration::from_secs(5);

const V2: &str = "/api/v2/";

const V1: &str = "/api/v1/";

pub(super) fn is_v2(path: &str) -> bool {
    path.starts_with(V2) || path == V2.trim_end_matches('/')
}

pub(super) fn is_pass_through(path: &str) -> bool {
    path.starts_with(V1)
}

/// Kinds of requests. Each kind has its own pools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    V2,
    /// Requests that are forwarded to v1.
    PassThrough,
    /// The authorization server.
    OAuth,
    /// Documentation, and unknown paths.
    Pages,
    /// Deliveries of v1's webhooks.
    Hints,
}

/// The two pools of a kind: served requests, and requests that wait for their body.
#[derive(Debug, Clone)]
pub(super) struct Stages {
    pub(super) served: Pool,
    pub(super) bodies: Pool,
}

/// All pools, and the memory budget that they share.
#[derive(Debug)]
pub(super) struct Pools {
    v2: Stages,
    pass_through: Stages,
    oauth: Stages,
    pages: Stages,
    hints: Stages,
    /// Pool of answers of all kinds that are being sent.
    pub(super) answers: Pool,
    pub(super) memory: Memory,
    /// Hashes credentials to numbers; the numbers differ in each process.
    hasher: RandomState,
}

impl Pools {
    pub(super) fn new(limits: &LimitSettings, memory: Memory) -> Self {
        let share = Share(limits.share);
        let stages = |size| Stages { served: Pool::new(size, share), bodies: Pool::new(limits.bodies, share) };
        let hints = || Pool::new(HINTS, share);
        Self {
            v2: stages(limits.concurrency),
            pass_through: stages(limits.pass_through),
            oauth: stages(limits.oauth),
            pages: stages(limits.pages),
            hints: Stages { served: hints(), bodies: hints() },
            answers: Pool::new(limits.answers, share),
            memory,
            hasher: RandomState::new(),
        }
    }

    pub(super) fn of(&self, kind: Kind) -> &Stages {
        match kind {
            Kind::V2 => &self.v2,
            Kind::PassThrough => &self.pass_through,
            Kind::OAuth => &self.oauth,
            Kind::Pages => &self.pages,
            Kind::Hints => &self.hints,
        }
    }

    /// Returns per pool its name, the number of taken places, and its size.
    pub(super) fn figures(&self) -> Vec<(&'static str, usize, usize)> {
        let pools = [
            ("v2", &self.v2.served),
            ("v2_bodies", &self.v2.bodies),
            ("pass_through", &self.pass_through.served),
            ("pass_through_bodies", &self.pass_through.bodies),
            ("oauth", &self.oauth.served),
            ("oauth_bodies", &self.oauth.bodies),
            ("pages", &self.pages.served),
            ("pages_bodies", &self.pages.bodies),
            ("hints", &self.hints.served),
            ("hints_bodies", &self.hints.bodies),
            ("answers", &self.answers),
        ];
        pools.map(|(name, pool)| (name, pool.taken(), pool.size())).to_vec()
    }

    /// Returns the client that a request from `address` with `headers` counts for.
    pub(super) fn asker(&self, address: Option<IpAddr>, headers: &HeaderMap) -> Asker {
        let presented = headers.get(API_KEY).or_else(|| headers.get(AUTHORIZATION));
        Asker::new(address, presented.map(|credential| self.hasher.hash_one(credential.as_bytes())))
    }

    /// Checks whether v2 has been full for [`FULL`], so that a load balancer should use another process.
    pub(super) fn exhausted(&self) -> bool {
        [&self.v2.served, &self.v2.bodies, &self.answers].iter().any(|pool| pool.full_for(FULL))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Place, Reservation};
    use crate::settings::Settings;

    /// Memory that one pass-through request takes, in bytes.
    const PASSING: usize = 128 * 1024;

    fn attacker(last: u8) -> Asker {
        Asker::new(Some(IpAddr::from([10, 0, 0, last])), None)
    }

    /// Fifty clients with one credential, each from its own address.
    fn busy() -> impl Iterator<Item = Asker> {
        (0..50).map(|last| Asker::new(Some(IpAddr::from([10, 0, 1, last])), Some(7)))
    }

    fn pools() -> Pools {
        let limits = Settings::default().limits;
        let memory = Memory::new(limits.memory, Share(limits.share));
        Pools::new(&limits, memory)
    }

    #[test]
    fn one_busy_credential_finds_places_for_fifty_while_four_addresses_hold_all_they_can_get() {
        let pools = pools();
        for pool in [
            &pools.v2.served,
            &pools.v2.bodies,
            &pools.pass_through.served,
            &pools.pass_through.bodies,
            &pools.answers,
        ] {
            let take = |last| std::iter::from_fn(move || pool.enter(attacker(last)).ok());
            let _attack: Vec<Place> = (1..=4).flat_map(take).collect();
            let before = pool.taken();
            let held: Vec<Place> = busy().filter_map(|asker| pool.enter(asker).ok()).collect();
            assert_eq!(held.len(), 50, "{before} places were taken");
        }
    }

    #[test]
    fn one_busy_credential_finds_memory_for_fifty_while_four_addresses_hold_all_they_can_get() {
        let memory = pools().memory;
        let take = |last| {
            let memory = &memory;
            std::iter::from_fn(move || memory.reserve(attacker(last), PASSING).ok())
        };
        let _attack: Vec<Reservation> = (1..=4).flat_map(take).collect();
        let before = memory.used();
        let held: Vec<Reservation> = busy().filter_map(|asker| memory.reserve(asker, PASSING).ok()).collect();
        assert_eq!(held.len(), 50, "{before} bytes were taken");
    }
}
