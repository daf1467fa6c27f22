//! The store: what it keeps, whose it is, and how it fails.

use causeway::refusal::Refusal;
use causeway::store::{OverlayValue, Store, StoreError, overlay_wins};
use serde_json::{Value, json};
use std::path::Path;
use uuid::Uuid;

const V1: &str = "https://tracker.example";
const WORKSPACE: Uuid = Uuid::from_u128(1);
const RECORD: Uuid = Uuid::from_u128(2);

fn url(path: &Path) -> String {
    format!("sqlite:{}", path.display())
}

fn value(field: &str, value: Value) -> OverlayValue {
    OverlayValue::new(field, value, json!("UTC"))
}

async fn fields(store: &Store) -> Vec<OverlayValue> {
    store.overlay_of(WORKSPACE, "cycle").await.unwrap().remove(&RECORD).unwrap_or_default()
}

#[tokio::test]
async fn what_was_written_is_there_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = url(&folder.path().join("store.db"));
    let written = [
        value("logo_props", json!({"b": 1, "a": [null, "ü"]})),
        value("sort_order", json!(1.5)),
        value("x", Value::Null),
    ];
    let store = Store::open(&path, V1).await.unwrap();
    store.put_overlay(WORKSPACE, "cycle", RECORD, &written).await.unwrap();
    store.close().await;
    let store = Store::open(&path, "HTTPS://Tracker.example:443/api/v1/").await.unwrap();
    assert_eq!(fields(&store).await, written);
    store.check().await.unwrap();
}

#[tokio::test]
async fn a_store_of_another_deployment_is_refused_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let path = url(&folder.path().join("store.db"));
    Store::open(&path, V1).await.unwrap().close().await;
    let refused = Store::open(&path, "https://other.example").await.unwrap_err();
    let text = refused.to_string();
    assert!(matches!(refused, StoreError::OtherDeployment { .. }), "{refused:?}");
    for part in ["https://tracker.example", "https://other.example", "another store"] {
        assert!(text.contains(part), "{text}");
    }
    Store::open(&path, V1).await.expect("its own deployment may still use it");
}

#[tokio::test]
async fn urls_that_name_no_store_are_refused_without_their_credentials() {
    for url in ["postgres://me:secret@h/db", "store.db", "mysql:x"] {
        let refused = Store::open(url, V1).await.unwrap_err();
        assert!(matches!(refused, StoreError::UnknownKind { .. }), "{refused:?}");
        assert!(!refused.to_string().contains("secret"));
    }
    assert!(matches!(Store::open("sqlite::memory:", "nowhere").await, Err(StoreError::BaseUrl(_))));
}

#[tokio::test]
async fn fields_are_replaced_one_by_one_and_deleted_with_their_record() {
    let store = Store::open("sqlite::memory:", V1).await.unwrap();
    let other = Uuid::from_u128(3);
    store.put_overlay(WORKSPACE, "cycle", RECORD, &[value("a", json!(1)), value("b", json!(2))]).await.unwrap();
    store.put_overlay(WORKSPACE, "cycle", RECORD, &[OverlayValue::new("a", json!(3), json!("EST"))]).await.unwrap();
    store.put_overlay(WORKSPACE, "cycle", other, &[value("a", json!(4))]).await.unwrap();
    assert_eq!(fields(&store).await, [OverlayValue::new("a", json!(3), json!("EST")), value("b", json!(2))]);
    store.delete_overlay_fields(WORKSPACE, "cycle", RECORD, &["a", "nosuchfield"]).await.unwrap();
    assert_eq!(fields(&store).await, [value("b", json!(2))]);
    store.delete_overlay(WORKSPACE, "cycle", RECORD).await.unwrap();
    let left = store.overlay_of(WORKSPACE, "cycle").await.unwrap();
    assert_eq!(left.into_iter().collect::<Vec<_>>(), [(other, vec![value("a", json!(4))])]);
}

