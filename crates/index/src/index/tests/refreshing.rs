//! Builds and refreshes against the model: they reach what v1 shows, whatever happens in between. May use:
//! `refusal`, `translate`, this folder.

use super::model::{Model, SMALL, Write, content, run, writes};
use super::{building, cases};
use crate::index::pace::Pace;
use crate::index::progress::Progress;
use crate::index::refresh::Refresh;
use crate::index::source::{Cut, Mark, Page, Source};
use crate::index::verified::Verified;
use crate::refusal::Refusal;
use crate::translate::work_items::Item;
use proptest::prelude::*;
use std::collections::{HashSet, VecDeque};
use std::sync::Mutex;
use uuid::Uuid;

async fn built(model: &Model) -> Result<Verified, Refusal> {
    building::built(model, building::begin(model)).await.map(|built| built.verified)
}

async fn refreshed(model: &Model, base: Verified, sweep: bool) -> Result<Verified, Refusal> {
    let (progress, pace, clock) = (&Progress::default(), &Pace::default(), &|| model.clock());
    let (source, sizes) = (model, SMALL);
    let refresh = Refresh { source, sizes, progress, pace, patient: false, sweep, proof: None, clock };
    Ok(refresh.run(base, || (), HashSet::new).await?.verified)
}

/// A removal through this gateway during a call: the item, and whether v1 removes it before it answers the call.
type Removal = (usize, bool);

/// The model, from which this gateway removes an item during each call.
struct Beside<'m> {
    model: &'m Model,
    coming: Mutex<VecDeque<Removal>>,
    removed: Mutex<HashSet<Uuid>>,
}

impl<'m> Beside<'m> {
    fn new(model: &'m Model, removals: &[Removal]) -> Self {
        Self { model, coming: Mutex::new(removals.iter().copied().collect()), removed: Mutex::default() }
    }

    fn removed(&self) -> HashSet<Uuid> {
        self.removed.lock().unwrap().clone()
    }

    fn remove(&self, at: usize) -> Option<Uuid> {
        let shown = &mut self.model.world().shown;
        (!shown.is_empty()).then(|| shown.remove(at % shown.len()).id)
    }

    /// Makes a call. A removal during the call is confirmed after its answer.
    async fn call<T>(&self, answer: impl Future<Output = T>) -> T {
        let removal = self.coming.lock().unwrap().pop_front();
        let early = removal.filter(|(_, early)| *early).and_then(|(at, _)| self.remove(at));
        let answer = answer.await;
        let late = removal.filter(|(_, early)| !*early).and_then(|(at, _)| self.remove(at));
        self.removed.lock().unwrap().extend(early.or(late));
        answer
    }

    /// Runs a refresh, and applies the local removals to its result.
    async fn refreshed(&self, base: Verified) -> Result<Vec<Item>, Refusal> {
        let (progress, pace, clock) = (&Progress::default(), &Pace::default(), &|| self.model.clock());
        let refresh = Refresh {
            source: self,
            sizes: SMALL,
            progress,
            pace,
            patient: false,
            sweep: false,
            proof: None,
            clock,
        };
        let mut found = refresh.run(base, || (), || self.removed()).await?.verified;
        found.rows.apply(Vec::new(), &self.removed());
        Ok(content(&found))
    }
}

impl Source for Beside<'_> {
    async fn items(&self, cut: Cut) -> Result<Page<Item>, Refusal> {
        self.call(self.model.items(cut)).await
    }

    async fn marks(&self, cut: Cut) -> Result<Page<Mark>, Refusal> {
        self.call(self.model.marks(cut)).await
    }

    async fn record(&self, id: Uuid) -> Result<Option<Item>, Refusal> {
        self.call(self.model.record(id)).await
    }
}

