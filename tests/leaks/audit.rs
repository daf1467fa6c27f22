//! The audit log of a workspace, read by its administrator, who does not see the private project in it.

use crate::support::gateway::{Answer, Gateway};
use crate::support::past_gateway::ask_v1;
use causeway::sandbox::Seed;
use serde_json::{Value, json};

const ACME: &str = "/api/v2/workspaces/acme";
/// A private project of bob alone.
const SEC: &str = "00000000-0000-4000-c000-000000000002";
const WEB: &str = "00000000-0000-4000-c000-000000000001";
const LOG: &str = "/api/v2/workspaces/acme/audit-logs/";
/// A word in every text of the private project and nowhere else.
const WORD: &str = "xyzzy";
/// A word in every text of the public project.
const OPEN: &str = "plover";

/// Fills a log with entries of the private project, of a public one and of the workspace; returns also the ids of the
/// records in the private project, the project itself first.
async fn furnished() -> (Gateway, Vec<String>) {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let mut private = vec![SEC.to_owned()];
    for (who, project, word) in [("bob", SEC, WORD), ("ada", WEB, OPEN)] {
        let at = format!("{ACME}/projects/{project}");
        let on = json!({"name": format!("{word} type"), "description": word, "external_id": word});
        let kind = gateway.post(who, &format!("{at}/work-item-types/"), on).await.expect(201).text("id");
        let properties = format!("{at}/work-item-properties/");
        let body = json!({"display_name": format!("{word} property"), "property_type": "OPTION",
            "options": [{"name": format!("{word} one")}]});
        let property = gateway.post(who, &properties, body).await.expect(201).text("id");
        let options = format!("{properties}{property}/options/");
        let option =
            gateway.post(who, &options, json!({"name": format!("{word} two")})).await.expect(201).text("id");
        let attach = format!("{at}/work-item-types/{kind}/properties/");
        gateway.post(who, &attach, json!({"properties": [property]})).await;
        gateway
            .patch(who, &format!("{at}/work-item-types/{kind}/"), json!({"name": format!("{word} again")}))
            .await;
        if project == SEC {
            private.extend([kind, property, option]);
        }
    }
    (gateway, private)
}

async fn log(gateway: &Gateway, who: &str, query: &str) -> Answer {
    gateway.get(who, &format!("{LOG}?order_by=created_at&{query}")).await.expect(200)
}

fn is_hidden(row: &Value) -> bool {
    row["target_id"] == "" && row["project_id"].is_null()
}

