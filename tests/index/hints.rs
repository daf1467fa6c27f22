//! Hints from v1's webhooks: with v1's signature they bring an index up to date at once, and all other deliveries have
//! no effect.
//!
//! May use: the deliveries in `fixtures/webhooks.json`.

use crate::support::gateway::{Answer, Gateway, serve_sandbox};
use crate::support::postgres::{Database, late_answers};
use causeway::sandbox::{Config, Sandbox, Seed};
use hmac::{Hmac, Mac};
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};
use sha2::Sha256;
use std::time::{Duration, Instant};

const KEY: &str = "demo-admin-key";
const SECRET: &str = "plane_wh_0123456789abcdef";
const OTHER: &str = "plane_wh_fedcba9876543210";
const SECRETS: &str = "# of two\nacme plane_wh_0123456789abcdef\nother plane_wh_fedcba9876543210\n";
const PATIENCE: Duration = Duration::from_secs(60);

fn signature(secret: &str, body: &[u8]) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("any length").chain_update(body);
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn delivery(event: &str, project: &str) -> Vec<u8> {
    json!({"event": event, "action": "updated", "data": {"id": project, "project": project}})
        .to_string()
        .into_bytes()
}

fn list_of(project: &str) -> String {
    format!("/api/v2/workspaces/acme/projects/{project}/work-items/?search=a&per_page=1")
}

async fn gateway(v1: &str, folder: &tempfile::TempDir, further: &[(&str, &str)]) -> Gateway {
    let file = folder.path().join("webhooks").display().to_string();
    let mut settings = vec![
        ("hints.secrets_file", file.as_str()),
        ("upstream.service_key", KEY),
        ("index.freshness", "60s"),
        ("index.ahead", "false"),
    ];
    settings.extend_from_slice(further);
    Gateway::with(v1, &settings).await
}

/// A gateway whose indices stay fresh for long, so that only a hint refreshes them.
struct Scene {
    gateway: Gateway,
    sandbox: Sandbox,
    v1: String,
    list: String,
    project: String,
    folder: tempfile::TempDir,
}

impl Scene {
    async fn new() -> Self {
        Self::with(&[]).await
    }

    async fn with(further: &[(&str, &str)]) -> Self {
        let scene = Self::unread(further).await;
        scene.gateway.get(KEY, &scene.list).await.expect(200);
        scene
    }

