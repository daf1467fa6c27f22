//! Whether v1 is worth asking: a circuit breaker over all calls to the deployment.
//!
//! It opens when v1 cannot be reached, when most calls of the last seconds failed on several paths, or when v1
//! has fallen silent with calls under way. While it is open calls fail at once; nothing is sent then. After a pause one
//! call goes through to find out; v1's first good answer closes it.
//!
//! One request that v1 always fails on opens nothing: failures must be seen on several paths, and a 500, which
//! v1 also gives to a single bad request, counts only while v1 answers nothing else. Requests that pass through to v1
//! are observed and never held back; all of them count as one path, so that no client can open the breaker alone.
//!
//! May use: nothing of this crate.

use parking_lot::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// How far back failures count.
const WINDOW: Duration = Duration::from_secs(10);
/// Failures before anything is concluded when connections cannot be made.
const UNREACHABLE: usize = 3;
/// The same for failures of other kinds, and on how many paths.
const FAILURES: usize = 5;
const PATHS: usize = 3;
/// Failures looked at; older ones are forgotten.
const MOST: usize = 256;
/// Connections that break within this time are one failure: v1 closes all of a worker's at once when it replaces it.
const AT_ONCE: Duration = Duration::from_millis(100);
/// v1 has fallen silent when it has answered nothing for so long with so many calls under way.
pub(super) const SILENCE: Duration = Duration::from_secs(10);
const WAITING: u64 = 3;
/// First and longest time from opening to the next try.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(5);
/// Without any call for so long nobody knows how v1 is.
const FORGOTTEN: Duration = Duration::from_secs(60);

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// v1 answered, whatever it said.
    Answered,
    /// v1 answered 500 or the like: it lives, but may be of no use.
    Faulty,
    /// 502, 503, 504, no answer in time.
    Failed,
    /// A connection that broke.
    Broken,
    /// No connection could be made.
    Unreachable,
}

impl Ended {
    /// What a status says about v1 as a whole.
    pub fn of_status(status: u16) -> Self {
        match status {
            502..=504 => Self::Failed,
            500..=599 => Self::Faulty,
            _ => Self::Answered,
        }
    }
}

/// What is known of v1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// It answered a moment ago.
    Ok,
    /// The breaker is open, since so long.
    Unreachable(Duration),
    /// Nobody has asked it lately.
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
    /// Good answers before it.
    answered: u64,
}

#[derive(Debug)]
struct State {
    gate: Gate,
    failures: VecDeque<Failure>,
    /// When the breaker was closed last, and how long its pause was then.
    closed: Option<(Instant, Duration)>,
}

#[derive(Debug)]
struct Inner {
    state: Mutex<State>,
    /// Whether the gate is open, for those who need not know more.
    shut: AtomicBool,
    begun: Instant,
    answered: AtomicU64,
    /// Own calls under way.
    waiting: AtomicU64,
    /// Milliseconds since `begun`, one more than that: the last good answer; the moment from which v1 owes one;
    /// the last failure; zero for never.
    heard: AtomicU64,
    owed: AtomicU64,
    troubled: AtomicU64,
}

/// The breaker of one deployment; cheap to clone, all clones are the same.
#[derive(Debug, Clone)]
pub struct Breaker(Arc<Inner>);

/// A call that may be made. Dropped without a word soon it says nothing about v1.
#[derive(Debug)]
pub struct Pass {
    breaker: Breaker,
    path: u64,
    /// Whether this call is the one that finds out how v1 is.
    pub probe: bool,
    /// Whether v1 owes the gateway itself an answer.
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

    /// Whether a call to `path` (a number for it) may be made now.
    ///
    /// # Errors
    /// The time until it is worth trying again.
    pub fn admit(&self, path: u64) -> Result<Pass, Duration> {
        self.open_when_silent();
        let probe = self.turn()?;
        if self.0.waiting.fetch_add(1, Ordering::Relaxed) == 0 {
            self.0.owed.store(self.stamp(), Ordering::Relaxed);
        }
        Ok(Pass { breaker: self.clone(), path, probe, own: true, begun: Instant::now(), open: true })
    }

