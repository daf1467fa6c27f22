//! The request line and the size of the head.

use super::{Case, HOST, case, everywhere, get};

const LINE: &str = "GET /api/v1/x/ HTTP/1.1";

pub fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = malformed()
        .into_iter()
        .map(|(name, line)| case(name, format!("{line}\r\n{HOST}\r\n")).refused(400).closes())
        .collect();
    cases.extend([
        case("a line that ends with a lone LF", format!("{LINE}\n{HOST}\r\n")).refused(400).closes(),
        case("a head of lone LFs", format!("{LINE}\nHost: gw.example\n\n")).refused(400).closes(),
        case("a head that ends with a lone LF", format!("{LINE}\r\nHost: gw.example\n\r\n")).refused(400).closes(),
        case("a line that ends with a lone CR", format!("{LINE}\r{HOST}\r\n")).refused(400).closes(),
        case(
            "a byte that is no UTF-8 in the query",
            b"GET /api/v1/x/?q=\xff HTTP/1.1\r\nHost: gw.example\r\n\r\n".to_vec(),
        )
        .refused(400)
        .closes(),
        case("HTTP/0.9", "GET /api/v1/x/\r\n\r\n").refused(400).closes(),
        case("words", "hello\r\n\r\n").refused(400).closes(),
        case("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03abcdefghijkl".to_vec()).refused(400).closes(),
        case("an answer", "HTTP/1.1 200 OK\r\n\r\n").refused(400).closes(),
        case("the beginning of HTTP/2, cut", "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\nmore than 24 bytes")
            .refused(400)
            .closes(),
        case("HTTP/1.0", format!("GET /api/v1/x/ HTTP/1.0\r\n{HOST}\r\n")).passes(LINE).closes(),
        case("HTTP/1.0 that goes on", format!("GET /api/v1/x/ HTTP/1.0\r\n{HOST}Connection: keep-alive\r\n\r\n"))
            .passes(LINE),
        case("a long path", get(&format!("/api/v1/{}/", "x".repeat(8000)), ""))
            .passes(&format!("GET /api/v1/{}/ HTTP/1.1", "x".repeat(8000))),
        case("a line of 70 KB", get(&format!("/api/v1/{}", "x".repeat(70_000)), "")).refused(431).closes(),
        case("a line without an end", "GET /".to_owned() + &"x".repeat(70_000)).refused(431).closes(),
        case("a method without an end", "G".repeat(70_000)).refused(431).closes(),
    ]);
    cases.extend(everywhere(
        "a header of 70 KB",
        |path| get(path, &format!("X-Large: {}\r\n", "x".repeat(70_000))),
        |case| case.refused(431).closes(),
    ));
    cases.extend(everywhere(
        "101 headers",
        |path| get(path, &"X-Many: 1\r\n".repeat(100)),
        |case| case.refused(431).closes(),
    ));
    cases.push(case("100 headers", get("/api/v1/x/", &"X-Many: 1\r\n".repeat(99))).passes(LINE));
    cases.push(
        case("a header of 60 KB", get("/api/v1/x/", &format!("X-Large: {}\r\n", "x".repeat(60_000)))).passes(LINE),
    );
    cases.push(
        case("70 KB in many headers", get("/api/v1/x/", &format!("X-A: {}\r\n", "x".repeat(1000)).repeat(70)))
            .refused(431)
            .closes(),
    );
    cases
}

fn malformed() -> [(&'static str, &'static str); 25] {
    [
        ("two blanks in the line", "GET  /api/v1/x/ HTTP/1.1"),
        ("two blanks before the version", "GET /api/v1/x/  HTTP/1.1"),
        ("a tab in the line", "GET\t/api/v1/x/ HTTP/1.1"),
        ("a blank behind the version", "GET /api/v1/x/ HTTP/1.1 "),
        ("a blank before the line", " GET /api/v1/x/ HTTP/1.1"),
        ("a blank in the path", "GET /api/v1/a b/ HTTP/1.1"),
        ("no path", "GET HTTP/1.1"),
        ("no version", "GET /api/v1/x/"),
        ("a version in small letters", "GET /api/v1/x/ http/1.1"),
        ("HTTP/1.2", "GET /api/v1/x/ HTTP/1.2"),
        ("HTTP/2.0 in a line", "GET /api/v1/x/ HTTP/2.0"),
        ("HTTP/9.9", "GET /api/v1/x/ HTTP/9.9"),
        ("HTTP/01.1", "GET /api/v1/x/ HTTP/01.1"),
        ("another protocol", "GET /api/v1/x/ ICY/1.1"),
        ("a method with a colon", "GE:T /api/v1/x/ HTTP/1.1"),
        ("a method of other letters", "G\u{c9}T /api/v1/x/ HTTP/1.1"),
        ("a NUL in the path", "GET /api/v1/\0/ HTTP/1.1"),
        ("a control character in the path", "GET /api/v1/\x07/ HTTP/1.1"),
        ("a fragment", "GET /api/v1/x/#part HTTP/1.1"),
        ("a quotation mark in the query", "GET /api/v1/x/?q=a\"b HTTP/1.1"),
        ("a less-than sign in the query", "GET /api/v1/x/?q=a<b HTTP/1.1"),
        ("a greater-than sign in the query", "GET /api/v1/x/?q=a>b HTTP/1.1"),
        ("a less-than sign in the path", "GET /api/v1/a<b/ HTTP/1.1"),
        ("a greater-than sign in the path", "GET /api/v1/a>b/ HTTP/1.1"),
        ("a backtick in the path", "GET /api/v1/a`b/ HTTP/1.1"),
    ]
}
