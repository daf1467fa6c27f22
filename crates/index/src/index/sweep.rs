//! The comparison of all ids: which items exist and when they last changed. Nothing else is read of them.
//!
//! v1 cuts its pages anew for every call (trap 43). So a sweep is whole only when v1's count never fell during the
//! sweep, and the number of distinct ids equals the last count. New items come last in this order.
//!
//! May use: `v2`, `refusal`, this folder.

use super::build::{Sizes, patiently};
use super::pace::{Pace, Read};
use super::progress::Progress;
use super::source::{Cut, Mark, Page, Source};
use crate::refusal::Refusal;
use crate::v2::time::Micros;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use std::collections::HashMap;
use tokio::time::Instant;
use uuid::Uuid;

/// The last change of every item.
pub(super) struct Sweep {
    /// The last change by id.
    pub marks: HashMap<Uuid, Micros>,
    /// Whether no item went during the sweep, as far as v1's counts tell, and as many ids as counted were found.
    pub whole: bool,
    /// Whether it took more than one page; items may have changed between the pages.
    pub paged: bool,
}

/// A running sweep.
struct Sweeping<'s, S> {
    source: &'s S,
    size: usize,
    progress: &'s Progress,
    read: Read,
}

/// Reads the ids of all items and when they last changed. Reads the first page alone, then the others, as many at once
/// as v1 can bear, and the last page after all others.
///
/// # Errors
/// An error of v1. When the quota is used up, it waits first, as `patiently` does.
pub(super) async fn sweep(
    source: &impl Source,
    sizes: Sizes,
    progress: &Progress,
    pace: &Pace,
) -> Result<Sweep, Refusal> {
    let sweeping = Sweeping { source, size: sizes.page, progress, read: pace.begin() };
    progress.begin(0, false);
    let first = sweeping.page(0, 1).await?;
    let pages = first.total.div_ceil(sizes.page).max(1);
    let mut found = PagesSoFar { marks: HashMap::new(), total: first.total, fell: false, ended: false };
    found.take(first);
    progress.note_pages(1, pages);
    sweeping.middle(pages, &mut found).await?;
    let mut more = false;
    if pages > 1 && !found.ended {
        let page = sweeping.page(pages - 1, 1).await?;
        more = page.more;
        found.take(page);
        progress.note_pages(pages, pages);
    }
    let whole = !more && !found.fell && found.total == found.marks.len();
    Ok(Sweep { marks: found.marks, whole, paged: pages > 1 })
}

/// Result of the pages read so far.
struct PagesSoFar {
    marks: HashMap<Uuid, Micros>,
    /// v1's last count, and whether the count ever fell.
    total: usize,
    fell: bool,
    /// Whether v1 said of a page that no page follows.
    ended: bool,
}

impl PagesSoFar {
    fn take(&mut self, page: Page<Mark>) {
        self.ended |= !page.more;
        self.fell |= page.total < self.total;
        self.total = page.total;
        self.marks.extend(page.rows.into_iter().map(|mark| (mark.id, mark.updated_at)));
    }
}

impl<S: Source> Sweeping<'_, S> {
    /// Reads the pages between the first and the last.
    async fn middle(&self, pages: usize, found: &mut PagesSoFar) -> Result<(), Refusal> {
        let (mut next, mut done, mut under_way) = (1, 1, FuturesUnordered::new());
        loop {
            let at_once = self.read.at_once(self.source.is_urgent());
            // A count that was wrong once must not cause requests for all the pages that it promised.
            while under_way.len() < at_once && next + 1 < pages && !found.ended {
                under_way.push(self.page(next, at_once));
                next += 1;
            }
            let Some(page) = under_way.next().await else { return Ok(()) };
            found.take(page?);
            done += 1;
            self.progress.note_pages(done, pages);
        }
    }

    async fn page(&self, number: usize, at_once: usize) -> Result<Page<Mark>, Refusal> {
        let cut = Cut { number, size: self.size };
        let one = || async {
            let _turn = self.read.turn(at_once).await;
            let begun = Instant::now();
            let page = self.source.marks(cut).await?;
            Ok((page, begun.elapsed()))
        };
        let (page, took) = patiently(self.progress, one).await?;
        if page.rows.len() == self.size {
            self.read.took(took, self.source.is_urgent());
        }
        Ok(page)
    }
}
