//! How much one credential may ask of this gateway in a minute, and how often an address may come without one.
//!
//! The limit of the contract (chapter 10, O30) on crate `governor`: one bucket per credential presented, in
//! five classes. It has nothing to do with v1's quota, which is a matter of the key behind (`v1::budget`).
//!
//! May use: `context`, `refusal`, `settings`.

mod attempts;
mod buckets;
mod clock;
pub mod headers;
mod refused;

pub use attempts::Attempts;
pub use buckets::Class;
pub use refused::CredentialId;

use crate::context::Standing;
use crate::refusal::Refusal;
use crate::settings::RateSettings;
use buckets::Buckets;
use refused::limited;

/// The limits of all classes, and of those without a credential.
pub struct Limits {
    classes: Vec<(Class, Option<Buckets<CredentialId>>)>,
    /// Attempts without a valid credential.
    pub attempts: Attempts,
}

impl Limits {
    /// Limits as `settings` say.
    pub fn new(settings: &RateSettings) -> Self {
        let classes = Class::ALL.into_iter().map(|class| (class, Buckets::new(class.rate(settings)))).collect();
        Self { classes, attempts: Attempts::new(settings.unauthenticated) }
    }

    /// Counts a request of a proven credential; where it stands afterwards, unless its class has no limit.
    ///
    /// # Errors
    /// [`Refusal::RateLimited`] with the time to the next free slot, and where the credential stands.
    pub fn take(&self, class: Class, credential: CredentialId) -> Result<Option<Standing>, (Refusal, Standing)> {
        let buckets = self.classes.iter().find(|(known, _)| *known == class).and_then(|(_, known)| known.as_ref());
        let Some(buckets) = buckets else { return Ok(None) };
        let standing =
            |remaining, reset| Standing { policy: class.name(), limit: buckets.limit(), remaining, reset };
        match buckets.take(&credential) {
            Ok(left) => Ok(Some(standing(left.remaining, left.reset))),
            Err(wait) => {
                let detail = format!("More than {} requests a minute with this credential.", buckets.limit());
                Err((limited(wait, detail), standing(0, buckets.full_after(wait))))
            }
        }
    }
}

#[cfg(test)]
mod tests;
