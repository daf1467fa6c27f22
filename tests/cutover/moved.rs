//! Operations that the deployment's own v2 answers: the forwarded request, the answer, and the checks before.

use crate::cutover::stage::Stage;
use crate::oauth::stage::{SECRET, Tokens};
use crate::support::captured::Captured;
use crate::support::gateway::{Gateway, WEB, serve_sandbox};
use causeway::oauth::Minting;
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::store::Store;
use serde_json::json;

const STATES: &str = "/api/v2/workspaces/acme/projects/00000000-0000-4000-c000-000000000001/states/";
const ALL_OF_ACME: &str = "[{ operations = [\"all\"], mode = \"native\", workspaces = [\"acme\"] }]";

#[tokio::test]
async fn the_most_specific_table_says_who_answers() {
    let stage = Stage::serving(
        "[{ operations = [\"all\"], mode = \"translated\" }, { operations = [\"states\"], mode = \"native\" }, \
         { operations = [\"states_retrieve\"], mode = \"translated\" }, \
         { operations = [\"labels_list\"], mode = \"native\", workspaces = [\"acme\"] }]",
    )
    .await;
    let ask = async |path: &str| stage.gateway.get("ada", path).await.expect(200);
    let state = ask(STATES).await.data()[0]["id"].as_str().expect("an id").to_owned();
    assert_eq!(stage.native.asked().len(), 1);
    let by_key = ask(&format!("{STATES}{state}/")).await;
    assert_eq!((stage.native.asked().len(), by_key.calls() > 0), (1, true));
    let labels = ask(&format!("{WEB}/labels/")).await;
    assert_eq!((stage.native.asked().len(), labels.calls()), (2, 0));
    assert!(labels.headers["server-timing"].contains("native"), "{:?}", labels.headers);
    // In another workspace the operation is translated: the workspace does not exist, and the gateway answers itself.
    stage.gateway.get("ada", &format!("{}labels/", WEB.replace("acme", "nowhere") + "/")).await.expect(404);
    assert_eq!(stage.native.asked().len(), 2);
}

#[tokio::test]
async fn a_reload_switches_the_answering_side_without_a_restart() {
    let stage = Stage::serving("[]").await;
    let asked = async |serve: &str| {
        let changed = stage.gateway.reload(&[("native.serve", serve)]).await.expect("a reload");
        stage.gateway.get("ada", STATES).await.expect(200);
        (changed.join(", "), stage.native.asked().len())
    };
    let native = "[{ operations = [\"states\"], mode = \"native\" }]";
    assert_eq!(asked(native).await, ("native.serve".to_owned(), 1));
    assert_eq!(asked(native).await, (String::new(), 2));
    assert_eq!(asked("[]").await, ("native.serve".to_owned(), 2));
}

#[tokio::test]
async fn a_request_passes_as_it_is_and_its_answer_too() {
    let stage = Stage::serving("[{ operations = [\"labels\"], mode = \"native\" }]").await;
    let path = format!("{WEB}/labels/");
    let headers = [("Idempotency-Key", "\"k-1\""), ("Authorization", "Basic eDp5"), ("Cookie", "session=1")];
    let body = json!({"name": "native", "color": "#112233"});
    let made = stage.gateway.send_with("ada", "POST", &path, Some(&body), &headers).await.expect(201);
    let again = stage.gateway.send_with("ada", "POST", &path, Some(&body), &headers).await.expect(201);
    assert_eq!(made.json, again.json);
    assert_eq!(again.headers["idempotency-replayed"], "true");
    let (etag, one) = (made.headers["etag"].clone(), format!("{path}{}/", made.text("id")));
    let shown = stage.gateway.send_with("ada", "GET", &one, None, &[("If-None-Match", &etag)]).await.expect(304);
    assert!(shown.bytes.is_empty());
    let new = json!({"name": "other"});
    let refused = stage.gateway.send_with("ada", "PATCH", &one, Some(&new), &[("If-Match", "\"old\"")]).await;
    refused.expect_problem(412, "precondition_failed");
    stage.gateway.send_with("ada", "PATCH", &one, Some(&new), &[("If-Match", &etag)]).await.expect(200);
    stage.gateway.delete("ada", &one).await.expect(204);
    let missing =
        stage.gateway.get("ada", &format!("{one}?x=%20y")).await.expect_problem(404, "resource_not_found");
    assert!(missing.text("type").starts_with(stage.behind.base()) || missing.text("type").contains("/errors/"));
    let asked = stage.native.asked();
    assert_eq!(
        asked.iter().map(|asked| asked.method.as_str()).collect::<Vec<_>>(),
        ["POST", "POST", "GET", "PATCH", "PATCH", "DELETE", "GET"]
    );
    assert!(asked[6].path.ends_with("/?x=%20y"), "{}", asked[6].path);
    assert_eq!((asked[0].header("idempotency-key"), asked[2].header("if-none-match")), ("\"k-1\"", &*etag));
    for asked in &asked {
        assert_eq!(
            (asked.header("x-api-key"), asked.header("authorization"), asked.header("cookie")),
            ("ada", "", "")
        );
        assert!(asked.header("via").contains("causeway-"), "{asked:?}");
    }
}

