//! What accompanies one request on its way: its id, its deadline, how urgent it is, and what it cost at v1.
//!
//! May use: `context::meter`. May be used by every folder but `sandbox`.

mod meter;

pub use meter::{MOST_IGNORED, Meter, Note, RequestNumber, Spender, Standing};

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Kept back of a deadline: a call to v1 that is let through must also be answered.
const MARGIN: Duration = Duration::from_millis(500);
/// The same for a write: one that is cut off leaves nobody knowing whether it was carried out, and a v1 that is busy
/// takes seconds over it.
const MARGIN_OF_WRITES: Duration = Duration::from_secs(3);

/// Longest wait for v1's quota that those who wait for a build, or for a read that somebody else began, are not told of.
const HOLD: Duration = Duration::from_secs(1);

/// Who goes first when v1's quota is short; the first is the most urgent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Priority {
    /// A write, with all that is read for it.
    Write,
    /// A read that somebody waits for.
    #[default]
    Read,
    /// Building the index, and refreshing it ahead of requests.
    Index,
}

/// One request's companion; cheap to clone, so that work done by its own task keeps the accounting.
#[derive(Debug, Clone)]
pub struct Context {
    /// Id of the request, accepted from the client or made; also sent to v1 as `X-Request-Id`.
    pub request_id: Arc<str>,
    /// When the request arrived.
    pub began: Instant,
    /// When the request must have been answered.
    pub deadline: Instant,
    /// The same of the request that shared work was begun for.
    asked_until: Option<Instant>,
    /// Whether the write that it is for has changed anything; nothing for what is no write of its own.
    changed: Option<Arc<AtomicBool>>,
    /// Whether requests with other keys may wait for it.
    for_all: bool,
    /// How long it has waited for v1's answer to an equal request before anything was asked for itself.
    waited: Duration,
    /// How urgent its v1 calls are.
    pub priority: Priority,
    /// Whether it may rely on what v1 showed before, while v1 is unreachable or failing: a read for a client.
    pub tolerant: bool,
    /// What it cost at v1.
    pub meter: Arc<Meter>,
    sent: Option<Sent>,
}

/// When the first v1 call was sent that somebody waits for; cheap to clone, all clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Sent(Arc<OnceLock<Instant>>);

impl Sent {
    /// How long after `since` that was; nothing at all while none was sent, or when it was before.
    pub fn after(&self, since: Instant) -> Duration {
        self.0.get().map_or(Duration::ZERO, |at| at.saturating_duration_since(since))
    }
}

impl Context {
    /// A context of a request that arrives now, and expires after `allowed`.
    pub fn new(request_id: impl Into<Arc<str>>, allowed: Duration) -> Self {
        let began = Instant::now();
        let deadline = began + allowed;
        let (priority, meter) = (Priority::default(), Arc::default());
        let request_id = request_id.into();
        let (asked_until, changed, for_all, tolerant, sent) = (None, None, false, false, None);
        let waited = Duration::ZERO;
        Self { request_id, began, deadline, asked_until, changed, for_all, waited, priority, tolerant, meter, sent }
    }

    /// The same accounting with a deadline of its own, for work that is shared with other requests and
    /// must not end with this one.
    pub fn for_shared_work(&self, allowed: Duration) -> Self {
        let asked_until = Some(self.asked_until.unwrap_or(self.deadline));
        Self { deadline: Instant::now() + allowed, asked_until, waited: Duration::ZERO, ..self.clone() }
    }

    /// The same for a write that, once `changed` says that it has begun, must not end with this request.
    pub fn for_write(&self, allowed: Duration, changed: Arc<AtomicBool>) -> Self {
        Self { changed: Some(changed), ..self.for_shared_work(allowed) }
    }

    /// Whether the request that shared work was begun for has been told by now that there was no time for it.
    pub fn is_told_too_late(&self) -> bool {
        self.asked_until.is_some_and(|until| until <= Instant::now())
    }

    /// The same, for what requests with other keys may wait for too.
    #[must_use]
    pub fn for_all(self) -> Self {
        Self { for_all: true, ..self }
    }

    /// Whether a call is sent again once v1, which has refused it, takes calls with its key again. A read that others
    /// wait for is not: their keys may have room. A write waits with all that it reads.
    pub fn waits_for_v1(&self) -> bool {
        !self.for_all || self.priority == Priority::Write
    }

    /// The same, and what tells when its first v1 call was sent.
    #[must_use]
    pub fn telling_when_sent(self) -> (Self, Sent) {
        let sent = Sent::default();
        (Self { sent: Some(sent.clone()), ..self }, sent)
    }

    /// The same after a wait for v1's answer to an equal request, which counts as waiting for v1.
    #[must_use]
    pub fn having_waited(self, waited: Duration) -> Self {
        Self { waited, ..self }
    }

    /// A v1 call is sent at this instant.
    pub fn sends(&self, at: Instant) {
        if let Some(Sent(first)) = &self.sent {
            let _ = first.set(at);
        }
    }

    /// The same with another priority.
    #[must_use]
    pub fn with_priority(self, priority: Priority) -> Self {
        Self { priority, ..self }
    }

    /// The same, relying on older data while v1 is away.
    #[must_use]
    pub fn tolerating(self, tolerant: bool) -> Self {
        Self { tolerant, ..self }
    }

    /// Longest wait for v1 while something older is at hand: a third of the time left, so that there is time for the
    /// other questions that the answer needs.
    pub fn patience(&self) -> Duration {
        ((self.remaining() + self.waited) / 3).saturating_sub(self.waited)
    }

