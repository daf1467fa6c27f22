//! Limits attempts without a valid credential, by address.
//!
//! Every 401 takes a slot of its address. When none is left, the answer is 429. Until the next slot is free,
//! credentials that were never proven are refused without asking v1. So a client cannot guess keys, or make this
//! gateway call v1 without end. Credentials that were proven before are still let through: one broken
//! client must not lock out the others behind its address. Processes that share a Redis count together.
//!
//! The proven credentials are noted also where there is no limit: the pass-through asks for the keys that v1 has
//! accepted. May use: `cache`, `network`, `refusal`, `tally`, `buckets`, `together`.

use super::buckets::{Buckets, CredentialId, limited};
use super::together::SharedBuckets;
use crate::cache::{Bounds, Cache};
use crate::network::network;
use crate::refusal::Refusal;
use crate::tally::Counter;
use sha2::{Digest, Sha256};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Credentials remembered as proven, and addresses remembered as refused.
const REMEMBERED: u64 = 100_000;
/// Time for which a proven credential is remembered after its last use.
const KNOWN: Duration = Duration::from_secs(86_400);

#[derive(Clone)]
pub struct Attempts {
    buckets: Option<Arc<Buckets<IpAddr>>>,
    refused: Cache<IpAddr, Instant>,
    proven: Cache<CredentialId, ()>,
    within: Arc<Counter>,
    beyond: Arc<Counter>,
    together: Option<SharedBuckets>,
}

impl Attempts {
    /// Allows `limit` attempts per minute and address; 0 is no limit.
    pub(super) fn new(limit: u32) -> Self {
        Self {
            buckets: Buckets::resized(None, limit),
            refused: Cache::new(Bounds::of(REMEMBERED)),
            proven: Cache::new(Bounds::of(REMEMBERED).while_used_within(KNOWN)),
            within: Arc::default(),
            beyond: Arc::default(),
            together: None,
        }
    }

    /// Returns these attempts with another limit. Proven credentials stay known, and the counts go on.
    pub(super) fn with_limit(&self, limit: u32) -> Self {
        let buckets = Buckets::resized(self.buckets.as_ref(), limit);
        let is_same = limit == self.buckets.as_ref().map_or(0, |buckets| buckets.limit());
        // Refusals by another limit do not count any more.
        let refused = if is_same { self.refused.clone() } else { Cache::new(Bounds::of(REMEMBERED)) };
        Self { buckets, refused, ..self.clone() }
    }

    /// Counts the attempts of all processes together.
    pub(super) fn counted_in(self, together: SharedBuckets) -> Self {
        Self { together: Some(together), ..self }
    }

    /// Checks whether a request may be tried with this credential; `None`: it presents no possible credential.
    ///
    /// # Errors
    /// 429 when the address has failed too often and the credential was never proven.
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

    /// Returns the failed attempts within the limits of their addresses, and the attempts beyond them.
    pub(super) fn figures(&self) -> (u64, u64) {
        (self.within.get(), self.beyond.get())
    }

    /// Notes that the credential is valid.
    pub fn proven(&self, credential: CredentialId) {
        // A lookup already extends the entry's life; writing it each time would cost more.
        if self.proven.get(&credential).is_none() {
            self.proven.insert(credential, ());
        }
    }

    /// Checks whether the credential was proven, and used within the last day. The id of a v1 key is its SHA-256.
    pub fn knows(&self, credential: CredentialId) -> bool {
        self.proven.contains(&credential)
    }

    /// Counts a request that ended with 401 and `refusal`; returns the refusal that the client gets.
    pub async fn failed(&self, address: IpAddr, credential: Option<CredentialId>, refusal: Refusal) -> Refusal {
        if let Some(credential) = credential {
            self.proven.remove(&credential);
        }
        let Some(buckets) = &self.buckets else { return refusal };
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
