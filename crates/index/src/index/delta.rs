//! The answers of v1 in one refresh, so that other processes can use the same answers.
//!
//! The process that refreshes an index records every answer of v1 ([`Recorder`]). Another process repeats the refresh
//! with these answers in place of v1 ([`Replay`]). It uses the same code, begins with its own rows, and compares v1's
//! counts as in a refresh of its own. So it gets exactly the result that v1 would have given it at that time. Answers
//! that do not fit its rows prove nothing: the refresh then asks for an answer that was not recorded, and fails.
//!
//! Answers are returned in the order in which they came. Only the pages of one sweep, and single items that are read
//! one after the other, may be requested in another order.
//!
//! May use: `translate`, `v2`, `refusal`, this folder.

use super::build::Sizes;
use super::file_form::{decode, encode};
use super::pace::Pace;
use super::progress::Progress;
use super::refresh::{Refresh, Refreshed};
use super::rows::Rows;
use super::source::{Cut, Mark, Page, Source};
use super::verified::Verified;
use crate::refusal::Refusal;
use crate::translate::work_items::Item;
use crate::v2::time::Micros;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::io;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Kind and version of the bytes. Raise it when the form of a row or of an answer changes.
const MARK: &[u8; 8] = b"CWDELTA1";
/// Most bytes of answers that are published. When there are more, the whole index is published instead.
pub(super) const MOST: usize = 1 << 20;
/// Approximate bytes of a row and of a mark.
const ROW: usize = 160;
const ONE_MARK: usize = 24;

/// Message from one process to the others about a refresh.
#[derive(Serialize, Deserialize)]
pub(super) enum RefreshMessage {
    /// The answers of v1.
    Answers(Delta),
    /// The answers were too large: the index itself is kept, with this checksum.
    Whole([u8; 32]),
}

/// Encodes a message about the list that `identity` names.
///
/// # Errors
/// When the message cannot be encoded.
pub(super) fn to_bytes(identity: &str, told: RefreshMessage) -> io::Result<Vec<u8>> {
    encode(MARK, identity, &told)
}

/// Decodes a message. Fails when the bytes are damaged or not about the list that `identity` names.
pub(super) fn of_bytes(identity: &str, bytes: &[u8]) -> Result<RefreshMessage, &'static str> {
    decode(MARK, identity, bytes)
}

/// The answers of v1 in one refresh, and the items that the process that asked has removed itself.
#[derive(Serialize, Deserialize)]
pub(super) struct Delta {
    /// Whether all ids were compared because the sweep was due.
    pub sweep: bool,
    /// Items whose removal v1 had confirmed to that process before the refresh began.
    pub gone: Vec<Uuid>,
    /// Items whose removal v1 confirmed to that process during the refresh.
    pub gone_meanwhile: Vec<Uuid>,
    answers: Vec<Answer>,
}

#[derive(Serialize, Deserialize)]
enum Answer {
    /// A page of items. `after` is the time from the start of that process's turn to the request.
    Items { after: Duration, cut: Cut, total: usize, more: bool, rows: Packed },
    /// A page of marks.
    Marks { cut: Cut, total: usize, more: bool, rows: Vec<(Uuid, Micros)> },
    /// One item; no row when v1 does not show it.
    Record { id: Uuid, row: Packed },
}

/// Items in the form of the index.
#[derive(Serialize, Deserialize)]
struct Packed(Rows);

impl Packed {
    fn of(items: Vec<Item>) -> Self {
        let mut rows = Rows::default();
        rows.apply(items, &HashSet::new());
        Self(rows)
    }

    fn items(&self) -> Vec<Item> {
        self.0.items().collect()
    }
}

/// A source that asks v1 and records every answer.
pub(super) struct Recorder<'r, S> {
    source: &'r S,
    clock: &'r (dyn Fn() -> Instant + Sync),
    /// Start of the turn of this process.
    since: Instant,
    most: usize,
    noted: Mutex<RecordedAnswers>,
}

#[derive(Default)]
struct RecordedAnswers {
    answers: Vec<Answer>,
    bytes: usize,
}

impl<'r, S: Source> Recorder<'r, S> {
    /// Creates a recorder without answers. It keeps at most about `most` bytes.
    pub fn new(source: &'r S, clock: &'r (dyn Fn() -> Instant + Sync), since: Instant, most: usize) -> Self {
        Self { source, clock, since, most, noted: Mutex::default() }
    }

    fn note(&self, bytes: usize, answer: impl FnOnce() -> Answer) {
        let mut noted = self.noted.lock();
        noted.bytes = noted.bytes.saturating_add(bytes);
        if noted.bytes > self.most {
            noted.answers = Vec::new();
        } else {
            noted.answers.push(answer());
        }
    }

    /// Returns the recorded answers; none when they were too large.
    pub fn delta(self, sweep: bool, gone: Vec<Uuid>, gone_meanwhile: Vec<Uuid>) -> Option<Delta> {
        let RecordedAnswers { answers, bytes } = self.noted.into_inner();
        (bytes <= self.most).then_some(Delta { sweep, gone, gone_meanwhile, answers })
    }
}

