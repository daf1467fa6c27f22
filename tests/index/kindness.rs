//! The effect of a cold build on a v1 as slow as a real one, and on its other clients. The clock is paused.

use crate::index::World;
use crate::support::cold_build::measure;
use causeway::index::IndexSettings;
use causeway::sandbox::Seed;
use causeway::task::spawn;
use serde_json::json;
use std::time::Duration;

#[tokio::test(start_paused = true)]
async fn a_cold_build_costs_v1_its_pages_once_and_keeps_nobody_waiting() {
    let figures = measure(10_000).await;
    println!("{figures:?}");
    assert_eq!(figures.calls, 11, "{figures:?}");
    assert!(figures.of_the_pages() <= 1.1, "{figures:?}");
    assert!(figures.slower() <= 1.2, "{figures:?}");
    assert!(figures.longest < 2 * figures.before, "{figures:?}");
}

/// The one call at the end brings changes and new items of that time.
#[tokio::test(flavor = "multi_thread")]
async fn changes_during_a_build_cost_no_sweep() {
    for _ in 0..10 {
        if are_changes_during_a_build_free().await {
            return;
        }
    }
    panic!("each build was over before everything had changed");
}

/// Returns false where the build was over too early, as it may be on a busy machine.
async fn are_changes_during_a_build_free() -> bool {
    let world = World::with(Seed::Demo, 6_000).await;
    let indexes = world.indexes(IndexSettings { sweep: Duration::from_secs(3600), ..crate::index::settings() });
    let known = world.truth().await;
    world.sandbox.clear_journal();
    let lists = || {
        let journal = world.sandbox.journal();
        journal.iter().filter(|entry| entry.path.contains("work-items/?")).count()
    };
    let building = {
        let (indexes, scope, key) = (indexes.clone(), world.scope.clone(), world.key.clone());
        spawn(async move { indexes.fresh(&scope, &key, &crate::index::context()).await })
    };
    while lists() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    for item in known.iter().step_by(1_000) {
        world.patch(item.id, json!({"name": "Changed meanwhile"})).await;
    }
    world.create("Made meanwhile").await;
    if lists() >= 7 {
        return false;
    }
    let index = building.await.expect("no panic").expect("an index");
    assert_eq!(lists(), 8, "{:?}", world.sandbox.journal());
    assert_eq!(crate::index::items(&index), world.truth().await);
    true
}
