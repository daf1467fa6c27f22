//! The quota of a key, shared by all processes in Redis.
//!
//! Every call is reserved before it is made. Calls to v1 are few, and each takes far longer than Redis. If parts of the
//! quota were set aside in several places, one process would be refused calls that another does not need. The calls of
//! a process that dies are held for a while longer, as if v1 had received them. Calls that end while Redis is away are
//! reported as soon as it is back. May use: `shared`, `task`, `units`, the key, `missed`, `window` (`QuotaNotice`).

use super::missed::MissedCalls;
use crate::shared::{Answer, Call, Script, Shared};
use crate::task::spawn_on;
use crate::units::millis;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

/// Longest time for which a call counts as in flight; no request is answered later.
const LONGEST: Duration = Duration::from_secs(120);
/// Pause between two checks whether Redis is back.
const PAUSE: Duration = Duration::from_millis(100);
/// Added to a time so that its whole milliseconds are never less than the time.
const ROUNDING: Duration = Duration::from_nanos(999_999);

static RESERVE: Script = Script::new(include_str!("reserve.lua"));
static SETTLE: Script = Script::new(include_str!("settle.lua"));

/// The quotas of all processes; cheap to clone.
#[derive(Clone)]
pub(super) struct Pool(Arc<Inner>);

struct Inner {
    shared: Shared,
    process: String,
    next: AtomicU64,
    missed: MissedCalls,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").finish_non_exhaustive()
    }
}

/// The window of one key.
#[derive(Debug, Clone)]
pub(super) struct PoolWindow {
    pool: Pool,
    key: String,
    /// Redis key of the quota that v1 was seen to allow.
    learned: String,
    length: Duration,
}

/// Reserved calls. The holder reports their result; a ticket dropped without a report gives them back.
#[derive(Debug)]
pub(super) struct Ticket {
    window: PoolWindow,
    calls: Vec<u64>,
}

/// Result of a reservation.
#[derive(Debug)]
pub(super) enum Reserved {
    /// They may be made. The number is the calls that count now, including them.
    Yes(Ticket, usize),
    /// Wait this long, or make them at once if v1 allows as many calls as the first number, which another process has
    /// seen. The second number is the calls that count now, without them.
    Wait(Duration, usize, usize),
    /// It is unknown whether they are reserved.
    Away(Ticket),
}

impl Pool {
    pub fn new(shared: Shared) -> Self {
        let process = Uuid::new_v4().simple().to_string();
        Self(Arc::new(Inner { shared, process, next: AtomicU64::new(0), missed: MissedCalls::default() }))
    }

    /// Returns the window of `length` with this name; the name itself is not shown.
    pub fn window(&self, name: &[u8], length: Duration) -> PoolWindow {
        let tag = Shared::hidden_tag("quota", &[name]);
        let [key, learned] = ["quota", "learned"].map(|kind| self.0.shared.key(kind, &tag));
        PoolWindow { pool: self.clone(), key, learned, length }
    }

    /// Reports for how long each of the calls counts from now in the window of `key`. Returns whether Redis knows it.
    async fn tell(&self, key: &str, calls: &[(u64, Duration)], closed: Duration) -> bool {
        let call = SETTLE.on([key]).number(millis(closed)).text(&self.0.process);
        let call = calls.iter().fold(call, |call, (number, counts)| {
            call.number(i64::try_from(*number).unwrap_or_default()).number(millis(*counts + ROUNDING))
        });
        self.0.shared.run_one(call).await.is_ok()
    }

    /// Reports the calls of a window that ended while Redis was away, if it is back.
    async fn catch_up(&self, key: &str) {
        let missed = self.0.missed.counting(key, Instant::now());
        if !missed.is_empty() && self.0.shared.is_up() && self.tell(key, &missed, Duration::ZERO).await {
            self.0.missed.remove(key, &missed);
        }
    }

    /// Waits until Redis is back and knows the missed calls of all windows, or none of them counts any more.
    async fn wait_for_redis(&self) {
        while self.0.missed.is_any(Instant::now()) {
            sleep(PAUSE).await;
            if self.0.shared.is_up() {
                for key in self.0.missed.windows() {
                    self.catch_up(&key).await;
                }
            }
        }
    }
}

impl PoolWindow {
    /// Checks whether the shared pool is connected.
    pub fn is_up(&self) -> bool {
        self.pool.0.shared.is_up()
    }