#[tokio::test]
async fn credentials_scopes_and_limits_are_checked_before() {
    let settings =
        [("native.serve", "[{ operations = [\"states\"], mode = \"native\" }]"), ("secrets.key", SECRET)];
    let stage = Stage::with(Seed::Recorded, &settings, |_, _, _, _| {}).await;
    let mint = async |scopes: &str, workspace: Option<&str>| {
        let workspace = workspace.map(str::to_owned);
        let wanted = Minting { title: "t".into(), scopes: scopes.into(), workspace, ..Minting::default() };
        stage.gateway.mint("ada", wanted).await.expect("a key").1
    };
    stage.gateway.send(None, "GET", STATES, None).await.expect_problem(401, "unauthorized");
    stage.gateway.get("nobody", STATES).await.expect_problem(401, "unauthorized");
    let narrow = mint("projects.labels:read", None).await;
    stage.gateway.get(&narrow, STATES).await.expect_problem(403, "forbidden");
    stage.gateway.get("ada", &format!("{STATES}nothing/nowhere/")).await.expect_problem(404, "resource_not_found");
    assert_eq!(stage.native.asked().len(), 0);
    // A key of the gateway still works: the key of its owner is sent on.
    let reading = mint("read", Some("acme")).await;
    let seen = stage.gateway.get(&reading, STATES).await.expect(200);
    assert_eq!(stage.native.asked()[0].header("x-api-key"), "ada");
    assert_eq!(seen.json, stage.behind.get("ada", STATES).await.json);
    let other = STATES.replace("acme", "globex");
    stage.gateway.get(&reading, &other).await.expect_problem(404, "resource_not_found");
    assert_eq!(stage.native.asked().len(), 1, "a key for one workspace opens no other");
    // The other side does not know the gateway's own data about the key.
    let everything = ("native.serve", "[{ operations = [\"states\", \"users\"], mode = \"native\" }]");
    stage.gateway.reload(&[everything]).await.expect("a reload");
    let me = stage.gateway.get(&reading, "/api/v2/users/me/").await.expect(200);
    assert_eq!((me.text("principal_kind").as_str(), stage.native.asked().len()), ("other", 1));
    let by_key = stage.gateway.get("ada", "/api/v2/users/me/").await.expect(200);
    assert_eq!((by_key.text("principal_kind").as_str(), stage.native.asked().len()), ("api_key", 2));
    let limited = [("limits.rate.external", "1"), ("limits.rate.workspace", "1")];
    stage.gateway.reload(&limited).await.expect("a reload");
    let fresh = mint("read", None).await;
    stage.gateway.get(&fresh, STATES).await.expect(200);
    stage.gateway.get(&fresh, STATES).await.expect_problem(429, "rate_limited");
    assert_eq!(stage.native.asked().len(), 3);
}

