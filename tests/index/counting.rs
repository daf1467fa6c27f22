//! The calls of v1 that an index costs.

use crate::index::{World, always, context, items, settings};
use causeway::fresh::Changed;
use causeway::index::IndexSettings;
use causeway::sandbox::Seed;
use causeway::task::spawn;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread")]
async fn cold_then_warm_then_stale() {
    let world = World::with(Seed::Empty, 10_000).await;
    let indexes = world.indexes(IndexSettings { freshness: Duration::from_secs(8), ..settings() });
    assert!(!indexes.is_built(&world.scope) && indexes.peek(&world.scope).is_none());
    let (index, cold) = world.counted(&indexes).await;
    assert_eq!(index.len(), 10_000);
    assert_eq!(cold, 11, "each page and one call more");
    let (_, inside) = world.counted(&indexes).await;
    assert_eq!(inside, 0);
    assert!(indexes.peek(&world.scope).is_some());
    tokio::time::sleep(Duration::from_millis(8100)).await;
    assert!(indexes.is_built(&world.scope) && indexes.peek(&world.scope).is_none());
    let (index, after) = world.counted(&indexes).await;
    assert_eq!(after, 1);
    assert_eq!(items(&index), world.truth().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_of_one_page_is_one_call_and_counts_on_the_meter_of_its_request() {
    let world = World::with(Seed::Demo, 0).await;
    let indexes = world.indexes(settings());
    let ctx = context();
    let index = indexes.fresh(&world.scope, &world.key, &ctx).await.unwrap();
    assert_eq!(ctx.meter.calls(), 1);
    assert_eq!(items(&index), world.truth().await);
    let empty = World::with(Seed::Empty, 0).await;
    let indexes = empty.indexes(always());
    for _ in 0..2 {
        let (index, calls) = empty.counted(&indexes).await;
        assert_eq!((index.len(), calls), (0, 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_at_once_cost_as_many_calls_as_one_also_when_the_first_leaves() {
    let world = World::with(Seed::Empty, 3000).await;
    let indexes = world.indexes(settings());
    let ask = || {
        let (indexes, scope, key) = (indexes.clone(), world.scope.clone(), world.key.clone());
        spawn(async move { indexes.fresh(&scope, &key, &context()).await.map(|index| index.len()) })
    };
    let first = ask();
    while world.sandbox.journal().is_empty() {
        tokio::task::yield_now().await;
    }
    first.abort();
    let others: Vec<_> = (0..1000).map(|_| ask()).collect();
    for other in others {
        assert_eq!(other.await.unwrap(), Ok(3000));
    }
    assert!(world.sandbox.journal().len() <= 4, "{:?}", world.sandbox.journal());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_the_project_ends_the_freshness_of_its_index() {
    let world = World::with(Seed::Demo, 0).await;
    let indexes = world.indexes(settings());
    world.counted(&indexes).await;
    let id = world.create("Made past the gateway").await;
    assert_eq!(world.counted(&indexes).await.1, 0);
    world.changes.tell(Changed::Project(uuid::Uuid::nil()));
    world.changes.tell(Changed::Workspace("elsewhere".into()));
    assert_eq!(world.counted(&indexes).await.1, 0);
    world.changes.tell(Changed::Project(world.scope.project));
    assert!(indexes.peek(&world.scope).is_none());
    let (index, calls) = world.counted(&indexes).await;
    assert_eq!((index.get(id).is_some(), calls), (true, 1));
    world.changes.tell(Changed::Workspace((&*world.scope.workspace).into()));
    assert_eq!(world.counted(&indexes).await.1, 1);
    assert_eq!(world.counted(&indexes).await.1, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn audiences_do_not_share_rows() {
    let world = World::with(Seed::Demo, 0).await;
    let indexes = world.indexes(settings());
    world.counted(&indexes).await;
    let guests = causeway::index::Scope { members: false, ..world.scope.clone() };
    assert!(indexes.peek(&guests).is_none() && !indexes.is_built(&guests));
}
