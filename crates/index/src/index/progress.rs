//! Progress of a build or a check, for the callers that wait for it.
//!
//! May use: `refusal`, `units`.

use crate::refusal::Refusal;
use crate::units::seconds_up;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// Longest wait advised to a client, in seconds.
const LONGEST: u64 = 900;
/// Duration of the call that ends a read, as a fraction of a page.
const LAST_CALL: f64 = 0.3;

/// Pages read, pages in all, and until when v1's quota delays everything.
#[derive(Debug, Default)]
pub(super) struct Progress {
    state: watch::Sender<State>,
}

#[derive(Debug, Default, Clone, Copy)]
struct State {
    pages: Option<Pages>,
    held_until: Option<Instant>,
    /// Whether the delayed read has to end, because another request continues it.
    gives_way: bool,
    /// The last report of the process that reads, and when it arrived.
    elsewhere: Option<(ProgressReport, Instant)>,
}

/// Progress of a read, as one process reports it to the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ProgressReport {
    done: usize,
    total: usize,
    left: Duration,
}

/// Pages of the current read, and when it began.
#[derive(Debug, Clone, Copy)]
struct Pages {
    begun: Instant,
    /// When the last page was read.
    last: Instant,
    /// Pages that had been read before this read.
    before: usize,
    done: usize,
    total: Option<usize>,
    /// Whether the pages are kept, so that a later read can continue after them.
    kept: bool,
}

impl Progress {
    /// Begins a read of pages; `before` pages had been read earlier. `kept` tells whether another read can continue
    /// after the pages.
    pub fn begin(&self, before: usize, kept: bool) {
        let now = Instant::now();
        let pages = Pages { begun: now, last: now, before, done: before, total: None, kept };
        self.state.send_modify(|state| (state.pages, state.elsewhere) = (Some(pages), None));
    }

    /// Returns the report for processes that wait for this read; none before its pace is known.
    pub fn told(&self) -> Option<ProgressReport> {
        let state = *self.state.borrow();
        let Pages { done, total, .. } = state.pages?;
        Some(ProgressReport { done, total: total?, left: left(&state)? })
    }

    /// Notes a report of the process that reads. A repeated report is ignored.
    pub fn hear(&self, told: Option<ProgressReport>) {
        self.state.send_if_modified(|state| {
            let is_new = state.elsewhere.map(|(told, _)| told) != told;
            if is_new {
                state.elsewhere = told.map(|told| (told, Instant::now()));
            }
            is_new
        });
    }

    /// Notes that `done` of `total` pages have been read.
    pub fn note_pages(&self, done: usize, total: usize) {
        self.state.send_modify(|state| {
            if let Some(pages) = &mut state.pages {
                (pages.done, pages.total, pages.last) = (done, Some(total), Instant::now());
            }
        });
    }

    /// Notes that v1's quota is used up for the time `wait`.
    pub fn note_hold(&self, wait: Duration) {
        self.state.send_modify(|state| state.held_until = Some(Instant::now() + wait));
    }

    /// Waits until v1's quota delays a read that another request can continue. Returns whether any page was read. A
    /// read whose pages would all be read again cannot be continued: passed on from key to key, it might never end.
    pub async fn held(&self) -> bool {
        let mut state = self.state.subscribe();
        let goes_on = |pages: Pages| pages.kept || pages.done == 0;
        if state.wait_for(|state| !held(state).is_zero() && state.pages.is_none_or(goes_on)).await.is_err() {
            // Only when this is dropped, and no caller waits for it then.
            std::future::pending::<()>().await;
        }
        let pages = state.borrow().pages;
        pages.is_some_and(|pages| pages.done > 0)
    }

    /// Ends the read that v1's quota delays, because another request continues it.
    pub fn give_way(&self) {
        self.state.send_modify(|state| state.gives_way |= !held(state).is_zero());
    }

    /// Waits until the delayed read has to end.
    pub async fn gave_way(&self) {
        // It fails only when this is dropped, and then nothing is read.
        let _ = self.state.subscribe().wait_for(|state| state.gives_way).await;
    }

    /// Notes that nothing is read any more.
    pub fn end(&self) {
        self.state.send_modify(|state| *state = State::default());
    }

    /// Waits until it is known that a read will not have ended by `deadline`.
    pub async fn will_outlast(&self, deadline: Instant) {
        let mut state = self.state.subscribe();
        let outlasts = |state: &State| left(state).is_some_and(|left| Instant::now() + left > deadline);
        if state.wait_for(outlasts).await.is_err() {
            // Only when this is dropped, and no caller waits for it then.
            std::future::pending::<()>().await;
        }
    }

