//! The complete read: every page once, with all columns, as kindly as v1 can be asked.
//!
//! Pages are read one after the other, or as many at once as v1 bears (`pace`); `walk` tells what they prove. v1's
//! quota holds a build up but does not end it, unless somebody whose key has room goes on with its pages.
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

/// What v1 allows (`pagination_per_page_1001`), and a delta that is small when little has changed.
pub(super) const SIZES: Sizes = Sizes { page: 1000, delta: 100 };

/// A build under way.
pub(super) struct Build<'b, S> {
    /// Where rows come from.
    pub source: &'b S,
    /// Sizes of pages.
    pub sizes: Sizes,
    /// For those who wait.
    pub progress: &'b Progress,
    /// The places of all reads.
    pub pace: &'b Pace,
    /// Is shown what was read after each page, to keep it.
    pub keep: &'b (dyn Fn(&Walk) + Sync),
}

/// A page that was read.
struct Got {
    number: usize,
    page: Page<Item>,
    took: Duration,
    /// Whether no other page of this build was under way when it was asked for.
    alone: bool,
}

impl<S: Source> Build<'_, S> {
    /// Reads what `walk` lacks.
    ///
    /// # Errors
    /// What v1 refuses, its quota excepted.
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
            let Got { number, page, took, alone } = got?;
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

    async fn page(&self, read: &Read, number: usize, at_once: usize, alone: bool) -> Result<Got, Refusal> {
        let cut = Cut { number, size: self.sizes.page };
        let one = || async {
            // Given back while v1's quota is waited for: that of other keys may last.
            let _turn = read.turn(at_once).await;
            let begun = Instant::now();
            let page = self.source.items(cut).await?;
            Ok(Got { number, page, took: begun.elapsed(), alone })
        };
        patiently(self.progress, one).await
    }
}

/// Makes a call; when v1's quota is used up, waits as long as v1 says and makes it again.
///
/// # Errors
/// What the call answers, its quota excepted until the patience has ended or the read has to give way.
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
        progress.note_hold(wait);
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = progress.gave_way() => return outcome,
        }
    }
}
