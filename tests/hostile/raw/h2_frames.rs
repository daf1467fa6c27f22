//! Malformed HTTP/2 frames: the protocol's own errors answer them, by a reset of the stream or the end of the
//! connection; there is no request yet that a problem could answer.

use super::frames::Outcome::{self, GoneAway, Passed, Refused, Reset};
use super::frames::{DATA, END_HEADERS, END_STREAM, HEADERS, RESET, Row, SETTINGS, block, frame};

const CONTINUATION: u8 = 9;
const PUSH_PROMISE: u8 = 5;
const WINDOW_UPDATE: u8 = 8;
const PING: u8 = 6;
const PADDED: u8 = 8;

fn row(name: &str, frames: Vec<Vec<u8>>, outcome: Outcome) -> Row {
    let frames = frames.concat();
    Row { name: format!("h2 frames: {name}"), frames, outcome, reaching: Vec::new(), without: Vec::new() }
}

fn good() -> Vec<u8> {
    block(&[(":method", b"GET"), (":scheme", b"http"), (":path", b"/api/v1/x/"), (":authority", b"gw.example")])
}

pub fn cases() -> Vec<Row> {
    let whole = END_HEADERS | END_STREAM;
    let line = "GET /api/v1/x/ HTTP/1.1";
    let (begin, end) = {
        let block = good();
        let (begin, end) = block.split_at(10);
        (begin.to_vec(), end.to_vec())
    };
    let padded = [vec![3], good(), vec![0; 3]].concat();
    let overpadded = [vec![200], good()].concat();
    let large = block(&[
        (":method", b"GET"),
        (":scheme", b"http"),
        (":path", b"/api/v1/x/"),
        (":authority", b"gw.example"),
        ("x-large", &[b'x'; 12_000]),
    ]);
    let mut rows = vec![
        row("a request", vec![frame(HEADERS, whole, 1, &good())], Passed).reaching(line),
        row(
            "a request in two frames",
            vec![frame(HEADERS, END_STREAM, 1, &begin), frame(CONTINUATION, END_HEADERS, 1, &end)],
            Passed,
        )
        .reaching(line),
        row("padding", vec![frame(HEADERS, whole | PADDED, 1, &padded)], Passed).reaching(line),
        row("a large head", vec![frame(HEADERS, whole, 1, &large)], Passed).reaching(line),
        row("an unknown frame before", vec![frame(0xbe, 0, 0, b"x"), frame(HEADERS, whole, 1, &good())], Passed)
            .reaching(line),
        row("more padding than frame", vec![frame(HEADERS, whole | PADDED, 1, &overpadded)], GoneAway),
        row("headers on stream 0", vec![frame(HEADERS, whole, 0, &good())], GoneAway),
        row("headers on an even stream", vec![frame(HEADERS, whole, 2, &good())], GoneAway),
        row("data on stream 0", vec![frame(DATA, END_STREAM, 0, b"x")], GoneAway),
        row("data before headers", vec![frame(DATA, END_STREAM, 1, b"x")], GoneAway),
        row("a reset before headers", vec![frame(RESET, 0, 1, &[0; 4])], GoneAway),
        row("a continuation before headers", vec![frame(CONTINUATION, END_HEADERS, 1, &good())], GoneAway),
        row(
            "another frame before the continuation",
            vec![frame(HEADERS, END_STREAM, 1, &begin), frame(PING, 0, 0, &[0; 8])],
            GoneAway,
        ),
        row(
            "a continuation of another stream",
            vec![frame(HEADERS, END_STREAM, 1, &begin), frame(CONTINUATION, END_HEADERS, 3, &end)],
            GoneAway,
        ),
        row("a promise of a client", vec![frame(PUSH_PROMISE, END_HEADERS, 1, &good())], GoneAway),
        row("headers that cannot be decoded", vec![frame(HEADERS, whole, 1, &[0xff; 20])], GoneAway),
        row("an index that is none", vec![frame(HEADERS, whole, 1, &[0x80])], GoneAway),
        row("settings of a wrong size", vec![frame(SETTINGS, 0, 0, &[0; 5])], GoneAway),
        row("settings on a stream", vec![frame(SETTINGS, 0, 1, &[0; 6])], GoneAway),
        row("a ping of a wrong size", vec![frame(PING, 0, 0, &[0; 7])], GoneAway),
        row("a window of zero", vec![frame(WINDOW_UPDATE, 0, 0, &[0; 4])], GoneAway),
        row("a window too large", vec![frame(WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0xff, 0xff])], GoneAway),
        row("a frame longer than allowed", vec![frame(HEADERS, whole, 1, &vec![0; 20_000])], GoneAway),
        row("a request of HTTP/1", vec![b"GET /api/v1/x/ HTTP/1.1\r\nHost: x\r\n\r\n".to_vec()], GoneAway),
    ];
    rows.extend(pseudo());
    rows
}

/// Pseudo-headers that are missing, doubled, unknown or late.
fn pseudo() -> Vec<Row> {
    let whole = END_HEADERS | END_STREAM;
    let with = |name: &str, headers: &[(&str, &[u8])], outcome: Outcome| {
        row(name, vec![frame(HEADERS, whole, 1, &block(headers))], outcome)
    };
    let (method, scheme) = ((":method", &b"GET"[..]), (":scheme", &b"http"[..]));
    let (path, authority) = ((":path", &b"/api/v1/x/"[..]), (":authority", &b"gw.example"[..]));
    vec![
        with("no method", &[scheme, path, authority], Reset),
        with("no scheme", &[method, path, authority], Reset),
        with("no path", &[method, scheme, authority], Reset),
        with("two methods", &[method, method, scheme, path, authority], Reset),
        with("two paths", &[method, scheme, path, (":path", b"/api/v1/y/"), authority], Reset),
        with("two authorities", &[method, scheme, path, authority, authority], Reset),
        with("a pseudo-header behind a header", &[method, scheme, ("x-odd", b"1"), path, authority], Reset),
        with("an unknown pseudo-header", &[method, scheme, path, authority, (":odd", b"1")], GoneAway),
        with("a status", &[method, scheme, path, authority, (":status", b"200")], Reset),
        with("another scheme", &[method, (":scheme", b"ftp"), path, authority], Refused(400)),
        with("a scheme that is none", &[method, (":scheme", b"ht tp"), path, authority], Reset),
    ]
}
