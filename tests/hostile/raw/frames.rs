//! HTTP/2 by hand: frames written byte by byte, so that malformed ones can be sent, and the answers to them.

use super::exchange::code;
use super::recorder::Recorder;
use crate::support::gateway::Gateway;
use serde_json::Value;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const PATIENCE: Duration = Duration::from_secs(20);
/// The first bytes of every connection.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Kinds of frames.
pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RESET: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const GO_AWAY: u8 = 7;
/// Flags of frames.
pub const END_STREAM: u8 = 1;
pub const END_HEADERS: u8 = 4;
/// A block of headers that begins with this byte has `:status: 200`.
const STATUS_200: u8 = 0x88;

/// The outcome of the first stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// 200.
    Passed,
    /// A problem with this status.
    Refused(u16),
    /// The stream is reset.
    Reset,
    /// The connection is ended.
    GoneAway,
}

/// One row of the table of HTTP/2.
pub struct Row {
    pub name: String,
    /// Frames that are sent behind the preface and the settings.
    pub frames: Vec<u8>,
    pub outcome: Outcome,
    /// Request lines that reach v1.
    pub reaching: Vec<String>,
    /// Texts that must not reach v1.
    pub without: Vec<String>,
}

/// Builds a frame.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a small frame").to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// Builds headers as literals that are neither indexed nor compressed.
pub fn block(headers: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in headers {
        bytes.push(0);
        for text in [name.as_bytes(), *value] {
            length(&mut bytes, text.len());
            bytes.extend(text);
        }
    }
    bytes
}

/// Appends a length with a prefix of seven bits (RFC 7541, 5.1).
fn length(bytes: &mut Vec<u8>, length: usize) {
    if length < 127 {
        return bytes.push(u8::try_from(length).expect("below 127"));
    }
    bytes.push(127);
    let mut rest = length - 127;
    while rest >= 128 {
        bytes.push(u8::try_from(rest % 128).expect("seven bits") | 128);
        rest /= 128;
    }
    bytes.push(u8::try_from(rest).expect("seven bits"));
}

/// Runs all `rows` and reports every row with another outcome.
pub async fn all_hold(gateway: &Gateway, v1: &Recorder, rows: &[Row]) {
    let mut wrong = Vec::new();
    for row in rows {
        v1.take();
        let outcome = tokio::time::timeout(PATIENCE, talk(gateway, &row.frames)).await;
        match outcome {
            Ok(Ok(outcome)) if outcome == row.outcome => {}
            Ok(Ok(outcome)) => wrong.push(format!("{}: {outcome:?} instead of {:?}", row.name, row.outcome)),
            Ok(Err(fault)) => wrong.push(format!("{}: {fault}", row.name)),
            Err(_) => wrong.push(format!("{}: hangs", row.name)),
        }
        let received = v1.take();
        let lines: Vec<&str> = received.iter().filter_map(|request| request.head.lines().next()).collect();
        if lines != row.reaching {
            wrong.push(format!("{}: v1 got {lines:?}", row.name));
        }
        let heads = received.iter().map(|request| request.head.to_lowercase()).collect::<String>();
        if let Some(found) = row.without.iter().find(|text| heads.contains(*text)) {
            wrong.push(format!("{}: v1 got {found:?}: {heads}", row.name));
        }
    }
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

async fn talk(gateway: &Gateway, frames: &[u8]) -> Result<Outcome, String> {
    let address = gateway.base().trim_start_matches("http://");
    let mut socket = TcpStream::connect(address).await.expect("a connection");
    let mut bytes = PREFACE.to_vec();
    bytes.extend(frame(SETTINGS, 0, 0, &[]));
    bytes.extend(frames);
    // The gateway may close before it has read everything.
    let _ = socket.write_all(&bytes).await;
    let (mut status_200, mut body) = (false, Vec::new());
    while let Some((kind, flags, stream, payload)) = next(&mut socket).await {
        match kind {
            GO_AWAY => return Ok(Outcome::GoneAway),
            RESET if stream == 1 => return Ok(Outcome::Reset),
            HEADERS if stream == 1 => status_200 = payload.first() == Some(&STATUS_200),
            DATA if stream == 1 => body.extend(payload),
            _ => continue,
        }
        if flags & END_STREAM != 0 {
            return if status_200 { Ok(Outcome::Passed) } else { refused(&body) };
        }
    }
    Ok(Outcome::GoneAway)
}

async fn next(socket: &mut TcpStream) -> Option<(u8, u8, u32, Vec<u8>)> {
    let mut head = [0; 9];
    socket.read_exact(&mut head).await.ok()?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    let mut payload = vec![0; usize::try_from(length).ok()?];
    socket.read_exact(&mut payload).await.ok()?;
    Some((head[3], head[4], u32::from_be_bytes([head[5], head[6], head[7], head[8]]), payload))
}

fn refused(body: &[u8]) -> Result<Outcome, String> {
    let text = String::from_utf8_lossy(body);
    let problem: Value = serde_json::from_slice(body).map_err(|_| format!("no problem: {text}"))?;
    let status = problem["status"].as_u64().and_then(|status| u16::try_from(status).ok()).unwrap_or_default();
    if problem["code"].as_str() == code(status) { Ok(Outcome::Refused(status)) } else { Err(format!("{text}")) }
}