    /// A call that somebody else makes and that nobody here holds back.
    pub fn observe(&self) -> Pass {
        Pass { breaker: self.clone(), path: 0, probe: false, own: false, begun: Instant::now(), open: true }
    }

    /// Time until calls may be made again, when they may not be now.
    pub fn closed_for(&self) -> Option<Duration> {
        if !self.0.shut.load(Ordering::Relaxed) {
            return None;
        }
        match &self.state().gate {
            Gate::Open { until, .. } => Some(until.saturating_duration_since(Instant::now())),
            Gate::Closed => None,
        }
    }

    /// Whether v1 is in trouble, or was a moment ago.
    pub fn is_troubled(&self) -> bool {
        self.since(&self.0.troubled).is_some_and(|ago| ago < WINDOW)
    }

    /// Whether somebody who has waited long for v1 should give up: calls are not made any more, or v1 has fallen
    /// silent.
    pub fn is_hopeless(&self) -> bool {
        self.open_when_silent();
        self.closed_for().is_some()
    }

    /// What is known of v1.
    pub fn health(&self) -> Health {
        if let Gate::Open { since, .. } = &self.state().gate {
            return Health::Unreachable(since.elapsed());
        }
        match self.since(&self.0.heard) {
            Some(ago) if ago < FORGOTTEN => Health::Ok,
            _ => Health::Unknown,
        }
    }

    /// Whether the call is a probe, or how long it has to wait.
    fn turn(&self) -> Result<bool, Duration> {
        if !self.0.shut.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let mut state = self.state();
        let now = Instant::now();
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
        if probe {
            self.open(&mut state);
        } else if matches!(state.gate, Gate::Closed) && state.should_open(answered, quiet) {
            tracing::warn!(?ended, "v1 cannot be used; calls to it are paused");
            self.open(&mut state);
        }
    }
}

impl State {
    /// Keeps a failure, but of connections that break at once no more than tell that there were several paths.
    fn note(&mut self, failure: Failure) {
        let lately = self.failures.iter().rev().take_while(|one| failure.at - one.at < AT_ONCE);
        if failure.ended != Ended::Broken || lately.filter(|one| one.ended == Ended::Broken).count() < FAILURES {
            self.failures.push_back(failure);
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
        // Calls that were under way when it opened say nothing new.
        if probe || now >= *until {
            tracing::info!(seconds = (now - *since).as_secs(), "v1 answers again");
            self.closed = Some((now, *pause));
            self.gate = Gate::Closed;
            self.failures.clear();
        }
    }

    /// Whether the failures of the window outweigh what v1 answered since they began; `quiet` when there was no good
    /// answer in all the window.
    fn should_open(&mut self, answered: u64, quiet: bool) -> bool {
        let now = Instant::now();
        while self.failures.len() > MOST || self.failures.front().is_some_and(|first| now - first.at > WINDOW) {
            self.failures.pop_front();
        }
        let Some(first) = self.failures.front() else { return false };
        let good = usize::try_from(answered - first.answered).unwrap_or(usize::MAX);
        let of = |kinds: &[Ended]| self.failures.iter().filter(|one| kinds.contains(&one.ended)).count();
        let unreachable = of(&[Ended::Unreachable]);
        if unreachable >= UNREACHABLE && unreachable >= good {
            return true;
        }
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
        counted >= FAILURES && paths.len() >= PATHS && counted >= good
    }
}

impl Pass {
    /// The call ended so.
    pub fn ended(mut self, how: Ended) {
        self.open = false;
        self.leave();
        match how {
            Ended::Answered => self.breaker.good(self.probe),
            // The client of a request that passes through can make it fail so.
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
    /// The one who made the call has gone: for lack of patience, or for reasons that say nothing. Another probe may go.
    fn drop(&mut self) {
        if !self.open {
            return;
        }
        self.leave();
        if self.own && self.begun.elapsed() >= SILENCE / 2 {
            self.breaker.bad(Ended::Failed, self.path, self.probe);
        } else if self.probe
            && let Gate::Open { probe, .. } = &mut self.breaker.state().gate
        {
            *probe = None;
        }
    }
}

#[cfg(test)]
mod tests;
