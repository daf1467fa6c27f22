//! A circuit breaker over all calls to the deployment. It stops calls while v1 does not work.
//!
//! It opens when v1 cannot be reached, when most calls of the last seconds failed on several paths, or when v1
//! has been silent with calls in flight. While it is open, calls fail at once and nothing is sent. After a pause, one
//! call goes through as a probe; v1's first good answer closes the breaker.
//!
//! One request that v1 always fails on does not open it: failures must occur on several paths, and a 500, which
//! v1 also gives to a single bad request, counts only while v1 answers nothing else. Requests that pass through to v1
//! are observed and never held back. All of them count as one path, so that no client can open the breaker alone.
//!
//! May use: nothing of this crate.

use parking_lot::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// Time for which failures count.
const WINDOW: Duration = Duration::from_secs(10);
/// Number of failed connection attempts that can open the breaker.
const UNREACHABLE: usize = 3;
/// Number of failures of other kinds that can open it, and the number of paths with failures.
const FAILURES: usize = 5;
const PATHS: usize = 3;
/// Largest number of failures kept; older ones are dropped.
const MOST: usize = 256;
/// Connections that break within this time count as one failure: v1 closes all connections of a worker that it
/// replaces.
const AT_ONCE: Duration = Duration::from_millis(100);
/// v1 counts as silent when it has answered nothing for this time with at least this many calls in flight.
pub(super) const SILENCE: Duration = Duration::from_secs(10);
const WAITING: u64 = 3;
/// First and longest pause between opening and the next probe.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(5);
/// Time after which v1's last answer, or its last failure while the breaker is open, no longer tells its health.
const FORGOTTEN: Duration = Duration::from_secs(60);

/// Result of a call for the breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// v1 answered, with any content.
    Answered,
    /// v1 answered 500 or similar: it runs, but may not work.
    Faulty,
    /// 502, 503, 504, or no answer in time.
    Failed,
    /// The connection broke.
    Broken,
    /// No connection could be made.
    Unreachable,
}

impl Ended {
    /// Returns what a status says about v1 as a whole.
    pub fn of_status(status: u16) -> Self {
        match status {
            502..=504 => Self::Failed,
            500..=599 => Self::Faulty,
            _ => Self::Answered,
        }
    }
}

/// Known health of v1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// It answered recently.
    Ok,
    /// The breaker is open, for this time, and v1 was asked recently.
    Unreachable(Duration),
    /// v1 has given no good answer recently, and was not asked either if the breaker is open.
    Unknown,
}

#[derive(Debug)]
enum Gate {
    Closed,
    Open { since: Instant, until: Instant, pause: Duration, probe: Option<Instant> },
}

#[derive(Debug)]
struct Failure {
    at: Instant,
    ended: Ended,
    path: u64,
    /// Number of good answers before the failure.
    answered: u64,
}

#[derive(Debug)]
struct State {
    gate: Gate,
    failures: VecDeque<Failure>,
    /// Time of the last closing, and the breaker's pause at that time.
    closed: Option<(Instant, Duration)>,
}

#[derive(Debug)]
struct Inner {
    state: Mutex<State>,
    /// Whether the gate is open; can be read without the lock.
    shut: AtomicBool,
    begun: Instant,
    answered: AtomicU64,
    /// The gateway's own calls in flight.
    waiting: AtomicU64,
    /// Times in milliseconds since `begun`, plus one; zero means never. They are the last good answer (`heard`), the
    /// moment since which v1 owes an answer (`owed`), and the last failure or dropped probe (`troubled`).
    heard: AtomicU64,
    owed: AtomicU64,
    troubled: AtomicU64,
}

/// The breaker of one deployment; cheap to clone, all clones share it.
#[derive(Debug, Clone)]
pub struct Breaker(Arc<Inner>);

/// A permitted call. When it is dropped early without a result, it says nothing about v1.
#[derive(Debug)]
pub struct Pass {
    breaker: Breaker,
    path: u64,
    /// Whether this call is the probe.
    pub probe: bool,
    /// Whether it is a call of the gateway itself.
    own: bool,
    begun: Instant,
    open: bool,
}

impl Default for Breaker {
    fn default() -> Self {
        let state = State { gate: Gate::Closed, failures: VecDeque::new(), closed: None };
        Self(Arc::new(Inner {
            state: Mutex::new(state),
            shut: AtomicBool::new(false),
            begun: Instant::now(),
            answered: AtomicU64::new(0),
            waiting: AtomicU64::new(0),
            heard: AtomicU64::new(0),
            owed: AtomicU64::new(0),
            troubled: AtomicU64::new(0),
        }))
    }
}

