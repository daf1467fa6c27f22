//! The sandbox beyond the recordings: the generator, concurrency, the network, the demo, and that it
//! is a world of its own.

use causeway::task::spawn;
use std::collections::HashSet;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use causeway::sandbox::{Config, Sandbox, Seed};
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

fn sandbox(seed: Seed, work_items: usize) -> Sandbox {
    Sandbox::new(Config { seed, work_items, ..Config::default() })
}

fn send(sandbox: &Sandbox, key: &str, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("X-Api-Key", key)
        .header("content-type", "application/json")
        .body(Bytes::from(body.map(Value::to_string).unwrap_or_default()))
        .expect("a request");
    let response = sandbox.handle(request);
    let body = serde_json::from_slice(response.body()).unwrap_or(Value::Null);
    (response.status().as_u16(), body)
}

fn get(sandbox: &Sandbox, key: &str, path: &str) -> Value {
    let (status, body) = send(sandbox, key, "GET", path, None);
    assert_eq!(status, 200, "{path}: {body}");
    body
}

fn project(sandbox: &Sandbox) -> String {
    let facts = sandbox.demo_facts();
    format!("/api/v1/workspaces/{}/projects/{}", facts.workspace, facts.project_id)
}

#[test]
fn generated_work_items_are_the_same_in_every_run() {
    let read = |count| {
        let sandbox = sandbox(Seed::Demo, count);
        let path = format!("{}/work-items/?order_by=id&per_page=1000", project(&sandbox));
        let mut body = get(&sandbox, "demo-admin-key", &path);
        let rows = body["results"].as_array_mut().expect("rows").clone();
        let generated: Vec<Value> = rows.into_iter().filter(|row| row["sequence_id"].as_i64() > Some(30)).collect();
        generated
    };
    let first = read(300);
    assert_eq!(first.len(), 300);
    assert_eq!(first, read(300));
    let names: HashSet<&str> = first.iter().filter_map(|row| row["name"].as_str()).collect();
    assert!(names.len() > 200, "only {} different names", names.len());
}

/// Returns the processor time of this thread so far, which does not depend on what else the machine does.
fn spent() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).expect("less than a second"))
}

#[test]
fn a_hundred_thousand_work_items_are_made_and_listed_quickly() {
    let start = spent();
    let sandbox = sandbox(Seed::Demo, 100_000);
    let made = spent() - start;
    let base = project(&sandbox);
    let start = spent();
    let mut seen = HashSet::new();
    for page in 0..101 {
        let path = format!(
            "{base}/work-items/?fields=id,sequence_id&order_by=-updated_at&per_page=1000&cursor=1000:{page}:0"
        );
        let body = get(&sandbox, "demo-admin-key", &path);
        assert_eq!(body["total_count"], 100_030);
        for row in body["results"].as_array().expect("rows") {
            assert!(seen.insert(row["id"].as_str().unwrap_or_default().to_owned()));
        }
    }
    let walked = spent() - start;
    assert_eq!(seen.len(), 100_030);
    println!("made in {made:?}, walked in {walked:?}");
    let patience = if cfg!(debug_assertions) { 60 } else { 3 };
    assert!(made < Duration::from_secs(patience), "made in {made:?}");
    assert!(walked < Duration::from_secs(patience), "walked in {walked:?}");
}

#[test]
fn many_threads_get_numbers_of_their_own() {
    let sandbox = sandbox(Seed::Demo, 0);
    let path = format!("{}/work-items/", project(&sandbox));
    let workers: Vec<_> = (0..8)
        .map(|worker| {
            let (sandbox, path) = (sandbox.clone(), path.clone());
            thread::spawn(move || {
                let mut numbers = Vec::new();
                for index in 0..50 {
                    let body = json!({ "name": format!("{worker}/{index}") });
                    let key = "demo-member-key";
                    let (status, item) = send(&sandbox, key, "POST", &path, Some(&body));
                    assert_eq!(status, 201);
                    numbers.push(item["sequence_id"].as_i64().expect("a number"));
                    get(&sandbox, "demo-guest-key", &path);
                }
                numbers
            })
        })
        .collect();
    let numbers: HashSet<i64> = workers.into_iter().flat_map(|worker| worker.join().expect("a worker")).collect();
    assert_eq!(numbers, (31..=430).collect());
    assert_eq!(sandbox.journal().len(), 800);
    sandbox.clear_journal();
    assert!(sandbox.journal().is_empty());
}

#[test]
fn the_demo_keeps_what_it_prints() {
    let sandbox = sandbox(Seed::Demo, 0);
    let facts = sandbox.demo_facts();
    assert_eq!(facts.workspace, "acme");
    assert_eq!(facts.project_identifier, "WEB");
    assert_eq!(facts.keys[0].key, "demo-admin-key");
    assert_eq!(facts.keys[0].role, "admin");
    let keys: Vec<&str> = facts.keys.iter().map(|key| key.key.as_str()).collect();
    assert!(keys.contains(&"demo-member-key") && keys.contains(&"demo-guest-key"));
    let base = project(&sandbox);
    for (list, least) in [("states", 5), ("labels", 12), ("cycles", 3), ("modules", 3), ("work-items", 30)] {
        let body = get(&sandbox, "demo-guest-key", &format!("{base}/{list}/"));
        assert!(body["total_count"].as_u64() >= Some(least), "{list}: {body}");
    }
    let item = get(&sandbox, "demo-admin-key", "/api/v1/workspaces/acme/work-items/WEB-3/");
    assert_eq!(item["id"], "00000000-0000-4000-e000-000000000003");
    let journal = sandbox.journal();
    let last = journal.last().expect("an entry");
    assert_eq!(last.path, "/api/v1/workspaces/acme/work-items/WEB-3/");
    assert_eq!((last.method.as_str(), last.status), ("GET", 200));
}