    /// Returns the last known number of processes that reserve here.
    pub fn processes(&self) -> usize {
        self.pool.0.shared.processes()
    }

    /// Reserves `calls` if no more than `limit` calls count with them. `learned` is the quota that v1 was seen to
    /// allow, or 0. `before` holds calls of an earlier request, for which it is unknown whether they are reserved.
    pub async fn reserve(&self, calls: usize, limit: usize, learned: usize, before: Option<Ticket>) -> Reserved {
        self.pool.catch_up(&self.key).await;
        let is_again = before.is_some();
        let ticket = before.unwrap_or_else(|| self.ticket(calls));
        let wish = self.wish(&ticket, i64::try_from(limit).unwrap_or(i64::MAX), learned);
        let told = self.pool.0.shared.run_one(wish).await.ok();
        let number = |told: &Answer, at| Some(usize::try_from(told.number(at)?).unwrap_or_default());
        let told =
            told.and_then(|told| Some((told.number(0)?, told.number(1)?, number(&told, 2)?, number(&told, 3)?)));
        match told {
            Some((1, _, _, count)) => Reserved::Yes(ticket, count),
            Some((_, wait, learned, count)) => {
                if !is_again {
                    ticket.void();
                }
                Reserved::Wait(Duration::from_millis(wait.max(1).unsigned_abs()), learned, count)
            }
            None => Reserved::Away(ticket),
        }
    }

    /// Counts a call that cannot be held back.
    pub fn note(&self) -> Ticket {
        let ticket = self.ticket(1);
        self.send(self.wish(&ticket, -1, 0));
        ticket
    }

    fn ticket(&self, calls: usize) -> Ticket {
        let count = u64::try_from(calls).unwrap_or_default();
        let first = self.pool.0.next.fetch_add(count, Ordering::Relaxed);
        Ticket { window: self.clone(), calls: (first..first + count).collect() }
    }

    fn wish(&self, ticket: &Ticket, limit: i64, learned: usize) -> Call {
        let call = RESERVE.on([&self.key, &self.learned]).number(millis(self.length)).number(limit);
        let call = call.number(i64::try_from(ticket.calls.len()).unwrap_or(i64::MAX)).number(millis(LONGEST));
        let first = ticket.calls.first().copied().unwrap_or_default();
        let call = call.text(&self.pool.0.process).number(i64::try_from(first).unwrap_or_default());
        call.number(i64::try_from(learned).unwrap_or_default())
    }

    /// Sends a request in the background.
    fn send(&self, call: Call) {
        let shared = self.pool.0.shared.clone();
        if let Ok(runtime) = Handle::try_current() {
            spawn_on(&runtime, async move { drop(shared.run_one(call).await) });
        }
    }

    /// Reports in the background for how long calls count from now, and for how long v1 accepts none.
    fn settle(&self, calls: Vec<u64>, counts: Duration, closed: Duration) {
        let Some(runtime) = Handle::try_current().ok().filter(|_| !calls.is_empty()) else { return };
        let (window, until) = (self.clone(), Instant::now() + counts);
        spawn_on(&runtime, async move {
            let settled: Vec<(u64, Duration)> = calls.iter().map(|number| (*number, counts)).collect();
            let is_known = window.pool.tell(&window.key, &settled, closed).await;
            if !is_known && !counts.is_zero() && window.pool.0.missed.add(&window.key, &calls, until) {
                window.pool.wait_for_redis().await;
            }
        });
    }
}

impl Ticket {
    /// Takes one of the calls, to be settled separately.
    pub fn split(&mut self) -> Option<Self> {
        let calls = vec![self.calls.pop()?];
        Some(Self { window: self.window.clone(), calls })
    }

    /// Reports that v1 has counted them, at some time up to now.
    pub fn counted(mut self) {
        self.settle(self.window.length, Duration::ZERO);
    }

    /// Reports that v1 has not counted them, and accepts no calls for `wait`.
    pub fn closed(mut self, wait: Duration) {
        self.settle(Duration::ZERO, wait);
    }

    /// Drops the calls without settling them.
    fn void(mut self) {
        self.calls.clear();
    }

    fn settle(&mut self, counts: Duration, closed: Duration) {
        self.window.settle(std::mem::take(&mut self.calls), counts, closed);
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.settle(Duration::ZERO, Duration::ZERO);
    }
}
