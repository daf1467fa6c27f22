//! Reads of records that only the gateway's own store has, beside the states list served from memory, in one run.
//!
//! `cargo bench --bench store` prints requests per second of each and their ratio to the states list, on
//! SQLite; with `--postgres URL` on that database too. One gateway in a process of its own, one sandbox, a few
//! clients; the lists are read in turns, so that other load on the machine slows all of them.
//!
//! May use: the public interface of the crate and the built binary.

use bytes::Bytes;
use causeway::sandbox::{Config, Sandbox, Seed};
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;

/// Clients at once; each sends one request after the other.
const CLIENTS: usize = 8;
/// Requests of one client in one turn.
const REQUESTS: usize = 400;
/// Turns of each path.
const TURNS: usize = 5;
const WEB: &str = "/api/v2/workspaces/acme/projects/00000000-0000-4000-c000-000000000001";
const ADMIN: &str = "ada";

struct Gateway {
    process: Child,
    base: String,
    client: Client<HttpConnector, Full<Bytes>>,
}

impl Gateway {
    async fn start(v1: &str, store: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address").to_string();
        drop(listener);
        let mut command = Command::new(env!("CARGO_BIN_EXE_causeway"));
        command.args(["serve", "--upstream", v1, "--listen", &address, "--store", store]);
        command.args(["--set", "cache.collection=10m", "--set", "log.filter=error"]);
        command.args(["--set", "limits.rate.api_key=0", "--set", "upstream.quota=0"]);
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null());
        let process = quiet.spawn().expect("a child process");
        let client = Client::builder(TokioExecutor::new()).build(HttpConnector::new());
        let gateway = Self { process, base: format!("http://{address}"), client };
        for _ in 0..500 {
            if gateway.try_send(Method::GET, "/readyz", None).await.is_some_and(|(status, _)| status == 200) {
                return gateway;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("the gateway does not serve");
    }

    async fn try_send(&self, method: Method, path: &str, body: Option<&Value>) -> Option<(u16, Bytes)> {
        let request = Request::builder().method(method).uri(format!("{}{path}", self.base));
        let request = request.header("X-Api-Key", ADMIN).header("Content-Type", "application/json");
        let bytes = body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string()));
        let answer = self.client.request(request.body(Full::new(bytes)).expect("a request")).await.ok()?;
        let status = answer.status().as_u16();
        Some((status, answer.into_body().collect().await.ok()?.to_bytes()))
    }

    async fn made(&self, path: &str, body: &Value) -> String {
        let (status, bytes) = self.try_send(Method::POST, path, Some(body)).await.expect("an answer");
        assert!((200..300).contains(&status), "{path}: {}", String::from_utf8_lossy(&bytes));
        let answer: Value = serde_json::from_slice(&bytes).expect("JSON");
        answer["id"].as_str().expect("an id").to_owned()
    }

    /// Returns the time that all clients together take for a turn.
    async fn turn(&self, path: &str) -> Duration {
        let began = Instant::now();
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| async {
                for _ in 0..REQUESTS {
                    let (status, _) = self.try_send(Method::GET, path, None).await.expect("an answer");
                    assert_eq!(status, 200, "{path}");
                }
            })
            .collect();
        futures_util::future::join_all(clients).await;
        began.elapsed()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

async fn measure(engine: &str, store: &str) {
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let v1 = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(sandbox.serve(listener, std::future::pending()));
    let gateway = Gateway::start(&v1, store).await;
    let kind = gateway.made(&format!("{WEB}/work-item-types/enable/"), &json!({})).await;
    // As many records as the project has states.
    for number in 0..5 {
        gateway.made(&format!("{WEB}/work-item-types/"), &json!({"name": format!("Type {number}")})).await;
        let property = json!({"display_name": format!("Property {number}"), "property_type": "OPTION",
            "options": [{"name": "one"}, {"name": "two"}, {"name": "three"}]});
        gateway.made(&format!("{WEB}/work-item-properties/"), &property).await;
    }
    let paths = [
        ("states list, from memory", format!("{WEB}/states/")),
        ("types list", format!("{WEB}/work-item-types/")),
        ("type", format!("{WEB}/work-item-types/{kind}/")),
        ("properties list", format!("{WEB}/work-item-properties/")),
        ("features", "/api/v2/workspaces/acme/features/".to_owned()),
    ];
    let mut spent = vec![Duration::ZERO; paths.len()];
    for (_, path) in &paths {
        gateway.turn(path).await;
    }
    for _ in 0..TURNS {
        for ((_, path), spent) in paths.iter().zip(&mut spent) {
            *spent += gateway.turn(path).await;
        }
    }
    let rate = |spent: Duration| (CLIENTS * REQUESTS * TURNS) as f64 / spent.as_secs_f64();
    println!("{engine}");
    for ((name, _), time) in paths.iter().zip(&spent) {
        println!("  {name:<26} {:>8.0} requests/s  ratio {:.2}", rate(*time), rate(*time) / rate(spent[0]));
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let postgres =
        arguments.iter().position(|argument| argument == "--postgres").and_then(|at| arguments.get(at + 1));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let folder = tempfile::tempdir().expect("a folder");
        measure("SQLite", &format!("sqlite:{}", folder.path().join("store.db").display())).await;
        if let Some(url) = postgres {
            measure("PostgreSQL", url).await;
        }
    });
}
