//! The life of a process: reloaded by SIGHUP and restarted over a socket that stays open, both under load, and the
//! notifications to systemd.

use super::child::Child;
use super::support::gateway::{WEB, serve_sandbox};
use super::support::losing::Losing;
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::store::Store;
use causeway::task::spawn;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// Number of reloads and restarts in one test.
const RELOADS: usize = 100;
const RESTARTS: usize = 20;
/// Longest wait for an expected event.
pub const PATIENCE: Duration = Duration::from_secs(60);

async fn v1() -> String {
    serve_sandbox(&Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() })).await
}

/// Clients that send requests in a loop, each request on a connection of its own; every answer must be a success.
struct Load {
    done: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
    clients: Vec<JoinHandle<()>>,
}

impl Load {
    fn on(base: &str) -> Self {
        let (done, asked) = <(Arc<AtomicBool>, Arc<AtomicUsize>)>::default();
        let clients = (0..4).map(|_| {
            let (done, asked, url) = (Arc::clone(&done), Arc::clone(&asked), format!("{base}{WEB}/states/"));
            super::client();
            let client = reqwest::Client::builder().pool_max_idle_per_host(0).build().expect("a client");
            spawn(async move {
                while !done.load(Ordering::Relaxed) {
                    let answer =
                        client.get(&url).header("x-api-key", "ada").header("connection", "close").send().await;
                    let answer = answer.unwrap_or_else(|fault| panic!("a request failed: {fault:?}"));
                    assert_eq!(answer.status(), 200);
                    answer.bytes().await.expect("a whole body");
                    asked.fetch_add(1, Ordering::Relaxed);
                }
            })
        });
        let clients = clients.collect();
        Self { done, asked, clients }
    }

    /// Ends the load and returns the number of requests.
    async fn end(self) -> usize {
        self.done.store(true, Ordering::Relaxed);
        for client in self.clients {
            client.await.expect("no request failed");
        }
        self.asked.load(Ordering::Relaxed)
    }
}

/// A list with an unknown parameter.
fn unknown() -> String {
    format!("{WEB}/states/?nothing=1")
}