impl<S: Source> Source for Recorder<'_, S> {
    async fn items(&self, cut: Cut) -> Result<Page<Item>, Refusal> {
        let after = (self.clock)().saturating_duration_since(self.since);
        let page = self.source.items(cut).await?;
        self.note(ROW * page.rows.len(), || Answer::Items {
            after,
            cut,
            total: page.total,
            more: page.more,
            rows: Packed::of(page.rows.clone()),
        });
        Ok(page)
    }

    async fn marks(&self, cut: Cut) -> Result<Page<Mark>, Refusal> {
        let page = self.source.marks(cut).await?;
        let rows = || page.rows.iter().map(|mark| (mark.id, mark.updated_at)).collect();
        let answer = || Answer::Marks { cut, total: page.total, more: page.more, rows: rows() };
        self.note(ONE_MARK * page.rows.len(), answer);
        Ok(page)
    }

    async fn record(&self, id: Uuid) -> Result<Option<Item>, Refusal> {
        let item = self.source.record(id).await?;
        self.note(ROW, || Answer::Record { id, row: Packed::of(item.iter().cloned().collect()) });
        Ok(item)
    }

    fn now(&self) -> Micros {
        self.source.now()
    }

    fn is_urgent(&self) -> bool {
        self.source.is_urgent()
    }
}

impl Delta {
    /// Repeats the refresh on `base`, and returns its result; None when the answers are not those that it needs.
    /// `began` is the start, by our clock, of the turn in which another process asked v1. `base` must not have a local
    /// write that came after `began`. The mark of the result is the start of the last delta.
    ///
    /// v1's count must equal the number of rows, and no removal excuses a difference. Only the process that asked can
    /// tell which removals v1 had counted when it answered.
    pub async fn replay(self, base: Verified, sizes: Sizes, began: Instant) -> Option<Refreshed<Instant>> {
        let (progress, pace, sweep) = (&Progress::default(), &Pace::default(), self.sweep);
        let replay = Replay(Mutex::new(ReplayState::of(self.answers)));
        let clock = || began + replay.0.lock().after();
        let refresh =
            Refresh { source: &replay, sizes, progress, pace, patient: false, sweep, proof: None, clock: &clock };
        refresh.run(base, clock, HashSet::new).await.ok()
    }
}

/// A source that returns the recorded answers in place of v1.
struct Replay(Mutex<ReplayState>);

struct ReplayState {
    answers: Vec<Option<Answer>>,
    /// Position of the first answer that may still be used; the answers before it came too early.
    from: usize,
    /// Position after the last answer that was given.
    next: usize,
    /// Kind of the last request.
    last: Kind,
}

/// Kind of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Items,
    Marks,
    Record,
}

impl ReplayState {
    fn of(answers: Vec<Answer>) -> Self {
        Self { answers: answers.into_iter().map(Some).collect(), from: 0, next: 0, last: Kind::Items }
    }

    /// Takes the first answer at or after `from` that `fits`. Pages of items, and a change of the kind, move `from` on.
    fn take(&mut self, kind: Kind, fits: impl Fn(&Answer) -> bool) -> Result<Answer, Refusal> {
        if kind == Kind::Items || kind != self.last {
            self.from = self.next;
        }
        self.last = kind;
        let after = self.answers.iter().enumerate().skip(self.from);
        let mut fitting = after.filter(|(_, answer)| answer.as_ref().is_some_and(&fits)).map(|(at, _)| at);
        let at = fitting.next().ok_or_else(|| Refusal::internal("this was not asked of v1"))?;
        self.next = self.next.max(at + 1);
        self.answers[at].take().ok_or_else(|| Refusal::internal("this answer was given before"))
    }

    /// Returns the time from the start of the turn to the request for the next page of items.
    fn after(&self) -> Duration {
        let next = self.answers.iter().skip(self.next).flatten();
        let mut asked = next.filter_map(|answer| match answer {
            Answer::Items { after, .. } => Some(*after),
            _ => None,
        });
        asked.next().unwrap_or_default()
    }
}

impl Source for Replay {
    async fn items(&self, wanted: Cut) -> Result<Page<Item>, Refusal> {
        let fits = |answer: &Answer| matches!(answer, Answer::Items { cut, .. } if *cut == wanted);
        match self.0.lock().take(Kind::Items, fits)? {
            Answer::Items { total, more, rows, .. } => Ok(Page { total, more, rows: rows.items() }),
            _ => Err(Refusal::internal("not a page of items")),
        }
    }

    async fn marks(&self, wanted: Cut) -> Result<Page<Mark>, Refusal> {
        let fits = |answer: &Answer| matches!(answer, Answer::Marks { cut, .. } if *cut == wanted);
        match self.0.lock().take(Kind::Marks, fits)? {
            Answer::Marks { total, more, rows, .. } => {
                let mark = |(id, updated_at)| Mark { id, updated_at };
                Ok(Page { total, more, rows: rows.into_iter().map(mark).collect() })
            }
            _ => Err(Refusal::internal("not a page of marks")),
        }
    }

    async fn record(&self, wanted: Uuid) -> Result<Option<Item>, Refusal> {
        let fits = |answer: &Answer| matches!(answer, Answer::Record { id, .. } if *id == wanted);
        match self.0.lock().take(Kind::Record, fits)? {
            Answer::Record { row, .. } => Ok(row.items().pop()),
            _ => Err(Refusal::internal("not an item")),
        }
    }
}
