//! A wire between the gateway and a v1 that loses answers: the request arrives and is carried out, the answer
//! never comes back.
//!
//! May use: nothing of the crate.

use causeway::task::spawn;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// The wire. It lives as long as the test's runtime.
pub struct Losing {
    base_url: String,
    wire: Arc<Wire>,
}

/// The state of the wire.
struct Wire {
    lose: Mutex<Vec<Loss>>,
    /// The key whose requests are never answered.
    silent_for: Mutex<Option<String>>,
    /// Counts waiting answers.
    waiting: Semaphore,
    /// Counts answers that may go on.
    let_go: Semaphore,
}

/// A request that is lost or delayed.
#[derive(Clone)]
struct Loss {
    method: String,
    /// Whether v1 sees it.
    arrives: bool,
    /// Whether the gateway's look-ups for the record are lost as well.
    unfound: bool,
    /// Whether its answer is not lost but waits.
    waits: bool,
    /// Whether it is not lost but waits before v1 sees it.
    waits_before: bool,
    /// Whether its answer is not lost but names a record that does not exist.
    renames: bool,
}

/// Number of reads by which the gateway looks for a write, with two tries each.
const LOOKS: usize = 6;
/// The text before the id in the answer of the sandbox, and an id of no record.
const ID: &str = "\"id\":\"";
const NOBODY: &str = "ffffffff-ffff-4fff-8fff-ffffffffffff";

impl Losing {
    /// A wire to the v1 at `base_url`.
    pub async fn before(base_url: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let behind = base_url.trim_start_matches("http://").to_owned();
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let (lose, silent_for) = (Mutex::default(), Mutex::default());
        let wire = Arc::new(Wire { lose, silent_for, waiting: Semaphore::new(0), let_go: Semaphore::new(0) });
        let losing = Arc::clone(&wire);
        spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                spawn(pass(client, behind.clone(), Arc::clone(&losing)));
            }
        });
        Self { base_url: base, wire }
    }

    /// Returns the address that the gateway uses for v1.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Loses the answer to the next request with this method, which is carried out.
    pub fn lose(&self, method: &str) {
        self.push(Loss::of(method, true));
    }

    /// The same; the gateway's look-ups for the record are lost too.
    pub fn lose_unfound(&self, method: &str) {
        self.push(Loss { unfound: true, ..Loss::of(method, true) });
    }

    fn push(&self, loss: Loss) {
        self.wire.lose.lock().expect("a lock").push(loss);
    }

    /// Delays the answer to the next request with this method until [`Losing::let_go`]; v1 carries the request out.
    pub fn hold(&self, method: &str) {
        self.push(Loss { waits: true, ..Loss::of(method, true) });
    }

    /// Delays the next request with this method until [`Losing::let_go`]; v1 carries it out only then.
    pub fn detain(&self, method: &str) {
        self.push(Loss { waits_before: true, ..Loss::of(method, true) });
    }

    /// Puts the id of a missing record into the answer to the next request with this method, which is carried out.
    pub fn rename(&self, method: &str) {
        self.push(Loss { renames: true, ..Loss::of(method, true) });
    }

    /// Waits until a request or an answer is delayed.
    pub async fn held(&self) {
        self.wire.waiting.acquire().await.expect("a wire").forget();
    }

    /// Releases one delayed request or answer.
    pub fn let_go(&self) {
        self.wire.let_go.add_permits(1);
    }

    /// From now on loses every request with this key.
    pub fn fall_silent_for(&self, key: &str) {
        *self.wire.silent_for.lock().expect("a lock") = Some(key.to_owned());
    }

    /// Loses the next request with this method before v1 sees it.
    pub fn swallow(&self, method: &str) {
        self.push(Loss::of(method, false));
    }
}

impl Loss {
    fn of(method: &str, arrives: bool) -> Self {
        Self {
            method: method.to_owned(),
            arrives,
            unfound: false,
            waits: false,
            waits_before: false,
            renames: false,
        }
    }
}

/// Passes one request over its own connection to v1, so that the end of the answer is the end of the connection.
async fn pass(mut client: TcpStream, behind: String, wire: Arc<Wire>) -> Option<()> {
    let mut request = Vec::new();
    let head = loop {
        if let Some(at) = request.windows(4).position(|window| window == b"\r\n\r\n") {
            break String::from_utf8_lossy(&request[..at]).into_owned();
        }
        fill(&mut client, &mut request).await?;
    };
    let length = head
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
    let end = head.len() + 4 + length.unwrap_or(0_usize);
    while request.len() < end {
        fill(&mut client, &mut request).await?;
    }
    let silent_for = wire.silent_for.lock().expect("a lock").clone();
    if silent_for
        .is_some_and(|key| head.lines().any(|line| line.eq_ignore_ascii_case(&format!("x-api-key: {key}"))))
    {
        return std::future::pending().await;
    }
    let lost = {
        let mut lose = wire.lose.lock().expect("a lock");
        let found = lose.iter().position(|loss| head.starts_with(&format!("{} ", loss.method)));
        let loss = found.map(|at| lose.remove(at));
        if loss.as_ref().is_some_and(|loss| loss.unfound) {
            lose.extend(vec![Loss::of("GET", false); LOOKS]);
        }
        loss
    };
    if lost.as_ref().is_some_and(|loss| !loss.arrives) {
        return None;
    }
    let waits_before = lost.as_ref().is_some_and(|loss| loss.waits_before);
    if waits_before {
        wire.waiting.add_permits(1);
        wire.let_go.acquire().await.ok()?.forget();
    }
    let first = head.find("\r\n").unwrap_or(head.len());
    let mut v1 = TcpStream::connect(behind).await.ok()?;
    v1.write_all(&request[..first]).await.ok()?;
    v1.write_all(b"\r\nconnection: close").await.ok()?;
    v1.write_all(&request[first..end]).await.ok()?;
    let mut answer = Vec::new();
    v1.read_to_end(&mut answer).await.ok()?;
    let waits = lost.as_ref().is_some_and(|loss| loss.waits);
    if waits {
        wire.waiting.add_permits(1);
        wire.let_go.acquire().await.ok()?.forget();
    }
    let renames = lost.as_ref().is_some_and(|loss| loss.renames);
    if renames {
        let at = answer.windows(ID.len()).position(|window| window == ID.as_bytes())? + ID.len();
        answer[at..at + NOBODY.len()].copy_from_slice(NOBODY.as_bytes());
    }
    if waits || waits_before || renames || lost.is_none() {
        client.write_all(&answer).await.ok()?;
        client.shutdown().await.ok()?;
    }
    Some(())
}

async fn fill(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<()> {
    let mut chunk = [0; 16 * 1024];
    let read = stream.read(&mut chunk).await.ok().filter(|read| *read > 0)?;
    buffer.extend_from_slice(&chunk[..read]);
    Some(())
}
