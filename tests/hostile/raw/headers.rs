//! Header lines: their form, names with underscores, hop-by-hop headers, and credentials of the gateway itself.

use super::{Case, case, everywhere, get, post};

const LINE: &str = "GET /api/v1/x/ HTTP/1.1";

pub fn cases() -> Vec<Case> {
    let mut cases = everywhere("an underscore", |path| get(path, "X_Odd: 1\r\n"), |case| case.refused(400));
    let underscores = [
        ("a key under an underscore", "X_Api_Key: stolen\r\n"),
        ("a key under one underscore", "X-Api_Key: stolen\r\n"),
        ("an address under an underscore", "X_Forwarded_For: 6.6.6.6\r\n"),
        ("a length under an underscore", "Content_Length: 5\r\n"),
        ("an underscore alone", "_: 1\r\n"),
        ("an underscore beside a key", "X-Api-Key: k\r\nX_Api_Key: other\r\n"),
        ("an underscore that Connection names", "Connection: X_Api_Key\r\nX_Api_Key: k\r\n"),
    ];
    cases.extend(underscores.map(|(name, lines)| case(name, get("/api/v1/x/", lines)).refused(400)));
    let malformed = [
        ("a header without a colon", "X-Odd\r\n"),
        ("a header without a name", ": 1\r\n"),
        ("a blank before a colon", "X-Odd : 1\r\n"),
        ("a blank before a name", " X-Odd: 1\r\n"),
        ("a tab before a name", "\tX-Odd: 1\r\n"),
        ("a blank inside a name", "X Odd: 1\r\n"),
        ("a folded line", "X-Odd: 1\r\n 2\r\n"),
        ("a line folded with a tab", "X-Odd: 1\r\n\t2\r\n"),
        ("a name with a bracket", "X(Odd): 1\r\n"),
        ("a name with a slash", "X/Odd: 1\r\n"),
        ("a name of other letters", "X-\u{d6}dd: 1\r\n"),
        ("a NUL in a name", "X\0Odd: 1\r\n"),
        ("a NUL in a value", "X-Odd: a\0b\r\n"),
        ("a control character in a value", "X-Odd: a\x01b\r\n"),
        ("DEL in a value", "X-Odd: a\x7fb\r\n"),
        ("a lone CR in a value", "X-Odd: a\rb\r\n"),
        ("a lone LF at the end of a line", "X-Odd: a\n"),
    ];
    cases.extend(malformed.map(|(name, lines)| case(name, get("/api/v1/x/", lines)).refused(400).closes()));
    cases.extend([
        case("a header goes on", get("/api/v1/x/", "X-Odd: a  b\r\n")).passes(LINE).with(&["x-odd: a  b"]),
        case("a header twice", get("/api/v1/x/", "X-Odd: a\r\nX-Odd: b\r\n"))
            .passes(LINE)
            .with(&["x-odd: a", "x-odd: b"]),
        case("an empty value", get("/api/v1/x/", "X-Odd:\r\n")).passes(LINE).with(&["x-odd: "]),
        case("a tab in a value", get("/api/v1/x/", "X-Odd: a\tb\r\n")).passes(LINE).with(&["x-odd: a\tb"]),
        case("other letters in a value", get("/api/v1/x/", "X-Odd: caf\u{e9}\r\n"))
            .passes(LINE)
            .with(&["x-odd: caf\u{e9}"]),
        case("a name with a dot", get("/api/v1/x/", "X.Odd: 1\r\n")).passes(LINE).with(&["x.odd: 1"]),
        case("a key of v1", get("/api/v1/x/", "X-Api-Key: key-of-v1\r\n"))
            .passes(LINE)
            .with(&["x-api-key: key-of-v1"]),
    ]);
    cases.extend(hop_by_hop());
    cases.extend(own_credentials());
    cases
}

fn hop_by_hop() -> Vec<Case> {
    let dropped =
        |name: &str, lines: &str, gone: &[&str]| case(name, get("/api/v1/x/", lines)).passes(LINE).without(gone);
    vec![
        dropped("a header that Connection names", "Connection: X-Odd\r\nX-Odd: 1\r\n", &["x-odd"]),
        dropped("an address that Connection names", "Connection: X-Forwarded-For\r\n", &["connection: x-"]),
        dropped("Keep-Alive", "Keep-Alive: timeout=9\r\n", &["keep-alive: timeout"]),
        dropped("Proxy-Connection", "Proxy-Connection: keep-alive\r\n", &["proxy-connection"]),
        dropped("Proxy-Authorization", "Proxy-Authorization: Basic eA==\r\n", &["proxy-authorization"]),
        dropped(
            "a change to h2c",
            "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n",
            &["upgrade", "http2-settings"],
        ),
        dropped(
            "a change to h2c that Connection does not name",
            "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n",
            &["upgrade", "http2-settings"],
        ),
        dropped(
            "a change to WebSocket",
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n",
            &["upgrade"],
        ),
        dropped("a change of TLS", "Connection: Upgrade\r\nUpgrade: TLS/1.0\r\n", &["upgrade"]),
        dropped("TE of another kind", "TE: gzip\r\n", &["te: "]),
        case(
            "a change to h2c with a body",
            post("Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 3\r\n", "abc"),
        )
        .passes("POST /api/v1/x/ HTTP/1.1")
        .body("abc")
        .without(&["upgrade"]),
        case("a request to close", get("/api/v1/x/", "Connection: close\r\n")).passes(LINE).closes(),
        case(
            "a request to close and to stay",
            get("/api/v1/x/", "Connection: close\r\nConnection: keep-alive\r\n"),
        )
        .passes(LINE)
        .closes(),
    ]
}

