//! The nginx of `deploy/compose.yaml`, where this machine has one: the requests that it sends to another gateway when
//! one stops, and those that it never sends twice.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::net::TcpSocket;

const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE"];

/// A gateway that answers some requests of a connection, and breaks the connection off after the next one.
struct Gateway {
    address: SocketAddr,
    /// Number of requests of each method that it has read.
    read: Arc<Mutex<BTreeMap<String, usize>>>,
    /// Keeps the address of a stopped gateway from others.
    _held: Option<TcpSocket>,
}

impl Gateway {
    fn start(answers: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let (address, read) = (listener.local_addr().expect("an address"), Arc::default());
        let counts = Arc::clone(&read);
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let counts = Arc::clone(&counts);
                thread::spawn(move || serve(&connection, answers, &counts));
            }
        });
        Self { address, read, _held: None }
    }

    /// A stopped gateway: nothing listens at its address.
    fn stopped() -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a port");
        let address = socket.local_addr().expect("an address");
        Self { address, read: Arc::default(), _held: Some(socket) }
    }

    fn read(&self, method: &str) -> usize {
        self.read.lock().expect("a lock").get(method).copied().unwrap_or_default()
    }
}

fn serve(connection: &TcpStream, answers: usize, read: &Mutex<BTreeMap<String, usize>>) -> Option<()> {
    let mut reader = BufReader::new(connection);
    for answered in 0..=answers {
        let method = one_message(&mut reader)?.split(' ').next()?.to_owned();
        *read.lock().expect("a lock").entry(method).or_default() += 1;
        if answered < answers {
            let mut connection = connection;
            connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").ok()?;
        }
    }
    None
}

/// Reads the whole next message and returns its first line.
fn one_message(reader: &mut impl BufRead) -> Option<String> {
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).ok().filter(|read| *read > 0)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        length = line.strip_prefix("content-length: ").and_then(|length| length.parse().ok()).unwrap_or(length);
    }
    reader.read_exact(&mut vec![0; length]).ok()?;
    Some(first)
}

/// nginx with the file of the project, before these gateways.
struct Front {
    nginx: Child,
    address: SocketAddr,
    _folder: TempDir,
}

impl Front {
    /// Starts it before these gateways; none where there is no nginx.
    fn before(gateways: &[&Gateway]) -> Option<Self> {
        if !Command::new("nginx").arg("-v").output().is_ok_and(|told| told.status.success()) {
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let address = Gateway::stopped().address;
        let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/compose.nginx.conf");
        let mut text = std::fs::read_to_string(ours).expect("the file of the project");
        assert!(text.contains("listen 80;"));
        text = text.replace("listen 80;", &format!("listen {address};"));
        for number in 1..=3 {
            let (name, server) = (format!("gateway-{number}:8080"), format!("server gateway-{number}:8080"));
            assert!(text.contains(&server), "{server}");
            text = match gateways.get(number - 1) {
                Some(gateway) => text.replace(&name, &gateway.address.to_string()),
                None => text.replace(&server, "# server"),
            };
        }
        let here = folder.path().display();
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .iter()
            .map(|part| format!("{part}_temp_path {here}/{part};\n"))
            .collect();
        let whole = format!(
            "daemon off;\nmaster_process off;\npid {here}/pid;\nerror_log {here}/errors;\nevents {{}}\n\
             http {{\naccess_log off;\n{temporary}{text}\n}}\n"
        );
        let file = folder.path().join("nginx.conf");
        std::fs::write(&file, whole).expect("a file");
        let errors = folder.path().join("errors");
        let nginx = Command::new("nginx").arg("-c").arg(&file).arg("-e").arg(&errors).spawn().expect("nginx");
        let front = Self { nginx, address, _folder: folder };
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            let told = std::fs::read_to_string(&errors).unwrap_or_default();
            assert!(begun.elapsed() < Duration::from_secs(20), "nginx does not listen: {told}");
            thread::sleep(Duration::from_millis(10));
        }
        Some(front)
    }

    /// Returns the status of the answer.
    fn ask(&self, method: &str) -> u16 {
        let mut connection = TcpStream::connect(self.address).expect("nginx");
        connection.set_read_timeout(Some(Duration::from_secs(30))).expect("a time");
        let body = if matches!(method, "POST" | "PATCH" | "PUT") { "{\"name\": \"x\"}" } else { "" };
        let length = if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
        let request = format!("{method} /api/v2/x/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{length}\r\n{body}");
        connection.write_all(request.as_bytes()).expect("a request");
        let mut answer = String::new();
        connection.read_to_string(&mut answer).expect("an answer");
        answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status")
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        let _ = self.nginx.kill();
        let _ = self.nginx.wait();
    }
}

#[test]
fn a_gateway_that_stops_costs_no_read_its_answer_nor_a_write_with_a_body() {
    for method in METHODS.into_iter().filter(|method| !matches!(*method, "PUT" | "DELETE")) {
        let (stopped, answers) = (Gateway::stopped(), Gateway::start(usize::MAX - 1));
        let Some(front) = Front::before(&[&stopped, &answers]) else { return };
        assert_eq!([(); 4].map(|()| front.ask(method)), [200; 4], "{method}");
        assert_eq!(answers.read(method), 4, "{method}");
    }
}

#[test]
fn a_request_that_may_have_been_carried_out_is_not_sent_again() {
    for method in METHODS {
        let gateways = [(); 2].map(|()| Gateway::start(0));
        let Some(front) = Front::before(&gateways.each_ref()) else { return };
        assert_eq!(front.ask(method), 502, "{method}");
        let times = if matches!(method, "GET" | "HEAD") { 2 } else { 1 };
        assert_eq!(gateways.iter().map(|gateway| gateway.read(method)).sum::<usize>(), times, "{method}");
    }
}

/// nginx repeats a request by itself when a kept connection breaks.
#[test]
fn nor_over_a_connection_that_was_kept() {
    for method in METHODS.into_iter().filter(|method| !matches!(*method, "GET" | "HEAD")) {
        let gateways = [(); 2].map(|()| Gateway::start(1));
        let Some(front) = Front::before(&gateways.each_ref()) else { return };
        assert_eq!([front.ask("GET"), front.ask("GET")], [200; 2]);
        assert_eq!(front.ask(method), 502, "{method}");
        assert_eq!(gateways.iter().map(|gateway| gateway.read(method)).sum::<usize>(), 1, "{method}");
    }
}
