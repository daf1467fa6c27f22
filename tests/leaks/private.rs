//! A private project (`SEC`, bob alone), cached for bob, and everything ada can try.

use crate::support::furnished::PLAN;
use crate::support::gateway::{Answer, Gateway, WEB, serve_sandbox};
use causeway::sandbox::{Config, Sandbox, Seed};
use serde_json::json;
use std::collections::BTreeMap;

/// An id of no record.
const NOWHERE: &str = "00000000-0000-4000-8000-00000000dead";
const SEC: &str = "/api/v2/workspaces/acme/projects/00000000-0000-4000-c000-000000000002";
/// A word in every text of the private project and nowhere else.
const WORD: &str = "xyzzy";

/// Creates records as bob in the private project, and returns their ids by resource.
async fn furnish(gateway: &Gateway) -> BTreeMap<&'static str, Vec<String>> {
    let mut made: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for resource in ["labels", "states", "cycles", "modules"] {
        for n in 0..3 {
            let body = json!({"name": format!("{WORD} {resource} {n}"), "color": "#1", "description": WORD,
                "external_id": format!("{WORD}-{n}"), "external_source": WORD, "logo_props": {"in_use": WORD}});
            let answer = gateway.post("bob", &format!("{SEC}/{resource}/"), body).await.expect(201);
            made.entry(resource).or_default().push(answer.text("id"));
        }
    }
    for n in 0..3 {
        let body = json!({"name": format!("{WORD} item {n}"), "description_html": WORD, "assignees": ["bob@acme.test"],
            "label_ids": [made["labels"][0]], "external_id": format!("{WORD}-{n}"), "external_source": WORD});
        let item = gateway.post("bob", &format!("{SEC}/work-items/"), body).await.expect(201);
        made.entry("work-items").or_default().push(item.text("id"));
        made.entry(KEYS).or_default().push(item.text("identifier"));
        let comments = format!("{SEC}/work-items/{}/comments/", made["work-items"][0]);
        // The second and third pair are already used, so the gateway's own store holds them.
        let body = json!({"comment_html": format!("<p>{WORD}</p>"), "external_id": WORD, "external_source": WORD});
        let comment = gateway.post("bob", &comments, body).await.expect(201);
        made.entry(COMMENTS).or_default().push(comment.text("id"));
    }
    made
}

/// Entry of the human keys among the created records; no path below a project.
const KEYS: &str = "keys";
/// Entry of the first work item's comments among the created records.
const COMMENTS: &str = "comments";

/// Returns the path segments of the project's collections with created records, and the ids in them; the segment of
/// comments is below the first work item.
fn collections(made: &BTreeMap<&'static str, Vec<String>>) -> Vec<(String, Vec<String>)> {
    let place = |name: &str| match name {
        COMMENTS => format!("work-items/{}/comments", made["work-items"][0]),
        name => name.to_owned(),
    };
    made.iter().filter(|(name, _)| **name != KEYS).map(|(name, ids)| (place(name), ids.clone())).collect()
}

/// Reads everything of the project as bob, so that everything is cached.
async fn warm(gateway: &Gateway, made: &BTreeMap<&'static str, Vec<String>>) {
    // A list that only the index can answer.
    let items = gateway.get("bob", &format!("{SEC}/work-items/?search={WORD}&expand=state,labels,assignees")).await;
    assert_eq!(items.expect(200).data().len(), 3);
    for (resource, ids) in collections(made) {
        let list = gateway.get("bob", &format!("{SEC}/{resource}/")).await.expect(200);
        assert!(list.json.to_string().contains(WORD));
        gateway.get("bob", &format!("{SEC}/{resource}/{}/", ids[0])).await.expect(200);
        assert_eq!(gateway.get("bob", &format!("{SEC}/{resource}/")).await.calls(), 0, "it is warm");
    }
    for key in &made[KEYS] {
        gateway.get("bob", &by_key(key)).await.expect(200);
    }
    gateway.get("bob", &format!("{SEC}/members/?expand=member")).await.expect(200);
}

fn by_key(key: &str) -> String {
    format!("/api/v2/workspaces/acme/work-items/{key}/?expand=state,type,parent,assignees,labels")
}

