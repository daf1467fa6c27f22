//! The crowd of slow clients: each holds as much as it can, in one of several ways, and comes back when it is rejected.
//!
//! It has a process of its own, which is this test program started again with [`ORDERS`] in its environment. So
//! the processor time of the crowd is taken neither from the gateway's figures nor from the honest clients'.

use crate::sockets::connect_with_window;
use crate::support::gateway::WEB;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// Variable that makes a process the crowd: the gateway's address, the number of clients, and the ways.
const ORDERS: &str = "CAUSEWAY_TEST_CROWD";
/// The test that the crowd's process runs.
const ENTRY: &str = "slow_clients::the_crowd_when_it_is_asked_for";
/// Time in which all clients of the crowd connect.
const COMING: Duration = Duration::from_secs(4);
/// Least time from a rejection to the next connection; half a second more on average.
const PAUSE: Duration = Duration::from_millis(500);
/// Streams on one connection of HTTP/2.
const STREAMS: u32 = 100;
/// Receive buffer of clients that do not read.
const UNREAD_WINDOW: u32 = 4096;
/// v1 keys of the crowd, one for each of its addresses. Each may send the requests that the crowd begins.
const KEYS: [&str; 4] = ["bob", "kim", "zed", "bob"];

/// Ways of being slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// A body of v2 of which two bytes arrive.
    Body,
    /// The same on the pass-through.
    PassThrough,
    /// The same at the authorization server.
    Token,
    /// A head that does not end.
    Head,
    /// The same, as long as a head may be.
    LargeHead,
    /// A connection without a request.
    Idle,
    /// A large answer that is not read.
    Unread,
    /// Answers of the pass-through that are not read.
    UnreadPassThrough,
    /// Streams of HTTP/2 whose bodies do not arrive.
    Streams,
}

impl Way {
    /// All ways.
    pub const ALL: [Self; 9] = [
        Self::Body,
        Self::PassThrough,
        Self::Token,
        Self::Head,
        Self::LargeHead,
        Self::Idle,
        Self::Unread,
        Self::UnreadPassThrough,
        Self::Streams,
    ];

    /// Returns the only bytes that a client at the address number `from` sends.
    fn opening(self, from: usize) -> Vec<u8> {
        let key = KEYS[from];
        let request = |method: &str, path: &str, rest: &str| {
            format!("{method} {path} HTTP/1.1\r\nHost: gw.example\r\nX-Api-Key: {key}\r\n{rest}").into_bytes()
        };
        let body = "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"";
        match self {
            Self::Body => request("POST", &format!("{WEB}/labels/"), body),
            Self::PassThrough => request("POST", "/api/v1/workspaces/acme/", body),
            Self::Token => request("POST", "/auth/o/token/", body),
            Self::Head => request("GET", "/api/v2/", "X-Slow: "),
            Self::LargeHead => request("GET", "/api/v2/", &format!("X-Slow: {}", "x".repeat(60_000))),
            Self::Idle => Vec::new(),
            Self::Unread => request("GET", "/api/v2/docs/openapi.json", "\r\n").repeat(8),
            // Long answers: small ones would fit into the buffers of the sockets and make a flood of requests instead.
            Self::UnreadPassThrough => {
                let items = format!("{}/work-items/?per_page=100", WEB.replace("/v2/", "/v1/"));
                request("GET", &items, "\r\n").repeat(32)
            }
            Self::Streams => streams(),
        }
    }

    fn reads(self) -> bool {
        !matches!(self, Self::Unread | Self::UnreadPassThrough)
    }
}

/// A connection of HTTP/2 with [`STREAMS`] requests that announce a body.
fn streams() -> Vec<u8> {
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend(frame(4, 0, 0, &[]));
    // Indexed `:method: POST` and `:scheme: http`, then literal `:path` and `:authority`.
    let mut head = vec![0x83, 0x86, 0x04, 14];
    head.extend(b"/auth/o/token/");
    head.extend([0x01, 1, b'x']);
    for stream in 0..STREAMS {
        bytes.extend(frame(1, 4, 2 * stream + 1, &head));
    }
    bytes
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a small frame").to_be_bytes();
    let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    [&head, payload].concat()
}

/// Counts of the crowd's work so far.
#[derive(Debug, Default, Clone, Copy)]
pub struct Deeds {
    /// Connections begun.
    pub connections: usize,
    /// Bytes sent.
    pub sent: usize,
    /// Connections that are open now.
    pub open: usize,
}

