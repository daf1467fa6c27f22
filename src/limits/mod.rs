//! The number of requests per minute of one credential, and of attempts per address without a valid credential.
//!
//! The limit of the contract (chapter 10, O30), built on crate `governor`: one bucket per presented credential, in
//! five classes. It is independent of v1's quota, which belongs to the v1 key behind the credential (`v1::budget`).
//! The class of tokens also has a bucket for the refreshes of each grant, and one for the consents of each person.
//!
//! Several processes count together when they share a Redis (`together`). Each process also counts in its own buckets,
//! so that one process does not grant a slot twice when Redis loses data.
//!
//! May use: `context`, `refusal`, `settings`, `shared`, `tally`, `task`, `units`.

mod account;
mod attempts;
mod buckets;
mod together;

pub use attempts::Attempts;
pub use buckets::{Class, CredentialId};

use crate::context::LimitState;
use crate::refusal::Refusal;
use crate::settings::RateSettings;
use crate::shared::Shared;
use crate::tally::Counter;
use crate::units::seconds_up;
use buckets::{Buckets, limited};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::time::Duration;
use together::SharedBuckets;

/// The limits of all classes, and of attempts without a valid credential.
pub struct Limits {
    classes: [Option<Arc<Buckets<CredentialId>>>; Class::ALL.len()],
    passed: Arc<[Counter; Class::ALL.len()]>,
    refused: Arc<[Counter; Class::ALL.len()]>,
    /// Attempts without a valid credential.
    pub attempts: Attempts,
    together: Option<SharedBuckets>,
}

impl Limits {
    pub fn new(settings: &RateSettings) -> Self {
        let classes = Class::ALL.map(|class| Buckets::resized(None, class.rate(settings)));
        let (passed, refused) = Default::default();
        let attempts = Attempts::new(settings.unauthenticated);
        Self { classes, passed, refused, attempts, together: None }
    }

    /// Returns these limits with other rates. Classes whose rate stays the same keep the state of their buckets. The
    /// counts go on, and credentials that were proven stay known.
    pub fn with_rates(&self, settings: &RateSettings) -> Self {
        let before = |class: Class| self.classes[class as usize].as_ref();
        Self {
            classes: Class::ALL.map(|class| Buckets::resized(before(class), class.rate(settings))),
            passed: Arc::clone(&self.passed),
            refused: Arc::clone(&self.refused),
            attempts: self.attempts.with_limit(settings.unauthenticated),
            together: self.together.clone(),
        }
    }

    /// Returns the name of each limit with the numbers of passed and refused requests.
    pub fn figures(&self) -> Vec<(&'static str, u64, u64)> {
        let of =
            |class: Class| (class.name(), self.passed[class as usize].get(), self.refused[class as usize].get());
        let (passed, refused) = self.attempts.figures();
        Class::ALL.into_iter().map(of).chain([("unauthenticated", passed, refused)]).collect()
    }

    /// Counts together with all processes that use `shared`.
    #[must_use]
    pub fn shared_in(mut self, shared: Shared) -> Self {
        let together = SharedBuckets::new(shared);
        self.attempts = self.attempts.counted_in(together.clone());
        Self { together: Some(together), ..self }
    }

    /// Counts a request of a proven credential; returns its standing afterwards, or none when its class has no limit.
    ///
    /// # Errors
    /// [`Refusal::RateLimited`] with the time to the next free slot, and the standing of the credential.
    pub async fn take(
        &self,
        class: Class,
        credential: CredentialId,
    ) -> Result<Option<LimitState>, (Refusal, LimitState)> {
        self.slot(class, credential).await.map_err(|(wait, standing)| {
            let detail = format!("More than {} requests a minute with this credential.", standing.limit);
            (limited(wait, detail), standing)
        })
    }

    /// Takes a slot of the bucket `name`, which has the size of the buckets of tokens. An error is the number of
    /// seconds to the next free slot.
    pub async fn take_named(&self, name: &str) -> Result<(), u64> {
        let taken = self.slot(Class::OAuth, Sha256::digest(name).into()).await;
        taken.map(drop).map_err(|(wait, _)| seconds_up(wait).max(1))
    }

    /// Takes a slot; an error is the time to the next one.
    async fn slot(
        &self,
        class: Class,
        credential: CredentialId,
    ) -> Result<Option<LimitState>, (Duration, LimitState)> {
        let Some(buckets) = &self.classes[class as usize] else { return Ok(None) };
        let limit = buckets.limit();
        let standing = |remaining, reset| LimitState { policy: class.name(), limit, remaining, reset };
        let of_all = match &self.together {
            Some(together) => together.take((class.name(), credential), limit).await,
            None => None,
        };
        let taken = of_all.transpose().and_then(|of_all| Ok((of_all, buckets.take(&credential)?)));
        match taken {
            Ok((of_all, own)) => {
                self.passed[class as usize].add(1);
                let left = of_all.map_or(own, |of_all| buckets.left(own.remaining.min(of_all)));
                Ok(Some(standing(left.remaining, left.reset)))
            }
            Err(wait) => {
                self.refused[class as usize].add(1);
                Err((wait, standing(0, buckets.full_after(wait))))
            }
        }
    }
}

#[cfg(test)]
mod tests;