impl Breaker {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock()
    }

    fn stamp(&self) -> u64 {
        self.0.begun.elapsed().as_millis() as u64 + 1
    }

    fn since(&self, mark: &AtomicU64) -> Option<Duration> {
        let at = mark.load(Ordering::Relaxed);
        (at > 0).then(|| Duration::from_millis(self.stamp().saturating_sub(at)))
    }

    /// Permits a call to `path` (a number for it), if calls may be made now.
    ///
    /// # Errors
    /// The time until the next try makes sense.
    pub fn admit(&self, path: u64) -> Result<Pass, Duration> {
        self.open_when_silent();
        let begun = Instant::now();
        let probe = self.turn(begun)?;
        // v1 owes an answer from the first call on, and is silent only when all of the last few calls wait for long.
        // A call that takes the place of one that was given up changes nothing.
        let waiting = self.0.waiting.fetch_add(1, Ordering::Relaxed) + 1;
        let none_failed = || self.0.troubled.load(Ordering::Relaxed) <= self.0.owed.load(Ordering::Relaxed);
        if waiting == 1 || (waiting == WAITING && none_failed()) {
            self.0.owed.store(self.stamp(), Ordering::Relaxed);
        }
        Ok(Pass { breaker: self.clone(), path, probe, own: true, begun, open: true })
    }

    /// Returns a pass for a call of the pass-through, which is never held back.
    pub fn observe(&self) -> Pass {
        Pass { breaker: self.clone(), path: 0, probe: false, own: false, begun: Instant::now(), open: true }
    }

    /// Returns the time that is left of the pause, which is zero after its end until v1 answers; `None` while the
    /// breaker is closed.
    pub fn closed_for(&self) -> Option<Duration> {
        if !self.0.shut.load(Ordering::Relaxed) {
            return None;
        }
        match &self.state().gate {
            Gate::Open { until, .. } => Some(until.saturating_duration_since(Instant::now())),
            Gate::Closed => None,
        }
    }

    /// Checks whether v1 fails, or failed recently.
    pub fn is_troubled(&self) -> bool {
        self.since(&self.0.troubled).is_some_and(|ago| ago < WINDOW)
    }

    /// Checks whether a caller that has waited long for v1 should give up, because calls are paused or v1 has become
    /// silent.
    pub fn has_stopped_calls(&self) -> bool {
        self.open_when_silent();
        self.closed_for().is_some()
    }

    /// Returns the known health of v1. An outage that nobody has asked about for a while is unknown: a load balancer
    /// may have taken the gateway out for it, and without requests there is no probe.
    pub fn health(&self) -> Health {
        let is_recent = |mark: &AtomicU64| self.since(mark).is_some_and(|ago| ago < FORGOTTEN);
        match &self.state().gate {
            Gate::Open { since, .. } if is_recent(&self.0.troubled) => Health::Unreachable(since.elapsed()),
            Gate::Closed if is_recent(&self.0.heard) => Health::Ok,
            _ => Health::Unknown,
        }
    }

    /// Returns whether the call is a probe, marked with the time `now`. The error is the time for which the call must
    /// wait.
    fn turn(&self, now: Instant) -> Result<bool, Duration> {
        if !self.0.shut.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let mut state = self.state();
        let Gate::Open { until, probe, .. } = &mut state.gate else { return Ok(false) };
        if now < *until {
            return Err(*until - now);
        }
        if probe.is_some_and(|begun| now - begun < SILENCE) {
            return Err(PAUSE);
        }
        *probe = Some(now);
        Ok(true)
    }

    fn open_when_silent(&self) {
        let inner = &self.0;
        if inner.waiting.load(Ordering::Relaxed) < WAITING {
            return;
        }
        if self.since(&inner.owed).is_some_and(|owed| owed >= SILENCE) {
            let mut state = self.state();
            if matches!(state.gate, Gate::Closed) {
                tracing::warn!("v1 has fallen silent; calls to it are paused");
                inner.troubled.store(self.stamp(), Ordering::Relaxed);
                self.open(&mut state);
            }
        }
    }

    fn open(&self, state: &mut State) {
        state.open();
        self.0.shut.store(true, Ordering::Relaxed);
    }

    fn good(&self, probe: bool) {
        let inner = &self.0;
        let stamp = self.stamp();
        inner.answered.fetch_add(1, Ordering::Relaxed);
        inner.heard.store(stamp, Ordering::Relaxed);
        inner.owed.store(stamp, Ordering::Relaxed);
        if inner.troubled.load(Ordering::Relaxed) == 0 {
            // The usual case: v1 never failed.
            return;
        }
        let mut state = self.state();
        state.good(probe);
        inner.shut.store(matches!(state.gate, Gate::Open { .. }), Ordering::Relaxed);
    }

    fn bad(&self, ended: Ended, path: u64, probe: bool) {
        let inner = &self.0;
        inner.troubled.store(self.stamp(), Ordering::Relaxed);
        let answered = inner.answered.load(Ordering::Relaxed);
        let quiet = self.since(&inner.heard).is_none_or(|ago| ago >= WINDOW);
        let mut state = self.state();
        state.note(Failure { at: Instant::now(), ended, path, answered });
        let is_closed = matches!(state.gate, Gate::Closed);
        // A probe that took so long that another one has closed the breaker is a call like any other.
        if probe && !is_closed {
            self.open(&mut state);
        } else if is_closed && state.should_open(answered, quiet) {
            tracing::warn!(?ended, "v1 cannot be used; calls to it are paused");
            self.open(&mut state);
        }
    }
}