/// Waits until a list with an unknown parameter is answered with `status`.
async fn until_strict(client: &reqwest::Client, base: &str, status: u16) {
    let patience = Instant::now() + PATIENCE;
    let url = format!("{base}{}", unknown());
    loop {
        let answer = client.get(&url).header("x-api-key", "ada").send().await.expect("an answer");
        if answer.status() == status {
            return;
        }
        assert!(Instant::now() < patience, "it still answers {}", answer.status());
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Waits until the process has said so many times that it did not reload.
async fn until_refused(child: &Child, times: usize) {
    let patience = Instant::now() + PATIENCE;
    while child.times_said("not reloaded") < times {
        assert!(Instant::now() < patience, "the reload was not refused");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(child.times_said("not reloaded"), times);
}

fn write(file: &Path, text: &str) {
    std::fs::write(file, text).expect("written");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_reloads_under_load_fail_no_request() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("causeway.toml");
    write(&file, "strict_query = true\n");
    let file_name = file.display().to_string();
    let mut child = Child::start_with(&v1().await, "sqlite::memory:", &[("CAUSEWAY_CONFIG", &file_name)]).await;
    let client = super::client();
    until_strict(&client, child.base(), 400).await;
    let load = Load::on(child.base());
    for round in 0..RELOADS {
        let strict = round % 2 == 1;
        write(&file, &format!("strict_query = {strict}\n"));
        child.signal(Signal::HUP);
        until_strict(&client, child.base(), if strict { 400 } else { 200 }).await;
    }
    // An unusable file changes nothing, and does not end the process.
    let bad = ["strict_query = 7\n", "strict_query = \n", "strict_query = false\nstore.late_write = \"31s\"\n"];
    for (before, bad) in bad.into_iter().enumerate() {
        write(&file, bad);
        child.signal(Signal::HUP);
        until_refused(&child, before + 1).await;
        assert_eq!(status_of(&client, child.base(), &unknown()).await, 400, "{bad}");
    }
    let asked = load.end().await;
    eprintln!("{asked} requests beside {RELOADS} reloads");
    assert!(asked > RELOADS, "{asked}");
    child.signal(Signal::TERM);
    assert!(child.ended().success());
}

/// At the start a pipe works as a settings file; nothing is written to it again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pipe_as_the_settings_file_refuses_reloads_and_holds_nothing_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("causeway.toml");
    write(&file, "strict_query = true\n");
    let file_name = file.display().to_string();
    let mut child = Child::start_with(&v1().await, "sqlite::memory:", &[("CAUSEWAY_CONFIG", &file_name)]).await;
    let client = super::client();
    std::fs::remove_file(&file).expect("the file is removed");
    assert!(Command::new("mkfifo").arg(&file).status().expect("mkfifo").success());
    child.signal(Signal::HUP);
    until_refused(&child, 1).await;
    assert_eq!(status_of(&client, child.base(), &unknown()).await, 400, "what was read at the start");
    std::fs::remove_file(&file).expect("the pipe is removed");
    write(&file, "strict_query = false\n");
    child.signal(Signal::HUP);
    until_strict(&client, child.base(), 200).await;
    assert!(Command::new("mkfifo").arg(folder.path().join("another")).status().expect("mkfifo").success());
    std::fs::rename(folder.path().join("another"), &file).expect("renamed");
    child.signal(Signal::HUP);
    child.signal(Signal::TERM);
    assert!(child.ended().success());
}

/// A process that gets a listening socket in the way of systemd.
pub struct Handed(std::process::Child);

impl Handed {
    /// Starts it in front of `v1`.
    pub fn start(listener: &TcpListener, v1: &str, store: &str, env: &[(&str, &str)]) -> Self {
        let socket = OwnedFd::from(listener.try_clone().expect("a socket"));
        let script = format!(
            "exec 3<&0 0</dev/null; LISTEN_PID=$$ WATCHDOG_PID=$$ LISTEN_FDS=1 exec {} serve",
            env!("CARGO_BIN_EXE_causeway")
        );
        let process = Command::new("sh")
            .args(["-c", &script])
            .env("CAUSEWAY_UPSTREAM__BASE_URL", v1)
            .env("CAUSEWAY_STORE__URL", store)
            .env("CAUSEWAY_LOG__FILTER", "warn")
            .env("CAUSEWAY_UPSTREAM__QUOTA", "0")
            .env("CAUSEWAY_LIMITS__RATE__API_KEY", "0")
            .envs(env.iter().copied())
            .stdin(Stdio::from(socket))
            .stdout(Stdio::null())
            .spawn()
            .expect("the program starts");
        Self(process)
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).expect("a process");
    }

    /// Ends it, and waits for its end.
    pub fn stop(mut self) {
        kill_process(Pid::from_child(&self.0), Signal::TERM).expect("a process");
        assert!(self.0.wait().expect("an end").success());
    }
}

impl Drop for Handed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restarts_over_a_socket_that_stays_open_refuse_no_connection() {
    let (v1, folder) = (v1().await, tempfile::tempdir().expect("a folder"));
    let store = format!("sqlite:{}", folder.path().join("store.db").display());
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let base = format!("http://{}", listener.local_addr().expect("an address"));
    let mut process = Handed::start(&listener, &v1, &store, &[]);
    let load = Load::on(&base);
    for _ in 0..RESTARTS {
        let before = load.asked.load(Ordering::Relaxed);
        let patience = Instant::now() + PATIENCE;
        while load.asked.load(Ordering::Relaxed) < before + 20 {
            assert!(Instant::now() < patience, "nobody answers");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        tokio::task::spawn_blocking(move || process.stop()).await.expect("a clean stop");
        process = Handed::start(&listener, &v1, &store, &[]);
    }
    let asked = load.end().await;
    eprintln!("{asked} requests beside {RESTARTS} restarts");
    tokio::task::spawn_blocking(move || process.stop()).await.expect("a clean stop");
}

/// Repeats the request for `path` at `base` until there is an answer, and returns its status.
async fn status_of(client: &reqwest::Client, base: &str, path: &str) -> u16 {
    let patience = Instant::now() + PATIENCE;
    loop {
        match client.get(format!("{base}{path}")).header("x-api-key", "ada").send().await {
            Ok(answer) => return answer.status().as_u16(),
            Err(fault) => assert!(Instant::now() < patience, "{base}{path}: {fault}"),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A successor that is started while the previous process still serves waits for the resources that this process holds
/// alone: the store, and the operators' address.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_successor_waits_for_the_store_and_the_operators_address() {
    let (v1, folder) = (v1().await, tempfile::tempdir().expect("a folder"));
    let store = format!("sqlite:{}", folder.path().join("store.db").display());
    let free = || TcpListener::bind("127.0.0.1:0").expect("a free port");
    let (listener, operators) = (free(), free().local_addr().expect("an address").to_string());
    let base = format!("http://{}", listener.local_addr().expect("an address"));
    let env = [("CAUSEWAY_ADMIN__LISTEN", operators.as_str())];
    let (operators, client) = (format!("http://{operators}"), super::client());
    let before = Handed::start(&listener, &v1, &store, &env);
    assert_eq!(status_of(&client, &base, "/api/v2/users/me/").await, 200);
    assert_eq!(status_of(&client, &operators, "/metrics").await, 200);
    let mut after = Handed::start(&listener, &v1, &store, &env);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(after.0.try_wait().expect("a process").is_none(), "it has ended");
    tokio::task::spawn_blocking(move || before.stop()).await.expect("a clean stop");
    assert_eq!(status_of(&client, &base, "/api/v2/users/me/").await, 200);
    assert_eq!(status_of(&client, &operators, "/metrics").await, 200);
    tokio::task::spawn_blocking(move || after.stop()).await.expect("a clean stop");
}

/// Waits for the next notification and returns it.
fn told(socket: &UnixDatagram) -> String {
    let mut buffer = [0; 4096];
    let length = socket.recv(&mut buffer).expect("a message");
    String::from_utf8_lossy(&buffer[..length]).into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn systemd_is_told_of_every_turn() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).expect("a socket");
    socket.set_read_timeout(Some(PATIENCE)).expect("a time");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let path = path.display().to_string();
    let env = [("NOTIFY_SOCKET", path.as_str()), ("WATCHDOG_USEC", "200000")];
    let process = Handed::start(&listener, &v1().await, "sqlite::memory:", &env);
    let told = tokio::task::spawn_blocking(move || {
        let until = |word: &str| {
            let mut messages = Vec::new();
            while !messages.last().is_some_and(|message: &String| message.contains(word)) {
                messages.push(told(&socket));
                assert!(messages.len() < 1000, "{word} was never told: {messages:?}");
            }
            messages
        };
        let ready = until("READY=1");
        assert!(ready[0].starts_with("READY=1") && ready[0].contains("STATUS=serving"), "{ready:?}");
        until("WATCHDOG=1");
        until("WATCHDOG=1");
        kill_process(Pid::from_child(&process.0), Signal::HUP).expect("a process");
        assert!(until("RELOADING=1").last().is_some_and(|last| last.contains("MONOTONIC_USEC=")));
        until("READY=1");
        kill_process(Pid::from_child(&process.0), Signal::TERM).expect("a process");
        until("STOPPING=1");
        process.stop_waiting();
    });
    told.await.expect("systemd was told");
}

impl Handed {
    /// Waits for the end of a process that was told to end.
    fn stop_waiting(mut self) {
        assert!(self.0.wait().expect("an end").success());
    }
}

/// Reads one answer, without a body of unknown length, and returns its head.
fn answer(socket: &mut BufReader<TcpStream>) -> std::io::Result<String> {
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if socket.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        if let Some(said) = line.to_lowercase().strip_prefix("content-length:") {
            length = said.trim().parse().expect("a length");
        }
        head.push_str(&line);
        if line == "\r\n" {
            socket.read_exact(&mut vec![0; length])?;
            return Ok(head);
        }
    }
}

/// The process is stopped from before requests arrive on kept connections until after the time in which it waits for
/// them at its end, as may happen on a machine with too little processor time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_arrived_before_the_end_are_answered_by_a_process_that_had_no_time_to_look() {
    const REQUEST: &[u8] = b"GET /api/v2/users/me/ HTTP/1.1\r\nhost: localhost\r\n\r\n";
    /// Time for the next request of a kept connection.
    const NEXT: Duration = Duration::from_millis(250);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("notify");
    let notified = Arc::new(UnixDatagram::bind(&path).expect("a socket"));
    notified.set_read_timeout(Some(PATIENCE)).expect("a time");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let (address, v1, path) = (listener.local_addr().expect("an address"), v1().await, path.display().to_string());
    let env = [("CAUSEWAY_LIMITS__RATE__UNAUTHENTICATED", "0"), ("NOTIFY_SOCKET", path.as_str())];
    // Returns false where the process was stopped so late that it may have ended its connections before, as it should.
    let asking = move |process: Handed, notified: &UnixDatagram| {
        let connect = |_| {
            let socket = TcpStream::connect(address).expect("a connection");
            socket.set_read_timeout(Some(PATIENCE)).expect("a time");
            BufReader::new(socket)
        };
        let mut kept: Vec<_> = (0..16).map(connect).collect();
        for socket in &mut kept {
            socket.get_mut().write_all(REQUEST).expect("written");
            let head = answer(socket).expect("an answer");
            assert!(head.starts_with("HTTP/1.1 401"), "{head}");
        }
        let ending = Instant::now();
        process.signal(Signal::TERM);
        while !told(notified).contains("STOPPING=1") {}
        // Until the connections have heard of it too.
        std::thread::sleep(Duration::from_millis(50));
        process.signal(Signal::STOP);
        let in_time = ending.elapsed() < NEXT;
        for socket in kept.iter_mut().filter(|_| in_time) {
            socket.get_mut().write_all(REQUEST).expect("written");
        }
        std::thread::sleep(2 * NEXT);
        process.signal(Signal::CONT);
        for socket in kept.iter_mut().filter(|_| in_time) {
            let head = answer(socket).expect("an answer to what came in time");
            assert!(head.starts_with("HTTP/1.1 401") && head.contains("connection: close"), "{head}");
        }
        process.stop_waiting();
        in_time
    };
    for _ in 0..20 {
        let (process, notified) = (Handed::start(&listener, &v1, "sqlite::memory:", &env), Arc::clone(&notified));
        let asked = tokio::task::spawn_blocking(move || asking(process, &notified));
        if asked.await.expect("every request is answered") {
            return;
        }
    }
    panic!("no process could be stopped in time");
}

/// A delete takes several calls of v1. Its client leaves after the first call, and then the process is told to end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_whose_client_has_left_is_carried_out_to_its_end_before_the_process_ends() {
    let v1 = v1().await;
    let wire = Losing::before(&v1).await;
    let folder = tempfile::tempdir().expect("a folder");
    let store = format!("sqlite:{}", folder.path().join("store.db").display());
    let mut child = Child::start(wire.base_url(), &store).await;
    let (client, items) = (super::client(), format!("{WEB}/work-items/"));
    let made = |name: &'static str, parent: Value| {
        let request = client.post(format!("{}{items}", child.base())).header("x-api-key", "ada");
        let body = json!({"name": name, "parent_id": parent}).to_string();
        async move {
            let answer =
                request.header("content-type", "application/json").body(body).send().await.expect("an answer");
            assert_eq!(answer.status(), 201);
            let made: Value = serde_json::from_str(&answer.text().await.expect("a text")).expect("JSON");
            made["id"].clone()
        }
    };
    let parent = made("to be deleted", Value::Null).await;
    let detached = made("to be detached", parent.clone()).await;
    wire.hold("PATCH");
    let id = parent.as_str().expect("an id");
    let delete = client.delete(format!("{}{items}{id}/", child.base())).header("x-api-key", "ada");
    let leaving = spawn(delete.send());
    wire.held().await;
    leaving.abort();
    assert!(leaving.await.is_err());
    child.signal(Signal::TERM);
    tokio::time::sleep(Duration::from_millis(1500)).await;
    wire.let_go();
    let ended = tokio::task::spawn_blocking(move || child.ended());
    assert!(ended.await.expect("an end").success());
    let shown = |id: String| {
        client.get(format!("{v1}{}{id}/", items.replace("/api/v2/", "/api/v1/"))).header("x-api-key", "ada").send()
    };
    assert_eq!(shown(id.to_owned()).await.expect("an answer").status(), 404);
    let child = shown(detached.as_str().expect("an id").to_owned()).await.expect("an answer");
    assert_eq!(child.status(), 200);
    let child: Value = serde_json::from_str(&child.text().await.expect("a text")).expect("JSON");
    assert_eq!(child["parent"], Value::Null);
}

