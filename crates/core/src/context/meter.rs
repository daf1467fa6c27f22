//! The cost of one request at v1, and the notes for its answer about how the answer was made.
//!
//! May use: `trace`.

use crate::trace::Trace;
use parking_lot::{Mutex, MutexGuard};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Maximum number of body members without effect that an answer names.
pub const MOST_IGNORED: usize = 20;

/// Something may have been changed for a request.
const MAY_BE_CHANGED: u8 = 0;
/// Nothing was changed for a request so far.
const UNCHANGED: u8 = 1;
/// Nothing was changed for a request, and nothing may be changed any more, because its client was told so.
const STAYS_UNCHANGED: u8 = 2;

/// Counts the v1 calls made for one request and the time they took, and holds the notes for its answer about how the
/// answer was made.
#[derive(Debug, Default)]
pub struct Meter {
    number: RequestNumber,
    calls: AtomicU32,
    micros: AtomicU64,
    told: Mutex<AnswerNotes>,
    spender: OnceLock<Spender>,
    operation: OnceLock<u16>,
    trace: OnceLock<Trace>,
    passed_key: OnceLock<[u8; 32]>,
    /// One of the three constants.
    changed: AtomicU8,
}

/// The number of a request, unique in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestNumber(u64);

impl Default for RequestNumber {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

#[derive(Debug, Default)]
struct AnswerNotes {
    notes: Vec<Note>,
    oldest: Option<Instant>,
    standing: Option<LimitState>,
    replayed: bool,
    ignored: Vec<String>,
    equal_asked: bool,
}

impl AnswerNotes {
    fn is_stale(&self) -> bool {
        self.notes.iter().any(|note| note.uses_older_data() || matches!(note, Note::Stale | Note::Store))
    }
}

/// A note for the client about how an answer was made, for `Server-Timing`.
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
    /// Checks whether the data is older because v1 gave no newer data, for a reason other than its quota.
    fn uses_older_data(self) -> bool {
        matches!(self, Self::Outage | Self::Changing | Self::Comparing)
    }

    /// Returns the entry in `Server-Timing`.
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

/// The state of a credential's limit, for the headers of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitState {
    /// Name of the limit.
    pub policy: &'static str,
    /// Requests a minute.
    pub limit: u32,
    /// Requests that may still follow at once.
    pub remaining: u32,
    /// Time until the limit is fully available again.
    pub reset: Duration,
}

/// The credential and the operation for which v1 is called.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Spender {
    /// The beginning of the SHA-256 of the credential presented; zero for the gateway itself.
    pub credential: u64,
    /// Id of the operation.
    pub operation: Arc<str>,
}

impl Meter {
    /// Returns the number of the request.
    pub fn number(&self) -> RequestNumber {
        self.number
    }

