//! Builds against the model: the rows that a build takes as proven are those that v1 shows, whatever happens during it.
//! May use: `refusal`, `translate`, this folder.

use super::cases;
use super::model::{Model, SMALL, Write, content, run, writes};
use crate::index::build::{Build, patiently};
use crate::index::files::Files;
use crate::index::pace::Pace;
use crate::index::progress::Progress;
use crate::index::refresh::{Refresh, Refreshed};
use crate::index::source::{Cut, Mark, Page, Source};
use crate::index::verified::Verified;
use crate::index::walk::Walk;
use crate::refusal::Refusal;
use crate::translate::work_items::Item;
use parking_lot::Mutex;
use proptest::prelude::*;
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use uuid::Uuid;

/// A walk that has read nothing yet.
pub fn begin(model: &Model) -> Walk {
    Walk::new(SMALL.page, model.world().clock)
}

/// Runs a build that continues `walk`, in the same way as the service.
pub async fn built(model: &Model, walk: Walk) -> Result<Refreshed<()>, Refusal> {
    let (pace, is_new) = (Pace::default(), walk.trail.progress().0 == 0);
    let walk = read(model, walk, &|_| ()).await?;
    let verified = Verified::built(walk.rows.clone(), walk.trail.newest, walk.trail.floor);
    if is_new && walk.is_one_whole_page() {
        return Ok(Refreshed { verified, mark: (), swept: false });
    }
    let (proof, progress) = (walk, &Progress::default());
    let (source, sizes, proof, clock) = (model, SMALL, Some(&proof), &|| model.clock());
    let refresh = Refresh { source, sizes, progress, pace: &pace, patient: true, sweep: false, proof, clock };
    refresh.run(verified, || (), HashSet::new).await
}

async fn read(source: &impl Source, walk: Walk, keep: &(dyn Fn(&Walk) + Sync)) -> Result<Walk, Refusal> {
    let (progress, pace) = (&Progress::default(), &Pace::default());
    Build { source, sizes: SMALL, progress, pace, keep }.run(walk).await
}

/// Writes, without those that take a row away.
fn growing(most: usize) -> impl Strategy<Value = Vec<Write>> {
    let goes = |write: &Write| matches!(write, Write::Delete(_) | Write::Archive(_) | Write::Swap(_));
    writes(most).prop_map(move |writes| writes.into_iter().filter(|write| !goes(write)).collect())
}

proptest! {
    #![proptest_config(cases(750))]

    /// The main property: rows that were proven without a sweep are exactly those of v1, for any writes between the
    /// calls.
    #[test]
    fn a_proven_build_equals_the_rows_of_v1(
        items in 0..70_usize, before in writes(6), rests in any::<bool>(), during in writes(16)
    ) {
        run(async {
            let model = Model::of(items);
            model.now(&before);
            model.world().clock += if rests { 60_000_000 } else { 0 };
            model.meanwhile(&during);
            if let Ok(found) = built(&model, begin(&model)).await && model.world().sweeps == 0 {
                prop_assert_eq!(content(&found.verified), model.truth());
            }
            Ok(())
        })?;
    }

    /// A build that ends before its last page is continued, whatever happened between and happens from then on.
    #[test]
    fn a_proven_build_after_an_interruption_equals_the_rows_of_v1(
        items in 5..40_usize, first in writes(5), broken in 1..8_usize, between in writes(6), then in writes(10)
    ) {
        run(async {
            let model = Model::of(items);
            model.world().clock += 60_000_000;
            model.meanwhile(&first);
            let left_over = interrupted(&model, broken).await;
            model.meanwhile(&[]);
            model.now(&between);
            model.meanwhile(&then);
            let walk = left_over.unwrap_or_else(|| begin(&model));
            if let Ok(found) = built(&model, walk).await && model.world().sweeps == 0 {
                prop_assert_eq!(content(&found.verified), model.truth());
            }
            Ok(())
        })?;
    }

    /// Changes and new rows need no sweep while pages are read one after the other, as the first ten are.
    #[test]
    fn changes_and_growth_cost_no_sweep(items in 5..37_usize, during in growing(4)) {
        run(async {
            let model = Model::of(items);
            model.world().clock += 60_000_000;
            model.meanwhile(&during);
            built(&model, begin(&model)).await.unwrap();
            prop_assert_eq!(model.world().sweeps, 0);
            Ok(())
        })?;
    }
}

