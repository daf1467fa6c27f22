//! The work beside the requests: takes answers out of the queue, asks the other side, and counts what comes of it.
//!
//! May use: `hop`, `plan`, `settings`, this folder.

use super::asking::Asking;
use super::compare::{Side, compare};
use super::found::{Difference, Found, Outcome};
use super::offer::{Offer, Shadow};
use super::tally::Tally;
use super::walk::Rules;
use super::words::Words;
use crate::hop::Instance;
use crate::plan::Plan;
use crate::settings::{HttpAddress, ShadowSettings};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc};

/// Most reads that are asked at once.
const AT_ONCE: usize = 4;
/// Most differences that wait to be looked at once more.
const DOUBTFUL: usize = 64;
/// Bytes from which on bodies are compared where that holds nobody up.
const LARGE: usize = 32 * 1024;
/// Time from an answer until it is compared: by then it has been sent, and does not share the processor with what it
/// causes.
const SENT: Duration = Duration::from_millis(5);

/// What is to be compared, and how.
pub struct Work {
    queue: mpsc::Receiver<Offer>,
    doing: Arc<Doing>,
}

struct Doing {
    asking: Asking,
    words: Arc<Words>,
    values: bool,
    tally: Tally,
    /// Time until a difference is looked at once more: the data kept of v1 are older than that by then.
    pause: Duration,
    doubtful: Arc<Semaphore>,
}

impl Work {
    /// Compares answers of the operations of `plan` with those of `address`; `pause` is the age up to which the gateway
    /// answers from what it keeps.
    pub fn new(
        plan: Arc<Plan>,
        (address, instance): (HttpAddress, Instance),
        settings: ShadowSettings,
        tally: Tally,
        (connect_timeout, pause): (Duration, Duration),
    ) -> io::Result<(Shadow, Self)> {
        let asking = Asking::new(address, instance, connect_timeout)?;
        let (shadow, queue) = Shadow::new(plan, settings, tally);
        let doing = Doing {
            asking,
            words: Arc::clone(&shadow.words),
            values: shadow.settings.values,
            tally: shadow.tally.clone(),
            pause,
            doubtful: Arc::new(Semaphore::new(DOUBTFUL)),
        };
        Ok((shadow, Self { queue, doing: Arc::new(doing) }))
    }

    /// Compares until nobody offers any more.
    pub async fn run(mut self) {
        let places = Arc::new(Semaphore::new(AT_ONCE));
        while let Some(offer) = self.queue.recv().await {
            // They come out in the order in which they were taken, so that none waits here for longer than this.
            tokio::time::sleep_until(offer.taken + SENT).await;
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            let doing = Arc::clone(&self.doing);
            tokio::spawn(async move {
                let first = doing.look(&offer, offer.ours.clone()).await;
                drop(place);
                let (outcome, differences) = match first {
                    Some(Found::Different(found)) => doing.look_again(&offer, found).await,
                    other => told(other),
                };
                doing.tally.add(&offer.operation, outcome, differences);
            });
        }
    }
}

/// What is counted of a comparison; none when the other side could not be asked.
fn told(found: Option<Found>) -> (Outcome, Vec<Difference>) {
    match found {
        None => (Outcome::Failed, Vec::new()),
        Some(Found::Equal) => (Outcome::Equal, Vec::new()),
        Some(Found::NotComparable) => (Outcome::NotComparable, Vec::new()),
        Some(Found::Different(differences)) => (Outcome::Different, differences),
    }
}

impl Doing {
    /// Asks the other side and compares its answer with `ours`.
    async fn look(&self, offer: &Offer, ours: Side) -> Option<Found> {
        let theirs = self.asking.ask(&offer.path, &offer.key).await?;
        let large = ours.body.len() + theirs.body.len() > LARGE;
        let (words, order, values) = (Arc::clone(&self.words), offer.order.clone(), self.values);
        let compared = move || compare(Rules { words: &words, order: order.as_deref(), values }, &ours, &theirs);
        match large {
            true => tokio::task::spawn_blocking(compared).await.ok(),
            false => Some(compared()),
        }
    }

    /// A write between the two answers looks like a difference; one that is there makes one again.
    async fn look_again(&self, offer: &Offer, first: Vec<Difference>) -> (Outcome, Vec<Difference>) {
        let Ok(_place) = self.doubtful.try_acquire() else { return (Outcome::Dropped, Vec::new()) };
        tokio::time::sleep(self.pause).await;
        let Some(ours) = (offer.again)().await else { return (Outcome::NotComparable, Vec::new()) };
        match self.look(offer, ours).await {
            Some(Found::Different(second)) => {
                let both: Vec<_> = second.into_iter().filter(|difference| first.contains(difference)).collect();
                // Both times something else: it is being written to.
                let outcome = if both.is_empty() { Outcome::NotComparable } else { Outcome::Different };
                (outcome, both)
            }
            other => told(other),
        }
    }
}
