//! The quota of a key, shared by all processes in Redis.
//!
//! Every call is reserved before it is made. Calls to v1 are few, and each takes far longer than Redis. If parts of the
//! quota were set aside in several places, one process would be refused calls that another does not need. The calls of
//! a process that dies are held for a while longer, as if v1 had received them. May use: `shared`, `units`, the key,
//! `window` (`QuotaNotice`).

use crate::shared::{Call, Script, Shared};
use crate::units::millis;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use uuid::Uuid;

/// Longest time for which a call counts as in flight; no request is answered later.
const LONGEST: Duration = Duration::from_secs(120);

static RESERVE: Script = Script::new(include_str!("reserve.lua"));
static SETTLE: Script = Script::new(include_str!("settle.lua"));

/// The quotas of all processes; cheap to clone.
#[derive(Clone)]
pub(super) struct Pool(Arc<Inner>);

struct Inner {
    shared: Shared,
    process: String,
    next: AtomicU64,
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
    /// Wait this long, or make them at once if v1 allows as many calls as the number, which another process has seen.
    Wait(Duration, usize),
    /// It is unknown whether they are reserved.
    Away(Ticket),
}

impl Pool {
    pub fn new(shared: Shared) -> Self {
        Self(Arc::new(Inner { shared, process: Uuid::new_v4().simple().to_string(), next: AtomicU64::new(0) }))
    }

    /// Returns the window of `length` with this name; the name itself is not shown.
    pub fn window(&self, name: &[u8], length: Duration) -> PoolWindow {
        let tag = Shared::hidden_tag("quota", &[name]);
        let [key, learned] = ["quota", "learned"].map(|kind| self.0.shared.key(kind, &tag));
        PoolWindow { pool: self.clone(), key, learned, length }
    }
}

impl PoolWindow {
    /// Checks whether the shared pool is connected.
    pub fn is_up(&self) -> bool {
        self.pool.0.shared.is_up()
    }

    /// Reserves `calls` if no more than `limit` calls count with them. `learned` is the quota that v1 was seen to
    /// allow, or 0. `before` holds calls of an earlier request, for which it is unknown whether they are reserved.
    pub async fn reserve(&self, calls: usize, limit: usize, learned: usize, before: Option<Ticket>) -> Reserved {
        let is_again = before.is_some();
        let ticket = before.unwrap_or_else(|| self.ticket(calls));
        let wish = self.wish(&ticket, i64::try_from(limit).unwrap_or(i64::MAX), learned);
        let told = self.pool.0.shared.run_one(wish).await.ok();
        let told = told.and_then(|told| Some((told.number(0)?, told.number(1)?, told.number(2)?)));
        match told {
            Some((1, count, _)) => Reserved::Yes(ticket, usize::try_from(count).unwrap_or_default()),
            Some((_, wait, learned)) => {
                if !is_again {
                    ticket.void();
                }
                let wait = Duration::from_millis(wait.max(1).unsigned_abs());
                Reserved::Wait(wait, usize::try_from(learned).unwrap_or_default())
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
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { drop(shared.run_one(call).await) });
        }
    }

    fn settle(&self, calls: &[u64], counts: Duration, closed: Duration) {
        if calls.is_empty() {
            return;
        }
        let call = SETTLE.on([&self.key]).number(millis(counts)).number(millis(closed)).text(&self.pool.0.process);
        let call = calls.iter().fold(call, |call, number| call.number(i64::try_from(*number).unwrap_or_default()));
        self.send(call);
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
        self.window.settle(&std::mem::take(&mut self.calls), counts, closed);
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.settle(Duration::ZERO, Duration::ZERO);
    }
}
