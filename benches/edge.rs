//! The gateway's CPU time compared with a bare hyper server: for one uncached `GET states`, against a reverse
//! proxy that forwards the same v1 list untouched, and for one new connection. Both run as processes of their own
//! before the same sandbox, in turns.
//!
//! The cost of a connection is the cost of a request on a new one minus that of the same request on an open one; the
//! path leads to nothing, so that no other work is done. In the gateway that cost is the accepting thread, the hop from
//! there to a worker, the counted places and the time limits.
//!
//! `cargo bench --bench edge` prints microseconds of CPU and their ratios; with `-- --check` it also fails when a ratio
//! is above its limit. Linux only: the times are those the kernel keeps in `/proc`.
//!
//! May use: the public interface of the crate and the built binary.

use bytes::Bytes;
use causeway::sandbox::{Config, Sandbox, Seed};
use http::{Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Requests of one turn; the kernel counts in hundredths of a second, so a turn has to be long.
const REQUESTS: u32 = 3_000;
/// Turns of each of the two, one after the other.
const TURNS: u32 = 3;
/// Limits of `--check`: the gateway's time divided by that of the bare server.
const MOST_REQUEST: f64 = 12.0;
const MOST_CONNECTION: f64 = 5.0;
/// A hundredth of a second, the unit in which Linux reports process times on every architecture.
const TICK: Duration = Duration::from_millis(10);
/// The list that is requested, as v2 names it.
const STATES: &str = "/api/v2/workspaces/acme/projects/00000000-0000-4000-c000-000000000001/states/";
/// A path with nothing behind it in either server.
const NOTHING: &str = "/nothing/here";
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

    /// Returns the user and system time of all its threads so far.
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
        let (before, mut others) = (self.cpu(), 0);
        for _ in 0..REQUESTS {
            let answer = client.get(self.address, path).await.expect("an answer");
            assert_eq!(answer.status(), 200);
            others += u32::from(answer.headers().get("causeway-v1-calls").is_some_and(|calls| calls != "1"));
        }
        let time = self.cpu() - before;
        // Proofs of access are requested again twice a minute.
        assert!(others < REQUESTS / 100, "the list is read from v1 for every request, and nothing else is");
        time
    }

    /// Returns the CPU time of one turn of requests for nothing, on one connection or each on a new one.
    async fn visits(&self, new: bool) -> Duration {
        let closing = if new { "close" } else { "keep-alive" };
        let request = format!("GET {NOTHING} HTTP/1.1\r\nHost: {}\r\nConnection: {closing}\r\n\r\n", self.address);
        let before = self.cpu();
        let mut socket = None;
        for _ in 0..REQUESTS {
            let mut open = match socket.take() {
                Some(open) => open,
                None => TcpStream::connect(self.address).await.expect("a connection"),
            };
            open.write_all(request.as_bytes()).await.expect("a request sent");
            let answer = answered(&mut open).await;
            assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
            socket = (!new).then_some(open);
        }
        self.cpu() - before
    }
}

/// The head of the next answer, after its body was read.
async fn answered(socket: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
            if body.len() == length.unwrap_or(0) {
                return text;
            }
        }
        assert_ne!(socket.read_buf(&mut bytes).await.expect("an answer"), 0, "{text}");
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

/// Only forwards: one connection pool, every request sent on unchanged.
async fn proxy(listen: SocketAddr, upstream: String) -> ! {
    let client: Client<_, Incoming> = Client::builder(TokioExecutor::new()).build(HttpConnector::new());
    let listener = TcpListener::bind(listen).await.expect("a free port");
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        let _ = stream.set_nodelay(true);
        let (client, upstream) = (client.clone(), upstream.clone());
        tokio::spawn(async move {
            let service = service_fn(|mut request: Request<Incoming>| {
                let (client, upstream) = (client.clone(), upstream.clone());
                async move {
                    if request.uri().path() == NOTHING {
                        let mut nothing = Response::new(Empty::new().map_err(|never| match never {}).boxed());
                        *nothing.status_mut() = StatusCode::NOT_FOUND;
                        return Ok::<_, Infallible>(nothing);
                    }
                    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
                    *request.uri_mut() = format!("http://{upstream}{path}").parse::<Uri>().expect("an address");
                    Ok(client.request(request).await.expect("an answer of v1").map(BodyExt::boxed))
                }
            });
            let _ = Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn free() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    listener.local_addr().expect("an address")
}

/// Prints the figures and returns whether they are within the limits of `--check`.
async fn measure() -> bool {
    let sandbox = Sandbox::new(Config { seed: Seed::Demo, ..Config::default() });
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let v1 = listener.local_addr().expect("an address").to_string();
    tokio::spawn(sandbox.clone().serve(listener, std::future::pending()));
    let client = Caller(Client::builder(TokioExecutor::new()).build(HttpConnector::new()));

    let (here, there) = (free().await, free().await);
    let mut command = Command::new(env!("CARGO_BIN_EXE_causeway"));
    command.args(["serve", "--upstream", &format!("http://{v1}"), "--listen", &here.to_string()]);
    command.args(["--store", "sqlite::memory:", "--set", "cache.collection=0s", "--set", "log.filter=error"]);
    // More requests than one client may send, or v1 may get, in a minute.
    for unlimited in ["upstream.quota=0", "limits.rate.api_key=0", "limits.rate.unauthenticated=0"] {
        command.args(["--set", unlimited]);
    }
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

    let (mut ours, mut theirs) = (Measured::default(), Measured::default());
    for _ in 0..TURNS {
        for (server, path, measured) in [(&gateway, STATES, &mut ours), (&bare, list.as_str(), &mut theirs)] {
            measured.request += server.turn(&client, path).await;
            measured.open += server.visits(false).await;
            measured.new += server.visits(true).await;
        }
    }
    let each = |time: Duration| time.as_secs_f64() * 1e6 / f64::from(REQUESTS * TURNS);
    let ratio = |ours: Duration, theirs: Duration| ours.as_secs_f64() / theirs.as_secs_f64();
    println!("gateway, uncached GET states   {:>7.1} µs CPU per request", each(ours.request));
    println!("bare proxy, the same v1 list   {:>7.1} µs CPU per request", each(theirs.request));
    println!("ratio                          {:>7.2}", ratio(ours.request, theirs.request));
    println!("gateway, a new connection      {:>7.1} µs CPU", each(ours.connection()));
    println!("bare server, the same          {:>7.1} µs CPU", each(theirs.connection()));
    println!("ratio                          {:>7.2}", ratio(ours.connection(), theirs.connection()));
    ratio(ours.request, theirs.request) <= MOST_REQUEST
        && ratio(ours.connection(), theirs.connection()) <= MOST_CONNECTION
}

/// CPU times of one of the two servers.
#[derive(Default)]
struct Measured {
    /// Of requests for the list.
    request: Duration,
    /// Of requests for nothing, on an open connection.
    open: Duration,
    /// The same, each on a new one.
    new: Duration,
}

impl Measured {
    /// Returns the time of a new connection alone.
    fn connection(&self) -> Duration {
        self.new.saturating_sub(self.open)
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--proxy") {
        proxy(arguments[at + 1].parse().expect("an address"), arguments[at + 2].clone()).await;
    }
    let good = measure().await;
    if good || !arguments.iter().any(|argument| argument == "--check") {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
