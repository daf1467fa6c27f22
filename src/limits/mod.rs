//! How much one credential may ask of this gateway in a minute, and how often an address may come without one.
//!
//! The limit of the contract (chapter 10, O30) on crate `governor`: one bucket per credential presented, in
//! five classes. It has nothing to do with v1's quota, which is a matter of the key behind (`v1::budget`).
//!
//! Several processes count together where they share a Redis (`together`); each process's own buckets count on beside
//! it, so that the same process does not give twice what Redis forgets.
//!
//! May use: `context`, `refusal`, `settings`, `shared`, `tally`.

mod account;
mod attempts;
mod buckets;
mod together;

pub use attempts::Attempts;
pub use buckets::{Class, CredentialId};

use crate::context::Standing;
use crate::refusal::Refusal;
use crate::settings::RateSettings;
use crate::shared::Shared;
use crate::tally::Counter;
use buckets::{Buckets, limited};
use together::Together;

/// The limits of all classes, and of those without a credential.
pub struct Limits {
    classes: [Option<Buckets<CredentialId>>; Class::ALL.len()],
    passed: [Counter; Class::ALL.len()],
    refused: [Counter; Class::ALL.len()],
    /// Attempts without a valid credential.
    pub attempts: Attempts,
    together: Option<Together>,
}

impl Limits {
    pub fn new(settings: &RateSettings) -> Self {
        let classes = Class::ALL.map(|class| Buckets::new(class.rate(settings)));
        let (passed, refused) = Default::default();
        let attempts = Attempts::new(settings.unauthenticated);
        Self { classes, passed, refused, attempts, together: None }
    }

    /// Requests by the name of their limit: how many passed and how many were refused.
    pub fn figures(&self) -> Vec<(&'static str, u64, u64)> {
        let of =
            |class: Class| (class.name(), self.passed[class as usize].get(), self.refused[class as usize].get());
        let (passed, refused) = self.attempts.figures();
        Class::ALL.into_iter().map(of).chain([("unauthenticated", passed, refused)]).collect()
    }

    /// The same, counted by all processes together in `shared`.
    #[must_use]
    pub fn shared_in(mut self, shared: Shared) -> Self {
        let together = Together::new(shared);
        self.attempts = self.attempts.counted_in(together.clone());
        Self { together: Some(together), ..self }
    }

    /// Counts a request of a proven credential; where it stands afterwards, unless its class has no limit.
    ///
    /// # Errors
    /// [`Refusal::RateLimited`] with the time to the next free slot, and where the credential stands.
    pub async fn take(
        &self,
        class: Class,
        credential: CredentialId,
    ) -> Result<Option<Standing>, (Refusal, Standing)> {
        let Some(buckets) = &self.classes[class as usize] else { return Ok(None) };
        let limit = buckets.limit();
        let standing = |remaining, reset| Standing { policy: class.name(), limit, remaining, reset };
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
                let detail = format!("More than {limit} requests a minute with this credential.");
                Err((limited(wait, detail), standing(0, buckets.full_after(wait))))
            }
        }
    }
}

#[cfg(test)]
mod tests;
