//! Carries out one case of HTTP/1 and compares the outcome.

use super::recorder::{Received, Recorder};
use super::{Case, HOST};
use crate::support::gateway::Gateway;
use serde_json::Value;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Time after which a case counts as hanging; nothing depends on being faster.
const PATIENCE: Duration = Duration::from_secs(20);

/// The error says in words what is wrong with a case.
type Checked = Result<(), String>;

/// Runs `case`.
pub async fn run(gateway: &Gateway, v1: &Recorder, case: &Case) -> Checked {
    v1.take();
    let talked = tokio::time::timeout(PATIENCE, talk(gateway, case)).await;
    talked.map_err(|_| "hangs".to_owned())??;
    at_v1(case, &v1.take())
}

/// Sends, reads the answers, and checks whether the connection ends or goes on.
async fn talk(gateway: &Gateway, case: &Case) -> Checked {
    let mut line = Line::open(gateway).await;
    // The gateway may close before it has read everything.
    let _ = line.socket.write_all(&case.bytes).await;
    let headless = case.bytes.starts_with(b"HEAD ");
    for status in &case.statuses {
        let answer = line.answer(headless).await?;
        answer.holds(*status, headless)?;
    }
    if case.closes {
        return match line.answer(false).await {
            Err(_) if line.ended && line.bytes.is_empty() => Ok(()),
            Err(fault) => Err(format!("after the answers: {fault}")),
            Ok(answer) => Err(format!("one more answer: {} {}", answer.status, answer.text())),
        };
    }
    let probe = format!("GET /healthz HTTP/1.1\r\n{HOST}\r\n");
    let _ = line.socket.write_all(probe.as_bytes()).await;
    let answer = line.answer(false).await.map_err(|fault| format!("the connection does not go on: {fault}"))?;
    if answer.text().contains("alive") { Ok(()) } else { Err(format!("one more answer: {}", answer.text())) }
}

/// A connection and the bytes read from it.
struct Line {
    socket: TcpStream,
    bytes: Vec<u8>,
    ended: bool,
}

impl Line {
    async fn open(gateway: &Gateway) -> Self {
        let address = gateway.base().trim_start_matches("http://");
        Self { socket: TcpStream::connect(address).await.expect("a connection"), bytes: Vec::new(), ended: false }
    }

    /// Returns the next final answer.
    async fn answer(&mut self, headless: bool) -> Result<Answer, String> {
        loop {
            if let Some((answer, length)) = Answer::first(&self.bytes, headless) {
                self.bytes.drain(..length);
                if answer.status >= 200 {
                    return Ok(answer);
                }
                continue;
            }
            if !matches!(self.socket.read_buf(&mut self.bytes).await, Ok(1..)) {
                self.ended = true;
                return Err(format!("closed, {:?} left", String::from_utf8_lossy(&self.bytes)));
            }
        }
    }
}

struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn first(bytes: &[u8], headless: bool) -> Option<(Self, usize)> {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
        let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length = length.filter(|_| !headless).map_or(0, |length| length.parse().expect("a length"));
        let body = bytes.get(end..end + length)?.to_vec();
        Some((Self { status, head, body }, end + length))
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Checks that it has this status and that an error is a problem with the matching code.
    fn holds(&self, status: u16, headless: bool) -> Checked {
        if self.status != status {
            return Err(format!("{} instead of {status}: {}", self.status, self.text()));
        }
        let Some(code) = code(status) else { return Ok(()) };
        if !self.head.contains("content-type: application/problem+json\r\n") {
            return Err(format!("{status} without a problem: {}", self.head));
        }
        let problem: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let right = problem["code"] == code && problem["status"] == status && problem["detail"].is_string();
        if right || headless { Ok(()) } else { Err(format!("not a problem {code}: {}", self.text())) }
    }
}

/// Code of the problem with this status.
pub fn code(status: u16) -> Option<&'static str> {
    match status {
        400 | 431 => Some("validation_error"),
        401 => Some("unauthorized"),
        404 => Some("resource_not_found"),
        405 => Some("method_not_allowed"),
        _ => None,
    }
}

/// Compares the requests that reached v1.
fn at_v1(case: &Case, received: &[Received]) -> Checked {
    let lines: Vec<&str> = received.iter().filter_map(|request| request.head.lines().next()).collect();
    if lines != case.reaching {
        return Err(format!("v1 got {lines:?}"));
    }
    let heads = received.iter().map(|request| request.head.to_lowercase()).collect::<String>();
    if let Some(missing) = case.with.iter().find(|line| !heads.lines().any(|has| has == **line)) {
        return Err(format!("v1 did not get {missing:?}: {heads:?}"));
    }
    if let Some(found) = case.without.iter().find(|text| heads.contains(*text)) {
        return Err(format!("v1 got {found:?}"));
    }
    match (&case.body, received.last()) {
        (Some(body), Some(last)) if *body != last.body => {
            Err(format!("the body at v1 is {:?}", String::from_utf8_lossy(&last.body)))
        }
        _ => Ok(()),
    }
}
