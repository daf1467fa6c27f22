//! What one process tells all others at once.
//!
//! A message that is sent while a process is cut off from Redis does not reach it; a user of this needs an age as well,
//! after which it does not rely on silence. May use: `link`.

use super::link::Inner;
use futures_util::StreamExt;
use std::sync::Weak;
use std::time::Duration;
use tokio::sync::mpsc;

/// Time until a lost subscription is taken out again.
const PAUSE: Duration = Duration::from_millis(250);
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
pub(super) fn listen(inner: Weak<Inner>, channel: String) -> News {
    let (tell, told) = mpsc::channel(WAITING);
    tokio::spawn(async move {
        loop {
            let client = match inner.upgrade() {
                Some(inner) => inner.client.clone(),
                None => return,
            };
            if let Ok(mut subscription) = client.get_async_pubsub().await
                && subscription.subscribe(&channel).await.is_ok()
            {
                let mut messages = subscription.into_on_message();
                while let Some(message) = messages.next().await {
                    if tell.send(message.get_payload_bytes().to_vec()).await.is_err() {
                        return;
                    }
                }
            }
            if tell.is_closed() {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    });
    News(told)
}
