//! Where a body ends: a request that two servers could read differently is refused, and the connection is closed,
//! because the beginning of the next request is unknown.

use super::{Case, case, everywhere, get, post};

/// A request that hides in the body of another.
const HIDDEN: &str = "GET /api/v1/hidden/ HTTP/1.1\r\nHost: gw.example\r\n\r\n";

pub fn cases() -> Vec<Case> {
    let both = "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n";
    let refused = |case: Case| case.refused(400).closes();
    let mut cases = everywhere(
        "length before encoding",
        |path| format!("POST {path} HTTP/1.1\r\nHost: gw.example\r\n{both}\r\n0\r\n\r\n"),
        refused,
    );
    cases.extend(everywhere(
        "an encoding besides chunked",
        |path| get(path, "Transfer-Encoding: gzip, chunked\r\n") + "0\r\n\r\n",
        refused,
    ));
    cases.extend(everywhere(
        "two lengths",
        |path| get(path, "Content-Length: 0\r\nContent-Length: 5\r\n"),
        refused,
    ));
    cases.extend(encodings());
    cases.extend(smuggling());
    cases
}

/// Encodings beside a body that a server which takes it for chunked would read to its end.
fn encodings() -> Vec<Case> {
    let refused = [
        ("chunked twice in a line", "Transfer-Encoding: chunked, chunked\r\n"),
        ("chunked twice in two lines", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
        ("chunked then another", "Transfer-Encoding: chunked, gzip\r\n"),
        ("another then chunked in two lines", "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"),
        ("chunked then another in two lines", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"),
        ("identity", "Transfer-Encoding: identity\r\n"),
        ("identity, chunked", "Transfer-Encoding: identity, chunked\r\n"),
        ("deflate", "Transfer-Encoding: deflate\r\n"),
        ("an unknown encoding", "Transfer-Encoding: xchunked\r\n"),
        ("chunked with a parameter", "Transfer-Encoding: chunked;q=1\r\n"),
        ("chunked in quotes", "Transfer-Encoding: \"chunked\"\r\n"),
        ("an empty encoding", "Transfer-Encoding:\r\n"),
        ("a comma before chunked", "Transfer-Encoding: , chunked\r\n"),
        ("a comma after chunked", "Transfer-Encoding: chunked,\r\n"),
        ("chunked and a vertical tab", "Transfer-Encoding: \x0bchunked\r\n"),
        ("chunked folded to the next line", "Transfer-Encoding:\r\n chunked\r\n"),
        ("a blank before the colon of the encoding", "Transfer-Encoding : chunked\r\n"),
        ("a tab before the colon of the encoding", "Transfer-Encoding\t: chunked\r\n"),
        ("a blank before the name of the encoding", " Transfer-Encoding: chunked\r\n"),
        ("an encoding behind a lone LF", "X-A: 1\nTransfer-Encoding: chunked\r\n"),
        ("an encoding behind a lone CR", "X-A: 1\rTransfer-Encoding: chunked\r\n"),
        ("an encoding without a colon", "Transfer-Encoding chunked\r\n"),
        ("a NUL behind chunked", "Transfer-Encoding: chunked\0\r\n"),
    ];
    let taken = [
        ("chunked", "Transfer-Encoding: chunked\r\n"),
        ("chunked in capitals", "Transfer-Encoding: CHUNKED\r\n"),
        ("chunked in mixed letters", "transfer-encoding: Chunked\r\n"),
        ("chunked with blanks around", "Transfer-Encoding:  chunked \t\r\n"),
    ];
    let body = "3\r\nabc\r\n0\r\n\r\n";
    let refused = refused.map(|(name, lines)| case(name, post(lines, body)).refused(400).closes());
    let taken =
        taken.map(|(name, lines)| case(name, post(lines, body)).passes("POST /api/v1/x/ HTTP/1.1").body("abc"));
    refused.into_iter().chain(taken).collect()
}

/// One request to a server that believes the one header, two to a server that believes the other.
fn smuggling() -> Vec<Case> {
    let refused = |name: &str, bytes: String| case(name, bytes).refused(400).closes();
    let chunks = format!("0\r\n\r\n{HIDDEN}");
    let lengths = format!("Content-Length: {}\r\n", chunks.len());
    let old = format!("POST /api/v1/x/ HTTP/1.0\r\nHost: gw.example\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}");
    vec![
        refused("CL.TE", post(&format!("{lengths}Transfer-Encoding: chunked\r\n"), &chunks)),
        refused("TE.CL", post("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", &format!("5c\r\n{HIDDEN}"))),
        refused("TE.TE", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n", &chunks)),
        refused("CL.0 with an encoding", post("Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", &chunks)),
        refused(
            "an encoding and a length that is none",
            post("Transfer-Encoding: chunked\r\nContent-Length: x\r\n", &chunks),
        ),
        refused(
            "a length that is none and an encoding",
            post("Content-Length: \r\nTransfer-Encoding: chunked\r\n", &chunks),
        ),
        refused(
            "an encoding that Connection names",
            post("Connection: Transfer-Encoding\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n", &chunks),
        ),
        refused(
            "a length under an underscore and an encoding besides",
            post("Content_Length: 5\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n", &chunks),
        ),
        refused("an encoding in HTTP/1.0", old),
        // Without an own length the hidden request is simply the next request.
        case("no length and more bytes", post("", HIDDEN))
            .answers(&[200, 200])
            .reaching(&["POST /api/v1/x/ HTTP/1.1", "GET /api/v1/hidden/ HTTP/1.1"]),
        case("a length around a request", post(&format!("Content-Length: {}\r\n", HIDDEN.len()), HIDDEN))
            .passes("POST /api/v1/x/ HTTP/1.1")
            .body(HIDDEN),
        case("a length that Connection names", post("Connection: Content-Length\r\nContent-Length: 3\r\n", "abc"))
            .passes("POST /api/v1/x/ HTTP/1.1")
            .body("abc"),
        case("a GET with a body", get("/api/v1/x/", "Content-Length: 3\r\n") + "abc")
            .passes("GET /api/v1/x/ HTTP/1.1")
            .body("abc"),
    ]
}
