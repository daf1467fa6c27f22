//! Overlay values, and the deployment that a store belongs to.

use crate::store::place::{Place, V1, WORKSPACE, execute};
use causeway::json::MOST_LEVELS;
use causeway::store::{OverlayValue, Store, StoreError, overlay_wins};
use causeway::task::spawn;
use serde_json::{Value, json};
use uuid::Uuid;

const RECORD: Uuid = Uuid::from_u128(2);

on_both_engines![
    written_overlay_values_survive_a_restart,
    a_store_of_another_deployment_is_refused_with_the_remedy,
    fields_are_replaced_one_by_one_and_deleted_with_their_record,
    an_outdated_value_is_deleted_unless_it_is_younger_or_replaced,
    workspaces_kinds_and_records_do_not_mix,
    a_change_made_on_v1_is_not_masked,
    unreadable_stored_values_hide_no_others,
    writers_side_by_side_lose_nothing,
    a_store_of_a_newer_version_is_refused,
];

fn value(field: &str, value: Value) -> OverlayValue {
    OverlayValue::new(field, value, json!("UTC"))
}

async fn fields(store: &Store) -> Vec<OverlayValue> {
    store.overlay_of(WORKSPACE, "cycle").await.unwrap().remove(&RECORD).unwrap_or_default()
}

async fn written_overlay_values_survive_a_restart(place: Place) {
    let path = place.url();
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
    assert_eq!(store.findings().await.unwrap(), Vec::<String>::new());
}

async fn a_store_of_another_deployment_is_refused_with_the_remedy(place: Place) {
    let path = place.url();
    Store::open(&path, V1).await.unwrap().close().await;
    let refused = Store::open(&path, "https://other.example").await.unwrap_err();
    let text = refused.to_string();
    assert!(matches!(refused, StoreError::OtherDeployment { .. }), "{refused:?}");
    for part in ["https://tracker.example", "https://other.example", "another store"] {
        assert!(text.contains(part), "{text}");
    }
    Store::open(&path, V1).await.expect("its own deployment may still use it");
}

async fn fields_are_replaced_one_by_one_and_deleted_with_their_record(place: Place) {
    let store = place.open().await;
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

async fn an_outdated_value_is_deleted_unless_it_is_younger_or_replaced(place: Place) {
    let store = place.open().await;
    let logo = OverlayValue::new("logo", json!({}), json!({"b": 0.1, "a": [1, null, "ü"]}));
    store.put_overlay(WORKSPACE, "cycle", RECORD, &[logo, value("zone", json!("EST"))]).await.unwrap();
    let held = fields(&store).await;
    let replaced = [OverlayValue::new("zone", json!("EST"), json!("Europe/Berlin"))];
    for (record, outdated, until) in
        [(RECORD, &held[..], 0), (RECORD, &replaced[..], i64::MAX), (Uuid::from_u128(3), &held[..], i64::MAX)]
    {
        store.delete_outdated_overlay(WORKSPACE, "cycle", record, outdated, until).await.unwrap();
        assert_eq!(fields(&store).await, held);
    }
    store.delete_outdated_overlay(WORKSPACE, "cycle", RECORD, &held[..1], i64::MAX).await.unwrap();
    assert_eq!(fields(&store).await, held[1..]);
}

async fn workspaces_kinds_and_records_do_not_mix(place: Place) {
    let store = place.open().await;
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

async fn a_change_made_on_v1_is_not_masked(place: Place) {
    let store = place.open().await;
    store.put_overlay(WORKSPACE, "cycle", RECORD, &[value("timezone", json!("EST"))]).await.unwrap();
    let kept = &fields(&store).await[0];
    assert!(overlay_wins(&kept.seen, &json!("UTC")));
    assert!(!overlay_wins(&kept.seen, &json!("Europe/Berlin")));
}

async fn writers_side_by_side_lose_nothing(place: Place) {
    let path = place.url();
    // For the file, two handles are two processes.
    let handles = [Store::open(&path, V1).await.unwrap(), Store::open(&path, V1).await.unwrap()];
    let writers: Vec<_> = (0..40)
        .map(|number| {
            let store = handles[number % 2].clone();
            spawn(async move {
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

async fn a_store_of_a_newer_version_is_refused(place: Place) {
    let store = place.open().await;
    execute(
        &store,
        "INSERT INTO _sqlx_migrations SELECT 9999, 'later', installed_on, success, checksum, 1 \
         FROM _sqlx_migrations WHERE version = 1",
    )
    .await;
    execute(
        &store,
        "INSERT INTO service (id, v1_base_url, recorded_at, min_writer) VALUES (1, '', 0, 9999) \
                     ON CONFLICT (id) DO UPDATE SET min_writer = 9999",
    )
    .await;
    store.close().await;
    let refused = Store::open(&place.url(), V1).await.unwrap_err();
    assert!(matches!(refused, StoreError::Schema(_)), "{refused:?}");
}

/// Bodies could once store JSON under a name that has a special meaning for the JSON reader, or nested deeper than the
/// reader allows.
async fn unreadable_stored_values_hide_no_others(place: Place) {
    let store = place.open().await;
    let written = [value("deep", json!(1)), value("named", json!(2)), value("other", json!(3))];
    store.put_overlay(WORKSPACE, "cycle", RECORD, &written).await.unwrap();
    let nested = |levels: usize, inside: &str| format!("{}{inside}{}", "[".repeat(levels), "]".repeat(levels));
    let named = r#"{"$serde_json::private::RawValue":"no JSON"}"#;
    for (field, text) in [("deep", nested(300, "1").as_str()), ("named", named)] {
        execute(&store, &format!("UPDATE overlay SET value = '{text}' WHERE field = '{field}'")).await;
    }
    let shown: Vec<String> = fields(&store).await.iter().map(|kept| kept.value.to_string()).collect();
    assert_eq!(shown, [nested(MOST_LEVELS, "null"), named.to_owned(), "3".to_owned()]);
}
