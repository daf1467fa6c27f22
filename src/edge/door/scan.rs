//! Follows the bytes of a connection, request by request.
//!
//! May use: `edge::door`.

use super::chunks::{Chunks, Step};
use super::head::{RefusedHead, Search};
use super::length::Body;
use super::limits::Limits;

/// First bytes of HTTP/2. The bytes after them are left to hyper.
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Part of a request that the next bytes belong to.
#[derive(Debug)]
enum Part {
    /// The beginning of the connection, which tells HTTP/2 from HTTP/1.
    Beginning,
    Http2,
    Head(Search),
    Length(u64),
    Chunks(Chunks),
}

/// Next action after the good bytes.
#[derive(Debug)]
pub(super) enum NextAction {
    More,
    /// Send this refusal and read no further.
    Refuse(RefusedHead),
    /// End the connection: a body is broken.
    Break(&'static str),
}

/// Position of a connection within its requests.
#[derive(Debug)]
pub(super) struct Scan {
    part: Part,
    limits: Limits,
    /// Number of good heads so far.
    pub(super) heads: u64,
}

impl Scan {
    pub(super) fn new(limits: Limits) -> Self {
        Self { part: Part::Beginning, limits, heads: 0 }
    }

    /// Checks whether the connection uses HTTP/2.
    pub(super) fn is_http2(&self) -> bool {
        matches!(self.part, Part::Http2)
    }

    /// Checks whether the next bytes belong to a head of HTTP/1.
    pub(super) fn is_head(&self) -> bool {
        matches!(self.part, Part::Head(_))
    }

    /// Returns how many of `bytes` are good, and the next action. The other bytes must be passed again, with more
    /// bytes.
    pub(super) fn over(&mut self, bytes: &[u8]) -> (usize, NextAction) {
        let mut good = 0;
        loop {
            match self.step(&bytes[good..]) {
                Ok(0) => return (good, NextAction::More),
                Ok(step) => good += step,
                Err(then) => return (good, then),
            }
        }
    }

