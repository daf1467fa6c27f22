//! Requests as a test double of v1 receives them.
//!
//! May use: nothing of the crate.

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

/// A request with its body.
#[derive(Debug, Clone)]
pub struct WireRequest {
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Names in lower case, in the order of the request.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl WireRequest {
    /// Reads the next request, with its body by length; later bytes stay in `buffer`. None when the connection
    /// ends, or when the bytes are no request.
    pub async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Self> {
        let head_end = loop {
            if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                break end;
            }
            fill(stream, buffer).await?;
        };
        let head = String::from_utf8_lossy(&buffer[..head_end]).into_owned();
        let mut lines = head.split("\r\n");
        let mut first = lines.next()?.split(' ');
        let (method, target) = (first.next()?.to_owned(), first.next()?.to_owned());
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let mut request = Self { method, target, headers, body: Vec::new() };
        let length: usize = request.header("content-length").parse().unwrap_or(0);
        let end = head_end + 4 + length;
        while buffer.len() < end {
            fill(stream, buffer).await?;
        }
        request.body = buffer[head_end + 4..end].to_vec();
        buffer.drain(..end);
        Some(request)
    }

    /// The header of this name, empty when there is none.
    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    /// The target without its query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }
}

async fn fill(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<()> {
    let mut chunk = [0; 16 * 1024];
    let read = stream.read(&mut chunk).await.ok().filter(|read| *read > 0)?;
    buffer.extend_from_slice(&chunk[..read]);
    Some(())
}
