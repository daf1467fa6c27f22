//! The gateway's allocations for one request of four kinds: one work item, a page of 100 and a list from memory on v2,
//! and a work item that passes through. v1 is a process of its own that answers with fixed bytes, the client a plain
//! socket, so the counted allocations are those of the gateway.
//!
//! `cargo bench --bench request` prints allocations and bytes for each request; with `-- --check` it also fails when
//! a request allocates a tenth more often than recorded here. Counts do not depend on the machine. With
//! `-- --serve CASE` it only sends requests of one kind, `--requests N` twice; `benches/instructions` counts them with
//! valgrind. `--set NAME=VALUE` changes a setting of the gateway, to see its cost.
//!
//! May use: the public interface of the crate.

use causeway::app::App;
use causeway::settings::{LoadArgs, Settings};
use serde_json::{Value, json};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, ExitCode, Stdio};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Number of requests that are counted, after the same number uncounted; `--requests` sets another number.
const REQUESTS: usize = 500;
/// Tolerance of `--check` above the recorded numbers, in per cent.
const TOLERANCE: usize = 10;
/// The cases: name, path behind the project's, allocations for each request.
const CASES: [(&str, &str, &str, usize); 4] = [
    ("item", "v2", "work-items/00000000-0000-4000-8000-000000000100/", MOST[0]),
    ("page", "v2", "work-items/?per_page=100", MOST[1]),
    ("states", "v2", "states/", MOST[2]),
    ("pass-through", "v1", "work-items/00000000-0000-4000-8000-000000000100/", MOST[3]),
];
/// Allocations for each request as last counted.
const MOST: [usize; 4] = [100, 400, 57, 56];
const PROJECT: &str = "workspaces/acme/projects/00000000-0000-4000-8000-000000000001/";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "--v1") {
        return v1();
    }
    let (child, v1) = v1_beside();
    let gateway = gateway(&v1);
    let given = |name: &str| arguments.iter().position(|one| one == name).and_then(|at| arguments.get(at + 1));
    let only = given("--serve");
    let requests = given("--requests").map_or(REQUESTS, |number| number.parse().expect("a number of requests"));
    let check = arguments.iter().any(|one| one == "--check");
    let (mut client, mut good) = (BufReader::new(TcpStream::connect(gateway).expect("the gateway")), true);
    for (name, version, path, most) in CASES {
        if only.is_some_and(|only| only != name) {
            continue;
        }
        let request =
            format!("GET /api/{version}/{PROJECT}{path} HTTP/1.1\r\nHost: bench\r\nX-Api-Key: bench\r\n\r\n");
        let mut body = Vec::with_capacity(1 << 20);
        (0..requests).for_each(|_| ask(&mut client, &request, &mut body));
        let counted = Region::new(ALLOCATOR);
        (0..requests).for_each(|_| ask(&mut client, &request, &mut body));
        let change = counted.change();
        let (allocations, bytes) = (change.allocations / requests, change.bytes_allocated / requests);
        println!("{name:13} {allocations:5} allocations, {bytes:8} bytes a request");
        if check && allocations > most + most * TOLERANCE / 100 {
            eprintln!("{name}: {allocations} allocations where there were {most}");
            good = false;
        }
    }
    drop(child);
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Sends a request and reads its answer, without allocating.
fn ask(client: &mut BufReader<TcpStream>, request: &str, body: &mut Vec<u8>) {
    client.get_mut().write_all(request.as_bytes()).expect("a request sent");
    let (mut length, mut first) = (0, true);
    loop {
        body.clear();
        client.read_until(b'\n', body).expect("a line of the head");
        if first {
            assert!(body.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(body));
            first = false;
        }
        let line = body.trim_ascii_end();
        if line.is_empty() {
            break;
        }
        if line.len() > 16 && line[..16].eq_ignore_ascii_case(b"content-length: ") {
            length = line[16..].iter().fold(0, |length, digit| length * 10 + usize::from(digit - b'0'));
        }
    }
    body.resize(length, 0);
    client.read_exact(body).expect("the whole body");
}

