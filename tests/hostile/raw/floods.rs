//! HTTP/2 clients that send endless frames that cost them little. Each of them is cut off, or costs bounded memory, and
//! an honest client is still served.

use super::frames::{DATA, END_HEADERS, END_STREAM, HEADERS, PREFACE, RESET, SETTINGS, block, frame};
use super::recorder::Recorder;
use crate::child::Child;
use causeway::task::spawn;
use std::fmt;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

const PRIORITY: u8 = 2;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
/// Connections that flood at once.
const CONNECTIONS: usize = 4;
/// Limit of the growth of the gateway's memory under all floods.
const MOST_MEMORY: usize = 16 << 20;
/// A flood without progress for this time has come to a halt.
const HALT: Duration = Duration::from_secs(1);
/// Time in which a flood that has come to a halt has to be cut off; the gateway's limits are a second here.
const PATIENCE: Duration = Duration::from_secs(20);

/// The end of a flood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// The gateway ends the connection before everything is sent, or soon after.
    CutOff,
    /// The gateway accepts it, and ends the connection when no request has come for some time.
    Taken,
}

/// Makes a piece from its number.
type Piece = Box<dyn Fn(u32) -> Vec<u8> + Send + Sync>;

struct Flood {
    name: &'static str,
    /// Bytes that are sent once.
    opening: Vec<u8>,
    /// The piece that is sent again and again.
    piece: Piece,
    pieces: u32,
    /// Whether the client reads the answers.
    reads: bool,
    fate: Fate,
}

fn get(path: &str) -> Vec<u8> {
    block(&[(":method", b"GET"), (":scheme", b"http"), (":path", path.as_bytes()), (":authority", b"gw.example")])
}

fn post(path: &str) -> Vec<u8> {
    block(&[(":method", b"POST"), (":scheme", b"http"), (":path", path.as_bytes()), (":authority", b"gw.example")])
}

/// Returns the id of the client's stream `number`, counted from 0.
fn stream(number: u32) -> u32 {
    2 * number + 1
}

fn floods() -> Vec<Flood> {
    let flood = |name, opening: Vec<Vec<u8>>, pieces, reads, fate, piece: Piece| Flood {
        name,
        opening: opening.concat(),
        piece,
        pieces,
        reads,
        fate,
    };
    let begun = frame(HEADERS, END_STREAM, 1, &get("/api/v1/x/"));
    let large = block(&[("x-large", &[b'x'; 12_000])]);
    let waiting = frame(HEADERS, END_HEADERS, 1, &post("/api/v1/x/"));
    // One large header that is stored in the table, then referred to again and again by its index.
    let mut kept = get("/api/v1/x/");
    kept.extend([&[0x40, 1, b'x', 127, 0xa1, 0x1e][..], &[b'y'; 4_000][..]].concat());
    let kept_once = frame(HEADERS, END_HEADERS | END_STREAM, 1, &kept);
    let mut again = get("/api/v1/x/");
    again.extend([0xbe; 10_000]);
    let headers = END_HEADERS | END_STREAM;
    vec![
        flood(
            "continuation",
            vec![begun.clone()],
            4_000,
            true,
            Fate::CutOff,
            Box::new(move |_| frame(CONTINUATION, 0, 1, &large)),
        ),
        flood(
            "empty continuation",
            vec![begun],
            100_000,
            true,
            Fate::CutOff,
            Box::new(|_| frame(CONTINUATION, 0, 1, &[])),
        ),
        flood("ping, unread", vec![], 1_000_000, false, Fate::CutOff, Box::new(|_| frame(PING, 0, 0, &[7; 8]))),
        flood("ping", vec![], 100_000, true, Fate::Taken, Box::new(|_| frame(PING, 0, 0, &[7; 8]))),
        flood("settings, unread", vec![], 1_000_000, false, Fate::CutOff, Box::new(|_| frame(SETTINGS, 0, 0, &[]))),
        flood(
            "settings",
            vec![],
            100_000,
            true,
            Fate::Taken,
            Box::new(|_| frame(SETTINGS, 0, 0, &[0, 1, 0, 0, 16, 0])),
        ),
        flood(
            "priority",
            vec![],
            100_000,
            true,
            Fate::Taken,
            Box::new(|n| frame(PRIORITY, 0, stream(n % 1000), &[0, 0, 0, 0, 9])),
        ),
        flood("unknown frames", vec![], 2_000, true, Fate::Taken, Box::new(|_| frame(0xbe, 0, 0, &[9; 8_000]))),
        flood(
            "windows",
            vec![],
            100_000,
            true,
            Fate::Taken,
            Box::new(|_| frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1])),
        ),
        flood(
            "rapid reset",
            vec![],
            50_000,
            true,
            Fate::CutOff,
            Box::new(|n| {
                [
                    frame(HEADERS, END_HEADERS | END_STREAM, stream(n), &get("/api/v1/x/")),
                    frame(RESET, 0, stream(n), &[0, 0, 0, 8]),
                ]
                .concat()
            }),
        ),
        flood(
            "rapid reset of posts",
            vec![],
            50_000,
            true,
            Fate::CutOff,
            Box::new(|n| {
                [
                    frame(HEADERS, END_HEADERS, stream(n), &post("/api/v1/x/")),
                    frame(RESET, 0, stream(n), &[0, 0, 0, 8]),
                ]
                .concat()
            }),
        ),
        flood(
            "streams without an end",
            vec![],
            50_000,
            true,
            Fate::CutOff,
            Box::new(|n| frame(HEADERS, END_HEADERS, stream(n), &post("/api/v1/x/"))),
        ),
        flood("empty data", vec![waiting], 100_000, true, Fate::CutOff, Box::new(|_| frame(DATA, 0, 1, &[]))),
        flood(
            "heads that grow",
            vec![kept_once],
            200,
            true,
            Fate::CutOff,
            Box::new(move |n| frame(HEADERS, headers, stream(n + 1), &again)),
        ),
    ]
}

