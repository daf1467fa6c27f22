//! The scripted v1 itself: it must fail the test that does not follow the script.

use crate::support::scripted::{Exchange, ScriptedV1};
use crate::upstream::{client_of, context};
use causeway::v1::{V1Key, V1Request};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Returns the report of `finish` after these calls.
async fn report(v1: ScriptedV1, calls: &[&str]) -> String {
    let client = client_of(v1.base_url());
    for path in calls {
        client.call(&V1Key::new("ada"), V1Request::get(*path, ""), &context()).await.unwrap();
    }
    let failed = catch_unwind(AssertUnwindSafe(|| v1.finish()));
    failed.err().and_then(|said| said.downcast_ref::<String>().cloned()).unwrap_or_default()
}

#[tokio::test]
async fn a_script_that_was_followed_is_silent() {
    let v1 = ScriptedV1::start().await;
    v1.expect(Exchange::get("a/").times(2)).expect(Exchange::get("b/").repeated());
    assert_eq!(report(v1, &["a/", "a/"]).await, "");
}

#[tokio::test]
async fn unexpected_unused_and_disordered_calls_are_reported() {
    let v1 = ScriptedV1::start().await;
    v1.expect(Exchange::get("a/").key("ada"));
    let said = report(v1, &["b/"]).await;
    assert!(said.contains("not in the script:\n  GET b/ (ada)"), "{said}");
    assert!(said.contains("not used:\n  GET a/ (ada) → 200, used 0×"), "{said}");

    let v1 = ScriptedV1::start().await.in_order();
    v1.expect(Exchange::get("a/")).expect(Exchange::get("b/"));
    assert!(report(v1, &["b/", "a/"]).await.contains("GET b/"));

    let v1 = ScriptedV1::start().await;
    v1.expect(Exchange::get("a/"));
    assert!(report(v1, &["a/", "a/"]).await.contains("not in the script:\n  GET a/"));
}