/// The pages of a build that ends after `pages` pages.
async fn interrupted(model: &Model, pages: usize) -> Option<Walk> {
    let kept = Mutex::new(None);
    let broken = Broken { model, left: AtomicUsize::new(pages) };
    let outcome = read(&broken, begin(model), &|walk| *kept.lock() = Some(walk.clone())).await;
    outcome.err().and(kept.into_inner())
}

/// A v1 that answers a limited number of calls.
struct Broken<'m> {
    model: &'m Model,
    left: AtomicUsize,
}

impl Source for Broken<'_> {
    async fn items(&self, cut: Cut) -> Result<Page<Item>, Refusal> {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 0 {
            return Err(Refusal::internal("broken"));
        }
        self.model.items(cut).await
    }

    async fn marks(&self, cut: Cut) -> Result<Page<Mark>, Refusal> {
        self.model.marks(cut).await
    }

    async fn record(&self, id: Uuid) -> Result<Option<Item>, Refusal> {
        self.model.record(id).await
    }
}

#[test]
fn a_still_project_costs_each_page_once_and_one_call_more() {
    run(async {
        let model = Model::of(40);
        model.world().clock += 60_000_000;
        built(&model, begin(&model)).await.unwrap();
        assert_eq!((model.calls(), model.world().sweeps), (11, 0));
        let left_over = interrupted(&model, 7).await.unwrap();
        assert_eq!(model.calls(), 7);
        let found = built(&model, left_over).await.unwrap();
        assert_eq!((content(&found.verified), model.calls()), (model.truth(), 4), "the rest of it");
    });
}

#[test]
fn one_that_went_while_another_came_is_found_out() {
    run(async {
        for at in [0, 20, 39] {
            let model = Model::of(40);
            model.world().clock += 60_000_000;
            model.meanwhile(&[Write::Nothing, Write::Nothing, Write::Nothing, Write::Swap(at)]);
            let found = built(&model, begin(&model)).await.unwrap();
            assert_eq!(content(&found.verified), model.truth(), "row {at}");
            assert!(found.swept && model.world().sweeps > 0, "row {at}");
        }
    });
}

#[test]
fn pages_on_disk_are_gone_on_with_and_nothing_damaged_or_old_is() {
    run(async {
        let (model, directory) = (Model::of(40), tempfile::tempdir().unwrap());
        model.world().clock += 60_000_000;
        let files = Files::of(directory.path(), "one".into());
        let (now, hour) = (model.world().clock, 3_600_000_000);
        assert!(files.load_pages(SMALL.page, now).is_none());
        let walk = interrupted(&model, 7).await.unwrap();
        files.save_pages(&walk);
        model.calls();
        model.now(&[Write::Update(3, 0)]);
        let found = built(&model, files.load_pages(SMALL.page, now).unwrap()).await.unwrap();
        assert_eq!((content(&found.verified), model.calls()), (model.truth(), 4));
        assert!(files.load_pages(SMALL.page + 1, now).is_none(), "of other pages");
        assert!(files.load_pages(SMALL.page, now + hour).is_none(), "old");
        let whole = std::fs::read(files.pages.path()).unwrap();
        let other = Files::of(directory.path(), "two".into());
        std::fs::write(other.pages.path(), &whole).unwrap();
        assert!(other.load_pages(SMALL.page, now).is_none(), "of another list");
        for at in [0, 20, whole.len() / 2, whole.len() - 1] {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            std::fs::write(files.pages.path(), damaged).unwrap();
            assert!(files.load_pages(SMALL.page, now).is_none() && !files.pages.path().exists(), "byte {at}");
        }
        std::fs::write(files.pages.path(), &whole[..whole.len() / 2]).unwrap();
        assert!(files.load_pages(SMALL.page, now).is_none(), "half of it");
    });
}

#[tokio::test(start_paused = true)]
async fn the_longest_wait_that_v1_can_name_is_not_waited_for() {
    let call = || async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Err::<(), _>(Refusal::RateLimited { retry_after: u64::MAX, detail: String::new() })
    };
    let outcome = patiently(&Progress::default(), call).await;
    assert!(matches!(outcome, Err(Refusal::RateLimited { .. })));
}
