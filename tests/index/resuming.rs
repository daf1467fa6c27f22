//! An interrupted build is continued.

use crate::index::waiting::{PATH, build_page, delta, page, rows, scope};
use crate::index::{client_of, context, settings};
use crate::support::scripted::ScriptedV1;
use causeway::fresh::Changes;
use causeway::index::{IndexSettings, Indexes};
use causeway::v1::V1Key;
use serde_json::json;
use std::path::{Path, PathBuf};

async fn ask(indexes: &Indexes) -> Option<usize> {
    indexes.fresh(&scope(), &V1Key::new("ada"), &context()).await.ok().map(|index| index.len())
}

fn pages(directory: &Path) -> Option<PathBuf> {
    let mut files = std::fs::read_dir(directory).ok()?.map(|entry| entry.unwrap().path());
    files.find(|path| path.extension().is_some_and(|ending| ending == "pages"))
}

/// Reads two pages of three, then meets a fault; both pages are on disk.
async fn broken_off(v1: &ScriptedV1, directory: &Path) -> IndexSettings {
    let settings = IndexSettings { directory: Some(directory.into()), ..settings() };
    v1.expect(build_page(0).reply(200, page(rows(1, 1000), 2500, true)));
    v1.expect(build_page(1).reply(200, page(rows(1001, 1000), 2500, true)));
    v1.expect(build_page(2).reply(500, json!({"error": "x"})));
    let indexes = Indexes::new(client_of(v1.base_url()), settings.clone(), &Changes::default());
    assert_eq!(ask(&indexes).await, None);
    indexes.close().await;
    settings
}

#[tokio::test]
async fn a_restart_in_the_middle_of_a_build_costs_only_what_was_not_read() {
    let (v1, directory) = (ScriptedV1::start().await.in_order(), tempfile::tempdir().unwrap());
    let settings = broken_off(&v1, directory.path()).await;
    assert!(pages(directory.path()).is_some());
    v1.expect(build_page(2).reply(200, page(rows(2001, 500), 2500, false)));
    v1.expect(delta().reply(200, page(rows(1, 100), 2500, true)));
    let indexes = Indexes::new(client_of(v1.base_url()), settings, &Changes::default());
    assert!(!indexes.is_built(&scope()), "pages are no index");
    assert_eq!(ask(&indexes).await, Some(2500));
    assert!(pages(directory.path()).is_none(), "they have served their turn");
    v1.finish();
}

#[tokio::test]
async fn after_a_fault_the_same_process_goes_on_too() {
    let v1 = ScriptedV1::start().await.in_order();
    v1.expect(build_page(0).reply(200, page(rows(1, 1000), 1500, true)));
    v1.expect(build_page(1).reply(500, json!({"error": "x"})));
    v1.expect(build_page(1).reply(200, page(rows(1001, 500), 1500, false)));
    v1.expect(delta().reply(200, page(rows(1, 100), 1500, true)));
    let indexes = Indexes::new(client_of(v1.base_url()), settings(), &Changes::default());
    assert_eq!(ask(&indexes).await, None);
    assert_eq!(ask(&indexes).await, Some(1500));
    v1.finish();
}

/// A deletion meanwhile shifts the rest: row 2001 slides onto a page that was already read. The count shows it.
#[tokio::test]
async fn a_deletion_during_an_interrupted_build_is_detected() {
    let (v1, directory) = (ScriptedV1::start().await, tempfile::tempdir().unwrap());
    let settings = broken_off(&v1, directory.path()).await;
    v1.expect(build_page(2).reply(200, page(rows(2002, 499), 2499, false)));
    v1.expect(delta().reply(200, page(rows(2, 100), 2499, true)));
    let sweep = format!("{PATH}?per_page=1000&order_by=created_at&fields=id,updated_at");
    v1.expect(crate::support::scripted::Exchange::get(&sweep).reply(500, json!({"error": "x"})));
    let indexes = Indexes::new(client_of(v1.base_url()), settings, &Changes::default());
    assert_eq!(ask(&indexes).await, None, "2,499 rows, but not those of v1");
    v1.finish();
}

#[tokio::test]
async fn damaged_pages_are_read_anew() {
    let (v1, directory) = (ScriptedV1::start().await, tempfile::tempdir().unwrap());
    let settings = broken_off(&v1, directory.path()).await;
    let file = pages(directory.path()).unwrap();
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    v1.expect(build_page(0).reply(200, page(rows(1, 3), 3, false)));
    let indexes = Indexes::new(client_of(v1.base_url()), settings, &Changes::default());
    assert_eq!(ask(&indexes).await, Some(3));
    v1.finish();
}
