//! The complete read: every page once, side by side, and whether it can be trusted.
//!
//! v1 cuts its pages anew for every call (trap 43), so pages read side by side are whole only when they
//! agree with the totals of the first and the last of them; otherwise a sweep follows. v1's quota holds a
//! read up but does not end it. May use: `translate`, `v2`, `refusal`, this folder.

use super::progress::Progress;
use super::rows::Rows;
use super::source::{Cut, Mark, Page, Source};
use crate::refusal::Refusal;
use crate::translate::work_items::Item;
use crate::v2::time::Micros;
use futures_util::StreamExt;
use futures_util::stream;
use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Calls made at the same time.
const SIDE_BY_SIDE: usize = 4;
/// Longest time spent waiting for v1's quota in one read.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Sizes of pages; smaller in tests.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    /// Of a complete read.
    pub page: usize,
    /// Of the first page of a delta.
    pub delta: usize,
}

/// What v1 allows (`pagination_per_page_1001`), and a delta that is small when little has changed.
pub(super) const SIZES: Sizes = Sizes { page: 1000, delta: 100 };

/// A complete read of all items.
pub(super) struct Built {
    /// The rows.
    pub rows: Rows,
    /// Whatever changed after this instant of v1's clock may be missing or old.
    pub watermark: Micros,
    /// Whether distinct ids and both totals agree.
    pub whole: bool,
    /// Whether it was more than one page, during which things may have changed.
    pub paged: bool,
}

/// Reads all items.
///
/// # Errors
/// What v1 refuses, its quota excepted.
pub(super) async fn build(source: &impl Source, sizes: Sizes, progress: &Progress) -> Result<Built, Refusal> {
    let begun = Instant::now();
    let (mut rows, mut newest, none) = (Rows::default(), Micros::MIN, HashSet::new());
    let read = |cut| source.items(false, cut);
    let totals = all_pages(sizes, progress, read, |page: Vec<Item>| {
        newest = page.iter().map(|item| item.updated_at).fold(newest, Micros::max);
        rows.apply(page, &none);
    });
    let totals = totals.await?;
    // Nothing read is newer than the end of the read by v1's clock, so its beginning is not before this.
    let took = if totals.pages > 1 { begun.elapsed().as_micros() as Micros } else { 0 };
    let whole = totals.agree_with(rows.len());
    Ok(Built { rows, watermark: newest.saturating_sub(took), whole, paged: totals.pages > 1 })
}

/// When every item last changed.
pub(super) struct Sweep {
    /// The last change by id.
    pub marks: HashMap<Uuid, Micros>,
    /// Whether distinct ids and both totals agree.
    pub whole: bool,
    /// Whether it was more than one page, during which things may have changed.
    pub paged: bool,
}

/// Reads the ids of all items and when they last changed.
///
/// # Errors
/// What v1 refuses, its quota excepted.
pub(super) async fn sweep(source: &impl Source, sizes: Sizes, progress: &Progress) -> Result<Sweep, Refusal> {
    let mut marks = HashMap::new();
    let read = |cut| source.marks(cut);
    let totals = all_pages(sizes, progress, read, |page: Vec<Mark>| {
        marks.extend(page.into_iter().map(|mark| (mark.id, mark.updated_at)));
    });
    let totals = totals.await?;
    let whole = totals.agree_with(marks.len());
    Ok(Sweep { marks, whole, paged: totals.pages > 1 })
}

/// Totals of the first and of the last page, and whether a page was not as full as it should be.
struct Totals {
    first: usize,
    last: usize,
    steady: bool,
    pages: usize,
}

impl Totals {
    fn agree_with(&self, distinct: usize) -> bool {
        self.first == self.last && self.first == distinct && self.steady
    }
}

/// Reads the first page, then the others side by side, the last of them when all else is there.
async fn all_pages<T, F>(
    sizes: Sizes,
    progress: &Progress,
    read: impl Fn(Cut) -> F,
    mut take: impl FnMut(Vec<T>),
) -> Result<Totals, Refusal>
where
    F: Future<Output = Result<Page<T>, Refusal>>,
{
    let (read, size) = (&read, sizes.page);
    let cut = |number| Cut { number, size };
    let one = |number| async move {
        let page = patiently(progress, || read(cut(number))).await;
        progress.page();
        page
    };
    let first = one(0).await?;
    let pages = first.total.div_ceil(size).max(1);
    progress.expect(pages);
    let mut totals = Totals { first: first.total, last: first.total, steady: true, pages };
    take(first.rows);
    let mut middle = stream::iter(1..pages.saturating_sub(1)).map(one).buffer_unordered(SIDE_BY_SIDE);
    while let Some(page) = middle.next().await {
        let page = page?;
        totals.steady &= page.total == totals.first;
        take(page.rows);
    }
    if pages > 1 {
        let last = one(pages - 1).await?;
        totals.last = last.total;
        totals.steady &= !last.more;
        take(last.rows);
    }
    Ok(totals)
}

/// Makes a call; when v1's quota is used up, waits as long as v1 says and makes it again.
///
/// # Errors
/// What the call answers, its quota excepted until the patience has ended.
pub(super) async fn patiently<T, F>(progress: &Progress, call: impl Fn() -> F) -> Result<T, Refusal>
where
    F: Future<Output = Result<T, Refusal>>,
{
    let begun = Instant::now();
    loop {
        let outcome = call().await;
        let Err(Refusal::RateLimited { retry_after, .. }) = &outcome else { return outcome };
        let wait = Duration::from_secs(*retry_after);
        if begun.elapsed() + wait > PATIENCE {
            return outcome;
        }
        progress.held(wait);
        tokio::time::sleep(wait).await;
    }
}