#[tokio::test]
async fn workspaces_kinds_and_records_do_not_mix() {
    let store = Store::open("sqlite::memory:", V1).await.unwrap();
    let (elsewhere, second) = (Uuid::from_u128(9), Uuid::from_u128(8));
    store.put_overlay(WORKSPACE, "cycle", RECORD, &[value("a", json!(1))]).await.unwrap();
    store.put_overlay(WORKSPACE, "module", RECORD, &[value("a", json!(2))]).await.unwrap();
    store.put_overlay(elsewhere, "cycle", RECORD, &[value("a", json!(3))]).await.unwrap();
    store.put_overlay(WORKSPACE, "cycle", second, &[value("a", json!(4))]).await.unwrap();
    assert_eq!(fields(&store).await, [value("a", json!(1))]);
    let some = store.overlay_of_records(WORKSPACE, "cycle", &[second, elsewhere]).await.unwrap();
    assert_eq!(some.into_iter().collect::<Vec<_>>(), [(second, vec![value("a", json!(4))])]);
    assert!(store.overlay_of_records(WORKSPACE, "cycle", &[]).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_change_made_on_v1_is_not_masked() {
    let store = Store::open("sqlite::memory:", V1).await.unwrap();
    store.put_overlay(WORKSPACE, "cycle", RECORD, &[value("timezone", json!("EST"))]).await.unwrap();
    let kept = &fields(&store).await[0];
    assert!(overlay_wins(&kept.seen, &json!("UTC")));
    assert!(!overlay_wins(&kept.seen, &json!("Europe/Berlin")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_side_by_side_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = url(&folder.path().join("store.db"));
    // Two handles are two processes as far as the file is concerned.
    let handles = [Store::open(&path, V1).await.unwrap(), Store::open(&path, V1).await.unwrap()];
    let writers: Vec<_> = (0..40)
        .map(|number| {
            let store = handles[number % 2].clone();
            tokio::spawn(async move {
                let fields = [value("a", json!(number)), value("b", json!(number))];
                store.put_overlay(WORKSPACE, "cycle", Uuid::from_u128(number as u128), &fields).await?;
                store.put_overlay(WORKSPACE, "shared", RECORD, &fields).await
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap().unwrap();
    }
    assert_eq!(handles[0].overlay_of(WORKSPACE, "cycle").await.unwrap().len(), 40);
    let shared = handles[1].overlay_of(WORKSPACE, "shared").await.unwrap().remove(&RECORD).unwrap();
    assert_eq!(shared[0].value, shared[1].value, "both fields are of one writer");
}

#[tokio::test]
async fn a_store_that_cannot_be_written_says_so_and_stays_readable() {
    let folder = tempfile::tempdir().unwrap();
    let path = url(&folder.path().join("store.db"));
    let store = Store::open(&path, V1).await.unwrap();
    store.put_overlay(WORKSPACE, "cycle", RECORD, &[value("a", json!(1))]).await.unwrap();
    store.close().await;
    let store = Store::open(&format!("{path}?mode=ro"), V1).await.unwrap();
    assert_eq!(fields(&store).await.len(), 1);
    let refused = store.put_overlay(WORKSPACE, "cycle", RECORD, &[value("a", json!(2))]).await.unwrap_err();
    assert!(matches!(refused, StoreError::Unavailable(_)), "{refused:?}");
    assert_eq!(Refusal::from(refused).code(), "store_unavailable");
    assert_eq!(fields(&store).await, [value("a", json!(1))]);
}

#[cfg(unix)]
#[tokio::test]
async fn a_new_store_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let _store = Store::open(&url(&path), V1).await.unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn a_store_of_a_newer_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = url(&folder.path().join("store.db"));
    Store::open(&path, V1).await.unwrap().close().await;
    let mut raw = <sqlx::SqliteConnection as sqlx::Connection>::connect(&path).await.unwrap();
    sqlx::query(
        "INSERT INTO _sqlx_migrations SELECT 9999, 'later', installed_on, 1, checksum, 1 FROM _sqlx_migrations",
    )
    .execute(&mut raw)
    .await
    .unwrap();
    let refused = Store::open(&path, V1).await.unwrap_err();
    assert!(matches!(refused, StoreError::Schema(_)), "{refused:?}");
}

#[tokio::test]
async fn a_file_that_is_no_store_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    std::fs::write(&path, "this is a letter, not a database; it is long enough to have a header".repeat(50))
        .unwrap();
    let refused = Store::open(&url(&path), V1).await.unwrap_err();
    assert!(matches!(refused, StoreError::Damaged(_)), "{refused:?}");
    let nowhere = Store::open(&url(&folder.path().join("missing/store.db")), V1).await.unwrap_err();
    assert!(matches!(nowhere, StoreError::Unavailable(_)), "{nowhere:?}");
}
