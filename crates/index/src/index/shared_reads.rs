//! What processes of one deployment tell each other of the refreshes of an index.
//!
//! One process at a time refreshes and tells what v1 has answered (`delta`); the others go by that, and ask v1 nothing.
//! A process that needs a refresh and finds another one at it waits for it a little. The order is that of the numbers,
//! and one clock, that of the place itself, tells how old something is. A note that is damaged, or of another list, is
//! passed over with a line in the log; where there is too much to tell, the index itself is kept and its checksum told.
//!
//! May use: `store` (what it tells of refreshes), this folder.

use super::delta::{Delta, MOST, Told, of_bytes, to_bytes};
use super::deployment::SharedPlace;
use super::known::{Heard, Known};
use super::verified::Verified;
use crate::store::{DeltaTurn, TakenTurn};
use std::convert::Infallible;
use std::time::{Duration, Instant};

/// Time from one renewal of a turn to the next.
const BEAT: Duration = Duration::from_secs(1);

/// What was told by another process.
pub(super) enum What {
    /// What v1 has answered it.
    Answers(Delta),
    /// Everything it knows.
    Whole(Verified),
}

impl SharedPlace {
    /// What others have told that `known` may lack, in order; none when nobody can say. `asked` is now.
    pub async fn told(&self, known: &Known, asked: Instant) -> Option<Vec<Heard<What>>> {
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
                Ok(Told::Answers(answers)) => heard.push(Heard { number, at, what: What::Answers(answers) }),
                Ok(Told::Whole(checksum)) => {
                    let whole = self.load_this(checksum).await;
                    heard.extend(whole.map(|whole| Heard { number, at, what: What::Whole(whole) }));
                }
                Err(fault) => tracing::warn!(fault, number, "what another process has read of v1 cannot be used"),
            }
        }
        Some(heard)
    }

    /// Takes this process for the one that refreshes; none when nobody can say.
    pub async fn refresher(&self) -> Option<TakenTurn> {
        self.deployment.refresher(self.name()).await
    }

    /// Keeps the turn, until this is dropped.
    pub async fn keep(&self, turn: DeltaTurn) -> Infallible {
        loop {
            tokio::time::sleep(BEAT).await;
            self.deployment.renew(self.name(), turn).await;
        }
    }

    /// Ends the turn without anything to tell.
    pub async fn give_up(&self, turn: DeltaTurn) {
        self.deployment.end(self.name(), turn, None).await;
    }

    /// Ends the turn and tells what v1 has answered in it, or where that is too much, that it led to `verified`. The
    /// number under which it was told, unless the turn was lost before.
    pub async fn tell_read(&self, turn: DeltaTurn, delta: Option<Delta>, verified: &Verified) -> Option<i64> {
        let answers = delta.and_then(|delta| to_bytes(&self.identity, Told::Answers(delta)).ok());
        let told = match answers.filter(|bytes| bytes.len() <= MOST) {
            Some(answers) => Some(answers),
            None => {
                let checksum = self.save(verified.clone(), Duration::ZERO).await;
                checksum.and_then(|checksum| to_bytes(&self.identity, Told::Whole(checksum)).ok())
            }
        };
        self.deployment.end(self.name(), turn, told).await
    }
}
