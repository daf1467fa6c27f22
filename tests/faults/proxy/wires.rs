//! Faults of the connection, and how answers are written to it.
//!
//! May use: the table of kinds.

use super::Answer;
use super::kinds::Wire;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Pause between the pieces of a slow answer.
const DRIP: Duration = Duration::from_millis(15);
const TEXT_HEADERS: usize = 400;

/// The state of the connection after an answer.
pub enum After {
    Stays,
    Ends,
}

impl Answer {
    fn head(&self, length: &str) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {} Answer\r\n", self.status);
        if let Some(kind) = self.content_type {
            head.push_str(&format!("content-type: {kind}\r\n"));
        }
        if self.gzip {
            head.push_str("content-encoding: gzip\r\n");
        }
        if let Some(seconds) = self.retry_after {
            head.push_str(&format!("retry-after: {seconds}\r\n"));
        }
        head.push_str(length);
        head.push_str("\r\n");
        head.into_bytes()
    }

    fn with_length(&self) -> Vec<u8> {
        let length = self.announced.unwrap_or(self.body.len() as u64);
        let length = if self.status == 204 { String::new() } else { format!("content-length: {length}\r\n") };
        [self.head(&length), self.body.clone()].concat()
    }
}

/// Writes an answer as valid HTTP.
pub async fn send(stream: &mut TcpStream, answer: &Answer) -> io::Result<After> {
    stream.write_all(&answer.with_length()).await?;
    Ok(if answer.announced.is_some() { After::Ends } else { After::Stays })
}

/// Writes the part of an answer that this fault leaves.
pub async fn fail(stream: &mut TcpStream, wire: Wire, answer: &Answer) -> io::Result<After> {
    let whole = answer.with_length();
    let head = answer.head(&format!("content-length: {}\r\n", answer.body.len()));
    let half = head.len() + answer.body.len() / 2;
    let length = |length: i64| answer.head(&format!("content-length: {length}\r\n"));
    let size = i64::try_from(answer.body.len()).unwrap_or_default();
    let chunked = answer.head("transfer-encoding: chunked\r\n");
    let bytes = match wire {
        Wire::Close => Vec::new(),
        Wire::Reset => {
            stream.set_zero_linger()?;
            return Ok(After::Ends);
        }
        Wire::HalfClose => {
            stream.shutdown().await?;
            until_left(stream).await;
            return Ok(After::Ends);
        }
        Wire::Stall => {
            until_left(stream).await;
            return Ok(After::Ends);
        }
        Wire::StallInBody => {
            stream.write_all(&whole[..half.min(whole.len().saturating_sub(1))]).await?;
            until_left(stream).await;
            return Ok(After::Ends);
        }
        Wire::HalfHead => head[..head.len() / 2].to_vec(),
        Wire::HeadOnly => length(size.max(1)),
        Wire::HalfBody => whole[..half.min(whole.len().saturating_sub(1))].to_vec(),
        Wire::ResetInBody => {
            stream.write_all(&whole[..half.min(whole.len().saturating_sub(1))]).await?;
            stream.flush().await?;
            stream.set_zero_linger()?;
            return Ok(After::Ends);
        }
        Wire::LongLength => [length(size + 7), answer.body.clone()].concat(),
        Wire::ShortLength => [length((size - 7).max(0)), answer.body.clone()].concat(),
        Wire::NegativeLength => [length(-5), answer.body.clone()].concat(),
        Wire::TwoLengths => {
            let lengths = format!("content-length: {size}\r\ncontent-length: {}\r\n", size + 1);
            [answer.head(&lengths), answer.body.clone()].concat()
        }
        Wire::BadChunk => [chunked, b"zz\r\n".to_vec(), answer.body.clone(), b"\r\n0\r\n\r\n".to_vec()].concat(),
        Wire::ChunksCutOff => {
            [chunked, format!("{:x}\r\n", answer.body.len()).into_bytes(), answer.body.clone()].concat()
        }
        Wire::ChunkTooShort => {
            let said = format!("{:x}\r\n", answer.body.len() / 2);
            [chunked, said.into_bytes(), answer.body.clone(), b"\r\n0\r\n\r\n".to_vec()].concat()
        }
        Wire::NoLength => [answer.head(""), answer.body.clone()].concat(),
        Wire::BadStatusLine => [b"HTTP/1.1 two hundred\r\n\r\n".to_vec(), answer.body.clone()].concat(),
        Wire::NotHttp => b"\x15\x03\x01\x00\x02\x02\x46".to_vec(),
        Wire::OldHttp => String::from_utf8_lossy(&whole).replacen("HTTP/1.1", "HTTP/1.0", 1).into_bytes(),
        Wire::HugeHeader => with_headers(&whole, &format!("x-huge: {}\r\n", "x".repeat(1 << 20))),
        Wire::ManyHeaders => {
            let many: String = (0..TEXT_HEADERS).map(|number| format!("x-{number}: {number}\r\n")).collect();
            with_headers(&whole, &many)
        }
        Wire::BadHeader => with_headers(&whole, "no colon here\r\n"),
        Wire::Continues => [b"HTTP/1.1 100 Continue\r\n\r\n".repeat(20), whole.clone()].concat(),
        Wire::EarlyHints => [b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n".to_vec(), whole.clone()].concat(),
        Wire::ExtraAnswer => [whole.clone(), whole.clone()].concat(),
        Wire::SlowHead | Wire::SlowBody => {
            return drip(stream, &whole, if wire == Wire::SlowHead { 0 } else { head.len() }).await;
        }
        Wire::CloseAfterwards => whole.clone(),
    };
    stream.write_all(&bytes).await?;
    stream.flush().await?;
    Ok(match wire {
        Wire::Continues | Wire::EarlyHints => After::Stays,
        _ => After::Ends,
    })
}

/// Returns the answer with further headers after its status line.
fn with_headers(whole: &[u8], headers: &str) -> Vec<u8> {
    String::from_utf8_lossy(whole).replacen("\r\n", &format!("\r\n{headers}"), 1).into_bytes()
}

/// Sends the bytes from `slow_from` on in six pieces.
async fn drip(stream: &mut TcpStream, whole: &[u8], slow_from: usize) -> io::Result<After> {
    let (fast, slow) = whole.split_at(slow_from.min(whole.len()));
    stream.write_all(fast).await?;
    for piece in slow.chunks((slow.len() / 6).max(1)) {
        stream.write_all(piece).await?;
        stream.flush().await?;
        tokio::time::sleep(DRIP).await;
    }
    Ok(After::Stays)
}

/// Waits until the other side closes the connection.
async fn until_left(stream: &mut TcpStream) {
    let mut chunk = [0; 1024];
    while matches!(stream.read(&mut chunk).await, Ok(read) if read > 0) {}
}
