//! Attempts without a valid credential, by address.
//!
//! Every 401 takes a slot of its address. When none is left, the answer is 429, and until the next slot is free
//! credentials that were never proven are refused without asking v1, so that nobody can guess keys or have this
//! gateway call v1 without end. Credentials that were proven before are let through all the same: one broken
//! client must not lock out the others behind its address. May use: `refusal`, `buckets`.

use super::buckets::Buckets;
use super::refused::{CredentialId, limited};
use crate::refusal::Refusal;
use moka::sync::Cache;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;
use tokio::time::Instant;

/// Credentials remembered as proven, and addresses remembered as refused.
const REMEMBERED: u64 = 100_000;
/// How long a proven credential is known after its last use.
const KNOWN: Duration = Duration::from_secs(86_400);

/// Attempts of all addresses.
pub struct Attempts {
    buckets: Option<Buckets<IpAddr>>,
    refused: Cache<IpAddr, Instant>,
    proven: Cache<CredentialId, ()>,
}

impl Attempts {
    /// So many attempts a minute and address; 0 is no limit.
    pub(super) fn new(limit: u32) -> Self {
        Self {
            buckets: Buckets::new(limit),
            refused: Cache::new(REMEMBERED),
            proven: Cache::builder().max_capacity(REMEMBERED).time_to_idle(KNOWN).build(),
        }
    }

    /// Whether a request with this credential may be looked at; none when it presents nothing that could be one.
    ///
    /// # Errors
    /// 429 when its address has failed too often and the credential is not known.
    pub fn may_try(&self, address: IpAddr, credential: Option<CredentialId>) -> Result<(), Refusal> {
        if self.buckets.is_none() || credential.is_some_and(|credential| self.proven.contains_key(&credential)) {
            return Ok(());
        }
        let Some(until) = self.refused.get(&network(address)) else { return Ok(()) };
        match until.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Ok(()),
            wait => Err(too_many(wait)),
        }
    }

    /// The credential is valid.
    pub fn proven(&self, credential: CredentialId) {
        // Looking it up keeps it; writing each time would cost more.
        if self.buckets.is_some() && self.proven.get(&credential).is_none() {
            self.proven.insert(credential, ());
        }
    }

    /// The request was 401, for `refusal`; answers what it gets.
    pub fn failed(&self, address: IpAddr, credential: Option<CredentialId>, refusal: Refusal) -> Refusal {
        let Some(buckets) = &self.buckets else { return refusal };
        if let Some(credential) = credential {
            self.proven.invalidate(&credential);
        }
        let network = network(address);
        // Too many addresses at once share one bucket, so that their number cannot fill the memory.
        let bucket = if buckets.is_crowded() { IpAddr::V6(Ipv6Addr::UNSPECIFIED) } else { network };
        match buckets.take(&bucket) {
            Ok(_) => refusal,
            Err(wait) => {
                self.refused.insert(network, Instant::now() + wait);
                too_many(wait)
            }
        }
    }
}

fn too_many(wait: Duration) -> Refusal {
    limited(wait, "Too many requests without a valid credential from this address.".into())
}

/// What counts as one address: of IPv6 the /64, which is what one subscriber gets.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        v4 => v4,
    }
}