/// A value with the prefix of the gateway's own secrets never reaches v1.
fn own_credentials() -> Vec<Case> {
    let cases = [
        ("a gateway key", "X-Api-Key: cwk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG\r\n"),
        (
            "a gateway key under another letter case",
            "X-API-KEY: cwk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG\r\n",
        ),
        (
            "a gateway key behind a key of v1",
            "X-Api-Key: key-of-v1\r\nX-Api-Key: cwk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG\r\n",
        ),
        (
            "a gateway key before a key of v1",
            "X-Api-Key: cwk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG\r\nX-Api-Key: key-of-v1\r\n",
        ),
        ("a gateway key in a list", "X-Api-Key: key-of-v1,cwk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG\r\n"),
        ("a gateway key behind a tab", "X-Api-Key: key-of-v1\tcwk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG\r\n"),
        (
            "a gateway key behind a semicolon",
            "X-Api-Key: key-of-v1;cwk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG\r\n",
        ),
        ("a gateway key in quotes", "X-Api-Key: \"cwk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG\"\r\n"),
        (
            "a gateway key as a bearer token",
            "Authorization: Bearer cwk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG\r\n",
        ),
        (
            "a gateway key beside a key of v1",
            "X-Api-Key: key-of-v1\r\nAuthorization: Bearer cwk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG\r\n",
        ),
        ("an access token", "Authorization: Bearer cwa_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG\r\n"),
        ("a refresh token without a scheme", "Authorization: cwr_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG\r\n"),
        (
            "a gateway key as a Basic password",
            "Authorization: Basic dTpjd2tfMDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dXZ3eHl6QUJDREVGRw==\r\n",
        ),
        (
            "a gateway key as a Basic user",
            "Authorization: basic Y3drXzAxMjM0NTY3ODlhYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5ekFCQ0RFRkc6\r\n",
        ),
        ("a gateway key in a cookie", "Cookie: a=b; token=cwk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG\r\n"),
        ("a gateway key in another header", "X-Auth-Token: cwk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG\r\n"),
        (
            "a gateway key for a proxy",
            "Proxy-Authorization: Bearer cwk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG\r\n",
        ),
    ];
    let refused = cases.map(|(name, lines)| case(name, get("/api/v1/x/", lines)).refused(401));
    let taken = [
        case("a Basic password of another kind", get("/api/v1/x/", "Authorization: Basic dTpw\r\n")).passes(LINE),
        case("a Basic password that is no base64", get("/api/v1/x/", "Authorization: Basic ???\r\n")).passes(LINE),
        case(
            "a word that holds the beginning of a key",
            get("/api/v1/x/", "X-Odd: xcwk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG\r\n"),
        )
        .passes(LINE),
    ];
    refused.into_iter().chain(taken).collect()
}

/// Cases with `edge.underscores = "drop"`.
pub fn dropping() -> Vec<Case> {
    let dropped =
        |name: &str, lines: &str, gone: &[&str]| case(name, get("/api/v1/x/", lines)).passes(LINE).without(gone);
    vec![
        dropped("dropped: a header", "X_Odd: 1\r\n", &["x_odd"]),
        dropped(
            "dropped: a key",
            "X_Api_Key: cwk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG\r\n",
            &["x_api_key", "cwk_"],
        ),
        dropped("dropped: an address", "X_Forwarded_For: 6.6.6.6\r\n", &["x_forwarded_for", "6.6.6.6"]),
        dropped("dropped: two of one name", "X_Odd: 1\r\nX_Odd: 2\r\n", &["x_odd"]),
        case("dropped: the others stay", get("/api/v1/x/", "X-Odd: 1\r\nX_Odd: 2\r\n"))
            .passes(LINE)
            .with(&["x-odd: 1"])
            .without(&["x_odd"]),
        case("dropped: on v2 too", get("/api/v2/users/me/", "X_Odd: 1\r\n")).refused(401),
        case("dropped: for health too", get("/healthz", "X_Odd: 1\r\n")).answers(&[200]),
    ]
}