#[test]
fn a_quota_opens_again_after_a_minute() {
    let sandbox = Sandbox::new(Config { seed: Seed::Empty, quota_per_minute: Some(2), ..Config::default() });
    let status = || send(&sandbox, "demo-admin-key", "GET", "/api/v1/users/me/", None).0;
    assert_eq!([status(), status(), status()], [200, 200, 429]);
    sandbox.advance(Duration::from_secs(61));
    assert_eq!(status(), 200);
}

async fn fetch(address: std::net::SocketAddr, two: bool) -> (u16, Value) {
    let stream = TcpStream::connect(address).await.expect("a connection");
    let request = Request::builder()
        .uri(format!("http://{address}/api/v1/users/me/"))
        .header("host", address.to_string())
        .header("x-api-key", "demo-admin-key")
        .body(Full::new(Bytes::new()))
        .expect("a request");
    let response = if two {
        let io = TokioIo::new(stream);
        let (mut sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.expect("HTTP/2");
        spawn(connection);
        sender.send_request(request).await
    } else {
        let io = TokioIo::new(stream);
        let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.expect("HTTP/1.1");
        spawn(connection);
        sender.send_request(request).await
    }
    .expect("an answer");
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.expect("a body");
    let body = serde_json::from_slice(&body.to_bytes()).expect("JSON");
    (status, body)
}

#[tokio::test]
async fn it_serves_both_versions_of_http_and_ends() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let sandbox = sandbox(Seed::Demo, 0);
    let server = spawn(sandbox.clone().serve(listener, async {
        let _ = stopped.await;
    }));
    for two in [false, true] {
        let (status, body) = fetch(address, two).await;
        assert_eq!(status, 200);
        assert_eq!(body["first_name"], "Ada");
    }
    assert_eq!(sandbox.journal().len(), 2);
    stop.send(()).expect("a running server");
    let ended = tokio::time::timeout(Duration::from_secs(60), server).await;
    ended.expect("an end in time").expect("no panic").expect("no error");
    assert!(TcpStream::connect(address).await.is_err());
}

#[test]
fn lists_in_a_cycle_are_exact_by_id_only() {
    let sandbox = sandbox(Seed::Demo, 1000);
    let base = project(&sandbox);
    let cycles = get(&sandbox, "demo-admin-key", &format!("{base}/cycles/"));
    let cycle = cycles["results"][0]["id"].as_str().expect("a cycle");
    let walk = |order: &str| {
        let mut seen = HashSet::new();
        let mut total = 0;
        for page in 0.. {
            let path = format!(
                "{base}/cycles/{cycle}/cycle-issues/?fields=id&order_by={order}&per_page=10&cursor=10:{page}:0"
            );
            let body = get(&sandbox, "demo-admin-key", &path);
            total = body["total_count"].as_u64().unwrap_or_default();
            let rows = body["results"].as_array().expect("rows");
            seen.extend(rows.iter().map(|row| row["id"].to_string()));
            if body["next_page_results"] == false {
                break;
            }
        }
        (seen.len() as u64, total)
    };
    let (seen, total) = walk("id");
    assert_eq!(seen, total);
    let (seen, total) = walk("priority");
    assert!(seen < total, "v1 loses rows here, so the sandbox must: {seen} of {total}");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

    /// Every body gets an answer.
    #[test]
    fn any_body_is_answered(body in ".*", html in "(<|>|/|[a-z]{1,5}|&|;|=|\"|'|é| |!--|p|li|table|tr){0,40}") {
        static SANDBOX: std::sync::LazyLock<Sandbox> =
            std::sync::LazyLock::new(|| sandbox(Seed::Empty, 0));
        let path = format!("{}/work-items/", project(&SANDBOX));
        let field = json!({ "name": "x", "description_html": html, "created_at": body });
        for text in [body.clone(), format!("{{\"name\": {body}}}"), field.to_string()] {
            let request = Request::post(path.as_str())
                .header("X-Api-Key", "demo-admin-key")
                .header("content-type", "application/json")
                .body(Bytes::from(text))
                .expect("a request");
            let status = SANDBOX.handle(request).status().as_u16();
            proptest::prop_assert!([201, 400].contains(&status), "{}", status);
        }
    }
}

#[test]
fn it_is_a_world_of_its_own() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/crates/sandbox/Cargo.toml");
    let manifest: toml::Table = std::fs::read_to_string(manifest).expect("a text").parse().expect("TOML");
    let dependencies = manifest["dependencies"].as_table().expect("dependencies");
    let of_ours: Vec<_> = dependencies.iter().filter(|(_, what)| what.get("path").is_some()).collect();
    assert!(of_ours.is_empty(), "it depends on {of_ours:?}");
}
