//! What v1 has answered in one refresh, so that other processes can go by the same answers.
//!
//! The process that refreshes an index notes every answer of v1 ([`Recorder`]). Another process makes the refresh once
//! more with these answers in place of v1 ([`Replay`]): by the same code, beginning with its own rows, and with v1's
//! counts compared as in a refresh of its own. So it gets exactly what it would have got by asking v1 itself at that
//! time. Answers that do not fit its rows prove nothing to it: its refresh asks for something that was not noted, and
//! fails.
//!
//! Answers are given in the order in which they came; only the pages of one sweep, and single items one after the
//! other, may be asked for in another.
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

/// Kind and version of the bytes; to be raised when the form of a row or of an answer changes.
const MARK: &[u8; 8] = b"CWDELTA1";
/// Most bytes of answers that are told; instead of more the whole index is.
pub(super) const MOST: usize = 1 << 20;
/// Bytes of a row and of a mark, about.
const ROW: usize = 160;
const ONE_MARK: usize = 24;

/// What one process tells the others of a refresh.
#[derive(Serialize, Deserialize)]
pub(super) enum Told {
    /// What v1 has answered.
    Answers(Delta),
    /// That was too much: the index itself is kept, with this checksum.
    Whole([u8; 32]),
}

/// The bytes of what is told of the list that `identity` names.
///
/// # Errors
/// When it cannot be put into bytes.
pub(super) fn to_bytes(identity: &str, told: Told) -> io::Result<Vec<u8>> {
    encode(MARK, identity, &told)
}

/// What these bytes tell, when they are of the list that `identity` names and undamaged.
pub(super) fn of_bytes(identity: &str, bytes: &[u8]) -> Result<Told, &'static str> {
    decode(MARK, identity, bytes)
}

/// What v1 has answered in one refresh, and what the process that asked has itself removed.
#[derive(Serialize, Deserialize)]
pub(super) struct Delta {
    /// Whether all ids were compared because it was time.
    pub sweep: bool,
    /// Items whose removal v1 had confirmed to that process before the refresh began.
    pub gone: Vec<Uuid>,
    /// The same while it was under way.
    pub gone_meanwhile: Vec<Uuid>,
    answers: Vec<Answer>,
}

#[derive(Serialize, Deserialize)]
enum Answer {
    /// A page of items, asked for so long after the turn of that process had begun.
    Items { after: Duration, cut: (usize, usize), total: usize, more: bool, rows: Packed },
    /// A page of marks.
    Marks { cut: (usize, usize), total: usize, more: bool, rows: Vec<(Uuid, Micros)> },
    /// One item, or that v1 does not show it.
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
        self.0.by_id().map(|slot| self.0.item(slot)).collect()
    }
}

/// v1, with a note of everything it answers.
pub(super) struct Recorder<'r, S> {
    source: &'r S,
    clock: &'r (dyn Fn() -> Instant + Sync),
    /// When the turn of this process had begun.
    since: Instant,
    most: usize,
    noted: Mutex<Noted>,
}

#[derive(Default)]
struct Noted {
    answers: Vec<Answer>,
    bytes: usize,
}

impl<'r, S: Source> Recorder<'r, S> {
    /// Nothing noted yet; at most about `most` bytes will be.
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

    /// What was noted; none when it was too much.
    pub fn delta(self, sweep: bool, gone: Vec<Uuid>, gone_meanwhile: Vec<Uuid>) -> Option<Delta> {
        let Noted { answers, bytes } = self.noted.into_inner();
        (bytes <= self.most).then_some(Delta { sweep, gone, gone_meanwhile, answers })
    }
}

impl<S: Source> Source for Recorder<'_, S> {
    async fn items(&self, cut: Cut) -> Result<Page<Item>, Refusal> {
        let after = (self.clock)().saturating_duration_since(self.since);
        let page = self.source.items(cut).await?;
        let cut = (cut.number, cut.size);
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
        let cut = (cut.number, cut.size);
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
    /// What the refresh finds that begins with `base`, which has no local write that came after `began`, when the turn
    /// of the process that asked v1 had begun, by our clock. The mark is when the last delta began. None when the
    /// answers are not those that this refresh needs.
    ///
    /// v1's count must be that of the rows, and no removal excuses a difference: which removals v1 had counted when it
    /// answered, only the process that asked can tell.
    pub async fn replay(self, base: Verified, sizes: Sizes, began: Instant) -> Option<Refreshed<Instant>> {
        let (progress, pace, sweep) = (&Progress::default(), &Pace::default(), self.sweep);
        let replay = Replay(Mutex::new(Left::of(self.answers)));
        let clock = || began + replay.0.lock().after();
        let refresh =
            Refresh { source: &replay, sizes, progress, pace, patient: false, sweep, proof: None, clock: &clock };
        refresh.run(base, clock, HashSet::new).await.ok()
    }
}

/// What v1 has answered, in its place.
struct Replay(Mutex<Left>);

struct Left {
    answers: Vec<Option<Answer>>,
    /// Answers before this one came too early.
    from: usize,
    /// The one after the last of those that were given.
    next: usize,
    /// What was asked for last.
    last: Kind,
}

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Items,
    Marks,
    Record,
}

impl Left {
    fn of(answers: Vec<Answer>) -> Self {
        Self { answers: answers.into_iter().map(Some).collect(), from: 0, next: 0, last: Kind::Items }
    }

    /// The first answer that `fits` and came after those given before.
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

    /// When the next page of items was asked for.
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
        let wanted = (wanted.number, wanted.size);
        let fits = |answer: &Answer| matches!(answer, Answer::Items { cut, .. } if *cut == wanted);
        match self.0.lock().take(Kind::Items, fits)? {
            Answer::Items { total, more, rows, .. } => Ok(Page { total, more, rows: rows.items() }),
            _ => Err(Refusal::internal("not a page of items")),
        }
    }

    async fn marks(&self, wanted: Cut) -> Result<Page<Mark>, Refusal> {
        let wanted = (wanted.number, wanted.size);
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
