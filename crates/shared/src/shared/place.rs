//! The shared place as the gateway uses it.
//!
//! May use: `link`, `news`, `processes`, `script`.

use super::link::{Inner, SharedError, keep_up};
use super::news::{self, News};
use super::processes;
use super::script::{Answer, Away, Call};
use redis::{Client, IntoConnectionInfo};
use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The shared place; cheap to clone, all clones are the same.
#[derive(Clone)]
pub struct Shared(Arc<Inner>);

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("deployment", &self.0.deployment).finish_non_exhaustive()
    }
}

impl Shared {
    /// The place at `url` of the gateways in front of `upstream`. Waits for a first connection a little; when there is
    /// none, goes on without and looks for it.
    ///
    /// # Errors
    /// When the address is none, Redis refuses the credentials, or is too old.
    pub async fn open(url: &str, upstream: &str) -> Result<Self, SharedError> {
        let deployment = hex::encode(&Sha256::digest(upstream.as_bytes())[..8]);
        let inner = Arc::new(Inner::new(client_of(url)?, deployment));
        inner.begin().await?;
        tokio::spawn(keep_up(Arc::downgrade(&inner)));
        tokio::spawn(processes::pulse(Arc::downgrade(&inner)));
        Ok(Self(inner))
    }

    /// Looks whether the place at `url` can be used, and says why it cannot be at present. A process that looks is none
    /// of those who share it and leaves nothing there.
    ///
    /// # Errors
    /// As [`Shared::open`].
    pub async fn look(url: &str) -> Result<Option<String>, SharedError> {
        Inner::new(client_of(url)?, String::new()).look().await
    }

    /// The key of the `kind` of thing that `tag` names; all of it goes to one place of a cluster.
    pub fn key(&self, kind: &str, tag: &str) -> String {
        self.0.key(kind, tag)
    }

    /// A tag for [`Shared::key`] that does not show what it is of; `purpose` keeps names of different things apart.
    pub fn hidden_tag(purpose: &str, of: &[&[u8]]) -> String {
        let hash = Sha256::new().chain_update("causeway ").chain_update(purpose).chain_update(b"\0");
        let hash = of.iter().fold(hash, |hash, part| hash.chain_update(part)).finalize();
        hex::encode(&hash[..16])
    }

    /// Whether Redis is there, as far as is known.
    pub fn is_up(&self) -> bool {
        self.0.is_up()
    }

    /// How many gateway processes there are, or were when that was last known; at least one.
    pub fn processes(&self) -> usize {
        self.0.processes.load(Ordering::Relaxed)
    }

    /// How often Redis was asked: scripts that go together count once.
    pub fn asked(&self) -> u64 {
        self.0.asked()
    }

    /// Runs scripts, all sent at once, each by itself.
    ///
    /// # Errors
    /// [`Away`] when Redis does not answer in time or refuses one of them.
    pub async fn run(&self, calls: Vec<Call>) -> Result<Vec<Answer>, Away> {
        self.0.run(calls).await
    }

    /// Runs one script.
    ///
    /// # Errors
    /// As [`Shared::run`].
    pub async fn run_one(&self, call: Call) -> Result<Answer, Away> {
        self.0.run_one(call).await
    }

    /// The channel with this name.
    pub fn channel(&self, name: &str) -> String {
        self.0.key("news", name)
    }

    /// Listens to what the scripts of this deployment publish on the channel with this name.
    pub fn listen(&self, name: &str) -> News {
        news::listen(Arc::downgrade(&self.0), self.0.key("news", name))
    }
}

fn client_of(url: &str) -> Result<Client, SharedError> {
    let client = url.into_connection_info().and_then(Client::open);
    client.map_err(|fault| SharedError(format!("the address cannot be used: {fault}")))
}