#[tokio::test]
async fn entries_of_a_private_project_name_nothing_of_it() {
    let (gateway, private) = furnished().await;
    let all = log(&gateway, "ada", "per_page=200").await;
    let text = String::from_utf8_lossy(&all.bytes).into_owned();
    for secret in private.iter().map(String::as_str).chain([WORD]) {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    assert!(text.contains(OPEN) && text.contains(WEB), "what is seen is shown: {text}");
    let hidden: Vec<&Value> = all.data().iter().filter(|row| is_hidden(row)).collect();
    assert!(hidden.len() >= 4, "{text}");
    for row in &hidden {
        // The event, its time and its actor stay visible.
        assert_eq!((&row["actor_display_name"], &row["outcome"]), (&json!("bob"), &json!("success")), "{row}");
        assert!(row["event_name"].as_str().is_some_and(|name| name.starts_with("work_item_")), "{row}");
        assert_eq!(row["target_display_name"], "", "{row}");
        assert_eq!((&row["old_value"], &row["new_value"]), (&Value::Null, &Value::Null), "{row}");
        assert_eq!(row["metadata"], json!({}), "{row}");
        let one = gateway.get("ada", &format!("{LOG}{}/", row["id"].as_str().expect("an id"))).await.expect(200);
        assert_eq!(&one.json, *row);
    }
    let numbers: Vec<u64> = all.data().iter().filter_map(|row| row["sequence_number"].as_u64()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "no entry is left out");
}

#[tokio::test]
async fn hidden_parts_of_audit_entries_cannot_be_found_by_filter_or_search() {
    let (gateway, private) = furnished().await;
    for id in &private {
        assert_eq!(
            log(&gateway, "ada", &format!("target_id={id}&count=true")).await.json["total_count"],
            0,
            "{id}"
        );
    }
    for search in [WORD, "xyzzy%20one", "XYZZY%20TYPE"] {
        assert_eq!(log(&gateway, "ada", &format!("search={search}")).await.json["total_count"], 0, "{search}");
        // A search across the border between two of the texts finds nothing either.
        let cursor = log(&gateway, "ada", &format!("search={search}&paginate=cursor")).await;
        assert!(cursor.data().is_empty() && cursor.json["has_more"] == false);
    }
    assert!(log(&gateway, "ada", &format!("search={OPEN}")).await.data().len() >= 4);
    // The visible parts find the entries: the event, and the actor; counts and cursors agree.
    let by_event = log(&gateway, "ada", "search=property_option.created&per_page=200").await;
    assert_eq!(by_event.data().iter().filter(|row| is_hidden(row)).count(), 1, "{}", by_event.json);
    let by_actor = log(&gateway, "ada", "search=BOB%40&per_page=200").await;
    assert!(by_actor.data().len() >= 4 && by_actor.data().iter().all(is_hidden), "{}", by_actor.json);
    assert_eq!(by_actor.json["total_count"], by_actor.data().len());
    let mut walked = Vec::new();
    let mut next = String::from("paginate=cursor&search=bob%40&per_page=1");
    loop {
        let page = log(&gateway, "ada", &next).await;
        walked.extend(page.column("id"));
        let Some(token) = page.json["next_cursor"].as_str() else { break };
        next = format!("paginate=cursor&search=bob%40&per_page=1&cursor={token}");
    }
    assert_eq!(walked, by_actor.column("id"));
}

#[tokio::test]
async fn names_in_the_audit_log_show_only_to_members_of_the_project() {
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &[("cache.card", "50ms")]).await;
    let at = format!("{ACME}/projects/{SEC}");
    gateway.post("bob", &format!("{at}/work-item-types/"), json!({"name": WORD})).await.expect(201);
    let named = async |wanted: bool| {
        tokio::time::sleep(std::time::Duration::from_millis(60)).await;
        let found = log(&gateway, "ada", &format!("search={WORD}")).await;
        assert_eq!(found.data().len(), usize::from(wanted));
        let all = log(&gateway, "ada", "per_page=200").await;
        assert_eq!(String::from_utf8_lossy(&all.bytes).contains(WORD), wanted, "{}", all.json);
    };
    named(false).await;
    let members = format!("/api/v1/workspaces/acme/projects/{SEC}/project-members/");
    let ada = json!({"member": "00000000-0000-4000-a000-000000000001", "role": 15});
    let as_bob = |method: &str, path: &str, body: &Value| ask_v1(gateway.sandbox(), "bob", method, path, body);
    let (status, joined) = as_bob("POST", &members, &ada);
    assert_eq!(status, 201);
    named(true).await;
    let membership = format!("{members}{}/", joined["id"].as_str().expect("an id"));
    assert_eq!(as_bob("DELETE", &membership, &json!({})).0, 204);
    named(false).await;
}

#[tokio::test]
async fn a_context_of_the_workspace_names_only_the_projects_its_reader_sees() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("sqlite:{}", folder.path().join("store.db").display());
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &[("store.url", &url)]).await;
    let store = gateway.store().await;
    let mut entry = crate::support::audit::entry(1);
    entry.project = None;
    entry.target_display_name = "Everywhere".into();
    entry.old_value = None;
    entry.new_value = Some(json!({"name": "Everywhere", "project_ids": [WEB, SEC]}));
    store.record(crate::support::audit::ACME, &[entry]).await.expect("written");
    let all = log(&gateway, "ada", "search=everywhere").await;
    assert_eq!(all.data()[0]["new_value"], json!({"name": "Everywhere", "project_ids": [WEB]}));
    assert_eq!(all.data()[0]["target_display_name"], "Everywhere");
}
