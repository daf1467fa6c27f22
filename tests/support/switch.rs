//! A wire between the gateway and a v1 that can be switched off and on: v1 refuses connections, hangs, or stands
//! behind a proxy that has no backend.
//!
//! May use: nothing of the crate.

use causeway::task::spawn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The state of v1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// Answers.
    Up,
    /// Refuses connections.
    Refusing,
    /// Accepts requests and never answers.
    Hanging,
    /// A proxy answers every request with this status and a page.
    Failing(u16),
    /// Only paths that contain this word fail, with 500.
    Poisoned(&'static str),
    /// Only paths that contain this word get no answer.
    HangingFor(&'static str),
    /// A proxy has no route for paths that contain this word, and answers with this status and JSON of its own.
    Unrouted(u16, &'static str),
}

/// The wire. It lives as long as the test's runtime.
pub struct Switch {
    address: std::net::SocketAddr,
    line: watch::Sender<Line>,
    /// Holds the address while connections are refused, so that no other test gets it.
    held: std::sync::Mutex<Option<TcpSocket>>,
    serving: std::sync::Mutex<Option<JoinHandle<()>>>,
    behind: String,
    asked: Arc<AtomicU32>,
}

impl Switch {
    /// A wire to the v1 at `base_url`.
    pub async fn before(base_url: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let behind = base_url.trim_start_matches("http://").to_owned();
        let (line, _) = watch::channel(Line::Up);
        let (held, serving) = (std::sync::Mutex::default(), std::sync::Mutex::default());
        let switch = Self { address, line, held, serving, behind, asked: Arc::default() };
        switch.serve(listener);
        switch
    }

    fn serve(&self, listener: TcpListener) {
        let (line, behind, asked) = (self.line.subscribe(), self.behind.clone(), Arc::clone(&self.asked));
        let serving = spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                spawn(connection(client, behind.clone(), line.clone(), Arc::clone(&asked)));
            }
        });
        *self.serving.lock().expect("a lock") = Some(serving);
    }

    /// Returns the address that the gateway uses for v1.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the number of requests so far, answered or not.
    pub fn asked(&self) -> u32 {
        self.asked.load(Ordering::SeqCst)
    }

    /// Changes the state of v1. Open connections that do not fit it end.
    pub async fn set(&self, line: Line) {
        let before = *self.line.borrow();
        if line == Line::Refusing {
            let serving = self.serving.lock().expect("a lock").take();
            if let Some(serving) = serving {
                serving.abort();
                let _ = serving.await;
                let socket = TcpSocket::new_v4().expect("a socket");
                socket.set_reuseaddr(true).expect("an option");
                socket.bind(self.address).expect("the same port");
                *self.held.lock().expect("a lock") = Some(socket);
            }
        } else if before == Line::Refusing {
            let socket = self.held.lock().expect("a lock").take().expect("the same port");
            self.serve(socket.listen(1024).expect("a listener"));
        }
        self.line.send_replace(line);
    }
}

/// One connection of the gateway: requests one after the other, each on its own connection to v1.
async fn connection(
    mut client: TcpStream,
    behind: String,
    mut line: watch::Receiver<Line>,
    asked: Arc<AtomicU32>,
) -> Option<()> {
    let mut buffer = Vec::new();
    loop {
        let (head, request) = tokio::select! {
            request = one_request(&mut client, &mut buffer) => request,
            // A deployment that stops closes its connections.
            _ = line.wait_for(|line| *line == Line::Refusing) => None,
        }?;
        asked.fetch_add(1, Ordering::SeqCst);
        let now = *line.borrow_and_update();
        let path = head.split(' ').nth(1).unwrap_or_default();
        match now {
            Line::Refusing => return None,
            Line::Hanging => {
                // Waits until the next switch, then breaks off.
                let _ = line.changed().await;
                return None;
            }
            Line::HangingFor(word) if path.contains(word) => {
                let _ = line.changed().await;
                return None;
            }
            Line::Failing(status) => fail(&mut client, status).await?,
            Line::Poisoned(word) if path.contains(word) => fail(&mut client, 500).await?,
            Line::Unrouted(status, word) if path.contains(word) => {
                say(&mut client, status, "application/json", r#"{"message": "no route"}"#).await?;
            }
            Line::Up | Line::Poisoned(_) | Line::HangingFor(_) | Line::Unrouted(..) => {
                let answer = ask(&behind, &head, &request).await?;
                client.write_all(&answer).await.ok()?;
            }
        }
    }
}

async fn fail(client: &mut TcpStream, status: u16) -> Option<()> {
    say(client, status, "text/html", "<html><body><h1>Service Unavailable</h1></body></html>").await
}

async fn say(client: &mut TcpStream, status: u16, kind: &str, body: &str) -> Option<()> {
    let head = format!("HTTP/1.1 {status} Away\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n", body.len());
    client.write_all(format!("{head}{body}").as_bytes()).await.ok()
}

async fn ask(behind: &str, head: &str, request: &[u8]) -> Option<Vec<u8>> {
    let mut v1 = TcpStream::connect(behind).await.ok()?;
    let first = head.find("\r\n").unwrap_or(head.len());
    v1.write_all(&request[..first]).await.ok()?;
    v1.write_all(b"\r\nconnection: close").await.ok()?;
    v1.write_all(&request[first..]).await.ok()?;
    let mut answer = Vec::new();
    v1.read_to_end(&mut answer).await.ok()?;
    // The connection to the gateway stays open, whatever v1 says about its own connection.
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&answer[..end]);
    let lines: Vec<&str> =
        head.lines().filter(|line| !line.to_ascii_lowercase().starts_with("connection:")).collect();
    let mut kept = lines.join("\r\n").into_bytes();
    kept.extend_from_slice(&answer[end..]);
    Some(kept)
}

async fn one_request(client: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<(String, Vec<u8>)> {
    let head = loop {
        if let Some(at) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break String::from_utf8_lossy(&buffer[..at]).into_owned();
        }
        fill(client, buffer).await?;
    };
    let length = head
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
    let end = head.len() + 4 + length.unwrap_or(0_usize);
    while buffer.len() < end {
        fill(client, buffer).await?;
    }
    let request = buffer.drain(..end).collect();
    Some((head, request))
}

async fn fill(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<()> {
    let mut chunk = [0; 16 * 1024];
    let read = stream.read(&mut chunk).await.ok().filter(|read| *read > 0)?;
    buffer.extend_from_slice(&chunk[..read]);
    Some(())
}

/// Waits until `done` returns true, long enough for a busy machine.
pub async fn until(what: &str, mut done: impl AsyncFnMut() -> bool) {
    let begun = std::time::Instant::now();
    while !done().await {
        assert!(begun.elapsed() < Duration::from_secs(60), "waited too long for: {what}");
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
}