/// The process of the crowd; dropping this ends it.
pub struct Crowd {
    process: std::process::Child,
    orders: ChildStdin,
    reports: BufReader<ChildStdout>,
}

impl Crowd {
    /// Starts `size` slow clients in `ways`, from the addresses 127.0.0.2 to 127.0.0.5. It runs at the lowest priority,
    /// as if it were on another machine.
    pub fn start(gateway: SocketAddr, size: usize, ways: &[Way]) -> Self {
        let numbers: Vec<String> = ways.iter().map(|way| (*way as usize).to_string()).collect();
        let mut process = Command::new("nice")
            .args(["-n", "19"])
            .arg(std::env::current_exe().expect("this program"))
            .args([ENTRY, "--exact", "--nocapture"])
            .env(ORDERS, format!("{gateway} {size} {}", numbers.join(" ")))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the crowd starts");
        let orders = process.stdin.take().expect("its input");
        let reports = BufReader::new(process.stdout.take().expect("its output"));
        Self { process, orders, reports }
    }

    /// Returns the counts of its work so far.
    pub fn deeds(&mut self) -> Deeds {
        self.orders.write_all(b"\n").expect("the crowd listens");
        let mut line = String::new();
        while !line.starts_with("deeds ") {
            line.clear();
            assert!(self.reports.read_line(&mut line).expect("a report") > 0, "the crowd has ended");
        }
        let numbers: Vec<usize> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        Deeds { connections: numbers[0], sent: numbers[1], open: numbers[2] }
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[derive(Default)]
struct Counted {
    connections: AtomicUsize,
    sent: AtomicUsize,
    open: AtomicUsize,
}

/// Runs the crowd when the environment asks for it, until standard input ends.
pub async fn be_the_crowd() {
    let Ok(orders) = std::env::var(ORDERS) else { return };
    let mut words = orders.split(' ');
    let gateway: SocketAddr = words.next().and_then(|word| word.parse().ok()).expect("an address");
    let size: usize = words.next().and_then(|word| word.parse().ok()).expect("a size");
    let ways: Vec<Way> = words.map(|word| Way::ALL[word.parse::<usize>().expect("a way")]).collect();
    let counted = Arc::<Counted>::default();
    let mut clients = JoinSet::new();
    for client in 0..size {
        let way = ways[client % ways.len()];
        let from = client / ways.len() % KEYS.len();
        clients.spawn(hold(gateway, client, size, from, way, Arc::clone(&counted)));
    }
    let reporting = tokio::task::spawn_blocking(move || {
        for _ in std::io::stdin().lock().lines() {
            let number = |count: &AtomicUsize| count.load(Ordering::Relaxed);
            println!(
                "\ndeeds {} {} {}",
                number(&counted.connections),
                number(&counted.sent),
                number(&counted.open)
            );
        }
    });
    reporting.await.expect("reports");
}

async fn hold(gateway: SocketAddr, client: usize, size: usize, from: usize, way: Way, counted: Arc<Counted>) {
    let opening = way.opening(from);
    let share = |whole: Duration, part: usize| whole.mul_f64((part % size) as f64 / size as f64);
    tokio::time::sleep(share(COMING, client)).await;
    let address = 2 + u8::try_from(from).expect("one of four");
    let window = (!way.reads()).then_some(UNREAD_WINDOW);
    for turn in 1.. {
        if let Ok(mut socket) = connect_with_window(gateway, address, window).await {
            counted.connections.fetch_add(1, Ordering::Relaxed);
            counted.open.fetch_add(1, Ordering::Relaxed);
            if socket.write_all(&opening).await.is_ok() {
                counted.sent.fetch_add(opening.len(), Ordering::Relaxed);
                stay(&mut socket, way).await;
            }
            counted.open.fetch_sub(1, Ordering::Relaxed);
        }
        // Not all at the same time.
        tokio::time::sleep(PAUSE + share(Duration::from_secs(1), client * 7 + turn * 131)).await;
    }
}

/// Waits until the gateway has ended the connection.
async fn stay(socket: &mut TcpStream, way: Way) {
    if way.reads() {
        let mut some = [0; 1024];
        while socket.read(&mut some).await.is_ok_and(|read| read > 0) {}
        return;
    }
    while socket.ready(Interest::READABLE).await.is_ok_and(|ready| !ready.is_read_closed()) {
        if socket.take_error().is_ok_and(|error| error.is_some()) {
            return;
        }
        tokio::time::sleep(PAUSE).await;
    }
}
