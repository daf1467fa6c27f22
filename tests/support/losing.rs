//! A wire between the gateway and a v1 that loses answers: the request arrives and is carried out, the answer
//! never comes back.
//!
//! May use: nothing of the crate.

use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The wire. It lives as long as the test's runtime.
pub struct Losing {
    base_url: String,
    lose: Arc<Mutex<Vec<Loss>>>,
}

/// A request that is lost.
#[derive(Clone)]
struct Loss {
    method: String,
    /// Whether v1 sees it.
    arrives: bool,
    /// Whether what is asked of v1 to find out is lost as well.
    unfound: bool,
}

/// Reads by which the gateway looks for a write, each tried twice.
const LOOKS: usize = 6;

impl Losing {
    /// A wire to the v1 at `base_url`.
    pub async fn before(base_url: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let behind = base_url.trim_start_matches("http://").to_owned();
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let lose: Arc<Mutex<Vec<Loss>>> = Arc::default();
        let losing = Arc::clone(&lose);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass(client, behind.clone(), Arc::clone(&losing)));
            }
        });
        Self { base_url: base, lose }
    }

    /// Where the gateway finds v1.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// The next request with this method is carried out and its answer lost.
    pub fn lose(&self, method: &str) {
        self.push(method, true, false);
    }

    /// The same, and the gateway cannot look what became of it either.
    pub fn lose_unfound(&self, method: &str) {
        self.push(method, true, true);
    }

    fn push(&self, method: &str, arrives: bool, unfound: bool) {
        self.lose.lock().expect("a lock").push(Loss { method: method.to_owned(), arrives, unfound });
    }

    /// The next request with this method is lost before v1 sees it.
    pub fn swallow(&self, method: &str) {
        self.push(method, false, false);
    }
}

/// One request on its own connection to v1, so that the end of the answer is the end of the connection.
async fn pass(mut client: TcpStream, behind: String, lose: Arc<Mutex<Vec<Loss>>>) -> Option<()> {
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
    let lost = {
        let mut lose = lose.lock().expect("a lock");
        let found = lose.iter().position(|loss| head.starts_with(&format!("{} ", loss.method)));
        let loss = found.map(|at| lose.remove(at));
        if loss.as_ref().is_some_and(|loss| loss.unfound) {
            let look = Loss { method: "GET".into(), arrives: false, unfound: false };
            lose.extend(vec![look; LOOKS]);
        }
        loss.map(|loss| loss.arrives)
    };
    if lost == Some(false) {
        return None;
    }
    let first = head.find("\r\n").unwrap_or(head.len());
    let mut v1 = TcpStream::connect(behind).await.ok()?;
    v1.write_all(&request[..first]).await.ok()?;
    v1.write_all(b"\r\nconnection: close").await.ok()?;
    v1.write_all(&request[first..end]).await.ok()?;
    let mut answer = Vec::new();
    v1.read_to_end(&mut answer).await.ok()?;
    if lost.is_none() {
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