#[track_caller]
fn nothing(answer: Answer) {
    let answer = answer.expect_problem(404, "resource_not_found");
    assert!(!String::from_utf8_lossy(&answer.bytes).contains(WORD));
    assert!(!format!("{:?}", answer.headers).contains(WORD));
}

/// Tries everything that ada, kim, gil and eve can try from outside.
async fn try_everything(gateway: &Gateway, made: &BTreeMap<&'static str, Vec<String>>) {
    for key in ["ada", "kim", "gil", "mel", "eve"] {
        for operation in PLAN.operations.iter().filter(|operation| operation.works()) {
            let resource = PLAN.resource_of(operation).name.as_str();
            let path = operation.path.as_str();
            if !path.contains("{project_id}") {
                continue;
            }
            let made_as = match resource {
                "work_items" => "work-items",
                "work_item_comments" => COMMENTS,
                other => other,
            };
            let id = made.get(made_as).map_or(NOWHERE, |ids| ids[0].as_str());
            let path = path.replace("{work_item_id}", &made["work-items"][0]);
            let path = path.replace("/api/v2/workspaces/{slug}/projects/{project_id}", SEC).replace("{pk}", id);
            let path = path.replace("{property_id}", NOWHERE).replace("{type_id}", NOWHERE);
            let body =
                operation.method.writes().then(|| json!({"name": "mine", "color": "#1", "comment_html": "mine"}));
            nothing(gateway.send(Some(key), operation.method.as_str(), &path, body.as_ref()).await);
            nothing(gateway.send(Some(key), operation.method.as_str(), &path.replace("acme", "other"), None).await);
        }
        for key_of_item in &made[KEYS] {
            for spelt in [key_of_item.clone(), key_of_item.to_lowercase()] {
                nothing(gateway.get(key, &by_key(&spelt)).await);
                nothing(gateway.get(key, &by_key(&spelt).replace("acme", "other")).await);
            }
        }
        for query in [
            format!("search={WORD}"),
            format!("external_id={WORD}-0&external_source={WORD}"),
            "sequence_id=2".into(),
        ] {
            nothing(gateway.get(key, &format!("{SEC}/work-items/?{query}")).await);
            let elsewhere = gateway.get(key, &format!("{WEB}/work-items/?{query}")).await;
            assert!(!String::from_utf8_lossy(&elsewhere.bytes).contains(WORD));
        }
        // Records of the private project addressed through a visible project.
        for (resource, ids) in collections(made) {
            for id in &ids {
                let body = json!({"name": "mine", "comment_html": "mine"});
                for (method, body) in [("GET", None), ("PATCH", Some(body)), ("DELETE", None)] {
                    let answer =
                        gateway.send(Some(key), method, &format!("{WEB}/{resource}/{id}/"), body.as_ref()).await;
                    assert!([403, 404].contains(&answer.status), "{method} as {key}: {}", answer.status);
                    assert!(!String::from_utf8_lossy(&answer.bytes).contains(WORD));
                }
            }
        }
    }
}

#[tokio::test]
async fn nothing_of_a_private_project_is_shown_or_changed_from_outside() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let made = furnish(&gateway).await;
    warm(&gateway, &made).await;
    try_everything(&gateway, &made).await;
    warm(&gateway, &made).await;
}

#[tokio::test]
async fn a_cursor_taken_over_opens_nothing() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let made = furnish(&gateway).await;
    for (resource, _) in collections(&made) {
        let query = "paginate=cursor&order_by=id&per_page=1";
        let page = gateway.get("bob", &format!("{SEC}/{resource}/?{query}")).await.expect(200);
        let token = page.text("next_cursor");
        nothing(gateway.get("ada", &format!("{SEC}/{resource}/?{query}&cursor={token}")).await);
        let elsewhere = gateway.get("ada", &format!("{WEB}/{resource}/?{query}&cursor={token}")).await;
        // The work item of the private comments is not in the other project either.
        assert_eq!(elsewhere.status, if resource.contains("comments") { 404 } else { 200 });
        assert!(!elsewhere.json.to_string().contains(WORD));
        use base64::Engine;
        let inside = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(&token).expect("readable");
        assert!(!String::from_utf8_lossy(&inside).contains(WORD), "a token holds the position only");
    }
}

