//! The shared place as the gateway uses it, and what one process tells all others at once there.
//!
//! A message that is sent while a process is cut off from Redis does not reach it; a user of this needs an age as well,
//! after which it does not rely on silence. A subscription on which nothing comes is asked every few seconds whether it
//! still lives: a firewall may have forgotten its connection without a word. May use: `link`, `script`.

use super::link::{Link, SharedError, keep_up};
use super::script::Script;
use futures_util::StreamExt;
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

/// Time from one word of a process that it is there to the next.
const PULSE: Duration = Duration::from_secs(1);
/// How long a process counts after its last word.
const COUNTS: Duration = Duration::from_secs(5);

/// Time until a lost subscription is taken out again.
const PAUSE: Duration = Duration::from_millis(250);
/// Time from one look whether a subscription lives to the next, and the longest wait for its answer.
const LOOK: Duration = Duration::from_secs(2);
/// Longest time to take a subscription out.
const SUBSCRIBING: Duration = Duration::from_secs(2);
/// Messages that wait to be looked at; beyond it Redis waits.
const WAITING: usize = 1024;

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

    /// A tag for [`Link::key`] that does not show what it is of; `purpose` keeps names of different things apart.
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
        listen(Arc::downgrade(&self.0), self.0.key("news", name))
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

/// Messages of the other processes, and of this one.
#[derive(Debug)]
pub struct News(mpsc::Receiver<Vec<u8>>);

impl News {
    /// The next message; none when nobody uses the place any more.
    pub async fn next(&mut self) -> Option<Vec<u8>> {
        self.0.recv().await
    }
}

/// Listens to `channel`.
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

/// Passes messages on until nobody wants them or the subscription is lost.
async fn pass_on(subscription: PubSub, tell: &mpsc::Sender<Vec<u8>>) {
    let (mut asking, mut messages) = subscription.split();
    loop {
        match tokio::time::timeout(LOOK, messages.next()).await {
            Ok(Some(message)) => {
                if tell.send(message.get_payload_bytes().to_vec()).await.is_err() {
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