    /// Returns the error for a caller whose deadline ends before the read does.
    pub fn refusal(&self) -> Refusal {
        let state = *self.state.borrow();
        let here = state.pages.and_then(|pages| Some((pages.done, pages.total?)));
        let pages = match here.or(state.elsewhere.map(|(told, _)| (told.done, told.total))) {
            Some((done, total)) => format!("{} of about {total} pages have been read", done.min(total)),
            None => "its first page has been asked for".to_owned(),
        };
        let quota =
            if held(&state).as_secs() > 0 { "; the request quota at the service behind is used up" } else { "" };
        let left = left(&state).unwrap_or_else(|| held(&state));
        Refusal::IndexBuilding {
            detail: format!(
                "The index of this project is being built, or compared with v1: {pages}{quota}. That goes on."
            ),
            retry_after: seconds_up(left).clamp(1, LONGEST),
        }
    }
}

fn held(state: &State) -> Duration {
    let until = state.held_until.filter(|_| !state.gives_way);
    until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()))
}

/// Returns the time that the rest will take at the average pace so far. Before a page has been read, only the delay by
/// v1's quota is known.
fn left(state: &State) -> Option<Duration> {
    let Some(pages) = state.pages else {
        return state.elsewhere.map(|(told, heard)| told.left.saturating_sub(heard.elapsed()));
    };
    let read = pages.done.saturating_sub(pages.before);
    let Some(total) = pages.total.filter(|_| read > 0) else {
        return Some(held(state)).filter(|held| !held.is_zero());
    };
    let rest = total.saturating_sub(pages.done);
    let each = (pages.last - pages.begun).as_secs_f64() / read as f64;
    // Subtract the time that the page in flight has already taken.
    let passed = pages.last.elapsed().as_secs_f64().min(if rest > 0 { each } else { 0.0 });
    Some(held(state) + Duration::from_secs_f64(each * (rest as f64 + LAST_CALL) - passed))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: Duration = Duration::from_secs(4);

    async fn read(progress: &Progress, pages: std::ops::Range<usize>, total: usize) {
        for done in pages {
            tokio::time::sleep(PAGE).await;
            progress.note_pages(done + 1, total);
        }
    }

    fn retry_after(progress: &Progress) -> u64 {
        match progress.refusal() {
            Refusal::IndexBuilding { retry_after, .. } => retry_after,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_pace_tells_how_long_the_rest_takes() {
        let progress = Progress::default();
        assert_eq!(retry_after(&progress), 1);
        progress.begin(0, true);
        read(&progress, 0..4, 10).await;
        assert_eq!(retry_after(&progress), 26);
        progress.note_hold(Duration::from_secs(50));
        assert_eq!(retry_after(&progress), 76);
        progress.end();
        assert_eq!(retry_after(&progress), 1);
    }

    /// Several pages are requested at once, so v1 may refuse another one at that moment.
    #[tokio::test(start_paused = true)]
    async fn a_read_that_gives_way_ends_also_when_it_is_held_up_once_more() {
        let progress = Progress::default();
        for gives_way in [true, false] {
            progress.note_hold(PAGE);
            if gives_way {
                progress.give_way();
            }
            progress.note_hold(PAGE);
            let ended = tokio::time::timeout(PAGE / 2, progress.gave_way()).await;
            assert_eq!(ended.is_ok(), gives_way);
            progress.end();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn progress_of_another_process_counts_until_this_one_reads() {
        let (here, there) = (Progress::default(), Progress::default());
        there.begin(0, true);
        assert_eq!(there.told(), None);
        read(&there, 0..4, 10).await;
        let told = there.told();
        here.hear(told);
        assert_eq!(retry_after(&here), 26);
        tokio::time::sleep(PAGE).await;
        here.hear(told);
        assert_eq!(retry_after(&here), 22, "the same thing twice is nothing new");
        here.will_outlast(Instant::now() + Duration::from_secs(20)).await;
        here.begin(0, true);
        assert_eq!(retry_after(&here), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn pages_read_before_say_nothing_about_the_pace() {
        let progress = Progress::default();
        progress.begin(6, true);
        read(&progress, 6..8, 10).await;
        assert_eq!(retry_after(&progress), 10);
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_without_enough_time_is_refused_after_the_first_page() {
        let (progress, begun) = (Progress::default(), Instant::now());
        progress.begin(0, true);
        let too_long = progress.will_outlast(begun + Duration::from_secs(29));
        tokio::select! {
            () = too_long => {}
            () = read(&progress, 0..10, 10) => panic!("not told"),
        }
        assert_eq!(begun.elapsed(), PAGE);
        // A caller that comes later is told at once.
        progress.will_outlast(begun + Duration::from_secs(29)).await;
        assert_eq!(begun.elapsed(), PAGE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_with_enough_time_is_not_refused() {
        let (progress, begun) = (Progress::default(), Instant::now());
        progress.begin(0, true);
        tokio::select! {
            () = progress.will_outlast(begun + Duration::from_secs(45)) => panic!("sent away"),
            () = read(&progress, 0..10, 10) => {}
        }
    }
}
