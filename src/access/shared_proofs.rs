//! Proofs of access that another gateway process has read with the same key of v1.
//!
//! Other code decides where proofs are stored and how they are sealed; this file defines the interface. The age of a
//! proof counts from when its read at v1 began, whichever process made it. It is as valid here as a proof of this
//! process: the same changes and the same age end it. Only v1's answers to the key itself are shared. Of a roster,
//! only the row of the key's owner proves anything.
//!
//! May use: `fresh`, `refusal`, `v1` (`KeyId`).

use crate::fresh::{Changes, Moment};
use crate::refusal::Refusal;
use crate::v1::KeyId;
use futures_util::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedProof {
    /// v1's answer.
    pub proof: String,
    /// Lower bound of the time since its read began.
    pub age: Duration,
}

/// Storage through which the processes of a deployment share proofs.
pub trait SharedProofs: Send + Sync {
    /// Returns the proof with the name `of`, read with `key` and younger than `max_age`. Waits briefly for another
    /// process that is asking v1 for it. When it returns none, this process asks v1 and must report the result.
    fn look(&self, key: KeyId, of: &str, max_age: Duration) -> BoxFuture<'static, Option<SharedProof>>;

    /// Stores a proof that is `age` old and valid for `lasts`.
    fn keep(&self, key: KeyId, of: &str, proof: &str, age: Duration, lasts: Duration);

    /// Reports that v1's answer cannot be stored.
    fn give_up(&self, key: KeyId, of: &str);

    /// Reports that v1 has refused: an earlier proof is no longer valid in any process. Without `of`, this ends all
    /// proofs of the key.
    fn refused(&self, key: KeyId, of: Option<&str>);
}

/// Reads a proof, given the moment when its read at v1 began.
type Reader<V> = Box<dyn Fn(&str, Moment) -> Option<V> + Send + Sync>;

/// Parameters to share one proof.
pub(super) struct Sharing<V> {
    pub proofs: Arc<dyn SharedProofs>,
    pub key: KeyId,
    pub of: String,
    pub write: fn(&V) -> Option<String>,
    /// Reads a proof of another process, given the moment when its read at v1 began.
    pub read: Reader<V>,
    /// Whether a refusal ends all proofs of the key.
    pub ends_all: bool,
}

impl<V> Sharing<V> {
    /// Returns the proof of another process, and the moment when its read began.
    pub async fn look(&self, changes: &Changes, max_age: Duration) -> Option<(V, Moment)> {
        // No proof of another process is new enough, and none is worth a wait.
        if max_age.is_zero() {
            return None;
        }
        let found = self.proofs.look(self.key, &self.of, max_age).await?;
        let began = changes.moment_at(changes.now().at.checked_sub(found.age)?);
        Some(((self.read)(&found.proof, began)?, began))
    }

    /// Reports v1's answer, whose read began `age` ago.
    pub fn tell<E>(&self, outcome: &Result<Result<V, Refusal>, E>, age: Duration, lasts: Duration) {
        let (key, of) = (self.key, self.of.as_str());
        match outcome {
            Ok(Ok(value)) => match (self.write)(value) {
                Some(proof) => self.proofs.keep(key, of, &proof, age, lasts),
                None => self.proofs.give_up(key, of),
            },
            Ok(Err(_)) => self.proofs.refused(key, (!self.ends_all).then_some(of)),
            Err(_) => self.proofs.give_up(key, of),
        }
    }
}
