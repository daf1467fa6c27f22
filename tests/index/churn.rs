//! After any changes of items on v1, the index finally shows what v1 shows.

use crate::index::{World, always, items, settings};
use causeway::index::Lookups;
use causeway::plan::Column;
use causeway::sandbox::Seed;
use causeway::v1::Method;
use causeway::v2::query::{ListCall, OrderBy, PageCall};
use serde_json::json;
use std::collections::HashSet;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread")]
async fn a_delete_and_a_create_that_keep_the_total_are_both_seen() {
    let world = World::with(Seed::Demo, 1200).await;
    let indexes = world.indexes(always());
    let (index, _) = world.counted(&indexes).await;
    let gone = index.items().next().unwrap().id;
    world.delete(gone).await;
    let made = world.create("In its place").await;
    let (index, calls) = world.counted(&indexes).await;
    assert!(index.get(gone).is_none() && index.get(made).is_some());
    // A delta with a wrong count, a sweep of two pages, a look for the missed row, and the last delta.
    assert_eq!(calls, 5);
    assert_eq!(items(&index), world.truth().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archived_item_vanishes_and_comes_back_when_restored() {
    let world = World::with(Seed::Demo, 0).await;
    let indexes = world.indexes(always());
    let id = world.counted(&indexes).await.0.items().next().unwrap().id;
    world.patch(id, json!({"archived_at": "2026-11-21"})).await;
    assert!(world.fresh(&indexes).await.unwrap().get(id).is_none());
    world.patch(id, json!({"archived_at": null})).await;
    let index = world.fresh(&indexes).await.unwrap();
    assert!(index.get(id).is_some());
    assert_eq!(items(&index), world.truth().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_parent_takes_its_children_along() {
    let world = World::with(Seed::Demo, 0).await;
    let indexes = world.indexes(always());
    let parent = world.create("Parent").await;
    let child = world.create("Child").await;
    world.patch(child, json!({"parent": parent})).await;
    let index = world.fresh(&indexes).await.unwrap();
    assert_eq!(index.children(parent).iter().map(|item| item.id).collect::<Vec<_>>(), [child]);
    let number = index.get(child).unwrap().sequence_id;
    assert_eq!(index.by_sequence(number).iter().map(|item| item.id).collect::<Vec<_>>(), [child]);
    world.delete(parent).await;
    let index = world.fresh(&indexes).await.unwrap();
    assert!(index.get(parent).is_none() && index.children(parent).is_empty());
    assert_eq!(items(&index), world.truth().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_label_is_not_shown_although_no_item_has_changed() {
    let world = World::with(Seed::Demo, 0).await;
    let indexes = world.indexes(always());
    let index = world.fresh(&indexes).await.unwrap();
    let labelled = index.items().find(|item| item.labels.len() > 1).unwrap();
    let deleted = labelled.labels[0];
    let everything = ListCall {
        conditions: Vec::new(),
        search: None,
        order: OrderBy { field: "id".into(), cell: 0, descending: false },
        page: PageCall::Offset { offset: 0, per_page: 200, count: true },
        expand: Vec::new(),
    };
    let live: HashSet<_> = index.items().flat_map(|item| item.labels).filter(|label| *label != deleted).collect();
    let lookups = Lookups { live_labels: Some(live), ..Lookups::default() };
    let shown = index.select(&everything, &[Column::Id], &lookups);
    assert_eq!(shown.total, index.len());
    let row = shown.rows.iter().find(|row| row.id == labelled.id).unwrap();
    assert_eq!(row.labels, labelled.labels[1..]);
    assert!(shown.rows.iter().all(|row| !row.labels.contains(&deleted)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_own_write_is_visible_at_once_and_is_not_undone() {
    let world = World::with(Seed::Demo, 0).await;
    let indexes = world.indexes(settings());
    let mut item = world.fresh(&indexes).await.unwrap().items().next().unwrap();
    let other = world.fresh(&indexes).await.unwrap().items().nth(1).unwrap().id;
    item.name = "Renamed".into();
    item.updated_at += 1_000_000_000_000;
    indexes.note_change(world.scope.project, &item);
    indexes.note_removal(world.scope.project, other);
    let (index, calls) = world.counted(&indexes).await;
    assert_eq!((calls, index.get(item.id), index.get(other)), (0, Some(item.clone()), None));
    let archived = causeway::translate::work_items::Item { archived_at: Some("2026-11-21".into()), ..item.clone() };
    indexes.note_change(world.scope.project, &archived);
    assert!(world.fresh(&indexes).await.unwrap().get(item.id).is_none(), "lists do not show archived items");
    let older = causeway::translate::work_items::Item { name: "Old".into(), ..item.clone() };
    indexes.note_change(world.scope.project, &item);
    indexes.note_change(world.scope.project, &causeway::translate::work_items::Item { updated_at: 0, ..older });
    assert_eq!(world.fresh(&indexes).await.unwrap().get(item.id).unwrap().name, "Renamed");
}

/// Writers and readers at the same time; after the last write, the index has what v1 has.
#[tokio::test(flavor = "multi_thread")]
async fn it_converges_under_concurrent_writers() {
    let world = World::with(Seed::Demo, 2500).await;
    let indexes = world.indexes(causeway::index::IndexSettings { sweep: Duration::from_millis(300), ..always() });
    let known = world.truth().await;
    let writing = async {
        for (number, item) in known.iter().enumerate().take(80) {
            match number % 4 {
                0 => world.delete(item.id).await,
                1 => drop(world.create("New").await),
                2 => world.patch(item.id, json!({"priority": "urgent"})).await,
                _ => world.patch(item.id, json!({"archived_at": "2026-11-21"})).await,
            }
        }
    };
    let reading = async {
        for _ in 0..12 {
            // The items may change too fast to be read, but then no caller gets an incomplete index.
            if let Ok(index) = world.fresh(&indexes).await {
                assert!(index.len() > 2400);
            }
        }
    };
    tokio::join!(writing, reading);
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_eq!(items(&world.fresh(&indexes).await.unwrap()), world.truth().await);
    world.write(Method::POST, "", json!({"name": "The last"})).await;
    assert_eq!(items(&world.fresh(&indexes).await.unwrap()), world.truth().await);
}
