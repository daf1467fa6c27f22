//! Chunked bodies: a body that a strict reader accepts reaches v1 whole and in other chunks, without extensions and
//! trailers; anything else ends the request and the connection.

use super::{Case, case, post};

const LINE: &str = "POST /api/v1/x/ HTTP/1.1";
const CHUNKED: &str = "Transfer-Encoding: chunked\r\n";

pub fn cases() -> Vec<Case> {
    let mut cases = taken();
    cases.extend(broken());
    cases.extend(trailers());
    cases
}

fn taken() -> Vec<Case> {
    let taken = |name: &str, chunks: &str, body: &str| case(name, post(CHUNKED, chunks)).passes(LINE).body(body);
    vec![
        taken("no chunk but the last", "0\r\n\r\n", ""),
        taken("several zeros as the last chunk", "000\r\n\r\n", ""),
        taken("a chunk with zeros before its size", "0003\r\nabc\r\n0\r\n\r\n", "abc"),
        taken(
            "sizes in both letter cases",
            "A\r\n0123456789\r\nb\r\n0123456789a\r\n0\r\n\r\n",
            "01234567890123456789a",
        ),
        taken("a chunk that looks like the last", "5\r\n0\r\n\r\n\r\n0\r\n\r\n", "0\r\n\r\n"),
        taken("an extension", "3;name=value\r\nabc\r\n0\r\n\r\n", "abc"),
        taken("an extension without a value", "3;name\r\nabc\r\n0;end\r\n\r\n", "abc"),
        taken("an extension in quotes", "3;name=\"a b;c\"\r\nabc\r\n0\r\n\r\n", "abc"),
        taken("a blank before an extension", "3 ;name\r\nabc\r\n0\r\n\r\n", "abc"),
    ]
}

fn broken() -> Vec<Case> {
    let sizes = [
        ("a chunk without a size", "\r\nabc\r\n0\r\n\r\n"),
        ("a chunk size with a minus", "-3\r\nabc\r\n0\r\n\r\n"),
        ("a chunk size with a plus", "+3\r\nabc\r\n0\r\n\r\n"),
        ("a chunk size with 0x", "0x3\r\nabc\r\n0\r\n\r\n"),
        ("a chunk size with an underscore", "0_3\r\nabc\r\n0\r\n\r\n"),
        ("a chunk size of another letter", "g\r\nabc\r\n0\r\n\r\n"),
        ("a blank before a chunk size", " 3\r\nabc\r\n0\r\n\r\n"),
        ("a blank inside a chunk size", "0 3\r\nabc\r\n0\r\n\r\n"),
        ("a chunk size of 64 bits", "ffffffffffffffff\r\nabc\r\n0\r\n\r\n"),
        ("a chunk size beyond 64 bits", "10000000000000003\r\nabc\r\n0\r\n\r\n"),
        ("a chunk size of 24 zeros", "000000000000000000000003\r\nabc\r\n0\r\n\r\n"),
        ("a chunk size that ends with a lone LF", "3\nabc\r\n0\r\n\r\n"),
        ("a chunk size that ends with a lone CR", "3\rabc\r\n0\r\n\r\n"),
        ("a NUL behind a chunk size", "3\0\r\nabc\r\n0\r\n\r\n"),
        ("an extension without a semicolon", "3 name\r\nabc\r\n0\r\n\r\n"),
        ("a lone LF in an extension", "3;a\nb\r\nabc\r\n0\r\n\r\n"),
        ("a lone CR in an extension", "3;a\rb\r\nabc\r\n0\r\n\r\n"),
        ("a NUL in an extension", "3;a\0b\r\nabc\r\n0\r\n\r\n"),
        ("a chunk longer than its size", "2\r\nabc\r\n0\r\n\r\n"),
        ("a chunk that ends with a lone LF", "3\r\nabc\n0\r\n\r\n"),
        ("a chunk that ends with a lone CR", "3\r\nabc\r0\r\n\r\n"),
        ("words instead of a chunk", "nonsense\r\n\r\n"),
        ("a request instead of a chunk", "GET /api/v1/hidden/ HTTP/1.1\r\nHost: x\r\n\r\n"),
    ];
    let mut cases: Vec<Case> =
        sizes.map(|(name, chunks)| case(name, post(CHUNKED, chunks)).refused(400).closes()).into();
    let long = format!("3;{}\r\nabc\r\n0\r\n\r\n", "x".repeat(20_000));
    cases.push(case("an extension of 20,000 bytes", post(CHUNKED, &long)).refused(400).closes());
    cases
}

/// Trailers would be headers that no check has seen: their content does not reach v1.
fn trailers() -> Vec<Case> {
    let with = |name: &str, lines: &str, trailers: &str| {
        case(name, post(&format!("{lines}{CHUNKED}"), &format!("3\r\nabc\r\n0\r\n{trailers}\r\n")))
    };
    let dropped = |name: &str, lines: &str, trailers: &str| {
        with(name, lines, trailers).passes(LINE).body("abc").without(&[
            "x-trail",
            "x-forwarded-for: 6",
            "x-api-key",
        ])
    };
    vec![
        dropped("a trailer", "", "X-Trail: 1\r\n"),
        dropped("a trailer that is announced", "Trailer: X-Trail\r\n", "X-Trail: 1\r\n"),
        dropped("a trailer and TE", "Trailer: X-Trail\r\nTE: trailers\r\n", "X-Trail: 1\r\n"),
        dropped("an address in a trailer", "Trailer: X-Forwarded-For\r\n", "X-Forwarded-For: 6.6.6.6\r\n"),
        dropped("a key in a trailer", "Trailer: X-Api-Key\r\n", "X-Api-Key: stolen\r\n"),
        dropped("a length in a trailer", "Trailer: Content-Length\r\n", "Content-Length: 90\r\n"),
        with("a trailer that ends with a lone LF", "", "X-Trail: 1\n").refused(400).closes(),
        with("a trailer that ends with a lone CR", "", "X-Trail: 1\rX: 2\r\n").refused(400).closes(),
        with("a trailer without a colon", "", "X-Trail\r\n").refused(400).closes(),
        with("a trailer with a blank before its colon", "", "X-Trail : 1\r\n").refused(400).closes(),
    ]
}