impl State {
    /// Records a failure and drops old ones. Of connections that break at once, it keeps only enough to show that there
    /// were several paths.
    fn note(&mut self, failure: Failure) {
        let lately = self.failures.iter().rev().take_while(|one| failure.at - one.at < AT_ONCE);
        if failure.ended != Ended::Broken || lately.filter(|one| one.ended == Ended::Broken).count() < FAILURES {
            self.failures.push_back(failure);
        }
        let now = Instant::now();
        while self.failures.len() > MOST || self.failures.front().is_some_and(|first| now - first.at > WINDOW) {
            self.failures.pop_front();
        }
    }

    fn open(&mut self) {
        let now = Instant::now();
        let (since, pause) = match (&self.gate, self.closed) {
            (Gate::Open { since, pause, .. }, _) => (*since, (*pause * 2).min(LONGEST)),
            (Gate::Closed, Some((closed, pause))) if now - closed < WINDOW => (now, (pause * 2).min(LONGEST)),
            (Gate::Closed, _) => (now, PAUSE),
        };
        self.gate = Gate::Open { since, until: now + pause, pause, probe: None };
    }

    fn good(&mut self, probe: bool) {
        let now = Instant::now();
        let Gate::Open { since, until, pause, .. } = &self.gate else { return };
        // Calls that were in flight when the breaker opened give no new information.
        if probe || now >= *until {
            tracing::info!(seconds = (now - *since).as_secs(), "v1 answers again");
            self.closed = Some((now, *pause));
            self.gate = Gate::Closed;
            self.failures.clear();
        }
    }

    /// Checks whether the failures of the window outnumber v1's good answers since the first of them. `quiet` means
    /// that there was no good answer in the whole window.
    fn should_open(&self, answered: u64, quiet: bool) -> bool {
        let Some(first) = self.failures.front() else { return false };
        // `answered` was read before the lock was taken, and the first failure may be newer.
        let good = usize::try_from(answered.saturating_sub(first.answered)).unwrap_or(usize::MAX);
        let unreachable = self.failures.iter().filter(|one| one.ended == Ended::Unreachable).count();
        if unreachable >= UNREACHABLE && unreachable >= good {
            return true;
        }
        let (counted, paths) = self.counted(quiet);
        counted >= FAILURES && paths >= PATHS && counted >= good
    }

    /// Returns the number of failures that count, and of their paths. Connections that break at once count as one
    /// failure, and a 500 or similar counts only when it is `quiet`.
    fn counted(&self, quiet: bool) -> (usize, usize) {
        let counts = |one: &&Failure| one.ended != Ended::Faulty || quiet;
        let (mut counted, mut paths, mut broke) = (0_usize, Vec::new(), None::<Instant>);
        for one in self.failures.iter().filter(counts) {
            paths.push(one.path);
            if one.ended == Ended::Broken && broke.is_some_and(|first| one.at - first < AT_ONCE) {
                continue;
            }
            counted += 1;
            if one.ended == Ended::Broken {
                broke = Some(one.at);
            }
        }
        paths.sort_unstable();
        paths.dedup();
        (counted, paths.len())
    }
}

impl Pass {
    /// Reports the result of the call.
    pub fn ended(mut self, how: Ended) {
        self.open = false;
        self.leave();
        match how {
            Ended::Answered => self.breaker.good(self.probe),
            // A client can cause this failure with its own request on the pass-through.
            Ended::Faulty if !self.own => {}
            bad => self.breaker.bad(bad, self.path, self.probe),
        }
    }

    fn leave(&self) {
        if self.own {
            self.breaker.0.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Pass {
    /// The caller has left, either because the answer took too long or for other reasons. Another probe may be sent.
    fn drop(&mut self) {
        if !self.open {
            return;
        }
        self.leave();
        if self.own && self.begun.elapsed() >= SILENCE / 2 {
            self.breaker.bad(Ended::Failed, self.path, self.probe);
        } else if self.probe
            && let Gate::Open { probe, .. } = &mut self.breaker.state().gate
            // By now the mark may be of another probe.
            && *probe == Some(self.begun)
        {
            *probe = None;
            // v1 was asked, and still nothing shows that it is back.
            self.breaker.0.troubled.store(self.breaker.stamp(), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests;
