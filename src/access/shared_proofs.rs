//! Proofs that another gateway process has obtained with the same key of v1.
//!
//! Other code decides where they lie and how they are sealed; this file says what is asked for. A proof counts from
//! when the read at v1 began, whoever made it, and is as good here as one of this process: void after the same changes
//! and at the same age. Only what v1 has said to the key itself is shared, and of a roster nothing but the own row
//! proves anything.
//!
//! May use: `fresh`, `refusal`, `v1` (`KeyId`).

use crate::fresh::{Changes, Moment};
use crate::refusal::Refusal;
use crate::v1::KeyId;
use futures_util::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// What v1 said.
    pub proof: String,
    /// How long ago its read began, at least.
    pub age: Duration,
}

/// The place where the processes of a deployment share proofs.
pub trait SharedProofs: Send + Sync {
    /// The proof `of` something obtained with `key`, younger than `max_age`. Waits a little for another process that is
    /// just asking v1 for it. With none, this process is the one that asks, and tells what came of it.
    fn look(&self, key: KeyId, of: &str, max_age: Duration) -> BoxFuture<'static, Option<Found>>;

    /// v1 was asked so long ago and has proven it; that is good for `lasts`.
    fn keep(&self, key: KeyId, of: &str, proof: &str, age: Duration, lasts: Duration);

    /// v1 has said nothing that could be kept.
    fn give_up(&self, key: KeyId, of: &str);

    /// v1 has refused it: a proof from before is good no longer, for any process. Without `of` that is everything the
    /// key has proven.
    fn refused(&self, key: KeyId, of: Option<&str>);
}

/// Reads a proof whose read at v1 began then.
type Reader<V> = Box<dyn Fn(&str, Moment) -> Option<V> + Send + Sync>;

/// What is needed to share one proof.
pub(super) struct Sharing<V> {
    pub proofs: Arc<dyn SharedProofs>,
    pub key: KeyId,
    pub of: String,
    pub write: fn(&V) -> Option<String>,
    /// Reads what another process has written, of a read at v1 that began then.
    pub read: Reader<V>,
    /// Whether a refusal ends everything the key has proven.
    pub ends_all: bool,
}

impl<V> Sharing<V> {
    /// The proof of another process, and the moment at which its read began.
    pub async fn look(&self, changes: &Changes, max_age: Duration) -> Option<(V, Moment)> {
        let found = self.proofs.look(self.key, &self.of, max_age).await?;
        let began = changes.moment_at(changes.now().at.checked_sub(found.age)?);
        Some(((self.read)(&found.proof, began)?, began))
    }

    /// What v1 said about it; its read began so long ago.
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
