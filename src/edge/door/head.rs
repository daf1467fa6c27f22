//! Checks the head of one HTTP/1 request with httparse, which hyper uses too: heads that hyper would refuse without an
//! explanation, and heads that it would accept although they are not correct.
//!
//! May use: `refusal`, `edge::door`.

use super::length::{self, Body};
use super::limits::Limits;
use super::target;
use crate::refusal::Refusal;
use http::{Method, Uri};

/// Paths up to this length get the quick check for plain characters; hyper accepts up to 64 KiB.
const LONGEST_PLAIN: usize = 1024;

/// A head that is not passed on.
#[derive(Debug)]
pub(super) struct RefusedHead {
    pub(super) refusal: Refusal,
    /// Head of a harmless request that gets the refusal as its answer, after which the connection is closed.
    pub(super) stand_in: Vec<u8>,
}

/// Searches for the end of a head while its bytes arrive, and looks at each byte once.
#[derive(Debug, Default)]
pub(super) struct Search {
    seen: usize,
    /// Bytes of empty lines before the head.
    blank: usize,
}

impl Search {
    /// Returns the length of the head at the beginning of `bytes` and its announced body; `None` while it is
    /// incomplete.
    pub(super) fn head(&mut self, bytes: &[u8], limits: Limits) -> Result<Option<(usize, Body)>, RefusedHead> {
        let first_look = self.seen == 0;
        let complete = self.ends(bytes);
        if bytes.is_empty() || !complete && !first_look && bytes.len() <= limits.head {
            return Ok(None);
        }
        let mut lines = Vec::with_capacity(limits.fields);
        let room = &mut lines.spare_capacity_mut()[..limits.fields];
        let mut request = httparse::Request::new(&mut []);
        let parsed = request.parse_with_uninit_headers(bytes, room);
        let judged = match parsed {
            Err(error) => Err(malformed(error, limits)),
            Ok(httparse::Status::Complete(length)) if length > limits.head => Err(too_large(limits)),
            Ok(httparse::Status::Complete(length)) => {
                judge(&bytes[..length], &request).map(|body| Some((length, body)))
            }
            Ok(httparse::Status::Partial) if complete => {
                Err(Refusal::invalid("The head of the request is malformed."))
            }
            Ok(httparse::Status::Partial) if bytes.len() > limits.head => Err(too_large(limits)),
            Ok(httparse::Status::Partial) => Ok(None),
        };
        judged.map_err(|refusal| RefusedHead { refusal, stand_in: stand_in(&request, parsed.is_ok()) })
    }

    /// Checks whether `bytes` contain the end of a head: an empty line, not counting empty lines before the head.
    fn ends(&mut self, bytes: &[u8]) -> bool {
        self.blank += bytes[self.blank..].iter().take_while(|byte| b"\r\n".contains(byte)).count();
        let from = self.seen.saturating_sub(3).max(self.blank);
        self.seen = bytes.len();
        let new = &bytes[from..];
        memchr::memchr_iter(b'\n', new)
            .any(|at| matches!(new.get(at + 1..), Some([b'\n', ..] | [b'\r', b'\n', ..])))
    }
}

fn malformed(error: httparse::Error, limits: Limits) -> Refusal {
    match error {
        httparse::Error::TooManyHeaders => {
            Refusal::head_too_large(format!("The request has more than {} header fields.", limits.fields))
        }
        error => Refusal::invalid(format!("The head of the request is malformed: {error}.")),
    }
}

fn too_large(limits: Limits) -> Refusal {
    Refusal::head_too_large(format!("The head of the request is larger than {} bytes.", limits.head))
}

/// Refuses heads that httparse accepts but that another server may read differently.
fn judge(head: &[u8], request: &httparse::Request<'_, '_>) -> Result<Body, Refusal> {
    if memchr::memchr_iter(b'\n', head).any(|at| at == 0 || head[at - 1] != b'\r') {
        return Err(Refusal::invalid("A line of the head ends with a line feed alone."));
    }
    let path = request.path.unwrap_or_default();
    if !is_plain(path) {
        target::read(path)?;
    }
    length::announced(request.headers, request.version == Some(0)).map_err(Refusal::invalid)
}

/// Checks whether a path has only ordinary characters, so that it is certainly a valid address.
fn is_plain(path: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~?&=%,".contains(&byte);
    path.starts_with('/') && path.len() <= LONGEST_PLAIN && path.bytes().all(plain)
}

/// Builds a request with the path, the host and the request id of the refused request, so that log and answer name
/// them. It keeps the method as far as that decides whether the answer has a body.
fn stand_in(request: &httparse::Request<'_, '_>, complete: bool) -> Vec<u8> {
    let method = if request.method == Some(Method::HEAD.as_str()) { Method::HEAD } else { Method::GET };
    let path = request.path.filter(|path| path.starts_with('/') && path.parse::<Uri>().is_ok()).unwrap_or("/");
    let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n").into_bytes();
    let told = request.headers.iter().filter(|_| complete);
    for line in told.filter(|line| ["host", "x-request-id"].iter().any(|name| line.name.eq_ignore_ascii_case(name)))
    {
        head.extend_from_slice(&[line.name.as_bytes(), b": ", line.value, b"\r\n"].concat());
    }
    head.extend_from_slice(b"\r\n");
    head
}
