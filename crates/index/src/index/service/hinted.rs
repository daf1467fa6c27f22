//! What a hint from v1 needs of the indices.
//!
//! May use: what `service` may use.

use super::{Indexes, Scope};
use crate::context::Context;
use crate::refusal::Refusal;
use crate::v1::V1Key;
use std::time::Duration;
use uuid::Uuid;

impl Indexes {
    /// Brings an index up to date whatever its age. `key` must have been shown the same rows.
    pub async fn renew_now(&self, scope: &Scope, key: &V1Key, ctx: &Context) -> Result<(), Refusal> {
        self.read_within(Duration::ZERO, scope, key, ctx).await
    }

    /// Scopes of this project of which there is an index in memory.
    pub fn built_of(&self, project: Uuid) -> Vec<Scope> {
        let known = self.inner.entries_where(|scope| scope.project == project).into_iter();
        known.map(|(scope, _)| scope).filter(|scope| self.inner.any(scope).is_some()).collect()
    }
}
