//! What one request cost at v1, and what its answer has to say about how it came about.
//!
//! May use: `trace`.

use crate::trace::Trace;
use parking_lot::{Mutex, MutexGuard};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Most members of a body that an answer names because they change nothing.
pub const MOST_IGNORED: usize = 20;

/// Counts the v1 calls made for one request and the time they took, and holds what its answer has to say about
/// how it came about.
#[derive(Debug, Default)]
pub struct Meter {
    number: RequestNumber,
    calls: AtomicU32,
    micros: AtomicU64,
    told: Mutex<Told>,
    spender: OnceLock<Spender>,
    operation: OnceLock<u16>,
    trace: OnceLock<Trace>,
    passed_key: OnceLock<[u8; 32]>,
    only_waits: AtomicBool,
}

/// The number of a request in this process; no two have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestNumber(u64);

impl Default for RequestNumber {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

#[derive(Debug, Default)]
struct Told {
    notes: Vec<Note>,
    oldest: Option<Instant>,
    standing: Option<Standing>,
    replayed: bool,
    ignored: Vec<String>,
    equal_asked: bool,
}

impl Told {
    fn is_stale(&self) -> bool {
        self.notes.iter().any(|note| note.makes_do() || matches!(note, Note::Stale | Note::Store))
    }
}

/// Something about how an answer came about that its reader should know, for `Server-Timing`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    /// Answered from the local index.
    Index,
    /// Answered by reading the whole project, because it is too large for the index.
    Scan,
    /// Answered with older data than usual, because v1's quota is nearly used up.
    Stale,
    /// Answered with older data than usual, because v1 is unreachable or failing.
    Outage,
    /// Answered with a list as it was read last, because it changes faster than it can be read.
    Changing,
    /// Answered with a list as it was read last, because comparing it with v1 takes longer than the request may.
    Comparing,
    /// Answered with what was known before, because the store does not answer.
    Store,
    /// Answered by the deployment's own v2.
    Native,
    /// Answered together with an equal request that came at the same time.
    Collapsed,
}

impl Note {
    /// Whether v1 did not give anything newer, its quota aside.
    fn makes_do(self) -> bool {
        matches!(self, Self::Outage | Self::Changing | Self::Comparing)
    }

    /// The entry in `Server-Timing`.
    pub fn entry(self) -> &'static str {
        match self {
            Self::Index => "index",
            Self::Scan => "scan;desc=\"the project is too large for the index\"",
            Self::Stale => "stale;desc=\"the v1 budget is short\"",
            Self::Outage => "stale;desc=\"v1 is not reachable\"",
            Self::Changing => "stale;desc=\"the list kept changing\"",
            Self::Comparing => "stale;desc=\"the list is being compared with v1\"",
            Self::Store => "stale;desc=\"the store is not reachable\"",
            Self::Native => "native",
            Self::Collapsed => "collapsed",
        }
    }
}

/// Where a credential stands with its limit, for the headers of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Name of the limit.
    pub policy: &'static str,
    /// Requests a minute.
    pub limit: u32,
    /// Requests that could follow at once.
    pub remaining: u32,
    /// Time until the limit is as if nothing had been asked.
    pub reset: Duration,
}

/// Who has v1 called, and what for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Spender {
    /// The beginning of the SHA-256 of the credential presented; zero for the gateway itself.
    pub credential: u64,
    /// Id of the operation.
    pub operation: Arc<str>,
}

impl Meter {
    /// Number of the request that is accounted for.
    pub fn number(&self) -> RequestNumber {
        self.number
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock()
    }

    /// Nothing is changed for this request until [`Meter::begin_to_write`] is called.
    pub fn only_wait(&self) {
        self.only_waits.store(true, Ordering::Relaxed);
    }

    /// From now on something may be changed for this request.
    pub fn begin_to_write(&self) {
        self.only_waits.store(false, Ordering::Relaxed);
    }

    /// Whether it is certain that nothing was changed for this request so far.
    pub fn has_only_waited(&self) -> bool {
        self.only_waits.load(Ordering::Relaxed)
    }

