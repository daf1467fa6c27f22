//! `Content-Length` alone: one line with one number, or the request is refused and the connection closed.

use super::{Case, case, get, post};

pub fn cases() -> Vec<Case> {
    let refused = [
        ("a negative length", "Content-Length: -1\r\n"),
        ("a length with a plus", "Content-Length: +3\r\n"),
        ("an empty length", "Content-Length:\r\n"),
        ("a length of blanks", "Content-Length:   \r\n"),
        ("a length in hex", "Content-Length: 0x3\r\n"),
        ("a length with a fraction", "Content-Length: 3.0\r\n"),
        ("a length with an exponent", "Content-Length: 3e0\r\n"),
        ("a length with a blank inside", "Content-Length: 3 3\r\n"),
        ("a length with a letter", "Content-Length: 3a\r\n"),
        ("a list of one length twice", "Content-Length: 3, 3\r\n"),
        ("a list of two lengths", "Content-Length: 3, 4\r\n"),
        ("one length in two lines", "Content-Length: 3\r\nContent-Length: 3\r\n"),
        ("two lengths in two lines", "Content-Length: 3\r\nContent-Length: 4\r\n"),
        ("two lengths, the first none", "Content-Length: x\r\nContent-Length: 3\r\n"),
        ("one length, once with zeros", "Content-Length: 3\r\nContent-Length: 03\r\n"),
        ("two lengths with another line between", "Content-Length: 3\r\nX-A: 1\r\nContent-Length: 30\r\n"),
        ("a length beyond 64 bits", "Content-Length: 18446744073709551616\r\n"),
        ("the largest length of 64 bits", "Content-Length: 18446744073709551615\r\n"),
        ("a length of a hundred digits", concat!("Content-Length: 1", "000000000000000000000000000000000000\r\n")),
        ("a length in other digits", "Content-Length: \u{0663}\r\n"),
        ("a length in quotes", "Content-Length: \"3\"\r\n"),
        ("a length and a semicolon", "Content-Length: 3;\r\n"),
        ("a blank before the colon of the length", "Content-Length : 3\r\n"),
        ("a blank before the name of the length", " Content-Length: 3\r\n"),
        ("a length folded to the next line", "Content-Length:\r\n 3\r\n"),
        ("a length behind a lone LF", "X-A: 1\nContent-Length: 3\r\n"),
        ("a NUL in the length", "Content-Length: 3\0\r\n"),
    ];
    let mut cases: Vec<Case> =
        refused.map(|(name, lines)| case(name, post(lines, "abc")).refused(400).closes()).into();
    let taken = |name: &str, lines: &str| {
        case(name, post(lines, "abc")).passes("POST /api/v1/x/ HTTP/1.1").body("abc").with(&["content-length: 3"])
    };
    cases.extend([
        taken("a length", "Content-Length: 3\r\n"),
        taken("a length with blanks around", "Content-Length: \t 3 \t\r\n"),
        taken("a length without a blank", "content-length:3\r\n"),
        case("a length with zeros before", post("Content-Length: 0003\r\n", "abc"))
            .passes("POST /api/v1/x/ HTTP/1.1")
            .body("abc"),
        case("a length of zero", post("Content-Length: 0\r\n", "")).passes("POST /api/v1/x/ HTTP/1.1").body(""),
        case("a body too large for v2", large()).refused(401),
        case("a body that waits to be asked for", post("Expect: 100-continue\r\nContent-Length: 3\r\n", "abc"))
            .passes("POST /api/v1/x/ HTTP/1.1")
            .body("abc")
            .without(&["expect"]),
        case("another expectation", post("Expect: something\r\nContent-Length: 3\r\n", "abc"))
            .passes("POST /api/v1/x/ HTTP/1.1")
            .body("abc")
            .without(&["expect"]),
        case("an expectation without a body", get("/api/v1/x/", "Expect: 100-continue\r\n"))
            .passes("GET /api/v1/x/ HTTP/1.1"),
        case("a fault beside an expectation", post("Expect: 100-continue\r\nContent-Length: x\r\n", ""))
            .refused(400)
            .closes(),
    ]);
    cases
}

/// The length is too large, and the credential is missing; the credential is checked first.
fn large() -> String {
    let head =
        "POST /api/v2/workspaces/acme/projects/ HTTP/1.1\r\nHost: gw.example\r\nContent-Length: 2000000\r\n\r\n";
    head.to_owned() + &"x".repeat(2_000_000)
}