    fn told(&self) -> MutexGuard<'_, AnswerNotes> {
        self.told.lock()
    }

    /// Declares that nothing was changed for this request so far, and that nothing is changed until
    /// [`Meter::begin_to_write`] is called.
    pub fn only_wait(&self) {
        self.exchange(MAY_BE_CHANGED, UNCHANGED);
    }

    /// Declares that from now on something may be changed for this request. Returns false when its client was told
    /// that nothing was changed; then nothing may be changed any more.
    pub fn begin_to_write(&self) -> bool {
        self.exchange(UNCHANGED, MAY_BE_CHANGED) != STAYS_UNCHANGED
    }

    /// Checks whether it is certain that nothing was changed for this request so far.
    pub fn is_surely_unchanged(&self) -> bool {
        self.changed.load(Ordering::Relaxed) != MAY_BE_CHANGED
    }

    /// Checks the same at the deadline. If nothing was changed, the client is told so, and nothing may be changed any
    /// more: [`Meter::begin_to_write`] returns false from now on.
    pub fn stay_unchanged(&self) -> bool {
        self.exchange(UNCHANGED, STAYS_UNCHANGED) != MAY_BE_CHANGED
    }

    /// Replaces `from` by `to`, and returns the value before; another value than `from` stays.
    fn exchange(&self, from: u8, to: u8) -> u8 {
        match self.changed.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(before) | Err(before) => before,
        }
    }

    /// Counts one finished v1 call.
    pub fn record(&self, took: Duration) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(took.as_micros() as u64, Ordering::Relaxed);
    }

    /// Adds a note, once.
    pub fn note(&self, note: Note) {
        let mut told = self.told();
        if !told.notes.contains(&note) {
            told.notes.push(note);
        }
    }

    /// Returns the notes.
    pub fn notes(&self) -> Vec<Note> {
        self.told().notes.clone()
    }

    /// Records that the answer uses data that v1 showed at `read_at`.
    pub fn used(&self, read_at: Instant) {
        let mut told = self.told();
        told.oldest = Some(told.oldest.map_or(read_at, |oldest| oldest.min(read_at)));
    }

    /// Records that the answer relies on data of `read_at`, which is older than usual for the reason in `note`.
    pub fn relies_on(&self, read_at: Instant, note: Note) {
        self.used(read_at);
        self.note(note);
    }

    /// Checks whether this note was added.
    pub fn has(&self, note: Note) -> bool {
        self.told().notes.contains(&note)
    }

    /// Records that the answer is that of an equal request, which has the meter `other`.
    pub fn collapse(&self, other: &Self) {
        let (asks, notes, oldest) = (other.asks_v1(), other.notes(), other.told().oldest);
        self.told().equal_asked |= asks;
        oldest.into_iter().for_each(|read_at| self.used(read_at));
        notes.into_iter().chain([Note::Collapsed]).for_each(|note| self.note(note));
    }

    /// Checks whether v1 was called for this request, or for the equal request whose answer this is.
    pub fn asks_v1(&self) -> bool {
        self.calls() > 0 || self.told().equal_asked
    }

    /// Checks whether the answer relies on older data because v1 gave no newer data, for a reason other than its quota.
    pub fn uses_older_data(&self) -> bool {
        self.told().notes.iter().any(|note| note.uses_older_data())
    }

    /// Checks whether the answer relies on data that is older than usual.
    pub fn is_stale(&self) -> bool {
        self.told().is_stale()
    }

    /// Returns the age of the oldest data used, when any is older than usual.
    pub fn stale_age(&self) -> Option<Duration> {
        let told = self.told();
        told.oldest.filter(|_| told.is_stale()).map(|oldest| oldest.elapsed())
    }

    /// Records that the answer is that of an earlier request.
    pub fn replay(&self) {
        self.told().replayed = true;
    }

    /// Checks whether the answer is that of an earlier request.
    pub fn is_replayed(&self) -> bool {
        self.told().replayed
    }

    /// Records that the body of this request has members without effect.
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

    /// Returns the body members without effect; one more than [`MOST_IGNORED`] when there are more.
    pub fn ignored(&self) -> Vec<String> {
        self.told().ignored.clone()
    }

    /// Records the state of the limit of this request's credential.
    pub fn stand(&self, standing: LimitState) {
        self.told().standing = Some(standing);
    }

    /// Returns the state of the credential's limit; `None` when the credential was not proven or is not limited.
    pub fn standing(&self) -> Option<LimitState> {
        self.told().standing
    }

    /// Records for whom calls are made from now on. The first value stays.
    pub fn set_spender(&self, spender: Spender) {
        let _ = self.spender.set(spender);
    }

    /// Returns for whom the calls are made, once that is known.
    pub fn spender(&self) -> Option<&Spender> {
        self.spender.get()
    }

    /// Records the operation of the request, by its position in the plan. The first value stays.
    pub fn ask_for(&self, operation: usize) {
        let _ = self.operation.set(u16::try_from(operation).unwrap_or(u16::MAX));
    }

    /// Returns the operation of the request, by its position in the plan, once that is known.
    pub fn operation(&self) -> Option<u16> {
        self.operation.get().copied()
    }

    /// Records the trace of the request. The first value stays.
    pub fn follow(&self, trace: Trace) {
        let _ = self.trace.set(trace);
    }

    /// Returns the trace of the request; `None` for work that no request asked for.
    pub fn trace(&self) -> Option<&Trace> {
        self.trace.get()
    }

    /// Returns the SHA-256 of the v1 key that is passed through with this request. The first call computes it with
    /// `hash`.
    pub fn passed_key(&self, hash: impl FnOnce() -> [u8; 32]) -> [u8; 32] {
        *self.passed_key.get_or_init(hash)
    }

    /// Returns the number of v1 calls so far.
    pub fn calls(&self) -> u32 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Returns the time spent waiting for v1 so far; parallel calls add up.
    pub fn v1_time(&self) -> Duration {
        Duration::from_micros(self.micros.load(Ordering::Relaxed))
    }
}
