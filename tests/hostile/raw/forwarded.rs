//! Headers about the client or the target: those of strangers are removed, and v1 gets what the gateway knows itself.

use super::{Case, case, get};

const LINE: &str = "GET /api/v1/x/ HTTP/1.1";
/// Headers that v1 gets with a stranger's request.
const OWN: [&str; 3] = ["x-forwarded-for: 127.0.0.1", "x-forwarded-host: gw.example", "x-forwarded-proto: http"];

/// Headers that a server behind the gateway may use as the client, address, path, method or user.
pub const LEFT_OUT: [&str; 48] = [
    "Forwarded",
    "Forwarded-For",
    "X-Forwarded",
    "X-Forwarded-Port",
    "X-Forwarded-Prefix",
    "X-Forwarded-Server",
    "X-Forwarded-Scheme",
    "X-Forwarded-Protocol",
    "X-Forwarded-Ssl",
    "X-Forwarded-By",
    "X-Forwarded-Path",
    "X-Forwarded-Uri",
    "X-Forwarded-Method",
    "X-Forwarded-User",
    "X-Forwarded-Client-Cert",
    "X-Real-IP",
    "True-Client-IP",
    "CF-Connecting-IP",
    "CF-Connecting-IPv6",
    "Fastly-Client-IP",
    "X-Client-IP",
    "X-Cluster-Client-IP",
    "Client-IP",
    "X-Remote-IP",
    "X-Remote-Addr",
    "Remote-Addr",
    "X-Originating-IP",
    "X-Envoy-External-Address",
    "X-Original-URL",
    "X-Original-Host",
    "X-Original-Forwarded-For",
    "X-Original-Method",
    "X-Rewrite-URL",
    "X-Host",
    "X-HTTP-Host-Override",
    "X-HTTP-Method",
    "X-HTTP-Method-Override",
    "X-Method-Override",
    "X-Script-Name",
    "Script-Name",
    "Path-Info",
    "X-WSGI-Script",
    "X-Remote-User",
    "Remote-User",
    "X-Scheme",
    "X-Url-Scheme",
    "Front-End-Https",
    "Proxy",
];

pub fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = LEFT_OUT
        .map(|name| {
            let gone = format!("\n{}:", name.to_lowercase());
            case(format!("a stranger's {name}"), get("/api/v1/x/", &format!("{name}: forged\r\n")))
                .passes(LINE)
                .with(&OWN)
                .without(&[&gone, "forged"])
        })
        .into();
    cases.extend([
        case("nothing said", get("/api/v1/x/", "")).passes(LINE).with(&OWN),
        case("a stranger's X-Forwarded-For", get("/api/v1/x/", "X-Forwarded-For: 6.6.6.6\r\n"))
            .passes(LINE)
            .with(&OWN)
            .without(&["6.6.6.6"]),
        case(
            "a stranger's X-Forwarded-For twice",
            get("/api/v1/x/", "X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-For: 7.7.7.7\r\n"),
        )
        .passes(LINE)
        .with(&OWN)
        .without(&["6.6.6.6", "7.7.7.7"]),
        case("a stranger's X-Forwarded-Host", get("/api/v1/x/", "X-Forwarded-Host: evil.example\r\n"))
            .passes(LINE)
            .with(&OWN)
            .without(&["evil"]),
        case("a stranger's X-Forwarded-Proto", get("/api/v1/x/", "X-Forwarded-Proto: https\r\n"))
            .passes(LINE)
            .with(&OWN)
            .without(&["https"]),
        case("the gateway's own host", get("/api/v1/x/", "")).passes(LINE).without(&["\nhost: gw.example"]),
    ]);
    cases
}
