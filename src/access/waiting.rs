//! Whether the token or gateway key of a request is still good after a wait.
//!
//! A request is judged when it comes. It may wait for its turn, for v1 or for an equal one, and its credential may be
//! revoked meanwhile: then nothing is written for it any more, and it is shown nothing. Where it is known that nothing was
//! revoked since, nobody is asked. A key of v1 is judged by v1 at each call.
//!
//! May use: `fresh`, `refusal`, this folder.

use super::credential::{Credentials, Presented, presented};
use super::service::Access;
use crate::fresh::Moment;
use crate::refusal::Refusal;
use http::HeaderMap;
use std::sync::Arc;

/// The token or gateway key of a request that may wait; cheap to clone.
#[derive(Clone)]
pub struct Waiting {
    credentials: Arc<dyn Credentials>,
    presented: Presented,
    since: Moment,
}

impl Access {
    /// The moment from which on a revocation ends a request that comes now; none where there are no tokens and keys.
    pub fn comes_now(&self) -> Option<Moment> {
        Some(self.credentials.as_ref()?.now())
    }

    /// What the headers of a request present that came at `since`, with its [`presented_id`]; none for a key of v1.
    ///
    /// [`presented_id`]: super::presented_id
    pub fn waiting(&self, headers: &HeaderMap, id: Option<[u8; 32]>, since: Option<Moment>) -> Option<Waiting> {
        let (credentials, since) = (Arc::clone(self.credentials.as_ref()?), since?);
        let own = |presented: &Presented| !matches!(presented, Presented::V1Key(_));
        let presented = presented(headers, id).ok().filter(own)?;
        Some(Waiting { credentials, presented, since })
    }
}

impl Waiting {
    /// Looks whether the credential was revoked meanwhile.
    ///
    /// # Errors
    /// [`Refusal::InvalidToken`] when it was; faults of the store as they are.
    pub async fn still_good(&self) -> Result<(), Refusal> {
        if !self.credentials.may_have_ended_since(self.since) {
            return Ok(());
        }
        self.credentials.resolve(self.presented.clone()).await.map(drop)
    }
}
