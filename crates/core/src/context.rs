//! The context of one request: its id, its deadline, its priority, and its cost at v1.
//!
//! May use: `context::meter`. May be used by every folder but `sandbox`.

mod meter;

pub use meter::{LimitState, MOST_IGNORED, Meter, Note, RequestNumber, Spender};

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Time reserved before a deadline: a call to v1 that is let through must also be answered.
const MARGIN: Duration = Duration::from_millis(500);
/// The same for a write. When a write is cut off, it is unknown whether it was carried out, and a busy v1 takes seconds
/// for a write.
const MARGIN_OF_WRITES: Duration = Duration::from_secs(3);

/// Longest wait for v1's quota in a build, or in a read that another request began, before the waiters are told of it.
const HOLD: Duration = Duration::from_secs(1);

/// The priority of calls when v1's quota is short, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Priority {
    /// A write, with all reads for it.
    Write,
    /// A read that a caller waits for.
    #[default]
    Read,
    /// Building the index, and refreshing it ahead of requests.
    Index,
}

impl Priority {
    /// Number of priorities.
    pub const COUNT: usize = 3;
}

/// The context of one request; cheap to clone, so that work in a task of its own still counts for the request.
#[derive(Debug, Clone)]
pub struct Context {
    /// Id of the request, accepted from the client or made; also sent to v1 as `X-Request-Id`.
    pub request_id: Arc<str>,
    /// Instant at which the request arrived.
    pub began: Instant,
    /// Instant by which the request must be answered.
    pub deadline: Instant,
    /// The same of the request for which shared work was begun.
    asked_until: Option<Instant>,
    /// Whether the write of this context has changed anything; none when the context is for no write of its own.
    changed: Option<Arc<AtomicBool>>,
    /// Whether requests with other keys may wait for this work.
    for_all: bool,
    /// Time spent waiting for v1's answer to an equal request, before this request made any call.
    waited: Duration,
    /// Priority of its v1 calls.
    pub priority: Priority,
    /// Whether it may rely on older data from v1 while v1 is unreachable or failing: only a read for a client may.
    pub tolerant: bool,
    /// Its cost at v1.
    pub meter: Arc<Meter>,
    sent: Option<FirstCall>,
}

/// The instant of the first v1 call that a caller waits for; cheap to clone, all clones are the same.
#[derive(Debug, Clone, Default)]
pub struct FirstCall(Arc<OnceLock<Instant>>);

impl FirstCall {
    /// Returns the time from `since` to that call; zero while no call was sent, or when it was sent before `since`.
    pub fn after(&self, since: Instant) -> Duration {
        self.0.get().map_or(Duration::ZERO, |at| at.saturating_duration_since(since))
    }
}

impl Context {
    /// Creates the context of a request that arrives now and expires after `allowed`.
    pub fn new(request_id: impl Into<Arc<str>>, allowed: Duration) -> Self {
        let began = Instant::now();
        let deadline = began + allowed;
        let (priority, meter) = (Priority::default(), Arc::default());
        let request_id = request_id.into();
        let (asked_until, changed, for_all, tolerant, sent) = (None, None, false, false, None);
        let waited = Duration::ZERO;
        Self { request_id, began, deadline, asked_until, changed, for_all, waited, priority, tolerant, meter, sent }
    }

    /// Returns a context with the same accounting and a deadline of its own, for work that is shared with other
    /// requests and must not end with this one.
    pub fn for_shared_work(&self, allowed: Duration) -> Self {
        let asked_until = Some(self.asked_until.unwrap_or(self.deadline));
        Self { deadline: Instant::now() + allowed, asked_until, waited: Duration::ZERO, ..self.clone() }
    }

    /// The same for a write that must not end with this request once `changed` says that it has begun.
    pub fn for_write(&self, allowed: Duration, changed: Arc<AtomicBool>) -> Self {
        Self { changed: Some(changed), ..self.for_shared_work(allowed) }
    }

