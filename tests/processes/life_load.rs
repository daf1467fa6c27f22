//! Reloads and restarts under load: over TLS and a listening socket that stays open, with kept and new connections,
//! reads and writes of v2 and of the pass-through. Each reload changes settings, mappings and certificate.
//! Every failure is counted, and there must be none.
//!
//! With `LONG_TESTS=1` it is 100 reloads, 20 restarts and 100,000 requests.

use super::life::{Handed, PATIENCE};
use super::support::gateway::{WEB, serve_sandbox};
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::task::spawn;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use reqwest::{Certificate, Client, ClientBuilder};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Returns the number of reloads, restarts and requests.
fn size() -> (usize, usize, usize) {
    if std::env::var_os("LONG_TESTS").is_some() { (100, 20, 100_000) } else { (10, 2, 1_200) }
}

/// The text of the labels' mapping that a reload replaces.
const ABOUT: &str = "about = \"Labels of a project, nested by parent_id.\"";

/// A gateway's files, and the address of its listener.
struct Place {
    folder: TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
    listener: TcpListener,
    v1: String,
}

impl Place {
    async fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an issuer");
        let v1 = serve_sandbox(&Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() })).await;
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let place = Self { folder: tempfile::tempdir().expect("a folder"), issuer, listener, v1 };
        std::fs::create_dir(place.path("mappings")).expect("a folder");
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn address(&self) -> SocketAddr {
        self.listener.local_addr().expect("an address")
    }

    fn base(&self) -> String {
        format!("https://localhost:{}", self.address().port())
    }

    /// Writes all files for this round and returns the new certificate.
    fn change(&self, round: usize) -> Vec<u8> {
        let write = |name: &str, text: String| std::fs::write(self.path(name), text).expect("written");
        let key = KeyPair::generate().expect("a key");
        let names = CertificateParams::new(["localhost".to_owned()]).expect("a name");
        let certificate = names.signed_by(&key, &self.issuer).expect("a certificate");
        write("certificate.pem", certificate.pem());
        write("key.pem", key.serialize_pem());
        let labels = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/mappings/labels.toml"));
        let labels = labels.expect("a file");
        assert!(labels.contains(ABOUT));
        write("mappings/labels.toml", labels.replacen(ABOUT, &format!("about = {:?}", words(round)), 1));
        write(
            "causeway.toml",
            format!(
                "strict_query = {}\nmappings = {:?}\n[listen.tls]\ncertificate_file = {:?}\nkey_file = {:?}\n",
                is_strict(round),
                self.path("mappings"),
                self.path("certificate.pem"),
                self.path("key.pem"),
            ),
        );
        certificate.der().to_vec()
    }

    fn start(&self) -> Handed {
        let (file, store) = (self.path("causeway.toml"), self.path("store.db"));
        let env = [("CAUSEWAY_CONFIG", file.to_str().expect("UTF-8"))];
        Handed::start(&self.listener, &self.v1, &format!("sqlite:{}", store.display()), &env)
    }

    /// A client that trusts the issuer.
    fn client(&self) -> ClientBuilder {
        drop(super::client());
        let issuer = Certificate::from_pem(self.issuer.pem().as_bytes()).expect("a certificate");
        Client::builder()
            .tls_certs_only([issuer])
            .resolve("localhost", self.address())
            .no_proxy()
            .timeout(3 * PATIENCE)
    }

    /// Returns the certificate that a new connection gets.
    async fn shown(&self) -> Vec<u8> {
        let mut roots = RootCertStore::empty();
        roots.add(self.issuer.der().clone()).expect("an issuer");
        let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        let socket = TcpStream::connect(self.address()).await.expect("a connection");
        let name = ServerName::try_from("localhost").expect("a name");
        let stream = TlsConnector::from(Arc::new(config)).connect(name, socket).await.expect("a handshake");
        stream.get_ref().1.peer_certificates().expect("a certificate")[0].to_vec()
    }

    /// Waits until all changes of this round are in effect.
    async fn until_changed(&self, client: &Client, round: usize, certificate: &[u8]) {
        let (until, base) = (Instant::now() + PATIENCE, self.base());
        let (unknown, document) =
            (format!("{base}{WEB}/states/?nothing=1"), format!("{base}/api/v2/docs/openapi.json"));
        loop {
            let answer = client.get(&unknown).header("x-api-key", "ada").send().await.expect("an answer");
            let strict = answer.status() == if is_strict(round) { 400 } else { 200 };
            let text = client.get(&document).send().await.expect("an answer").text().await.expect("a text");
            if strict && text.contains(&words(round)) && self.shown().await == certificate {
                return;
            }
            assert!(Instant::now() < until, "round {round}: nothing has changed, {}", answer.status());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

fn is_strict(round: usize) -> bool {
    round.is_multiple_of(2)
}

fn words(round: usize) -> String {
    format!("Labels, as they are told of in round {round}.")
}

/// Clients that send requests in a loop, and the results.
#[derive(Default)]
struct Load {
    done: AtomicBool,
    asked: AtomicUsize,
    longest: AtomicUsize,
    failed: Mutex<Vec<String>>,
}

impl Load {
    /// Runs one client that writes to a label of its own, reads its writes, and reads other records.
    async fn client(self: Arc<Self>, what: &'static str, client: Client, base: String) {
        let labels = format!("{base}{WEB}/labels/");
        let made = self.ask(what, &client, "POST", &labels, Some(json!({"name": unique(what)})), 201).await;
        let id = made["id"].as_str().unwrap_or_default().to_owned();
        let (v2, v1) = (format!("{labels}{id}/"), format!("{}{id}/", labels.replace("/api/v2/", "/api/v1/")));
        let mut round = 0;
        while !self.done.load(Ordering::Relaxed) {
            round += 1;
            let name = format!("{} {round}", unique(what));
            let written = if round % 2 == 0 { &v2 } else { &v1 };
            self.ask(what, &client, "PATCH", written, Some(json!({"name": name})), 200).await;
            for path in [&v2, &v1] {
                let read = self.ask(what, &client, "GET", path, None, 200).await;
                if read["name"] != *name {
                    self.failed(format!("{what}: {path} says {}, written was {name}", read["name"]));
                }
            }
            for path in [
                format!("{base}{WEB}/states/"),
                format!("{base}/api/v2/users/me/"),
                format!("{base}{WEB}/work-items/?per_page=5"),
                format!("{base}/api/v1/users/me/"),
            ] {
                self.ask(what, &client, "GET", &path, None, 200).await;
            }
        }
    }

    /// Sends one request.
    async fn ask(
        &self,
        what: &str,
        client: &Client,
        method: &str,
        url: &str,
        body: Option<Value>,
        expected: u16,
    ) -> Value {
        let begun = Instant::now();
        let mut request = client.request(method.parse().expect("a method"), url).header("x-api-key", "ada");
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let outcome = async {
            let answer = request.send().await.map_err(|fault| format!("{fault:?}"))?;
            let (status, text) =
                (answer.status().as_u16(), answer.text().await.map_err(|fault| format!("{fault:?}"))?);
            if status == expected { Ok(text) } else { Err(format!("{status} {text}")) }
        };
        let outcome: Result<String, String> = outcome.await;
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.longest.fetch_max(begun.elapsed().as_millis() as usize, Ordering::Relaxed);
        let text = outcome.unwrap_or_else(|fault| {
            self.failed(format!("{what}: {method} {url}: {fault}"));
            String::new()
        });
        serde_json::from_str(&text).unwrap_or_default()
    }

    fn failed(&self, fault: String) {
        self.failed.lock().expect("faults").push(fault);
    }

    /// Waits until `asked` requests were sent.
    async fn until(&self, asked: usize) {
        let mut until = Instant::now() + PATIENCE;
        let mut before = 0;
        while self.asked.load(Ordering::Relaxed) < asked {
            let now = self.asked.load(Ordering::Relaxed);
            if now > before {
                (before, until) = (now, Instant::now() + PATIENCE);
            }
            assert!(Instant::now() < until, "nobody answers: {:?}", self.failed.lock().expect("faults").last());
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

fn unique(what: &str) -> String {
    format!("of {what}")
}

/// Starts one client of each kind on the load.
fn clients(place: &Place, load: &Arc<Load>) -> Vec<JoinHandle<()>> {
    let kinds: [(&'static str, ClientBuilder); 6] = [
        ("HTTP/1.1, kept", place.client().http1_only()),
        ("HTTP/1.1, also kept", place.client().http1_only()),
        ("HTTP/1.1, new each time", place.client().http1_only().pool_max_idle_per_host(0)),
        ("HTTP/2, kept", place.client()),
        ("HTTP/2, also kept", place.client()),
        ("HTTP/2, new each time", place.client().pool_max_idle_per_host(0)),
    ];
    let begin = |(what, client): (&'static str, ClientBuilder)| {
        spawn(Arc::clone(load).client(what, client.build().expect("a client"), place.base()))
    };
    kinds.map(begin).into_iter().collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reloads_and_restarts_under_a_mixed_load_fail_no_request() {
    let (reloads, restarts, requests) = size();
    let place = Place::new().await;
    let mut certificate = place.change(0);
    let mut process = place.start();
    let looking = place.client().build().expect("a client");
    place.until_changed(&looking, 0, &certificate).await;
    let (load, begun) = (Arc::new(Load::default()), Instant::now());
    let clients = clients(&place, &load);
    let every = reloads / restarts;
    for round in 1..=reloads {
        load.until(requests * (round - 1) / reloads).await;
        certificate = place.change(round);
        process.signal(Signal::HUP);
        place.until_changed(&looking, round, &certificate).await;
        if round % every == 0 {
            tokio::task::spawn_blocking(move || process.stop()).await.expect("a clean stop");
            process = place.start();
            // As systemd does, which reloads a service only after it has reported that it is ready: until then SIGHUP
            // ends a process.
            place.until_changed(&looking, round, &certificate).await;
        }
    }
    load.until(requests).await;
    load.done.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.expect("a client that ends");
    }
    place.until_changed(&looking, reloads, &certificate).await;
    let (asked, longest) = (load.asked.load(Ordering::Relaxed), load.longest.load(Ordering::Relaxed));
    let failed = std::mem::take(&mut *load.failed.lock().expect("faults"));
    eprintln!(
        "{asked} requests beside {reloads} reloads and {restarts} restarts in {} s: {} failed, the longest took {longest} ms",
        begun.elapsed().as_secs(),
        failed.len(),
    );
    assert!(failed.is_empty(), "{} failed, first: {:#?}", failed.len(), &failed[..failed.len().min(10)]);
    assert!(asked >= requests, "{asked}");
    tokio::task::spawn_blocking(move || process.stop()).await.expect("a clean stop");
}
