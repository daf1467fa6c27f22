//! The shared place as the gateway uses it, and the messages that one process sends to all others there.
//!
//! A process that is cut off from Redis misses messages. So a user of the messages also needs a maximum age, after
//! which it does not rely on silence. A silent subscription is pinged every few seconds, because a firewall may have
//! dropped its connection without notice. May use: `link`, `script`.

use super::link::{Link, SharedError, Unusable, keep_up};
use super::script::Script;
use futures_util::{FutureExt, StreamExt};
use redis::aio::PubSub;
use redis::{Client, IntoConnectionInfo, RedisError, Value};
use sha2::{Digest, Sha256};
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::mpsc;
use uuid::Uuid;

/// Pause between two signs of life of a process.
const PULSE: Duration = Duration::from_secs(1);
/// Time for which a process counts after its last sign of life.
const COUNTS: Duration = Duration::from_secs(5);

/// Pause before a lost subscription is made again.
const PAUSE: Duration = Duration::from_millis(250);
/// Time of silence after which a subscription is pinged, and the longest wait for the answer and for the reader.
const LOOK: Duration = Duration::from_secs(2);
/// Longest time to make a subscription.
const SUBSCRIBING: Duration = Duration::from_secs(2);
/// Largest number of messages that wait here for their reader. Further ones wait in the subscription, which ends when
/// the reader takes none for [`LOOK`].
const WAITING: usize = 1024;

static PRESENT: Script = Script::new(include_str!("processes.lua"));

/// The shared place; cheap to clone, all clones share it.
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
    /// Opens the place at `url` of the gateways in front of `upstream`. `patience` is the longest wait for an answer.
    /// Waits a little for a first connection. Without one, it continues and tries to connect in the background.
    ///
    /// # Errors
    /// When the address is invalid, Redis refuses the credentials or the database, or is too old.
    pub async fn open(url: &str, upstream: &str, patience: Duration) -> Result<Self, SharedError> {
        let deployment = hex::encode(&Sha256::digest(upstream.as_bytes())[..8]);
        let inner = Arc::new(Link::new(client_of(url)?, deployment, patience));
        inner.begin().await?;
        tokio::spawn(keep_up(Arc::downgrade(&inner)).boxed());
        tokio::spawn(pulse(Arc::downgrade(&inner)).boxed());
        Ok(Self(inner))
    }

    /// Checks whether the place at `url` can be used, and returns the reason when it cannot at present. The checking
    /// process does not count as one that shares the place, and leaves nothing there.
    ///
    /// # Errors
    /// See [`Shared::open`].
    pub async fn look(url: &str, patience: Duration) -> Result<Option<Unusable>, SharedError> {
        Link::new(client_of(url)?, String::new(), patience).look().await
    }

    /// Returns a tag for [`Link::key`] that does not reveal its input. `purpose` separates tags of different things.
    pub fn hidden_tag(purpose: &str, of: &[&[u8]]) -> String {
        let hash = Sha256::new().chain_update("causeway ").chain_update(purpose).chain_update(b"\0");
        let hash = of.iter().fold(hash, |hash, part| hash.chain_update(part)).finalize();
        hex::encode(&hash[..16])
    }

    /// Returns the last known number of gateway processes; at least one.
    pub fn processes(&self) -> usize {
        self.0.processes.load(Ordering::Relaxed)
    }

    /// Returns the key of the channel with this name.
    pub fn channel(&self, name: &str) -> String {
        self.0.key("news", name)
    }

    /// Subscribes to the messages that this deployment's scripts publish on the channel with this name.
    pub fn listen(&self, name: &str) -> News {
        listen(Arc::downgrade(&self.0), self.channel(name))
    }
}

fn client_of(url: &str) -> Result<Client, SharedError> {
    let client = url.into_connection_info().and_then(Client::open);
    client.map_err(|fault| SharedError(format!("the address cannot be used: {fault}")))
}

/// Sends a sign of life of this process every second or two, until the place is no longer used. This also notices that
/// Redis is away before a request does.
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

/// Messages of the other processes and of this one.
#[derive(Debug)]
pub struct News(mpsc::Receiver<Vec<u8>>);

impl News {
    /// Returns the next message; `None` when the place is no longer used.
    pub async fn next(&mut self) -> Option<Vec<u8>> {
        self.0.recv().await
    }
}

/// Subscribes to `channel`.
fn listen(inner: Weak<Link>, channel: String) -> News {
    let (tell, told) = mpsc::channel(WAITING);
    tokio::spawn(async move {
        loop {
            let client = match inner.upgrade() {
                Some(inner) => inner.client.clone(),
                None => return,
            };
            let subscribed = tokio::time::timeout(SUBSCRIBING, subscribe(client, &channel)).await;
            if let Ok(Ok(subscription)) = subscribed {
                pass_on(subscription, &tell).await;
            }
            if tell.is_closed() {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    });
    News(told)
}

async fn subscribe(client: Client, channel: &str) -> Result<PubSub, RedisError> {
    let mut subscription = client.get_async_pubsub().await?;
    subscription.subscribe(channel).await?;
    Ok(subscription)
}

/// Forwards messages until the receiver is dropped or too late, or the subscription is lost.
async fn pass_on(subscription: PubSub, tell: &mpsc::Sender<Vec<u8>>) {
    let (mut asking, mut messages) = subscription.split();
    loop {
        match tokio::time::timeout(LOOK, messages.next()).await {
            Ok(Some(message)) => {
                // A reader that is too late misses messages, as one that is cut off from Redis does.
                let sending = tell.send(message.get_payload_bytes().to_vec());
                if !matches!(tokio::time::timeout(LOOK, sending).await, Ok(Ok(()))) {
                    return;
                }
            }
            Ok(None) => return,
            Err(_) => match tokio::time::timeout(LOOK, asking.ping::<Value>()).await {
                Ok(Ok(_)) if !tell.is_closed() => {}
                _ => return,
            },
        }
    }
}