    /// Checks whether the request that began the shared work has by now got the answer that its time was over.
    pub fn is_past_asker_deadline(&self) -> bool {
        self.asked_until.is_some_and(|until| until <= Instant::now())
    }

    /// Marks the work as work for which requests with other keys may wait too.
    #[must_use]
    pub fn for_all(self) -> Self {
        Self { for_all: true, ..self }
    }

    /// Checks whether a call that v1 refused is sent again once v1 takes calls with its key again. A read that other
    /// requests wait for is not sent again, because their keys may have quota. A write waits, with all its reads.
    pub fn waits_for_v1(&self) -> bool {
        !self.for_all || self.priority == Priority::Write
    }

    /// Returns the same context, and the value that tells when its first v1 call was sent.
    #[must_use]
    pub fn with_sent_time(self) -> (Self, FirstCall) {
        let sent = FirstCall::default();
        (Self { sent: Some(sent.clone()), ..self }, sent)
    }

    /// Adds a wait for v1's answer to an equal request, which counts as waiting for v1.
    #[must_use]
    pub fn having_waited(self, waited: Duration) -> Self {
        Self { waited, ..self }
    }

    /// Records that a v1 call is sent at this instant.
    pub fn sends(&self, at: Instant) {
        if let Some(FirstCall(first)) = &self.sent {
            let _ = first.set(at);
        }
    }

    /// Sets another priority.
    #[must_use]
    pub fn with_priority(self, priority: Priority) -> Self {
        Self { priority, ..self }
    }

    /// Sets whether the request may rely on older data while v1 is away.
    #[must_use]
    pub fn with_stale_allowed(self, tolerant: bool) -> Self {
        Self { tolerant, ..self }
    }

    /// Returns the longest wait for v1 while older data is available: a third of the time left, so that there is time
    /// for the other calls that the answer needs.
    pub fn patience(&self) -> Duration {
        ((self.remaining() + self.waited) / 3).saturating_sub(self.waited)
    }

    /// Returns the time left until the deadline; zero when it has passed.
    pub fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Returns the time that a call to v1, or work that must come before it, may wait. A call that begins later is not
    /// answered before the deadline.
    pub fn time_to_begin(&self) -> Duration {
        self.time_to_begin_before(self.deadline)
    }

    /// The same for v1's quota. A read that several requests share waits no longer than the request that began it can.
    /// A write that has changed nothing waits no longer than its client. A build of an index, or a read that requests
    /// with other keys wait for, waits only for a moment: the other keys may have quota, or their requests are told
    /// when there will be quota, instead of nothing until their time is over. The build then continues by itself.
    pub fn quota_wait_limit(&self) -> Duration {
        match (self.priority, self.asked_until) {
            (Priority::Read, _) if self.for_all => self.time_to_begin().min(HOLD),
            // When that request has gone, the work continues for the requests that joined.
            (Priority::Read, Some(_)) if self.is_past_asker_deadline() => self.time_to_begin().min(HOLD),
            (Priority::Read, Some(until)) => self.time_to_begin_before(until.min(self.deadline)),
            (Priority::Write, Some(until)) if self.has_changed_nothing() => {
                self.time_to_begin_before(until.min(self.deadline))
            }
            (Priority::Index, _) => self.time_to_begin().min(HOLD),
            _ => self.time_to_begin(),
        }
    }

    /// Checks whether the context is for a write that has changed something.
    pub fn has_changed_something(&self) -> bool {
        self.changed.as_ref().is_some_and(|changed| changed.load(Ordering::SeqCst))
    }

    fn has_changed_nothing(&self) -> bool {
        self.changed.is_some() && !self.has_changed_something()
    }