    /// The same, before the first request.
    async fn unread(further: &[(&str, &str)]) -> Self {
        let sandbox = Sandbox::new(Config { seed: Seed::Demo, work_items: 1_200, ..Config::default() });
        let v1 = serve_sandbox(&sandbox).await;
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("webhooks"), SECRETS).expect("a file");
        let gateway = gateway(&v1, &folder, further).await;
        let facts = sandbox.demo_facts();
        assert_eq!(facts.workspace, "acme");
        let (list, project) = (list_of(&facts.project_id.to_string()), facts.project_id.to_string());
        Self { gateway, sandbox, v1, list, project, folder }
    }

    async fn deliver(&self, path: &str, body: &[u8], signature: &str) -> Answer {
        let request =
            Request::post(format!("{}{path}", self.gateway.base())).header("x-plane-signature", signature);
        self.gateway.request(request.body(Full::new(body.to_vec().into())).expect("a request")).await
    }

    /// Delivers a hint with v1's signature for its workspace, and expects the gateway to accept it.
    async fn hint(&self, body: &[u8]) {
        self.deliver("/hints/v1/acme/", body, &signature(SECRET, body)).await.expect(200);
    }

    /// Calls v1 itself, past the gateway.
    async fn ask_v1(&self, method: &str, path: &str, body: &Value) -> Answer {
        let request = Request::builder().method(method).uri(format!("{}/api/v1/workspaces/acme/{path}", self.v1));
        let request = request.header("X-Api-Key", KEY).header("Content-Type", "application/json");
        let answer =
            self.gateway.request(request.body(Full::new(body.to_string().into())).expect("a request")).await;
        assert!(answer.status < 300, "{}", answer.json);
        answer
    }

    fn delivery(&self) -> Vec<u8> {
        delivery("issue", &self.project)
    }

    fn pages(&self) -> usize {
        let journal = self.sandbox.journal().into_iter();
        journal.filter(|entry| entry.path.contains("/work-items/?per_page")).count()
    }

    async fn refreshed(&self) {
        let end = Instant::now() + PATIENCE;
        while self.pages() == 0 {
            assert!(Instant::now() < end, "no refresh after a hint");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signed_delivery_refreshes_the_index_and_a_flood_of_them_once_a_second() {
    let scene = Scene::new().await;
    let body = scene.delivery();
    let signed = signature(SECRET, &body);
    scene.sandbox.clear_journal();
    scene.deliver("/hints/v1/acme/", &body, &signed).await.expect(200);
    scene.refreshed().await;
    scene.sandbox.clear_journal();
    let begun = Instant::now();
    // Replayed deliveries are harmless. All are accepted, because v1 never repeats a refused delivery.
    for _ in 0..200 {
        scene.deliver("/hints/v1/acme/", &body, &signed).await.expect(200);
    }
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let seconds = begun.elapsed().as_secs() as usize + 1;
    assert!(scene.pages() <= seconds + 1, "{} refreshes in {seconds} s", scene.pages());
    scene.gateway.get(KEY, &scene.list).await.expect(200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unsigned_or_meaningless_hints_do_nothing() {
    let scene = Scene::new().await;
    let body = scene.delivery();
    let signed = signature(SECRET, &body);
    scene.sandbox.clear_journal();
    let other = signature(OTHER, &body);
    for (path, body, signature, status) in [
        ("/hints/v1/acme/", body.as_slice(), "", 404),
        ("/hints/v1/acme/", body.as_slice(), other.as_str(), 404),
        ("/hints/v1/acme/", b"changed".as_slice(), signed.as_str(), 404),
        ("/hints/v1/other/", body.as_slice(), signed.as_str(), 404),
        ("/hints/v1/", body.as_slice(), signed.as_str(), 404),
    ] {
        scene.deliver(path, body, signature).await.expect(status);
    }
    // Nor do they keep signed deliveries out.
    for _ in 0..60 {
        scene.deliver("/hints/v1/acme/", b"{}", "").await.expect(404);
    }
    scene.deliver("/hints/v1/acme/", b"{}", &signature(SECRET, b"{}")).await.expect(200);
    scene.gateway.get(KEY, "/hints/v1/acme/").await.expect(405);
    let large = vec![b' '; (1 << 20) + 1];
    scene.deliver("/hints/v1/acme/", &large, &signature(SECRET, &large)).await.expect(400);
    for nonsense in [b"[]".as_slice(), b"", b"{\"event\": \"issue\", \"data\": {}}"] {
        scene.deliver("/hints/v1/acme/", nonsense, &signature(SECRET, nonsense)).await.expect(200);
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(scene.pages(), 0);
    let without = Gateway::sandboxed(Seed::Demo).await;
    without.get(KEY, "/hints/v1/acme/").await.expect(404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hints_about_other_records_or_of_other_workspaces_cost_no_call() {
    let scene = Scene::with(&[("admin.listen", "127.0.0.1:0")]).await;
    scene.sandbox.clear_journal();
    for event in ["project", "cycle", "module"] {
        scene.hint(&delivery(event, &scene.project)).await;
    }
    let body = scene.delivery();
    scene.deliver("/hints/v1/other/", &body, &signature(OTHER, &body)).await.expect(200);
    scene.deliver("/hints/v1/acme/", &body, &signature(OTHER, &body)).await.expect(404);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(scene.pages(), 0);
    let figures = scene.gateway.metrics().await;
    for (outcome, count) in [("items", 1), ("other", 3), ("refused", 1)] {
        let line = format!("causeway_hints_total{{outcome=\"{outcome}\"}} {count}");
        assert!(figures.contains(&line), "{line}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hints_for_many_projects_at_once_are_all_followed() {
    let scene = Scene::new().await;
    let mut items = Vec::new();
    for number in 0..30 {
        let named = json!({"name": format!("Many {number}"), "identifier": format!("MN{number}")});
        let project = scene.ask_v1("POST", "projects/", &named).await.text("id");
        let path = format!("projects/{project}/work-items/");
        let item = scene.ask_v1("POST", &path, &json!({"name": "a first"})).await.text("id");
        assert_eq!(scene.gateway.get(KEY, &list_of(&project)).await.column("name"), ["a first"]);
        items.push((project, format!("{path}{item}/")));
    }
    for (project, item) in &items {
        scene.ask_v1("PATCH", item, &json!({"name": "a second"})).await;
        scene.hint(&delivery("issue", project)).await;
    }
    let end = Instant::now() + PATIENCE;
    for (project, _) in &items {
        while scene.gateway.get(KEY, &list_of(project)).await.column("name") != ["a second"] {
            assert!(Instant::now() < end, "a hint was not followed");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_that_nobody_asks_for_is_left_alone() {
    let scene = Scene::unread(&[("index.ahead", "true"), ("admin.listen", "127.0.0.1:0")]).await;
    // Answered straight from v1; the index is begun beside it.
    let list = scene.list.replace("search=a&", "");
    scene.gateway.get(KEY, &list).await.expect(200);
    let end = Instant::now() + PATIENCE;
    while !scene.gateway.metrics().await.contains("causeway_index_lists 1") {
        assert!(Instant::now() < end, "no index");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    scene.sandbox.clear_journal();
    scene.hint(&scene.delivery()).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(scene.pages(), 0);
    scene.gateway.get(KEY, &scene.list).await.expect(200);
    scene.sandbox.clear_journal();
    scene.hint(&scene.delivery()).await;
    scene.refreshed().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reload_takes_another_secret_and_says_so() {
    let scene = Scene::new().await;
    let (body, new) = (scene.delivery(), "plane_wh_new");
    assert_eq!(scene.gateway.reload(&[]).await.expect("a reload"), [""; 0]);
    std::fs::write(scene.folder.path().join("webhooks"), format!("acme {new}\nacme {SECRET}\n")).expect("a file");
    scene.deliver("/hints/v1/acme/", &body, &signature(new, &body)).await.expect(404);
    assert_eq!(scene.gateway.reload(&[]).await.expect("a reload"), ["the secrets of hints.secrets_file"]);
    for secret in [new, SECRET] {
        scene.deliver("/hints/v1/acme/", &body, &signature(secret, &body)).await.expect(200);
    }
    std::fs::write(scene.folder.path().join("webhooks"), "acme").expect("a file");
    scene.gateway.reload(&[]).await.expect_err("a line that is none");
    scene.deliver("/hints/v1/acme/", &body, &signature(SECRET, &body)).await.expect(200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hint_that_reaches_one_gateway_is_followed_by_all_and_asks_v1_once() {
    let database = Database::create().await;
    let url = database.url();
    let scene = Scene::with(&[("store.url", &url)]).await;
    let second = gateway(&scene.v1, &scene.folder, &[("store.url", &url)]).await;
    let items =
        scene.ask_v1("GET", &format!("projects/{}/work-items/?per_page=1", scene.project), &json!({})).await;
    let item = items.json["results"][0]["id"].as_str().expect("an item").to_owned();
    let item = format!("projects/{}/work-items/{item}/", scene.project);
    second.get(KEY, &scene.list).await.expect(200);
    // Time for each gateway to learn of the other.
    tokio::time::sleep(Duration::from_secs(3)).await;
    for round in 0..10 {
        let name = format!("seen-by-all-{round}");
        let found = scene.list.replace("search=a", &format!("search={name}"));
        scene.sandbox.clear_journal();
        scene.ask_v1("PATCH", &item, &json!({"name": name})).await;
        scene.hint(&scene.delivery()).await;
        let following = async {
            let end = Instant::now() + PATIENCE;
            for gateway in [&scene.gateway, &second] {
                while gateway.get(KEY, &found).await.expect(200).json["total_count"] != 1 {
                    assert!(Instant::now() < end, "a hint was not followed");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
            tokio::time::sleep(Duration::from_millis(300)).await;
        };
        let ((), late) = late_answers(&url, Duration::from_millis(60), following).await;
        match scene.pages() {
            1 => return,
            // A gateway that waits for the database for 250 ms in vain refreshes for itself.
            pages => assert!(pages == 2 && late > 0, "{pages} pages, {late} late answers"),
        }
    }
    panic!("v1 was asked twice in each round");
}

/// Hints only speed up what happens without them, so changes without a hint are as fresh as ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_deliveries_an_index_is_as_fresh_as_its_setting_says() {
    let scene = Scene::with(&[("index.freshness", "1s")]).await;
    let path = format!("projects/{}/work-items/", scene.project);
    let item = scene.ask_v1("POST", &path, &json!({"name": "a lost delivery"})).await.text("id");
    let list = scene.list.replace("search=a", "search=lost%20delivery");
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    assert_eq!(scene.gateway.get(KEY, &list).await.expect(200).json["total_count"], 1);
    scene.ask_v1("DELETE", &format!("{path}{item}/"), &json!({})).await;
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    assert_eq!(scene.gateway.get(KEY, &list).await.expect(200).json["total_count"], 0);
}

#[test]
fn a_real_v1_signs_as_these_tests_do() {
    let recorded: Value = serde_json::from_str(include_str!("../../fixtures/webhooks.json")).expect("JSON");
    let secret = recorded["secret"].as_str().expect("a secret");
    for delivery in recorded["deliveries"].as_array().expect("deliveries") {
        let raw = delivery["raw"].as_str().expect("a body");
        assert_eq!(signature(secret, raw.as_bytes()), delivery["headers"]["X-Plane-Signature"], "{raw}");
    }
}
