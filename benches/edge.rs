//! CPU time that one uncached `GET states` costs the gateway, against a bare hyper reverse proxy that forwards
//! the same v1 list untouched. Both run as processes of their own before the same sandbox, in turns.
//!
//! `cargo bench --bench edge` prints microseconds of CPU per request and their ratio. Linux only: the times are
//! those the kernel keeps in `/proc`.
//!
//! May use: the public interface of the crate and the built binary.

use bytes::Bytes;
use causeway::sandbox::{Config, Sandbox, Seed};
use http::{Request, Response, Uri};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::net::TcpListener;

/// Requests of one turn; the kernel counts in hundredths of a second, so a turn has to be long.
const REQUESTS: u32 = 3_000;
/// Turns of each of the two, one after the other.
const TURNS: u32 = 3;
/// Hundredths of a second, in which Linux tells process times on every architecture.
const TICK: Duration = Duration::from_millis(10);
/// The list that is asked for, as v2 names it.
const STATES: &str = "/api/v2/workspaces/acme/projects/00000000-0000-4000-c000-000000000001/states/";
/// A key of the sandbox.
const KEY: &str = "demo-admin-key";

/// A child process that is stopped when it is no longer needed.
struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    fn start(command: &mut Command, address: SocketAddr) -> Self {
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self { child: quiet.spawn().expect("a child process"), address }
    }

    /// User and system time of all its threads so far.
    fn cpu(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).expect("Linux with /proc");
        // The name of the program, in parentheses, may hold blanks; user and system time are the 12th and
        // 13th after it.
        let rest = stat.rsplit_once(')').expect("a name").1;
        let ticks = rest.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<u32>().expect("ticks"));
        TICK * ticks.sum::<u32>()
    }

    async fn ready(&self, client: &Caller, path: &str) {
        for _ in 0..500 {
            if client.get(self.address, path).await.is_some() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{} does not serve", self.address);
    }

    /// CPU time of one turn.
    async fn turn(&self, client: &Caller, path: &str) -> Duration {
        let before = self.cpu();
        for _ in 0..REQUESTS {
            let answer = client.get(self.address, path).await.expect("an answer");
            assert_eq!(answer.status(), 200);
            if let Some(calls) = answer.headers().get("causeway-v1-calls") {
                assert_eq!(calls, "1", "the list is read from v1 for every request, and nothing else is");
            }
        }
        self.cpu() - before
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Caller(Client<HttpConnector, Empty<Bytes>>);

impl Caller {
    async fn get(&self, address: SocketAddr, path: &str) -> Option<Response<Bytes>> {
        let request = Request::get(format!("http://{address}{path}")).header("X-Api-Key", KEY);
        let answer = self.0.request(request.body(Empty::new()).expect("a request")).await.ok()?;
        let (head, body) = answer.into_parts();
        Some(Response::from_parts(head, body.collect().await.ok()?.to_bytes()))
    }
}

/// Nothing but forwarding: one connection pool, every request sent on as it came.
async fn proxy(listen: SocketAddr, upstream: String) {
    let client: Client<_, Incoming> = Client::builder(TokioExecutor::new()).build(HttpConnector::new());
    let listener = TcpListener::bind(listen).await.expect("a free port");
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        let _ = stream.set_nodelay(true);
        let (client, upstream) = (client.clone(), upstream.clone());
        tokio::spawn(async move {
            let service = service_fn(|mut request: Request<Incoming>| {
                let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
                *request.uri_mut() = format!("http://{upstream}{path}").parse::<Uri>().expect("an address");
                let answer = client.request(request);
                async move { Ok::<_, Infallible>(answer.await.expect("an answer of v1")) }
            });
            let _ = Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn free() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    listener.local_addr().expect("an address")
}

async fn measure() {
    let sandbox = Sandbox::new(Config { seed: Seed::Demo, quota_per_minute: None, work_items: 0 });
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let v1 = listener.local_addr().expect("an address").to_string();
    tokio::spawn(sandbox.clone().serve(listener, std::future::pending()));
    let client = Caller(Client::builder(TokioExecutor::new()).build(HttpConnector::new()));

    let (here, there) = (free().await, free().await);
    let mut command = Command::new(env!("CARGO_BIN_EXE_causeway"));
    command.args(["serve", "--upstream", &format!("http://{v1}"), "--listen", &here.to_string()]);
    command.args(["--store", "sqlite::memory:", "--set", "cache.collection=0s", "--set", "log.filter=error"]);
    let gateway = Server::start(&mut command, here);
    gateway.ready(&client, STATES).await;
    sandbox.clear_journal();
    client.get(gateway.address, STATES).await.expect("an answer");
    let journal = sandbox.journal();
    let [entry] = journal.as_slice() else { panic!("one v1 call per request, not {}", journal.len()) };
    let list = entry.path.clone();

    let mut command = Command::new(std::env::current_exe().expect("this program"));
    let bare = Server::start(command.args(["--proxy", &there.to_string(), &v1]), there);
    bare.ready(&client, &list).await;

    let (mut ours, mut theirs) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..TURNS {
        ours += gateway.turn(&client, STATES).await;
        theirs += bare.turn(&client, &list).await;
    }
    let each = |time: Duration| time.as_secs_f64() * 1e6 / f64::from(REQUESTS * TURNS);
    println!("gateway, uncached GET states   {:>7.1} µs CPU per request", each(ours));
    println!("bare proxy, the same v1 list   {:>7.1} µs CPU per request", each(theirs));
    println!("ratio                          {:>7.2}", ours.as_secs_f64() / theirs.as_secs_f64());
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.iter().position(|argument| argument == "--proxy") {
        Some(at) => proxy(arguments[at + 1].parse().expect("an address"), arguments[at + 2].clone()).await,
        None => measure().await,
    }
}