    fn time_to_begin_before(&self, deadline: Instant) -> Duration {
        let margin = match self.priority {
            Priority::Write => MARGIN_OF_WRITES,
            Priority::Read | Priority::Index => MARGIN,
        };
        let left = deadline.saturating_duration_since(Instant::now());
        // At most half of it, so that a short deadline leaves some time to wait.
        left.saturating_sub(margin.min(left / 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks whether a time is `expected`, except for the time that has passed since.
    fn is_about(time: Duration, expected: Duration) -> bool {
        time.abs_diff(expected) < Duration::from_millis(400)
    }

    #[test]
    fn a_shared_read_waits_for_quota_no_longer_than_who_began_it() {
        let asker = Context::new("r", Duration::from_secs(10));
        let shared = asker.for_shared_work(Duration::from_secs(60));
        // Shared work inside it waits no longer either.
        let inner = shared.for_shared_work(Duration::from_secs(60));
        for shared in [shared, inner] {
            assert!(is_about(shared.quota_wait_limit(), Duration::from_secs(10) - MARGIN));
            assert!(is_about(shared.time_to_begin(), Duration::from_secs(60) - MARGIN));
        }
        // A request that joined is told within a second when the request that began it has gone.
        let gone = Context::new("r", Duration::ZERO).for_shared_work(Duration::from_secs(60));
        assert_eq!(gone.quota_wait_limit(), HOLD);
        // Before that, it is told within the time that it has left.
        let hurried = Context::new("r", HOLD / 2).for_shared_work(Duration::from_secs(60));
        assert!(hurried.quota_wait_limit() <= HOLD / 4);
        // A request with another key may have quota.
        assert_eq!(asker.for_all().quota_wait_limit(), HOLD);
    }

    #[test]
    fn a_write_waits_for_quota_as_long_as_its_client_until_it_has_changed_something() {
        let changed = Arc::new(AtomicBool::new(false));
        let client = Context::new("r", Duration::from_secs(10)).with_priority(Priority::Write);
        let write = client.for_write(Duration::from_secs(60), Arc::clone(&changed));
        // A call of the write has a time of its own.
        let call = write.for_shared_work(Duration::from_secs(45));
        for ctx in [&write, &call] {
            assert!(is_about(ctx.quota_wait_limit(), Duration::from_secs(10) - MARGIN_OF_WRITES));
            assert!(!ctx.is_past_asker_deadline());
        }
        let late = Context::new("r", Duration::ZERO).with_priority(Priority::Write);
        let late = late.for_write(Duration::from_secs(60), Arc::clone(&changed));
        assert!(late.is_past_asker_deadline());
        assert_eq!(late.quota_wait_limit(), Duration::ZERO);
        changed.store(true, Ordering::SeqCst);
        for (ctx, seconds) in [(&write, 60), (&call, 45), (&late, 60)] {
            let whole = Duration::from_secs(seconds) - MARGIN_OF_WRITES;
            assert!(is_about(ctx.quota_wait_limit(), whole), "what is begun is ended");
        }
    }

    #[test]
    fn time_spent_waiting_for_an_equal_request_reduces_the_patience() {
        let second = Duration::from_secs(1);
        let alone = Context::new("r", 30 * second);
        assert!(is_about(alone.patience(), 10 * second));
        for (waited, left) in [(1, 9), (9, 1), (10, 0), (12, 0)] {
            let ctx = Context::new("r", (30 - waited) * second).having_waited(waited * second);
            assert!(is_about(ctx.patience(), left * second), "{waited}");
            // Work that continues for others has a time of its own.
            assert!(is_about(ctx.for_shared_work(30 * second).patience(), 10 * second));
        }
    }

    #[test]
    fn a_build_holds_those_who_wait_for_it_for_a_moment_only() {
        let build = Context::new("r", Duration::from_secs(60)).with_priority(Priority::Index);
        assert_eq!(build.quota_wait_limit(), HOLD);
        let write = Context::new("r", Duration::from_secs(60)).with_priority(Priority::Write);
        assert!(is_about(write.quota_wait_limit(), Duration::from_secs(60) - MARGIN_OF_WRITES));
    }
}
