//! The pools of the surface: what is served, read and sent at once, by kind of request.
//!
//! A stranger can make a gateway busy with the pass-through, with tokens or with pages; the pools are apart, so
//! that none of these takes a place from v2. In each, reading a body has places of its own: a request that still waits
//! for its body holds no place of those that are served.
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

/// Deliveries of v1's webhooks at once. Half of it is more than their door lets wait for bodies, so that none finds too
/// little room.
const HINTS: usize = 256;

/// Time for which a pool may be full until the gateway says that it is not ready.
const FULL: Duration = Duration::from_secs(5);

const V2: &str = "/api/v2/";

const V1: &str = "/api/v1/";

pub(super) fn is_v2(path: &str) -> bool {
    path.starts_with(V2) || path == V2.trim_end_matches('/')
}

pub(super) fn is_pass_through(path: &str) -> bool {
    path.starts_with(V1)
}

/// Kinds of requests, each with pools of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    V2,
    /// What goes through to v1.
    PassThrough,
    /// The authorization server.
    OAuth,
    /// Documentation, and paths where there is nothing.
    Pages,
    /// v1's webhooks.
    Hints,
}

/// The two pools of a kind.
#[derive(Debug, Clone)]
pub(super) struct Stages {
    pub(super) served: Pool,
    pub(super) bodies: Pool,
}

/// All pools, and the memory that all share.
#[derive(Debug)]
pub(super) struct Pools {
    v2: Stages,
    pass_through: Stages,
    oauth: Stages,
    pages: Stages,
    hints: Stages,
    /// Answers that are being sent, of all kinds.
    pub(super) answers: Pool,
    pub(super) memory: Memory,
    /// Makes numbers of credentials, others in each process.
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

    /// Places by name of their pool: how many are taken, and how many there are.
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

    /// For whom a request counts that came from `address` with `headers`.
    pub(super) fn asker(&self, address: Option<IpAddr>, headers: &HeaderMap) -> Asker {
        let presented = headers.get(API_KEY).or_else(|| headers.get(AUTHORIZATION));
        Asker::new(address, presented.map(|credential| self.hasher.hash_one(credential.as_bytes())))
    }

    /// Whether v2 has been full for longer than a moment, so that a balancer should ask another process.
    pub(super) fn exhausted(&self) -> bool {
        [&self.v2.served, &self.v2.bodies, &self.answers].iter().any(|pool| pool.full_for(FULL))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Place, Reservation};
    use crate::settings::Settings;

    /// What one request that is passed through takes of the memory.
    const PASSING: usize = 128 * 1024;

    fn attacker(last: u8) -> Asker {
        Asker::new(Some(IpAddr::from([10, 0, 0, last])), None)
    }

    /// Fifty clients with one credential, each from an address of its own.
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
