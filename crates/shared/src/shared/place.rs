//! The shared place as the gateway uses it.
//!
//! May use: `link`, `news`, `script`.

use super::link::{Link, SharedError, keep_up};
use super::news::{self, News};
use super::script::Script;
use redis::{Client, IntoConnectionInfo};
use sha2::{Digest, Sha256};
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;
use uuid::Uuid;

/// Time from one word of a process that it is there to the next.
const PULSE: Duration = Duration::from_secs(1);
/// How long a process counts after its last word.
const COUNTS: Duration = Duration::from_secs(5);

static PRESENT: Script = Script::new(include_str!("processes.lua"));

/// The shared place; cheap to clone, all clones are the same.
#[derive(Clone)]
pub struct Shared(Arc<Link>);

impl Deref for Shared {
    type Target = Link;

    fn deref(&self) -> &Link {
        &self.0
    }
}

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
        let inner = Arc::new(Link::new(client_of(url)?, deployment));
        inner.begin().await?;
        tokio::spawn(keep_up(Arc::downgrade(&inner)));
        tokio::spawn(pulse(Arc::downgrade(&inner)));
        Ok(Self(inner))
    }

    /// Looks whether the place at `url` can be used, and says why it cannot be at present. A process that looks is none
    /// of those who share it and leaves nothing there.
    ///
    /// # Errors
    /// As [`Shared::open`].
    pub async fn look(url: &str) -> Result<Option<String>, SharedError> {
        Link::new(client_of(url)?, String::new()).look().await
    }

    /// A tag for [`Shared::key`] that does not show what it is of; `purpose` keeps names of different things apart.
    pub fn hidden_tag(purpose: &str, of: &[&[u8]]) -> String {
        let hash = Sha256::new().chain_update("causeway ").chain_update(purpose).chain_update(b"\0");
        let hash = of.iter().fold(hash, |hash, part| hash.chain_update(part)).finalize();
        hex::encode(&hash[..16])
    }

    /// How many gateway processes there are, or were when that was last known; at least one.
    pub fn processes(&self) -> usize {
        self.0.processes.load(Ordering::Relaxed)
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

/// Says every second or two that this process is there, which also finds out that Redis is away before a request does,
/// until nobody uses the place any more.
async fn pulse(place: Weak<Link>) {
    let id = Uuid::new_v4().to_string();
    loop {
        let Some(link) = place.upgrade() else { return };
        let present = PRESENT.on([&link.key("processes", "all")]).text(&id).number(COUNTS.as_millis() as i64);
        if let Ok(answer) = link.run_one(present).await {
            let processes = answer.number(0).and_then(|count| usize::try_from(count).ok()).unwrap_or(1);
            link.processes.store(processes.max(1), Ordering::Relaxed);
        }
        drop(link);
        tokio::time::sleep(PULSE).await;
    }
}
