//! The records of workspaces that have been left and of comparisons, on both engines.

use crate::support::postgres::Database;
use causeway::store::{ShadowCount, ShadowDifference, Store};
use causeway::usage::today;
use uuid::Uuid;

fn count(day: i64, outcome: &str, requests: i64) -> ShadowCount {
    ShadowCount { day, operation: "states_list".into(), outcome: outcome.into(), requests }
}

fn difference(place: &str, at: i64) -> ShadowDifference {
    let (operation, ours, theirs) = ("states_list".into(), "null".into(), "a uuid".into());
    ShadowDifference { operation, place: place.into(), ours, theirs, requests: 1, first_at: at, last_at: at }
}

async fn it_is_added_up_and_bounded(url: &str) {
    let store = Store::open(url, "http://v1.example").await.expect("a store");
    assert_eq!(store.left("acme").await.expect("read"), None);
    store.mark_left("acme", "https://one.example").await.expect("noted");
    store.mark_left("acme", "https://two.example").await.expect("noted");
    store.mark_left("globex", "https://two.example").await.expect("noted");
    assert_eq!(store.left("acme").await.expect("read").expect("left").url, "https://two.example");
    assert_eq!(store.left_workspaces().await.expect("read").len(), 2);
    let (one, other, today) = (Uuid::new_v4(), Uuid::new_v4(), i64::from(today()));
    let counts = [count(today, "equal", 3), count(today - 90, "equal", 5)];
    let found = [difference("/a", 1), difference("/b", 2), difference("/c", 2)];
    // The same batch again, as after a lost answer.
    for _ in 0..2 {
        store.add_shadow((one, 1), &counts, &found, (10, 90)).await.expect("written");
    }
    store
        .add_shadow((other, 1), &[count(today, "equal", 4)], &[difference("/a", 9)], (10, 90))
        .await
        .expect("written");
    assert_eq!(store.shadow_counts().await.expect("read"), [count(today, "equal", 7)]);
    let kept = store.shadow_differences().await.expect("read");
    assert_eq!((kept[0].place.as_str(), kept[0].requests, kept[0].first_at, kept[0].last_at), ("/a", 2, 1, 9));
    store.add_shadow((other, 2), &[count(today, "equal", 1)], &[], (2, 90)).await.expect("written");
    let kept = store.shadow_differences().await.expect("read");
    assert_eq!(kept.iter().map(|kept| kept.place.as_str()).collect::<Vec<_>>(), ["/a", "/b"]);
    store.clear_shadow().await.expect("cleared");
    assert!(store.shadow_counts().await.expect("read").is_empty());
    assert!(store.shadow_differences().await.expect("read").is_empty());
    store.close().await;
}

#[tokio::test]
async fn it_is_added_up_and_bounded_in_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    it_is_added_up_and_bounded(&format!("sqlite:{}", folder.path().join("store.db").display())).await;
}

#[tokio::test]
async fn it_is_added_up_and_bounded_on_a_server() {
    let database = Database::create().await;
    it_is_added_up_and_bounded(&database.url()).await;
}
