//! What is particular to a file as the store.

use crate::place::V1;
use causeway::store::{Store, StoreError};
use std::path::Path;

fn url(path: &Path) -> String {
    format!("sqlite:{}", path.display())
}

#[tokio::test]
async fn urls_that_name_no_store_are_refused_without_their_credentials() {
    for url in ["mysql://me:secret@h/db", "store.db", "mysql:x"] {
        let refused = Store::open(url, V1).await.unwrap_err();
        assert!(matches!(refused, StoreError::UnknownKind { .. }), "{refused:?}");
        assert!(!refused.to_string().contains("secret"));
    }
    assert!(matches!(Store::open("sqlite::memory:", "nowhere").await, Err(StoreError::BaseUrl(_))));
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
