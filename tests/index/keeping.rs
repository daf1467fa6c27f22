//! Indices on disk and within their bounds.

use crate::index::{World, always, items, settings};
use causeway::index::{IndexSettings, Scope};
use causeway::sandbox::Seed;
use causeway::v1::V1Key;
use std::path::{Path, PathBuf};

fn kept(directory: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_costs_a_delta_and_not_a_rebuild() {
    let world = World::with(Seed::Demo, 4000).await;
    let directory = tempfile::tempdir().unwrap();
    let settings = IndexSettings { directory: Some(directory.path().join("index")), ..settings() };
    let before = world.indexes(settings.clone());
    let (first, cold) = world.counted(&before).await;
    assert!(cold > 4);
    let id = first.items().next().unwrap().id;
    world.patch(id, serde_json::json!({"name": "Changed through the gateway"})).await;
    let own = world.truth().await.into_iter().find(|item| item.id == id).unwrap();
    before.note_change(world.scope.project, &own);
    before.close().await;
    drop(before);
    let after = world.indexes(settings.clone());
    assert!(after.is_built(&world.scope), "it is on disk");
    let made = world.create("While it was down").await;
    let (index, warm) = world.counted(&after).await;
    assert_eq!(warm, 1);
    assert_eq!((index.len(), index.get(own.id)), (first.len() + 1, Some(own)));
    assert!(index.get(made).is_some());
    let guests = Scope { members: false, ..world.scope.clone() };
    assert!(!after.is_built(&guests), "the file belongs to one audience");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_file_is_built_anew() {
    let world = World::with(Seed::Demo, 1500).await;
    let directory = tempfile::tempdir().unwrap();
    let settings = IndexSettings { directory: Some(directory.path().into()), ..settings() };
    let indexes = world.indexes(settings.clone());
    world.counted(&indexes).await;
    indexes.close().await;
    let files = kept(directory.path());
    assert_eq!(files.len(), 1);
    let mut bytes = std::fs::read(&files[0]).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    std::fs::write(&files[0], bytes).unwrap();
    let indexes = world.indexes(settings);
    let (index, calls) = world.counted(&indexes).await;
    assert!(calls > 1);
    assert_eq!(items(&index), world.truth().await);
    indexes.close().await;
    assert_eq!(kept(directory.path()).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_directory_nothing_is_kept() {
    let world = World::with(Seed::Demo, 0).await;
    let indexes = world.indexes(settings());
    world.counted(&indexes).await;
    indexes.close().await;
    assert!(!world.indexes(settings()).is_built(&world.scope));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_index_used_longest_ago_makes_room_and_comes_back_from_disk() {
    let world = World::with(Seed::Demo, 1500).await;
    let directory = tempfile::tempdir().unwrap();
    let size = world.fresh(&world.indexes(settings())).await.unwrap().bytes();
    let limited = IndexSettings { max_bytes: size * 3 / 2, directory: Some(directory.path().into()), ..settings() };
    let indexes = world.indexes(limited);
    let guests = Scope { members: false, ..world.scope.clone() };
    world.counted(&indexes).await;
    assert!(indexes.peek(&world.scope).is_some());
    indexes.fresh(&guests, &world.key, &crate::index::context()).await.unwrap();
    assert!(indexes.peek(&world.scope).is_none() && indexes.peek(&guests).is_some());
    indexes.close().await;
    let (index, calls) = world.counted(&indexes).await;
    assert_eq!((index.is_scan(), calls), (false, 1));
    assert!(indexes.peek(&guests).is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_that_is_too_large_is_scanned_and_not_kept() {
    let world = World::with(Seed::Demo, 1500).await;
    let indexes = world.indexes(IndexSettings { max_bytes: 10_000, ..always() });
    for _ in 0..2 {
        let (index, calls) = world.counted(&indexes).await;
        assert!(index.is_scan() && calls >= 2);
        assert_eq!(items(&index), world.truth().await);
        assert!(indexes.peek(&world.scope).is_none() && !indexes.is_built(&world.scope));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_v1_refuses_is_refused_and_spoils_nothing_for_others() {
    let world = World::with(Seed::Demo, 0).await;
    let indexes = world.indexes(settings());
    let wrong = V1Key::new("wrong");
    let ctx = crate::index::context();
    let (refused, served) =
        tokio::join!(indexes.fresh(&world.scope, &wrong, &ctx), indexes.fresh(&world.scope, &world.key, &ctx));
    assert!(refused.is_err_and(|refusal| refusal.code() == "unauthorized"));
    assert_eq!(items(&served.unwrap()), world.truth().await);
}
