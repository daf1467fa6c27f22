//! What one process tells all others at once.
//!
//! A message that is sent while a process is cut off from Redis does not reach it; a user of this needs an age as well,
//! after which it does not rely on silence. A subscription on which nothing comes is asked every few seconds whether it
//! still lives: a firewall may have forgotten its connection without a word. May use: `link`.

use super::link::Link;
use futures_util::StreamExt;
use redis::aio::PubSub;
use redis::{Client, RedisError, Value};
use std::sync::Weak;
use std::time::Duration;
use tokio::sync::mpsc;

/// Time until a lost subscription is taken out again.
const PAUSE: Duration = Duration::from_millis(250);
/// Time from one look whether a subscription lives to the next, and the longest wait for its answer.
const LOOK: Duration = Duration::from_secs(2);
/// Longest time to take a subscription out.
const SUBSCRIBING: Duration = Duration::from_secs(2);
/// Messages that wait to be looked at; beyond it Redis waits.
const WAITING: usize = 1024;

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
pub(super) fn listen(inner: Weak<Link>, channel: String) -> News {
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
