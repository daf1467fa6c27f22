//! The limits of several processes together, through Redis.
//!
//! One task reports the requests let through and asks for the requests that need Redis, for all credentials at once:
//! after at most [`GATHER`], or at once when a request waits. So the number of round trips does not grow with the
//! number of requests. While Redis is away, each process counts alone. May use: `account`, `buckets`, `shared`, `task`.

use super::account::{Account, Granted, Shape};
use super::buckets::CredentialId;
use crate::shared::{Call, Script, Shared};
use crate::task::spawn;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

/// Longest time before requests that were let through are reported.
const GATHER: Duration = Duration::from_millis(50);
/// Most buckets reported in one round trip.
const AT_ONCE: usize = 500;
/// Number of buckets above which unused ones are dropped.
const MANY: usize = 100_000;
/// Time for which an unused bucket is kept then.
const KEPT: Duration = Duration::from_secs(60);

static EXCHANGE: Script = Script::new(include_str!("exchange.lua"));

/// Name of a bucket: its class and its credential.
type Place = (&'static str, CredentialId);

/// The buckets of all processes; cheap to clone.
#[derive(Clone)]
pub(super) struct SharedBuckets(Arc<Inner>);

struct Inner {
    shared: Shared,
    state: Mutex<State>,
    /// Wakes the task: there is something to report.
    some: Notify,
    /// Wakes the task at once, without [`GATHER`].
    urgent: Notify,
}

#[derive(Default)]
struct State {
    accounts: HashMap<Place, Account>,
    queue: Vec<Place>,
}

/// A reported bucket, and the requests that wait for the answer.
struct SentBucket {
    place: Place,
    waiting: Vec<oneshot::Sender<Option<Granted>>>,
}

impl SharedBuckets {
    /// Counts in `shared`.
    pub fn new(shared: Shared) -> Self {
        let inner = Arc::new(Inner { shared, state: Mutex::default(), some: Notify::new(), urgent: Notify::new() });
        spawn(exchange(Arc::downgrade(&inner)));
        Self(inner)
    }

    /// Takes a slot of the bucket `place`, with `limit` slots a minute. Returns the slots left, or the time until one
    /// is free; none when Redis is away.
    pub async fn take(&self, place: Place, limit: u32) -> Option<Granted> {
        if !self.0.shared.is_up() {
            return None;
        }
        match self.0.take(place, limit) {
            Ok(granted) => Some(granted),
            Err(waiting) => waiting.await.ok().flatten(),
        }
    }
}

impl Inner {
    /// Decides with local knowledge, or returns a channel that gets the decision of Redis.
    fn take(&self, place: Place, limit: u32) -> Result<Granted, oneshot::Receiver<Option<Granted>>> {
        let now = Instant::now();
        let mut state = self.state.lock();
        let State { accounts, queue } = &mut *state;
        let account = accounts.entry(place).or_insert_with(|| Account::new(Shape::of(limit), now));
        account.reshape(Shape::of(limit));
        let taken = match account.take(now) {
            // A refusal charges nothing, so Redis is not told of it.
            Some(Err(wait)) => return Ok(Err(wait)),
            Some(Ok(left)) => Ok(Ok(left)),
            None => {
                let (tell, told) = oneshot::channel();
                account.waiting.push(tell);
                Err(told)
            }
        };
        if !account.queued {
            account.queued = true;
            queue.push(place);
            self.some.notify_one();
        }
        if account.is_urgent(now) {
            self.urgent.notify_one();
        }
        taken
    }

    fn calls(&self) -> (Vec<Call>, Vec<SentBucket>) {
        let now = Instant::now();
        let mut state = self.state.lock();
        let State { accounts, queue } = &mut *state;
        if accounts.len() > MANY {
            accounts.retain(|_, account| account.queued || now - account.used < KEPT);
        }
        let some = queue.len().min(AT_ONCE);
        let told = queue.drain(..some).filter_map(|place| {
            let account = accounts.get_mut(&place)?;
            let (owed, wanted) = account.charge();
            let waiting = std::mem::take(&mut account.waiting);
            let Shape { slots, interval } = account.shape;
            let call = EXCHANGE.on([&self.key(&place)]).number(interval).number(slots).number(owed).number(wanted);
            Some((call, SentBucket { place, waiting }))
        });
        told.unzip()
    }

    /// Returns a key that does not show the hash of the credential.
    fn key(&self, (class, id): &Place) -> String {
        self.shared.key("limit", &Shared::hidden_tag("limit", &[class.as_bytes(), id.as_slice()]))
    }

    async fn tell(&self) {
        let (calls, told) = self.calls();
        if calls.is_empty() {
            return;
        }
        let answers = self.shared.run(calls).await.unwrap_or_default();
        let mut answers = answers.into_iter();
        let now = Instant::now();
        let mut state = self.state.lock();
        for SentBucket { place, waiting } in told {
            let answer = answers.next().and_then(|answer| Some((answer.number(0)?, answer.number(1)?)));
            let Some(account) = state.accounts.get_mut(&place) else { continue };
            match answer {
                Some((granted, debt)) => account.heard(waiting, granted, debt, now),
                // Dropping the channels tells the waiting requests.
                None => account.lost(),
            }
        }
        if !state.queue.is_empty() {
            self.some.notify_one();
        }
    }
}

async fn exchange(inner: Weak<Inner>) {
    loop {
        let Some(inner) = inner.upgrade() else { return };
        // Wake up from time to time to see whether the limits are still in use.
        if tokio::time::timeout(KEPT, inner.some.notified()).await.is_err() {
            continue;
        }
        let _ = tokio::time::timeout(GATHER, inner.urgent.notified()).await;
        inner.tell().await;
    }
}