/// A reference to a private record must give the same answer as a reference to no record.
#[tokio::test]
async fn a_reference_to_a_private_record_is_one_to_nothing() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let made = furnish(&gateway).await;
    warm(&gateway, &made).await;
    let nowhere = "00000000-0000-4000-a000-00000000dead";
    let mut told = Vec::new();
    for parent in [made["labels"][0].as_str(), nowhere] {
        let body = json!({"name": "child", "parent_id": parent});
        let answer = gateway.post("ada", &format!("{WEB}/labels/"), body).await;
        told.push(answer.expect_problem(400, "validation_error").json);
    }
    assert_eq!(told[0], told[1]);
    let items = format!("{WEB}/work-items/");
    for (member, private, absent) in [
        ("parent_id", json!(made["work-items"][0]), json!(nowhere)),
        ("parent", json!(made[KEYS][0]), json!("NOPE-1")),
        ("label_ids", json!([made["labels"][0]]), json!([nowhere])),
        ("labels", json!([format!("{WORD} labels 0")]), json!(["nothing of that name"])),
        ("state_id", json!(made["states"][0]), json!(nowhere)),
        ("state", json!(format!("{WORD} states 0")), json!("nothing of that name")),
    ] {
        let mut told = Vec::new();
        for value in [&private, &absent] {
            let body = json!({"name": "refers", member: value});
            let answer = gateway.post("ada", &items, body).await.expect_problem(400, "validation_error");
            let named = value.as_array().map_or(value, |all| &all[0]).as_str().expect("a text").to_owned();
            told.push(answer.json.to_string().replace(&named, "what was sent"));
        }
        assert_eq!(told[0], told[1], "{member}");
    }
    for (filter, private) in
        [("label_id", "labels"), ("cycle_id", "cycles"), ("module_id", "modules"), ("parent_id", "work-items")]
    {
        let shown = gateway.get("ada", &format!("{items}?{filter}={}", made[private][0])).await.expect(200);
        assert!(shown.data().is_empty(), "{filter}");
    }
}

#[tokio::test]
async fn a_restart_with_the_same_store_opens_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = format!("sqlite:{}", folder.path().join("store.db").display());
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let base_url = serve_sandbox(&sandbox).await;
    let settings = [("store.url", store.as_str())];
    let before = Gateway::with(&base_url, &settings).await;
    let made = furnish(&before).await;
    warm(&before, &made).await;
    before.stop().await;
    let kept = std::fs::read_dir(folder.path().join("store.db.index")).expect("the index is kept").count();
    assert!(kept >= 1, "nothing was written");
    let after = Gateway::with(&base_url, &settings).await;
    try_everything(&after, &made).await;
    let module = after.get("bob", &format!("{SEC}/modules/{}/", made["modules"][0])).await.expect(200);
    assert_eq!(module.json["logo_props"], json!({"in_use": WORD}), "what v1 cannot hold outlives a restart");
    // The stored index is used, with one call to v1 about it.
    let items = after.get("bob", &format!("{SEC}/work-items/?search={WORD}")).await.expect(200);
    assert_eq!(items.data().len(), 3);
    let comments = format!("{SEC}/work-items/{}/comments/", made["work-items"][0]);
    let comments = after.get("bob", &comments).await.expect(200);
    assert_eq!(comments.column("external_id"), vec![json!(WORD); 3], "pairs v1 refuses outlive a restart");
    // The same record id in another project gets none of the stored data.
    let own = after.post("ada", &format!("{WEB}/modules/"), json!({"name": "own"})).await.expect(201);
    assert!(!own.json.to_string().contains(WORD));
}

#[tokio::test]
async fn the_roster_of_a_private_project_is_its_members_own() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let shown = gateway.get("bob", &format!("{SEC}/members/")).await.expect(200);
    assert_eq!(shown.column("member_id"), [json!("00000000-0000-4000-a000-000000000002")]);
    for key in ["ada", "kim", "gil", "mel", "eve"] {
        nothing(gateway.get(key, &format!("{SEC}/members/?expand=member")).await);
    }
    // v1 itself shows it to anyone in any project of the workspace (trap 3).
    let v1 = SEC.replace("/v2/", "/v1/");
    assert_eq!(gateway.get("ada", &format!("{v1}/members/")).await.status, 200);
}