    /// Time left until the deadline; zero when it has passed.
    pub fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Time for which a call to v1, or what must be known before it, may be waited for: one that begins later is not
    /// answered before the deadline.
    pub fn time_to_begin(&self) -> Duration {
        self.time_to_begin_before(self.deadline)
    }

    /// The same for v1's quota. A read that several requests share does not wait for it longer than the one that began
    /// it can, and a write that has changed nothing no longer than its client. One that requests with other keys wait
    /// for, or a build of an index, waits for a moment only: their keys may have quota, or they are told when there will
    /// be some, instead of nothing until their time is over. The build then goes on by itself.
    pub fn time_to_be_let_through(&self) -> Duration {
        match (self.priority, self.asked_until) {
            (Priority::Read, _) if self.for_all => self.time_to_begin().min(HOLD),
            (Priority::Read, Some(until)) => {
                let left = self.time_to_begin_before(until.min(self.deadline));
                // Once that one has gone, it goes on for those who joined.
                left.max(HOLD.min(self.time_to_begin()))
            }
            (Priority::Write, Some(until)) if self.has_changed_nothing() => {
                self.time_to_begin_before(until.min(self.deadline))
            }
            (Priority::Index, _) => self.time_to_begin().min(HOLD),
            _ => self.time_to_begin(),
        }
    }

    fn has_changed_nothing(&self) -> bool {
        self.changed.as_ref().is_some_and(|changed| !changed.load(Ordering::SeqCst))
    }

    fn time_to_begin_before(&self, deadline: Instant) -> Duration {
        let margin = match self.priority {
            Priority::Write => MARGIN_OF_WRITES,
            Priority::Read | Priority::Index => MARGIN,
        };
        let left = deadline.saturating_duration_since(Instant::now());
        // Never more than half, so that a short deadline leaves time to wait at all.
        left.saturating_sub(margin.min(left / 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a time is `expected`, but for what passed since.
    fn is_about(time: Duration, expected: Duration) -> bool {
        time.abs_diff(expected) < Duration::from_millis(400)
    }

    #[test]
    fn a_shared_read_waits_for_quota_no_longer_than_who_began_it() {
        let asker = Context::new("r", Duration::from_secs(10));
        let shared = asker.for_shared_work(Duration::from_secs(60));
        // What is shared within it waits no longer either.
        let inner = shared.for_shared_work(Duration::from_secs(60));
        for shared in [shared, inner] {
            assert!(is_about(shared.time_to_be_let_through(), Duration::from_secs(10) - MARGIN));
            assert!(is_about(shared.time_to_begin(), Duration::from_secs(60) - MARGIN));
        }
        // Whoever joined is told within a second when the one that began it has gone.
        let gone = Context::new("r", Duration::ZERO).for_shared_work(Duration::from_secs(60));
        assert_eq!(gone.time_to_be_let_through(), HOLD);
        // Whoever has another key may have quota.
        assert_eq!(asker.for_all().time_to_be_let_through(), HOLD);
    }

    #[test]
    fn a_write_waits_for_quota_as_long_as_its_client_until_it_has_changed_something() {
        let changed = Arc::new(AtomicBool::new(false));
        let client = Context::new("r", Duration::from_secs(10)).with_priority(Priority::Write);
        let write = client.for_write(Duration::from_secs(60), Arc::clone(&changed));
        // A call of it has a time of its own.
        let call = write.for_shared_work(Duration::from_secs(45));
        for ctx in [&write, &call] {
            assert!(is_about(ctx.time_to_be_let_through(), Duration::from_secs(10) - MARGIN_OF_WRITES));
            assert!(!ctx.is_told_too_late());
        }
        let late = Context::new("r", Duration::ZERO).with_priority(Priority::Write);
        let late = late.for_write(Duration::from_secs(60), Arc::clone(&changed));
        assert!(late.is_told_too_late());
        assert_eq!(late.time_to_be_let_through(), Duration::ZERO);
        changed.store(true, Ordering::SeqCst);
        for (ctx, seconds) in [(&write, 60), (&call, 45), (&late, 60)] {
            let whole = Duration::from_secs(seconds) - MARGIN_OF_WRITES;
            assert!(is_about(ctx.time_to_be_let_through(), whole), "what is begun is ended");
        }
    }

    #[test]
    fn who_has_waited_for_an_equal_request_waits_for_v1_as_long_as_the_others() {
        let second = Duration::from_secs(1);
        let alone = Context::new("r", 30 * second);
        assert!(is_about(alone.patience(), 10 * second));
        for (waited, left) in [(1, 9), (9, 1), (10, 0), (12, 0)] {
            let ctx = Context::new("r", (30 - waited) * second).having_waited(waited * second);
            assert!(is_about(ctx.patience(), left * second), "{waited}");
            // Work that goes on for others has the time of its own.
            assert!(is_about(ctx.for_shared_work(30 * second).patience(), 10 * second));
        }
    }

    #[test]
    fn a_build_holds_those_who_wait_for_it_for_a_moment_only() {
        let build = Context::new("r", Duration::from_secs(60)).with_priority(Priority::Index);
        assert_eq!(build.time_to_be_let_through(), HOLD);
        let write = Context::new("r", Duration::from_secs(60)).with_priority(Priority::Write);
        assert!(is_about(write.time_to_be_let_through(), Duration::from_secs(60) - MARGIN_OF_WRITES));
    }
}
