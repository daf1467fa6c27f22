//! Every working operation, cold and warm, costs what its mapping declares.

use crate::costs::place::{OfItems, PLAN, Place, operation, plain_body};
use crate::costs::planned;
use causeway::plan::{Operation, Source, Surface};

/// Calls that prove access: the person behind a key, the project card. The card of a workspace is its list of members,
/// which the mapping of that list counts.
fn proofs(operation: &Operation) -> u32 {
    match operation.surface {
        // The card of the project that the human key leads to.
        Surface::Workspace if operation.resource_is_of_items() => 2,
        // The card of the workspace, and the workspace's id, which is the key of the own store.
        Surface::Workspace if PLAN.resource_of(operation).source == Source::Own => 3,
        Surface::User | Surface::Workspace => 1,
        Surface::Project => 2,
    }
}

#[tokio::test]
async fn cold_is_as_declared() {
    let mut working = 0;
    for operation in PLAN.operations.iter().filter(|operation| operation.works()) {
        working += 1;
        let place = Place::new().await;
        let declared = operation.calls.as_ref().expect("declared calls");
        place.prepare(operation).await;
        let answer = place.ask(operation).await.expect(operation.status);
        assert_eq!(answer.calls(), proofs(operation) + declared.cold, "{} cold", operation.id);
        planned::hold(&place, operation, false);
    }
    assert_eq!(working, 88);
}

#[tokio::test]
async fn warm_is_as_declared() {
    for operation in PLAN.operations.iter().filter(|operation| operation.works()) {
        let place = Place::new().await;
        let declared = operation.calls.as_ref().expect("declared calls");
        place.prepare(operation).await;
        place.warm(operation).await;
        let own = PLAN.resource_of(operation).source == Source::Own;
        // No other operation reads the list of projects that the audit log needs.
        if operation.surface != Surface::Project && (!own || operation.id.starts_with("audit_logs_")) {
            place.ask(operation).await.expect(200);
        }
        place.gateway.sandbox().clear_journal();
        let answer = place.ask(operation).await.expect(operation.status);
        assert_eq!(answer.calls(), declared.warm, "{} warm", operation.id);
        planned::hold(&place, operation, true);
        // Single work items and comments are read from v1 each time.
        let of_items = operation.resource_is_of_items() && operation.id != "work_items_list";
        let free = if of_items { 1 } else { 0 };
        assert!(operation.method.writes() || declared.warm == free, "{} as a warm read", operation.id);
        let delete = if of_items { 2 } else { u32::from(!own) };
        let one_more = operation.id == "labels_delete";
        assert!(operation.method.as_str() != "DELETE" || declared.warm == delete || one_more, "{}", operation.id);
    }
}

#[tokio::test]
async fn a_key_seen_before_costs_its_card_only_and_shares_what_is_kept() {
    let place = Place::new().await;
    let list = operation("states_list");
    let path = place.path(list);
    assert_eq!(place.send("ada", "GET", &path, None).await.expect(200).calls(), 3);
    assert_eq!(place.send("ada", "GET", &path, None).await.expect(200).calls(), 0);
    let labels = place.path(operation("labels_list"));
    assert_eq!(place.send("ada", "GET", &labels, None).await.expect(200).calls(), 1, "the same card");
    assert_eq!(place.send("bob", "GET", &path, None).await.expect(200).calls(), 2, "who it is, and the card");
    assert_eq!(place.send("bob", "GET", &labels, None).await.expect(200).calls(), 0);
    assert_eq!(place.send("kim", "GET", "/api/v2/users/me/", None).await.expect(200).calls(), 1);
}

#[tokio::test]
async fn refusals_known_without_v1_cost_nothing_more() {
    let place = Place::new().await;
    for operation in PLAN.operations.iter().filter(|operation| operation.works()) {
        place.warm(operation).await;
        place.ask(self::operation("users_me_retrieve")).await.expect(200);
        let path = place.path(operation);
        let bad = format!("{path}?expand=nothing");
        let answer = place.send("ada", operation.method.as_str(), &bad, plain_body(operation)).await;
        if answer.status == 400 {
            // A record that is read from v1 each time is read before the query is checked (O2).
            let read = [
                "cycles_update",
                "work_items_retrieve",
                "work_items_retrieve_by_identifier",
                "work_items_unarchive",
                "work_item_comments_retrieve",
                "work_item_comments_update",
            ];
            assert_eq!(answer.calls(), u32::from(read.contains(&operation.id.as_str())), "{}", operation.id);
        }
        assert_eq!(place.send("ada", "PUT", &path, None).await.expect(405).calls(), 0);
        let without = path.trim_end_matches('/');
        assert_eq!(place.send("ada", operation.method.as_str(), without, None).await.expect(404).calls(), 0);
    }
}

#[tokio::test]
async fn nothing_is_asked_of_v1_for_what_is_pending_or_without_a_credential() {
    let place = Place::new().await;
    place.ask(operation("users_me_retrieve")).await.expect(200);
    for operation in PLAN.operations.iter().filter(|operation| !operation.works()) {
        let path = place.path(operation).replace(['{', '}'], "");
        let answer = place.send("ada", operation.method.as_str(), &path, None).await.expect(501);
        assert_eq!(answer.calls(), 0, "{}", operation.id);
    }
    let before = place.counted();
    place.gateway.send(None, "GET", "/api/v2/users/me/", None).await.expect(401);
    assert_eq!(place.counted(), before);
}