    /// Returns a number of good bytes at the beginning of `bytes`; the bytes after them are not checked yet. Returns 0
    /// when more bytes are needed.
    fn step(&mut self, bytes: &[u8]) -> Result<usize, NextAction> {
        if bytes.is_empty() {
            return Ok(0);
        }
        match &mut self.part {
            Part::Beginning if bytes.len() < HTTP2_PREFACE.len() && HTTP2_PREFACE.starts_with(bytes) => Ok(0),
            Part::Beginning if bytes.starts_with(HTTP2_PREFACE) => {
                self.part = Part::Http2;
                Ok(bytes.len())
            }
            Part::Beginning => {
                self.part = Part::Head(Search::default());
                self.step(bytes)
            }
            Part::Http2 => Ok(bytes.len()),
            Part::Head(search) => match search.head(bytes, self.limits).map_err(NextAction::Refuse)? {
                None => Ok(0),
                Some((length, body)) => {
                    self.heads += 1;
                    self.part = part_of(body);
                    Ok(length)
                }
            },
            Part::Length(left) => {
                let here = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                *left -= here as u64;
                if *left == 0 {
                    self.part = Part::Head(Search::default());
                }
                Ok(here)
            }
            Part::Chunks(chunks) => match chunks.step(bytes, self.limits).map_err(NextAction::Break)? {
                Step::More => Ok(0),
                Step::Passed(here) => Ok(here),
                Step::Ended(here) => {
                    self.part = Part::Head(Search::default());
                    Ok(here)
                }
            },
        }
    }
}

fn part_of(body: Body) -> Part {
    match body {
        Body::None => Part::Head(Search::default()),
        Body::Length(length) => Part::Length(length),
        Body::Chunked => Part::Chunks(Chunks::Size),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMITS: Limits = Limits { head: 8192, fields: 20, http2: 0 };
    const REQUESTS: &[u8] = b"\r\nGET /1 HTTP/1.1\r\nHost: a\r\n\r\nPOST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n\r\n\r\n\
          POST /3 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n\r\n\r\n0\r\n\r\nGET /4 HTTP/1.1\r\n\r\n";

    /// Returns the number of good bytes, the heads, and the action when `bytes` arrive in pieces of `piece` bytes.
    fn over(bytes: &[u8], piece: usize) -> (usize, u64, NextAction) {
        let (mut scan, mut held, mut good) = (Scan::new(LIMITS), Vec::new(), 0);
        for new in bytes.chunks(piece) {
            held.extend_from_slice(new);
            let (passed, then) = scan.over(&held);
            held.drain(..passed);
            good += passed;
            if !matches!(then, NextAction::More) {
                return (good, scan.heads, then);
            }
        }
        (good, scan.heads, NextAction::More)
    }

    #[test]
    fn requests_are_told_apart_however_their_bytes_arrive() {
        for piece in 1..REQUESTS.len() {
            let (good, heads, then) = over(REQUESTS, piece);
            assert!(
                good == REQUESTS.len() && heads == 4 && matches!(then, NextAction::More),
                "{piece}: {good} {heads} {then:?}"
            );
        }
    }

    #[test]
    fn a_bad_request_is_refused_however_its_bytes_are_split() {
        let bad = b"GET /5 HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nmore";
        let bytes = [REQUESTS, bad].concat();
        for piece in 1..bytes.len() {
            let (good, heads, then) = over(&bytes, piece);
            let NextAction::Refuse(refused) = then else { panic!("{piece}: {then:?}") };
            assert_eq!((good, heads, refused.refusal.status()), (REQUESTS.len(), 4, 400), "{piece}");
            assert_eq!(refused.stand_in, b"GET /5 HTTP/1.1\r\nconnection: close\r\nHost: a\r\n\r\n");
        }
    }

    #[test]
    fn http2_is_left_alone() {
        let bytes = [HTTP2_PREFACE, b"\0\0\0\x04\0\0\0\0\0GET / nonsense\n\n"].concat();
        for piece in 1..bytes.len() {
            let (good, heads, then) = over(&bytes, piece);
            assert!(good == bytes.len() && heads == 0 && matches!(then, NextAction::More), "{piece}: {then:?}");
        }
    }

    #[test]
    fn a_head_without_an_end_is_too_large_at_some_time() {
        let (good, _, then) = over(&[&b"GET / HTTP/1.1\r\nx: "[..], &[b'x'; 9000]].concat(), 100);
        assert!(
            good == 0 && matches!(&then, NextAction::Refuse(refused) if refused.refusal.status() == 431),
            "{then:?}"
        );
    }

    #[test]
    fn empty_lines_before_a_head_cost_their_length_alone() {
        let (good, _, then) = over(&b"\r\n".repeat(LIMITS.head), 1);
        assert!(
            good == 0 && matches!(&then, NextAction::Refuse(refused) if refused.refusal.status() == 431),
            "{then:?}"
        );
    }

    /// Generates streams of parts of good and bad requests.
    fn stream() -> impl Strategy<Value = Vec<u8>> {
        const PIECES: [&str; 16] = [
            "GET / HTTP/1.1\r\n",
            "POST /x HTTP/1.0\r\n",
            "Host: a\r\n",
            "Content-Length: 5\r\n",
            "Transfer-Encoding: chunked\r\n",
            "Transfer-Encoding: x\r\n",
            "\r\n",
            "\n",
            "\r",
            "5\r\n",
            "0\r\n",
            "hello",
            "a: b\r\n",
            " ",
            "\0",
            ";",
        ];
        proptest::collection::vec(proptest::sample::select(&PIECES[..]), 0..24)
            .prop_map(|some| some.concat().into_bytes())
    }

    proptest! {
        /// A stranger chooses how the bytes arrive; this must not change the bytes that are passed on.
        #[test]
        fn the_same_bytes_have_the_same_fate_in_any_pieces(bytes in stream(), piece in 1_usize..40) {
            let (whole, parts) = (over(&bytes, bytes.len().max(1)), over(&bytes, piece));
            prop_assert_eq!((whole.0, whole.1), (parts.0, parts.1), "{:?}", (&whole.2, &parts.2));
            // A head that arrives in one piece is checked at once; one that arrives slowly is checked when it is
            // complete.
            let waits = matches!((&whole.2, &parts.2), (NextAction::Refuse(_), NextAction::More));
            let same = std::mem::discriminant(&whole.2) == std::mem::discriminant(&parts.2);
            prop_assert!(same || waits, "{:?}", (&whole.2, &parts.2));
        }
    }
}
