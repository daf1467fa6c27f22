//! Builds and refreshes against the model: they converge to what v1 shows, whatever happens in between.

use super::cases;
use super::model::{Model, Write, writes};
use crate::index::build::{Sizes, build};
use crate::index::progress::Progress;
use crate::index::refresh::{Refresh, Verified};
use crate::refusal::Refusal;
use crate::translate::work_items::Item;
use proptest::prelude::*;
use std::collections::HashSet;
use std::future::Future;

const SMALL: Sizes = Sizes { page: 4, delta: 2 };

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

async fn built(model: &Model) -> Result<Verified, Refusal> {
    let (progress, since) = (Progress::default(), model.world().clock);
    let built = build(model, SMALL, &progress).await?;
    let verified = Verified::new(built.rows, built.watermark);
    if built.whole && !built.paged {
        return Ok(verified);
    }
    let sweep = !built.whole;
    let clock = || model.clock();
    let refresh = Refresh {
        source: model,
        sizes: SMALL,
        progress: &progress,
        patient: true,
        sweep,
        quiet_since: Some(since + 1),
        clock: &clock,
    };
    Ok(refresh.run(verified, || (), HashSet::new).await?.verified)
}

async fn refreshed(model: &Model, base: Verified, sweep: bool) -> Result<Verified, Refusal> {
    let (progress, clock) = (Progress::default(), || model.clock());
    let refresh = Refresh {
        source: model,
        sizes: SMALL,
        progress: &progress,
        patient: false,
        sweep,
        quiet_since: None,
        clock: &clock,
    };
    Ok(refresh.run(base, || (), HashSet::new).await?.verified)
}

fn content(verified: &Verified) -> Vec<Item> {
    (0..verified.rows.len()).map(|position| verified.rows.item_at(position)).collect()
}

proptest! {
    #![proptest_config(cases(1000))]

    /// Between refreshes anything may happen; every refresh has exactly what v1 shows, without a sweep being due.
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

    /// Writes between any two calls: whatever was read meanwhile, the next sweep after they end has the truth.
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

    /// Rows that are there and as they are throughout a refresh are in what it answers.
    #[test]
    fn nobody_gets_a_part(items in 0..14_usize, during in writes(10)) {
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

fn calls(model: &Model) -> usize {
    std::mem::take(&mut model.world().calls)
}

#[test]
fn calls_are_as_few_as_they_can_be() {
    run(async {
        let model = Model::of(40);
        let mut verified = built(&model).await.unwrap();
        let mut counts = vec![calls(&model)];
        let phases = [&[][..], &[], &[Write::Update(3, 0)], &[Write::Delete(5)], &[Write::Swap(1)], &[]];
        for phase in phases {
            model.world().clock += 60_000_000;
            model.now(phase);
            verified = refreshed(&model, verified, false).await.unwrap();
            counts.push(calls(&model));
        }
        // All was made at once, within the margin, so that the first deltas read it all again. One that sees
        // nothing new for longer than a change may be late ends at what is known.
        assert_eq!(counts, [21, 11, 1, 1, 13, 13, 1]);
    });
}