/// Waits until the store has the rows of so many requests with a key.
async fn until_noted(url: &str, v1: &str, requests: i64) {
    let store = Store::open(url, v1).await.expect("the store");
    let patience = Instant::now() + PATIENCE;
    loop {
        let rows = store.stats(url).await.expect("its rows").rows;
        if rows.contains(&("repeatable_request", requests)) {
            break;
        }
        assert!(Instant::now() < patience, "not {requests} requests: {rows:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    store.close().await;
}

/// Creates of one list wait for each other. Their clients leave, and then the process is told to end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_with_a_key_whose_clients_have_left_are_carried_out_and_noted_before_the_process_ends() {
    const CREATES: i64 = 4;
    let v1 = v1().await;
    let wire = Losing::before(&v1).await;
    let folder = tempfile::tempdir().expect("a folder");
    let store = format!("sqlite:{}", folder.path().join("store.db").display());
    let mut child = Child::start(wire.base_url(), &store).await;
    let (client, labels) = (super::client(), format!("{WEB}/labels/"));
    let create = |base: &str, number: i64| {
        let request = client.post(format!("{base}{labels}")).header("x-api-key", "ada");
        let request = request.header("idempotency-key", format!("left-{number}"));
        let body = json!({"name": format!("left {number}")}).to_string();
        request.header("content-type", "application/json").body(body).send()
    };
    for _ in 0..CREATES {
        wire.hold("POST");
    }
    let leaving: Vec<_> = (0..CREATES).map(|number| spawn(create(child.base(), number))).collect();
    wire.held().await;
    until_noted(&store, wire.base_url(), CREATES).await;
    // By then the others wait for their turn.
    tokio::time::sleep(Duration::from_millis(500)).await;
    for left in leaving {
        left.abort();
        assert!(left.await.is_err());
    }
    child.signal(Signal::TERM);
    tokio::time::sleep(Duration::from_millis(1500)).await;
    for _ in 0..CREATES {
        wire.let_go();
    }
    let ended = tokio::task::spawn_blocking(move || child.ended());
    assert!(ended.await.expect("an end").success());
    let next = Child::start(wire.base_url(), &store).await;
    for number in 0..CREATES {
        let again = create(next.base(), number).await.expect("an answer");
        assert_eq!(again.status(), 201, "{number} was not noted");
        assert_eq!(again.headers()["idempotency-replayed"], "true", "{number} was carried out now");
    }
    let path = labels.replace("/api/v2/", "/api/v1/");
    let shown = client.get(format!("{v1}{path}")).header("x-api-key", "ada").send().await.expect("an answer");
    let shown = shown.text().await.expect("a text");
    for number in 0..CREATES {
        assert_eq!(shown.matches(&format!("\"left {number}\"")).count(), 1, "{number} in {shown}");
    }
}