    /// Adds one finished v1 call.
    pub fn record(&self, took: Duration) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(took.as_micros() as u64, Ordering::Relaxed);
    }

    /// Notes something, once.
    pub fn note(&self, note: Note) {
        let mut told = self.told();
        if !told.notes.contains(&note) {
            told.notes.push(note);
        }
    }

    /// What was noted.
    pub fn notes(&self) -> Vec<Note> {
        self.told().notes.clone()
    }

    /// The answer uses data that v1 showed at `read_at`.
    pub fn used(&self, read_at: Instant) {
        let mut told = self.told();
        told.oldest = Some(told.oldest.map_or(read_at, |oldest| oldest.min(read_at)));
    }

    /// The answer relies on what was known at `read_at`, which is older than usual for the reason that `note` tells.
    pub fn relies_on(&self, read_at: Instant, note: Note) {
        self.used(read_at);
        self.note(note);
    }

    /// Whether this was noted.
    pub fn has(&self, note: Note) -> bool {
        self.told().notes.contains(&note)
    }

    /// The answer is that of an equal request, whose meter `other` is.
    pub fn collapse(&self, other: &Self) {
        let (asks, (notes, oldest)) = (other.asks_v1(), {
            let told = other.told();
            (told.notes.clone(), told.oldest)
        });
        self.told().equal_asked |= asks;
        oldest.into_iter().for_each(|read_at| self.used(read_at));
        notes.into_iter().chain([Note::Collapsed]).for_each(|note| self.note(note));
    }

    /// Whether v1 was asked for this request, or for the equal one whose answer this is.
    pub fn asks_v1(&self) -> bool {
        self.calls() > 0 || self.told().equal_asked
    }

    /// Whether the answer relies on something older because v1 did not give anything newer, its quota aside.
    pub fn makes_do(&self) -> bool {
        self.told().notes.iter().any(|note| note.makes_do())
    }

    /// Whether the answer relies on anything that is older than usual.
    pub fn is_stale(&self) -> bool {
        self.told().is_stale()
    }

    /// Age of the oldest data used, when any is older than usual.
    pub fn stale_age(&self) -> Option<Duration> {
        let told = self.told();
        told.oldest.filter(|_| told.is_stale()).map(|oldest| oldest.elapsed())
    }

    /// The answer is that of an earlier request.
    pub fn replay(&self) {
        self.told().replayed = true;
    }

    /// Whether the answer is that of an earlier request.
    pub fn is_replayed(&self) -> bool {
        self.told().replayed
    }

    /// The body of this request has members that change nothing.
    pub fn ignore(&self, members: impl IntoIterator<Item = String>) {
        let ignored = &mut self.told().ignored;
        for member in members {
            if ignored.len() > MOST_IGNORED {
                break;
            }
            if !ignored.contains(&member) {
                ignored.push(member);
            }
        }
    }

    /// Members of the body that change nothing; one more than [`MOST_IGNORED`] when there are more.
    pub fn ignored(&self) -> Vec<String> {
        self.told().ignored.clone()
    }

    /// The credential of this request stands so with its limit.
    pub fn stand(&self, standing: Standing) {
        self.told().standing = Some(standing);
    }

    /// Where the credential stands; none when it was not proven or is not limited.
    pub fn standing(&self) -> Option<Standing> {
        self.told().standing
    }

    /// From now on, calls are made for this; the first to be named stays.
    pub fn spend_for(&self, spender: Spender) {
        let _ = self.spender.set(spender);
    }

    /// Who the calls are made for, once that is known.
    pub fn spender(&self) -> Option<&Spender> {
        self.spender.get()
    }

    /// The request asks for the operation at this place of the plan; the first to be named stays.
    pub fn ask_for(&self, operation: usize) {
        let _ = self.operation.set(u16::try_from(operation).unwrap_or(u16::MAX));
    }

    /// Which operation is asked for, by its place in the plan, once that is known.
    pub fn operation(&self) -> Option<u16> {
        self.operation.get().copied()
    }

    /// The request belongs to this trace; the first to be named stays.
    pub fn follow(&self, trace: Trace) {
        let _ = self.trace.set(trace);
    }

    /// The trace that the request belongs to; none for work that nobody asked for.
    pub fn trace(&self) -> Option<&Trace> {
        self.trace.get()
    }

    /// The SHA-256 of the key of v1 that is passed through with this request; `hash` computes it for the caller that
    /// asks first.
    pub fn passed_key(&self, hash: impl FnOnce() -> [u8; 32]) -> [u8; 32] {
        *self.passed_key.get_or_init(hash)
    }

    /// v1 calls so far.
    pub fn calls(&self) -> u32 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Time spent waiting for v1 so far (calls side by side add up).
    pub fn v1_time(&self) -> Duration {
        Duration::from_micros(self.micros.load(Ordering::Relaxed))
    }
}