proptest! {
    #![proptest_config(cases(250))]

    /// Items that other clients had removed before are not shown, whatever this gateway removes meanwhile.
    #[test]
    fn a_removal_through_this_gateway_hides_no_other(
        items in 1..14_usize, before in writes(6), removals in proptest::collection::vec(any::<Removal>(), 0..5)
    ) {
        run(async {
            let model = Model::of(items);
            let base = built(&model).await.unwrap();
            model.now(&before);
            let found = Beside::new(&model, &removals).refreshed(base).await.unwrap();
            prop_assert_eq!(found, model.truth());
            Ok(())
        })?;
    }

    /// Between refreshes anything may happen. Every refresh has exactly what v1 shows, without a sweep being due.
    #[test]
    fn a_refresh_of_a_still_project_is_the_truth(
        items in 0..14_usize, phases in proptest::collection::vec(writes(8), 0..5)
    ) {
        run(async {
            let model = Model::of(items);
            let mut verified = built(&model).await.unwrap();
            prop_assert_eq!(content(&verified), model.truth());
            for phase in phases {
                model.now(&phase);
                verified = refreshed(&model, verified, false).await.unwrap();
                prop_assert_eq!(content(&verified), model.truth());
            }
            Ok(())
        })?;
    }

    /// Writes between any two calls: the next sweep after them has the truth, whatever was read meanwhile.
    #[test]
    fn writes_between_the_calls_are_caught_up_with(
        items in 0..14_usize, during in writes(10), phases in proptest::collection::vec(writes(10), 0..4)
    ) {
        run(async {
            let model = Model::of(items);
            model.meanwhile(&during);
            let mut verified = built(&model).await.unwrap_or_default();
            for phase in phases {
                model.meanwhile(&phase);
                verified = refreshed(&model, verified.clone(), false).await.unwrap_or(verified);
            }
            model.meanwhile(&[]);
            let last = refreshed(&model, verified, true).await.unwrap();
            prop_assert_eq!(content(&last), model.truth());
            Ok(())
        })?;
    }

    /// Rows that exist unchanged throughout a refresh are in its result.
    #[test]
    fn a_refresh_never_returns_a_partial_index(items in 0..14_usize, during in writes(10)) {
        run(async {
            let model = Model::of(items);
            let base = built(&model).await.unwrap();
            let before = model.truth();
            model.meanwhile(&during);
            let Ok(answer) = refreshed(&model, base, false).await else { return Ok(()) };
            let (after, answer) = (model.truth(), content(&answer));
            for item in before.iter().filter(|item| after.contains(item)) {
                prop_assert!(answer.contains(item), "{} is missing", item.name);
            }
            Ok(())
        })?;
    }
}

#[test]
fn calls_are_as_few_as_they_can_be() {
    run(async {
        let model = Model::of(40);
        model.world().clock += 60_000_000;
        let mut verified = built(&model).await.unwrap();
        let mut counts = vec![model.calls()];
        let phases = [&[][..], &[], &[Write::Update(3, 0)], &[Write::Delete(5)], &[Write::Swap(1)], &[]];
        for phase in phases {
            model.world().clock += 60_000_000;
            model.now(phase);
            verified = refreshed(&model, verified, false).await.unwrap();
            counts.push(model.calls());
        }
        assert_eq!(counts, [11, 1, 1, 1, 13, 13, 1]);
    });
}

/// A second call is made only if the answer does not show whether v1 still counted an item that is being removed.
#[test]
fn a_removal_through_this_gateway_costs_a_call_at_most() {
    for (at, early, calls) in [(0, false, 1), (11, false, 1), (11, true, 1), (0, true, 2)] {
        run(async {
            let model = Model::of(12);
            model.world().clock += 60_000_000;
            let base = built(&model).await.unwrap();
            let base = refreshed(&model, base, false).await.unwrap();
            model.world().clock += 60_000_000;
            model.now(&[Write::Update(11, 0)]);
            model.calls();
            let found = Beside::new(&model, &[(at, early)]).refreshed(base).await.unwrap();
            assert_eq!((found, model.calls()), (model.truth(), calls), "{at} {early}");
        });
    }
}

/// A row that v1 once shows with a change in the future hides no later change of other rows.
#[test]
fn a_change_of_the_future_is_not_the_newest() {
    const YEAR_2100: i64 = 4_102_444_800_000_000;
    run(async {
        let model = Model::of(12);
        let mut verified = built(&model).await.unwrap();
        model.now(&[]);
        let before = std::mem::replace(&mut model.world().shown[3].updated_at, YEAR_2100);
        verified = refreshed(&model, verified, false).await.unwrap();
        model.world().shown[3].updated_at = before;
        model.now(&[Write::Update(1, 0), Write::Update(3, 0), Write::Update(7, 0)]);
        verified = refreshed(&model, verified, false).await.unwrap();
        assert_eq!(content(&verified), model.truth());
    });
}

/// After a restore from a backup, v1 shows items as they were before: older than the rows that were read since.
#[test]
fn the_next_sweep_finds_a_v1_that_was_set_back() {
    run(async {
        for changed in [2, 9] {
            let model = Model::of(12);
            let mut verified = built(&model).await.unwrap();
            let backup = model.world().shown.clone();
            model.world().clock += 60_000_000;
            model.now(&Vec::from_iter((0..changed).map(|at| Write::Update(at, 0))));
            verified = refreshed(&model, verified, false).await.unwrap();
            model.world().shown = backup;
            model.world().clock += 60_000_000;
            model.now(&[Write::Update(11, 0)]);
            verified = refreshed(&model, verified, true).await.unwrap();
            assert_eq!(content(&verified), model.truth());
        }
    });
}

/// A count that is wrong once causes no request for a page after the one that v1 calls the last.
#[test]
fn a_sweep_ends_where_v1_says_that_no_page_follows() {
    run(async {
        let model = Model::of(10);
        let verified = built(&model).await.unwrap();
        model.now(&[]);
        model.calls();
        model.world().miscount = Some(1_000_000_000);
        let verified = refreshed(&model, verified, true).await.unwrap();
        assert_eq!(content(&verified), model.truth());
        assert!(model.calls() < 20);
    });
}