#[tokio::test]
async fn tokens_of_apps_go_on_working() {
    let settings =
        [("native.serve", "[{ operations = [\"states\"], mode = \"native\" }]"), ("secrets.key", SECRET)];
    let stage = Stage::with(Seed::Recorded, &settings, |asked, _, status, _| {
        if asked.path.contains("refuse=1") {
            *status = 401;
        }
    })
    .await;
    let Stage { gateway, native, .. } = stage;
    let people = crate::oauth::stage::Stage::over(gateway).await;
    let Tokens { access, .. } = people.tokens("read").await;
    let bearer = format!("Bearer {access}");
    let headers = [("Authorization", bearer.as_str())];
    people.gateway.send_bare("GET", STATES, &headers).await.expect(200);
    let asked = native.asked();
    assert_eq!((asked.len(), asked[0].header("x-api-key"), asked[0].header("authorization")), (1, "ada", ""));
    // When v1 refuses the key behind it, the answer to the app is about its token.
    let refused = people.gateway.send_bare("GET", &format!("{STATES}?refuse=1"), &headers).await;
    let refused = refused.expect_problem(401, "unauthorized");
    let mut challenges =
        refused.all_headers.get_all("www-authenticate").iter().filter_map(|text| text.to_str().ok());
    assert!(challenges.any(|text| text.contains("invalid_token")), "{:?}", refused.all_headers);
}

#[tokio::test]
async fn a_write_to_the_native_v2_shows_in_the_next_translated_read() {
    let write = "[{ operations = [\"labels_create\", \"labels_delete\"], mode = \"native\" }]";
    let settings = [("native.serve", write), ("cache.collection", "10m")];
    let stage = Stage::with(Seed::Recorded, &settings, |_, _, _, _| {}).await;
    let path = format!("{WEB}/labels/");
    let names = async || stage.gateway.get("ada", &path).await.expect(200).column("name");
    let before = names().await;
    assert_eq!(names().await, before);
    let made = stage.gateway.post("ada", &path, json!({"name": "seen at once"})).await.expect(201);
    assert!(names().await.contains(&json!("seen at once")));
    stage.gateway.delete("ada", &format!("{path}{}/", made.text("id"))).await.expect(204);
    assert_eq!(names().await, before);
    assert!(stage.native.asked().iter().all(|asked| asked.method != "GET"));
}

#[tokio::test]
async fn a_workspace_that_has_been_left_is_served_there_as_a_whole() {
    let stage = Stage::serving(ALL_OF_ACME).await;
    stage.gateway.get("ada", "/api/v2/workspaces/acme/features/").await.expect(200);
    stage.gateway.get("ada", &format!("{WEB}/work-items/?per_page=1")).await.expect(200);
    stage.gateway.get("ada", "/api/v2/users/me/").await.expect(200);
    assert_eq!(stage.native.asked().len(), 2, "the person is of no workspace");
    let type_body = json!({"is_work_item_types_enabled": true});
    stage.gateway.patch("ada", "/api/v2/workspaces/acme/features/", type_body).await.expect(200);
    let there = stage.behind.get("ada", "/api/v2/workspaces/acme/features/").await.expect(200);
    assert_eq!(there.json["is_work_item_types_enabled"], true);
}

#[tokio::test]
async fn a_workspace_that_has_been_left_and_is_served_here_is_told_without_any_setting() {
    let v1 = serve_sandbox(&Sandbox::new(Config::default())).await;
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("sqlite:{}", folder.path().join("store.db").display());
    let store = Store::open(&url, &v1).await.expect("a store");
    store.mark_left("acme", "https://v2.example.com/").await.expect("noted");
    store.close().await;
    let log = Captured::default();
    let _listening = log.listen();
    Gateway::with(&v1, &[("store.url", &url)]).await;
    let told = log.text();
    assert!(told.contains("a workspace that has been left is still served from this store"), "{told}");
}

#[tokio::test]
async fn a_v2_that_is_away_is_told_of_and_nothing_is_made_up() {
    let sandbox = Sandbox::new(Config::default());
    let v1 = serve_sandbox(&sandbox).await;
    let serve = "[{ operations = [\"states\"], mode = \"native\" }]";
    let settings = [("native.base_url", "http://127.0.0.1:9"), ("native.serve", serve)];
    let gateway = Gateway::with(&v1, &settings).await;
    let key = sandbox.demo_facts().keys[0].key.clone();
    let facts = sandbox.demo_facts();
    let path = format!("/api/v2/workspaces/{}/projects/{}/states/", facts.workspace, facts.project_id);
    gateway.get(&key, &path).await.expect_problem(503, "upstream_unavailable");
}
