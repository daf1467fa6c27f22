//! Hints from v1's webhooks: signed as v1 signs, they bring an index up to date at once, and whatever else comes does
//! nothing.
//!
//! May use: the deliveries in `fixtures/webhooks.json`.

use crate::support::gateway::{Answer, Gateway, serve_sandbox};
use causeway::sandbox::{Config, Sandbox, Seed};
use hmac::{Hmac, Mac};
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};
use sha2::Sha256;
use std::time::{Duration, Instant};

const KEY: &str = "demo-admin-key";
const SECRET: &str = "plane_wh_0123456789abcdef";
const PATIENCE: Duration = Duration::from_secs(20);

fn signature(secret: &str, body: &[u8]) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("any length").chain_update(body);
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A gateway whose indices are fresh for long, so that only a hint refreshes them.
struct Scene {
    gateway: Gateway,
    sandbox: Sandbox,
    list: String,
    project: String,
    _folder: tempfile::TempDir,
}

impl Scene {
    async fn new() -> Self {
        let sandbox = Sandbox::new(Config { seed: Seed::Demo, work_items: 1_200, ..Config::default() });
        let v1 = serve_sandbox(&sandbox).await;
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("webhooks");
        std::fs::write(&file, format!("# of acme\nacme {SECRET}\n")).expect("a file");
        let file = file.display().to_string();
        let settings = [
            ("hints.secrets_file", file.as_str()),
            ("upstream.service_key", KEY),
            ("index.freshness", "60s"),
            ("index.ahead", "false"),
        ];
        let gateway = Gateway::with(&v1, &settings).await;
        let facts = sandbox.demo_facts();
        assert_eq!(facts.workspace, "acme");
        let list = format!("/api/v2/workspaces/acme/projects/{}/work-items/?search=a&per_page=1", facts.project_id);
        gateway.get(KEY, &list).await.expect(200);
        Self { gateway, sandbox, list, project: facts.project_id, _folder: folder }
    }

    async fn deliver(&self, path: &str, body: &[u8], signature: &str) -> Answer {
        let request =
            Request::post(format!("{}{path}", self.gateway.base())).header("x-plane-signature", signature);
        self.gateway.request(request.body(Full::new(body.to_vec().into())).expect("a request")).await
    }

    fn delivery(&self) -> Vec<u8> {
        json!({"event": "issue", "action": "updated", "data": {"id": self.project, "project": self.project}})
            .to_string()
            .into_bytes()
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
    // Replayed deliveries are harmless; beyond the pace they are not looked at.
    let mut statuses = std::collections::BTreeMap::new();
    for _ in 0..200 {
        let status = scene.deliver("/hints/v1/acme/", &body, &signed).await.status;
        *statuses.entry(status).or_insert(0) += 1;
    }
    assert!(statuses.keys().all(|status| [200, 503].contains(status)), "{statuses:?}");
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let seconds = begun.elapsed().as_secs() as usize + 1;
    assert!(scene.pages() <= seconds + 1, "{} refreshes in {seconds} s", scene.pages());
    scene.gateway.get(KEY, &scene.list).await.expect(200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_signed_or_not_understood_does_nothing() {
    let scene = Scene::new().await;
    let body = scene.delivery();
    let signed = signature(SECRET, &body);
    scene.sandbox.clear_journal();
    let other = signature("another", &body);
    for (path, body, signature, status) in [
        ("/hints/v1/acme/", body.as_slice(), "", 404),
        ("/hints/v1/acme/", body.as_slice(), other.as_str(), 404),
        ("/hints/v1/acme/", b"changed".as_slice(), signed.as_str(), 404),
        ("/hints/v1/other/", body.as_slice(), signed.as_str(), 404),
        ("/hints/v1/", body.as_slice(), signed.as_str(), 404),
    ] {
        scene.deliver(path, body, signature).await.expect(status);
    }
    // Nor do they keep those out that are signed.
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

#[test]
fn a_real_v1_signs_as_these_tests_do() {
    let recorded: Value = serde_json::from_str(include_str!("../../fixtures/webhooks.json")).expect("JSON");
    let secret = recorded["secret"].as_str().expect("a secret");
    for delivery in recorded["deliveries"].as_array().expect("deliveries") {
        let raw = delivery["raw"].as_str().expect("a body");
        assert_eq!(signature(secret, raw.as_bytes()), delivery["headers"]["X-Plane-Signature"], "{raw}");
    }
}
