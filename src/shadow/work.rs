//! The background task: takes answers out of the queue, asks the other side, and counts the results.
//!
//! May use: `hop`, `plan`, `settings`, `task`, `v1` (keys), this folder.

use super::compare::{Side, compare};
use super::found::{Difference, Outcome};
use super::offer::{Offer, Shadow};
use super::tally::Tally;
use super::walk::Rules;
use super::words::MemberNames;
use crate::hop::{Hop, HopSettings, Instance, Versions};
use crate::plan::Plan;
use crate::settings::{HttpAddress, ShadowSettings};
use crate::task::spawn;
use crate::v1::V1Key;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::uri::Scheme;
use http::{HeaderValue, Request, Version};
use http_body_util::{BodyExt, Full, Limited};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc};

/// Most concurrent reads at the other side.
const AT_ONCE: usize = 4;
/// Most differences that wait to be checked once more.
const DOUBTFUL: usize = 64;
/// Size in bytes from which bodies are compared on the blocking pool, where they delay no request.
const LARGE: usize = 32 * 1024;
/// Time from an answer until it is compared. By then the answer has been sent, so the comparison does not take
/// processor time from it.
const SENT: Duration = Duration::from_millis(5);

/// Time limit for an answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time for which an idle connection is kept.
const IDLE: Duration = Duration::from_secs(60);
const KEPT: usize = 8;
/// Largest answer that is read, in bytes.
const LARGEST: usize = 32 * 1024 * 1024;
/// Statuses of answers that say nothing about the requested record.
const TROUBLE: [u16; 5] = [408, 429, 502, 503, 504];

pub struct Work {
    queue: mpsc::Receiver<Offer>,
    doing: Arc<Comparer>,
}

struct Comparer {
    asking: OtherSideClient,
    words: Arc<MemberNames>,
    values: bool,
    tally: Tally,
    /// Time until a difference is checked once more: by then the cached data of v1 have expired.
    pause: Duration,
    doubtful: Semaphore,
}

impl Work {
    /// Creates the task, which compares answers of the operations of `plan` with those of `address`. `pause` is the
    /// greatest age of the cached data from which the gateway answers.
    pub fn new(
        plan: Arc<Plan>,
        address: HttpAddress,
        instance: Instance,
        settings: ShadowSettings,
        tally: Tally,
        connect_timeout: Duration,
        pause: Duration,
    ) -> io::Result<(Shadow, Self)> {
        let asking = OtherSideClient::new(address, instance, connect_timeout)?;
        let doing = Comparer {
            asking,
            words: Arc::new(MemberNames::of(&plan)),
            values: settings.values,
            tally: tally.clone(),
            pause,
            doubtful: Semaphore::new(DOUBTFUL),
        };
        let (shadow, queue) = Shadow::new(plan, settings, tally);
        Ok((shadow, Self { queue, doing: Arc::new(doing) }))
    }

    /// Compares answers until all senders of the queue are gone.
    pub async fn run(mut self) {
        let places = Arc::new(Semaphore::new(AT_ONCE));
        while let Some(offer) = self.queue.recv().await {
            // Answers leave the queue in the order of their time, so none waits here longer than `SENT`.
            tokio::time::sleep_until(offer.taken + SENT).await;
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            let doing = Arc::clone(&self.doing);
            spawn(async move {
                let first = doing.look(&offer, offer.ours.clone()).await;
                drop(place);
                let (outcome, differences) = match first {
                    (Outcome::Different, found) => doing.look_again(&offer, found).await,
                    other => other,
                };
                doing.tally.add(&offer.operation, outcome, differences);
            });
        }
    }
}

impl Comparer {
    /// Reads the other side's answer and compares it with `ours`.
    async fn look(&self, offer: &Offer, ours: Side) -> (Outcome, Vec<Difference>) {
        let failed = (Outcome::Failed, Vec::new());
        let Some(theirs) = self.asking.ask(&offer.chosen.path, &offer.chosen.key).await else { return failed };
        let large = ours.body.len() + theirs.body.len() > LARGE;
        let (words, order, values) = (Arc::clone(&self.words), offer.order.clone(), self.values);
        let compared = move || compare(Rules { words: &words, order: order.as_deref(), values }, &ours, &theirs);
        match large {
            true => tokio::task::spawn_blocking(compared).await.unwrap_or(failed),
            false => compared(),
        }
    }

    /// Compares again after a pause. A write between the two answers looks like a difference; a real difference
    /// remains.
    async fn look_again(&self, offer: &Offer, first: Vec<Difference>) -> (Outcome, Vec<Difference>) {
        let Ok(_place) = self.doubtful.try_acquire() else { return (Outcome::Dropped, Vec::new()) };
        tokio::time::sleep(self.pause).await;
        let Some(ours) = (offer.chosen.again)().await else { return (Outcome::NotComparable, Vec::new()) };
        match self.look(offer, ours).await {
            (Outcome::Different, second) => {
                let both: Vec<_> = second.into_iter().filter(|difference| first.contains(difference)).collect();
                // Different places each time: the record is being written.
                let outcome = if both.is_empty() { Outcome::NotComparable } else { Outcome::Different };
                (outcome, both)
            }
            other => other,
        }
    }
}

/// Client for the other side. It sends only to the configured address: redirects are not followed.
struct OtherSideClient {
    hop: Hop<Full<Bytes>>,
    address: HttpAddress,
    instance: Instance,
}

impl OtherSideClient {
    fn new(address: HttpAddress, instance: Instance, connect_timeout: Duration) -> io::Result<Self> {
        let scheme = if address.is_plain() { Scheme::HTTP } else { Scheme::HTTPS };
        let settings = HopSettings { connect_timeout, pool_size: KEPT, idle: IDLE, versions: Versions::Http1 };
        Ok(Self { hop: Hop::new(&scheme, &settings)?, address, instance })
    }

    /// Sends a read with `key` and returns the answer; none when there is no answer, or one that only reports trouble.
    async fn ask(&self, path: &str, key: &V1Key) -> Option<Side> {
        let mut request = Request::get(format!("{}{path}", self.address.as_str())).body(Full::default()).ok()?;
        let mut secret = HeaderValue::from_str(key.expose()).ok()?;
        secret.set_sensitive(true);
        let headers = request.headers_mut();
        headers.insert("x-api-key", secret);
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers
            .insert(USER_AGENT, HeaderValue::from_static(concat!("causeway-shadow/", env!("CARGO_PKG_VERSION"))));
        self.instance.sign(headers, Version::HTTP_11);
        let answered = async {
            let (head, body) = self.hop.send(request).await.ok()?.into_parts();
            let body = Limited::new(body, LARGEST).collect().await.ok()?.to_bytes();
            let media = head.headers.get(CONTENT_TYPE).and_then(|media| media.to_str().ok()).unwrap_or_default();
            Some(Side { status: head.status.as_u16(), media: media.to_owned(), body })
        };
        let answer = tokio::time::timeout(PATIENCE, answered).await.ok()??;
        (!TROUBLE.contains(&answer.status)).then_some(answer)
    }
}
