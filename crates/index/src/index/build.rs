//! The complete read: every page once, with all columns, with as little load on v1 as possible.
//!
//! Pages are read one after the other, or several at once when v1 can bear it (`pace`). `walk` holds what the pages
//! prove. When v1's quota is used up, a build waits. It ends early when a request whose key has quota left continues
//! it, or when the wait would exceed `PATIENCE`.
//!
//! May use: `translate`, `v2`, `refusal`, this folder.

use super::pace::{Pace, Read};
use super::progress::Progress;
use super::source::{Cut, Page, Source};
use super::walk::Walk;
use crate::refusal::Refusal;
use crate::translate::work_items::Item;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;
use tokio::time::Instant;

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

/// The largest page that v1 allows (`pagination_per_page_1001`), and a small one for a delta with few changes.
pub(super) const SIZES: Sizes = Sizes { page: 1000, delta: 100 };

/// A running build.
pub(super) struct Build<'b, S> {
    /// Source of the rows.
    pub source: &'b S,
    /// Sizes of pages.
    pub sizes: Sizes,
    /// Progress, for the callers that wait.
    pub progress: &'b Progress,
    /// Places for pages in flight, shared by all reads.
    pub pace: &'b Pace,
    /// Gets everything that was read so far, after each page, and keeps it.
    pub keep: &'b (dyn Fn(&Walk) + Sync),
}

/// A page that was read.
struct PageRead {
    number: usize,
    page: Page<Item>,
    took: Duration,
    /// Whether no other page of this build was in flight when this page was requested.
    alone: bool,
}

impl<S: Source> Build<'_, S> {
    /// Reads the pages that `walk` lacks.
    ///
    /// # Errors
    /// An error of v1. When the quota is used up, it waits first, as `patiently` does.
    pub async fn run(&self, mut walk: Walk) -> Result<Walk, Refusal> {
        let (read, mut asked, mut under_way) = (self.pace.begin(), BTreeSet::new(), FuturesUnordered::new());
        self.progress.begin(walk.trail.progress().0, true);
        loop {
            let at_once = read.at_once(self.source.is_urgent());
            while under_way.len() < at_once
                && let Some(number) = walk.trail.next(&asked)
            {
                asked.insert(number);
                under_way.push(self.page(&read, number, at_once, under_way.is_empty()));
            }
            let Some(got) = under_way.next().await else { return Ok(walk) };
            let PageRead { number, page, took, alone } = got?;
            if page.rows.len() == self.sizes.page {
                read.took(took, self.source.is_urgent());
            }
            walk.take(number, page, alone);
            asked.remove(&number);
            let (done, pages) = walk.trail.progress();
            self.progress.note_pages(done, pages);
            (self.keep)(&walk);
        }
    }

    async fn page(&self, read: &Read, number: usize, at_once: usize, alone: bool) -> Result<PageRead, Refusal> {
        let cut = Cut { number, size: self.sizes.page };
        let one = || async {
            // Released while this page waits for v1's quota, because other keys may have quota left.
            let _turn = read.turn(at_once).await;
            let begun = Instant::now();
            let page = self.source.items(cut).await?;
            Ok(PageRead { number, page, took: begun.elapsed(), alone })
        };
        patiently(self.progress, one).await
    }
}

/// Makes a call. When v1's quota is used up, waits as long as v1 says and calls again.
///
/// # Errors
/// The error of the call. A used-up quota is an error only after the longest wait, or when the read has to give way.
pub(super) async fn patiently<T, F>(progress: &Progress, call: impl Fn() -> F) -> Result<T, Refusal>
where
    F: Future<Output = Result<T, Refusal>>,
{
    let begun = Instant::now();
    loop {
        let outcome = call().await;
        let Err(Refusal::RateLimited { retry_after, .. }) = &outcome else { return outcome };
        let wait = Duration::from_secs(*retry_after);
        if begun.elapsed().saturating_add(wait) > PATIENCE {
            return outcome;
        }
        progress.note_hold(wait);
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = progress.gave_way() => return outcome,
        }
    }
}
