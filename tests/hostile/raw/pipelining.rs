//! Several requests on one connection: each is checked by itself, and after a request with an unknown end nothing more
//! is read.

use super::{Case, case, get, post};

const ONE: &str = "GET /api/v1/1/ HTTP/1.1";
const TWO: &str = "GET /api/v1/2/ HTTP/1.1";
const POSTED: &str = "POST /api/v1/x/ HTTP/1.1";

pub fn cases() -> Vec<Case> {
    let (one, two) = (get("/api/v1/1/", ""), get("/api/v1/2/", ""));
    let both = "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n";
    let dots = get("/api/v1/../", "");
    vec![
        case("two requests at once", format!("{one}{two}")).answers(&[200, 200]).reaching(&[ONE, TWO]),
        case("ten requests at once", one.repeat(10)).answers(&[200; 10]).reaching(&[ONE; 10]),
        case("a request behind a body", post("Content-Length: 3\r\n", &format!("abc{one}")))
            .answers(&[200, 200])
            .reaching(&[POSTED, ONE]),
        case(
            "a request behind chunks",
            post("Transfer-Encoding: chunked\r\n", &format!("3\r\nabc\r\n0\r\n\r\n{one}")),
        )
        .answers(&[200, 200])
        .reaching(&[POSTED, ONE]),
        case(
            "a request behind a trailer",
            post("Transfer-Encoding: chunked\r\n", &format!("0\r\nX-Trail: 1\r\n\r\n{one}")),
        )
        .answers(&[200, 200])
        .reaching(&[POSTED, ONE]),
        case("a refused path between two others", format!("{one}{dots}{two}"))
            .answers(&[200, 400, 200])
            .reaching(&[ONE, TWO]),
        case("a refused header between two others", format!("{one}{}{two}", get("/api/v1/x/", "A_B: 1\r\n")))
            .answers(&[200, 400, 200])
            .reaching(&[ONE, TWO]),
        case("an unknown end between two others", format!("{one}{}{two}", post(both, "0\r\n\r\n")))
            .answers(&[200, 400])
            .closes()
            .reaching(&[ONE]),
        case("an unknown end behind a body", post("Content-Length: 3\r\n", &format!("abc{}{one}", post(both, ""))))
            .answers(&[200, 400])
            .closes()
            .reaching(&[POSTED]),
        case("an unknown end behind chunks", {
            let chunks = format!("3\r\nabc\r\n0\r\n\r\n{}{one}", post(both, "abc"));
            post("Transfer-Encoding: chunked\r\n", &chunks)
        })
        .answers(&[200, 400])
        .closes()
        .reaching(&[POSTED]),
        case("a faulty head behind another", format!("{one}GET /api/v1/2/ HTTP/1.1\r\nA B: 1\r\n\r\n{two}"))
            .answers(&[200, 400])
            .closes()
            .reaching(&[ONE]),
        case("words behind a request", format!("{one}nonsense\r\n\r\n"))
            .answers(&[200, 400])
            .closes()
            .reaching(&[ONE]),
        case("the beginning of HTTP/2 behind a request", format!("{one}PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
            .answers(&[200, 400])
            .closes()
            .reaching(&[ONE]),
        case("an empty line before a request", format!("\r\n{one}")).passes(ONE),
        case("empty lines between requests", format!("{one}\r\n\r\n{two}"))
            .answers(&[200, 200])
            .reaching(&[ONE, TWO]),
        case("a request behind one that closes", format!("{}{two}", get("/api/v1/1/", "Connection: close\r\n")))
            .passes(ONE)
            .closes(),
        case(
            "a request behind one of HTTP/1.0",
            format!("GET /api/v1/1/ HTTP/1.0\r\nHost: gw.example\r\n\r\n{two}"),
        )
        .passes(ONE)
        .closes(),
        case("a body that is left unread behind a refusal", {
            let head = "POST /api/v1/../ HTTP/1.1\r\nHost: gw.example\r\nContent-Length: 3\r\n\r\n";
            format!("{head}abc{one}")
        })
        .answers(&[400, 200])
        .reaching(&[ONE]),
    ]
}
