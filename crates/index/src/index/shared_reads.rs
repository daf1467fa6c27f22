//! Messages between the processes of one deployment about the refreshes of an index.
//!
//! One process at a time refreshes and publishes v1's answers (`delta`). The others use the answers and do not ask v1.
//! A process that needs a refresh while another one refreshes waits for it a little. Messages are ordered by number.
//! Their age is measured by one clock, that of the shared storage. A message that is damaged, or of another list, is
//! skipped with a line in the log. When the answers are too large, the index itself is kept and its checksum is
//! published.
//!
//! May use: `store` (what it tells of refreshes), this folder.

use super::delta::{Delta, MOST, RefreshMessage, of_bytes, to_bytes};
use super::deployment::SharedPlace;
use super::known::{IndexInProgress, ReceivedRead};
use super::verified::Verified;
use crate::store::{DeltaTurn, TakenTurn};
use std::convert::Infallible;
use std::time::{Duration, Instant};

/// Interval between two renewals of a turn.
const BEAT: Duration = Duration::from_secs(1);

/// Content of a message of another process.
pub(super) enum MessageContent {
    /// The answers of v1 to that process.
    Answers(Delta),
    /// The whole index of that process.
    Whole(Verified),
}

impl SharedPlace {
    /// Returns the messages that `known` may lack, in order; none when the storage does not respond. `asked` is now.
    pub async fn told(&self, known: &IndexInProgress, asked: Instant) -> Option<Vec<ReceivedRead<MessageContent>>> {
        let within = match known.shown.number {
            Some(_) => Duration::MAX,
            None => asked.saturating_duration_since(known.shown.ended),
        };
        let deltas = self.deployment.deltas(self.name(), known.shown.number.unwrap_or(0), within).await?;
        let mut heard = Vec::with_capacity(deltas.len());
        for delta in deltas {
            let Some(at) = asked.checked_sub(delta.age) else { continue };
            let number = delta.number;
            match of_bytes(&self.identity, &delta.bytes) {
                Ok(RefreshMessage::Answers(answers)) => {
                    heard.push(ReceivedRead { number, at, what: MessageContent::Answers(answers) })
                }
                Ok(RefreshMessage::Whole(checksum)) => {
                    let whole = self.load_this(checksum).await;
                    heard.extend(whole.map(|whole| ReceivedRead {
                        number,
                        at,
                        what: MessageContent::Whole(whole),
                    }));
                }
                Err(fault) => tracing::warn!(fault, number, "v1 data read by another process cannot be used"),
            }
        }
        Some(heard)
    }

    /// Tries to make this process the one that refreshes; none when the storage does not respond.
    pub async fn refresher(&self) -> Option<TakenTurn> {
        self.deployment.refresher(self.name()).await
    }

    /// Renews the turn, until this future is dropped.
    pub async fn keep(&self, turn: DeltaTurn) -> Infallible {
        loop {
            tokio::time::sleep(BEAT).await;
            self.deployment.renew(self.name(), turn).await;
        }
    }

    /// Ends the turn without a message.
    pub async fn give_up(&self, turn: DeltaTurn) {
        self.deployment.end(self.name(), turn, None).await;
    }

    /// Ends the turn and publishes v1's answers. When they are too large, publishes that the turn led to `verified`.
    /// Returns the number of the message, unless the turn was lost before.
    pub async fn tell_read(&self, turn: DeltaTurn, delta: Option<Delta>, verified: &Verified) -> Option<i64> {
        let answers = delta.and_then(|delta| to_bytes(&self.identity, RefreshMessage::Answers(delta)).ok());
        let told = match answers.filter(|bytes| bytes.len() <= MOST) {
            Some(answers) => Some(answers),
            None => {
                let checksum = self.save(verified.clone(), Duration::ZERO).await;
                checksum.and_then(|checksum| to_bytes(&self.identity, RefreshMessage::Whole(checksum)).ok())
            }
        };
        self.deployment.end(self.name(), turn, told).await
    }
}