/// Starts a gateway in this process with its defaults, except for limits.
fn gateway(v1: &str) -> SocketAddr {
    let settings = [
        ("upstream.base_url", v1),
        ("store.url", "sqlite::memory:"),
        ("upstream.quota", "0"),
        ("limits.rate.api_key", "0"),
        ("limits.rate.unauthenticated", "0"),
    ];
    let mut overrides = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let arguments: Vec<String> = std::env::args().collect();
    let set = arguments.windows(2).filter(|pair| pair[0] == "--set").filter_map(|pair| pair[1].split_once('='));
    overrides.extend(set.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let env = std::iter::empty::<(String, String)>();
    let settings = Settings::load(LoadArgs { file: None, env, overrides }).expect("settings");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let address = runtime.block_on(async move {
        let app = App::build(&settings).await.expect("a gateway");
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move { app.serve(listener, std::future::pending()).await });
        address
    });
    // It serves for as long as this process lives.
    std::mem::forget(runtime);
    address
}

/// A process that is stopped when it is no longer needed.
struct Stopped(Child);

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn v1_beside() -> (Stopped, String) {
    let program = std::env::current_exe().expect("this program");
    let mut child = Command::new(program).arg("--v1").stdout(Stdio::piped()).spawn().expect("a second process");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("its address");
    (Stopped(child), format!("http://{}", line.trim()))
}

/// A v1 that answers each path with the same bytes each time.
fn v1() -> ExitCode {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    println!("{}", listener.local_addr().expect("an address"));
    for connection in listener.incoming() {
        let connection = connection.expect("a connection");
        std::thread::spawn(move || converse(connection));
    }
    ExitCode::SUCCESS
}

fn converse(connection: TcpStream) {
    let mut reader = BufReader::new(connection.try_clone().expect("a handle"));
    let mut writer = connection;
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|read| read > 0) {
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        while line.trim_end() != "" {
            line.clear();
            reader.read_line(&mut line).expect("a line of the head");
        }
        line.clear();
        let body = answer(&path).to_string();
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n", body.len());
        if writer.write_all([head.as_bytes(), body.as_bytes()].concat().as_slice()).is_err() {
            return;
        }
    }
}

fn answer(path: &str) -> Value {
    let path = path.split('?').next().unwrap_or_default();
    let id = |n: u32| format!("00000000-0000-4000-8000-{n:012}");
    if path.ends_with("/users/me/") {
        return json!({"id": id(2), "email": "ada@example.com", "display_name": "ada", "first_name": "", "last_name": ""});
    }
    if path.ends_with("/states/") {
        let state = |n| {
            json!({"id": id(n), "name": format!("State {n}"), "color": "#112233", "group": "started", "default": false,
                "sequence": 1000.0 * f64::from(n), "description": "", "external_id": null, "external_source": null,
                "created_at": "2026-01-02T03:04:05.678901Z", "updated_at": "2026-01-02T03:04:05.678901Z",
                "created_by": id(2), "project": id(1), "workspace": id(3), "slug": "state", "is_triage": false})
        };
        let states: Vec<Value> = (10..16).map(state).collect();
        return paged(&states);
    }
    if path.ends_with("/work-items/") {
        return paged(&(100..200).map(|n| item(&id(n), n)).collect::<Vec<_>>());
    }
    if path.contains("/work-items/") {
        return item(&id(100), 100);
    }
    json!({"id": id(1), "identifier": "WEB", "workspace": id(3), "member_role": 20, "is_member": true,
        "network": 2, "archived_at": null, "cycle_view": true, "module_view": true, "timezone": "UTC", "estimate": null,
        "name": "Web", "project_lead": null, "default_assignee": null})
}

fn paged(rows: &[Value]) -> Value {
    json!({"total_count": rows.len(), "next_page_results": false, "prev_page_results": false, "count": rows.len(),
        "next_cursor": "100:1:0", "prev_cursor": "100:-1:1", "total_pages": 1, "total_results": rows.len(),
        "grouped_by": null, "sub_grouped_by": null, "extra_stats": null, "results": rows})
}

fn item(id: &str, number: u32) -> Value {
    json!({"id": id, "name": format!("Work item {number}"), "sequence_id": number, "priority": "high",
        "state": "00000000-0000-4000-8000-000000000010", "parent": null,
        "assignees": ["00000000-0000-4000-8000-000000000002"], "labels": [], "start_date": "2026-01-02",
        "target_date": null, "is_draft": false, "archived_at": null, "created_at": "2026-01-02T03:04:05.678901Z",
        "updated_at": format!("2026-01-02T03:04:{:02}.{number:06}Z", number % 60),
        "created_by": "00000000-0000-4000-8000-000000000002", "sort_order": 65535.0, "external_id": null,
        "external_source": null, "description_html": "<p>About it.</p>", "estimate_point": null})
}
