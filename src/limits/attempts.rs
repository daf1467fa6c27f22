//! Attempts without a valid credential, by address.
//!
//! Every 401 takes a slot of its address. When none is left, the answer is 429, and until the next slot is free
//! credentials that were never proven are refused without asking v1, so that nobody can guess keys or have this
//! gateway call v1 without end. Credentials that were proven before are let through all the same: one broken
//! client must not lock out the others behind its address. Processes that share a Redis count together. May use:
//! `cache`, `network`, `refusal`, `tally`, `buckets`, `together`.

use super::buckets::{Buckets, CredentialId, limited};
use super::together::Together;
use crate::cache::{Bounds, Cache};
use crate::network::network;
use crate::refusal::Refusal;
use crate::tally::Counter;
use sha2::{Digest, Sha256};
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;
use tokio::time::Instant;

/// Credentials remembered as proven, and addresses remembered as refused.
const REMEMBERED: u64 = 100_000;
/// How long a proven credential is known after its last use.
const KNOWN: Duration = Duration::from_secs(86_400);

pub struct Attempts {
    buckets: Option<Buckets<IpAddr>>,
    refused: Cache<IpAddr, Instant>,
    proven: Cache<CredentialId, ()>,
    within: Counter,
    beyond: Counter,
    together: Option<Together>,
}

impl Attempts {
    /// So many attempts a minute and address; 0 is no limit.
    pub(super) fn new(limit: u32) -> Self {
        Self {
            buckets: Buckets::new(limit),
            refused: Cache::new(Bounds::of(REMEMBERED)),
            proven: Cache::new(Bounds::of(REMEMBERED).while_used_within(KNOWN)),
            within: Counter::default(),
            beyond: Counter::default(),
            together: None,
        }
    }

    /// The same, counted by all processes together.
    pub(super) fn counted_in(self, together: Together) -> Self {
        Self { together: Some(together), ..self }
    }

    /// Whether a request with this credential may be looked at; none when it presents nothing that could be one.
    ///
    /// # Errors
    /// 429 when its address has failed too often and the credential is not known.
    pub fn may_try(&self, address: IpAddr, credential: Option<CredentialId>) -> Result<(), Refusal> {
        if self.buckets.is_none() || credential.is_some_and(|credential| self.proven.contains(&credential)) {
            return Ok(());
        }
        let Some(until) = self.refused.get(&network(address)) else { return Ok(()) };
        match until.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Ok(()),
            wait => {
                self.beyond.add(1);
                Err(too_many(wait))
            }
        }
    }

    /// Failed attempts within the limit of their address, and beyond it.
    pub(super) fn figures(&self) -> (u64, u64) {
        (self.within.get(), self.beyond.get())
    }

    /// The credential is valid.
    pub fn proven(&self, credential: CredentialId) {
        // Looking it up keeps it; writing each time would cost more.
        if self.buckets.is_some() && self.proven.get(&credential).is_none() {
            self.proven.insert(credential, ());
        }
    }

    /// The request was 401, for `refusal`; answers what it gets.
    pub async fn failed(&self, address: IpAddr, credential: Option<CredentialId>, refusal: Refusal) -> Refusal {
        let Some(buckets) = &self.buckets else { return refusal };
        if let Some(credential) = credential {
            self.proven.remove(&credential);
        }
        let network = network(address);
        // Too many addresses at once share one bucket, so that their number cannot fill the memory.
        let bucket = if buckets.is_crowded() { IpAddr::V6(Ipv6Addr::UNSPECIFIED) } else { network };
        let of_all = match &self.together {
            Some(together) => {
                together.take(("unauthenticated", Sha256::digest(bucket.to_string()).into()), buckets.limit()).await
            }
            None => None,
        };
        match of_all.transpose().and_then(|_| buckets.take(&bucket)) {
            Ok(_) => {
                self.within.add(1);
                refusal
            }
            Err(wait) => {
                self.beyond.add(1);
                self.refused.insert(network, Instant::now() + wait);
                too_many(wait)
            }
        }
    }
}

fn too_many(wait: Duration) -> Refusal {
    limited(wait, "Too many requests without a valid credential from this address.".into())
}