/// The end of a flood, and the number of bytes sent.
struct Course {
    fate: Option<Fate>,
    sent: usize,
}

impl Course {
    /// Checks the end of a flood. A flood that is cut off is always right.
    fn is_as_it_should(&self, fate: Fate) -> bool {
        self.fate == Some(Fate::CutOff) || self.fate == Some(fate)
    }
}

impl fmt::Display for Course {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} after {} bytes", self.fate, self.sent)
    }
}

/// Sends all of `flood`, or as much as the gateway accepts.
async fn pour(flood: &Flood, socket: &mut OwnedWriteHalf, sent: &mut usize) -> std::io::Result<()> {
    let mut opening = [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat();
    opening.extend(&flood.opening);
    socket.write_all(&opening).await?;
    *sent += opening.len();
    let mut number = 0;
    while number < flood.pieces {
        let upto = flood.pieces.min(number + 200);
        let some: Vec<u8> = (number..upto).flat_map(|number| (flood.piece)(number)).collect();
        let Ok(written) = timeout(HALT, socket.write_all(&some)).await else { return Ok(()) };
        written?;
        *sent += some.len();
        number = upto;
    }
    Ok(())
}

async fn read_to_the_end(socket: &mut OwnedReadHalf) {
    let mut some = [0; 65_536];
    while socket.read(&mut some).await.is_ok_and(|read| read > 0) {}
}

async fn course(address: &str, flood: &Flood) -> Course {
    let socket = TcpStream::connect(address).await.expect("a connection");
    let (mut reading, mut writing) = socket.into_split();
    let mut sent = 0;
    let (cut, finished) = if flood.reads {
        tokio::select! {
            () = read_to_the_end(&mut reading) => (true, false),
            poured = pour(flood, &mut writing, &mut sent) => (poured.is_err(), poured.is_ok()),
        }
    } else {
        let poured = pour(flood, &mut writing, &mut sent).await;
        (poured.is_err(), poured.is_ok())
    };
    if cut {
        return Course { fate: Some(Fate::CutOff), sent };
    }
    // A connection whose flood has halted or ended must be closed too.
    let ended = timeout(PATIENCE, async {
        if flood.reads {
            return read_to_the_end(&mut reading).await;
        }
        while writing.write_all(&frame(PING, 0, 0, &[7; 8])).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    let taken = finished && flood.fate == Fate::Taken;
    Course { fate: ended.await.ok().map(|()| if taken { Fate::Taken } else { Fate::CutOff }), sent }
}

/// Runs a client beside the floods and checks its statuses.
async fn honest(address: String) {
    drop(crate::client());
    // A connection for each request: on a busy machine a kept one may be idle for longer than the gateway allows.
    let client = reqwest::Client::builder().pool_max_idle_per_host(0).build().expect("a client");
    loop {
        let answer = client.get(format!("http://{address}/api/v1/x/")).send().await.expect("an answer");
        assert_eq!(answer.status().as_u16(), 200);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn floods_of_frames_are_cut_off_or_cost_bounded_memory() {
    let v1 = Recorder::start().await;
    let settings = [
        ("CAUSEWAY_LISTEN__SEND_TIMEOUT", "1s"),
        ("CAUSEWAY_LISTEN__IDLE_TIMEOUT", "1s"),
        ("CAUSEWAY_LIMITS__BODY_GRACE", "1s"),
    ];
    let mut wrong = Vec::new();
    for flood in floods() {
        let child = Child::start_with(v1.base(), "sqlite::memory:", &settings).await;
        let address = child.base().trim_start_matches("http://").to_owned();
        let beside = spawn(honest(address.clone()));
        tokio::time::sleep(Duration::from_millis(100)).await;
        let (memory, time) = (child.memory(), child.processor_time());
        let courses = futures_util::future::join_all((0..CONNECTIONS).map(|_| course(&address, &flood)));
        let mut most = memory;
        let mut courses = std::pin::pin!(courses);
        let courses = loop {
            tokio::select! {
                courses = &mut courses => break courses,
                () = tokio::time::sleep(Duration::from_millis(20)) => most = most.max(child.memory()),
            }
        };
        let grown = most.saturating_sub(memory);
        println!(
            "{}: {}; memory +{} KiB, processor time {:?}",
            flood.name,
            courses[0],
            grown / 1024,
            child.processor_time() - time
        );
        wrong.extend(
            courses
                .iter()
                .filter(|course| !course.is_as_it_should(flood.fate))
                .map(|course| format!("{}: {course}", flood.name)),
        );
        if grown > MOST_MEMORY {
            wrong.push(format!("{}: memory grew by {grown} bytes", flood.name));
        }
        if beside.is_finished() {
            wrong.push(format!("{}: a client beside it was not served", flood.name));
        }
        beside.abort();
        v1.take();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Streams whose bodies do not arrive, from many connections at once. Few find a place, and the refused ones hold
/// little memory: together they stay within `limits.memory`.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_streams_on_each_of_many_connections_stay_within_the_memory() {
    const MANY: usize = 100;
    /// `limits.memory`, in bytes.
    const MEMORY: usize = 64 << 20;
    let v1 = Recorder::start().await;
    let settings = [("CAUSEWAY_LIMITS__BODIES", "64"), ("CAUSEWAY_LIMITS__MEMORY", "64MiB")];
    let child = Child::start_with(v1.base(), "sqlite::memory:", &settings).await;
    let address = child.base().trim_start_matches("http://").to_owned();
    let beside = spawn(honest(address.clone()));
    tokio::time::sleep(Duration::from_millis(100)).await;
    let before = child.memory();
    let mut opening = [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat();
    opening.extend((0..100).flat_map(|number| frame(HEADERS, END_HEADERS, stream(number), &post("/api/v1/x/"))));
    let mut connections = Vec::new();
    for _ in 0..MANY {
        let mut connection = TcpStream::connect(&address).await.expect("a connection");
        connection.write_all(&opening).await.expect("sent");
        connections.push(connection);
    }
    let mut most = before;
    for _ in 0..40 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        most = most.max(child.memory());
    }
    let grown = most - before;
    println!("streams without bodies: memory +{} KiB", grown / 1024);
    assert!(grown <= MEMORY, "memory grew by {grown} bytes");
    assert!(!beside.is_finished(), "a client beside it was not served");
    beside.abort();
}

/// A client that reads a byte at a time: it opens the window of each stream by one byte now and then.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_window_that_opens_by_a_byte_ends_its_connection() {
    let v1 = Recorder::start().await;
    let child = Child::start_with(
        v1.base(),
        "sqlite::memory:",
        &[("CAUSEWAY_LISTEN__SEND_TIMEOUT", "2s"), ("CAUSEWAY_LIMITS__MEMORY", "32MiB")],
    )
    .await;
    let address = child.base().trim_start_matches("http://").to_owned();
    let beside = spawn(honest(address.clone()));
    tokio::time::sleep(Duration::from_millis(100)).await;
    let memory = child.memory();
    // From an address with a limit. Clients from 127.0.0.1 are not told apart and may fill the memory together, with
    // the honest client or without it, depending on the size of the document.
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind("127.0.0.2:0".parse().expect("an address")).expect("this machine's");
    let connection = socket.connect(address.parse().expect("an address")).await.expect("a connection");
    let (mut reading, mut writing) = connection.into_split();
    let no_window = frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]);
    let mut opening = [PREFACE, &no_window].concat();
    for number in 0..100 {
        opening.extend(frame(HEADERS, END_HEADERS | END_STREAM, stream(number), &get("/api/v2/docs/openapi.json")));
    }
    writing.write_all(&opening).await.expect("sent");
    let opens = async {
        loop {
            tokio::time::sleep(Duration::from_millis(200)).await;
            let some = (0..100).flat_map(|number| frame(WINDOW_UPDATE, 0, stream(number), &[0, 0, 0, 1]));
            if writing.write_all(&some.collect::<Vec<u8>>()).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    };
    let ended = timeout(PATIENCE, async {
        tokio::select! {
            () = read_to_the_end(&mut reading) => {}
            () = opens => {}
        }
    });
    assert!(ended.await.is_ok(), "the connection is still there");
    let grown = child.memory().saturating_sub(memory);
    println!("a byte at a time: memory +{} KiB", grown / 1024);
    assert!(grown <= 4 * MOST_MEMORY, "memory grew by {grown} bytes");
    assert!(!beside.is_finished(), "a client beside it was not served");
    beside.abort();
}
