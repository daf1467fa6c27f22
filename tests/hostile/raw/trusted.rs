//! Behind a trusted proxy: its headers serve to write the gateway's own headers, and none of them is forwarded.

use super::forwarded::LEFT_OUT;
use super::{Case, case, get};

const LINE: &str = "GET /api/v1/x/ HTTP/1.1";

pub fn cases() -> Vec<Case> {
    let with = |name: &str, lines: &str| case(format!("proxied: {name}"), get("/api/v1/x/", lines)).passes(LINE);
    let mut cases: Vec<Case> = LEFT_OUT
        .map(|name| {
            let gone = format!("\n{}:", name.to_lowercase());
            with(name, &format!("{name}: forged\r\n")).without(&[&gone, "forged"])
        })
        .into();
    cases.extend([
        with("an address", "X-Forwarded-For: 203.0.113.9\r\n").with(&["x-forwarded-for: 203.0.113.9, 127.0.0.1"]),
        with("a chain", "X-Forwarded-For: 6.6.6.6, 203.0.113.9\r\n")
            .with(&["x-forwarded-for: 6.6.6.6, 203.0.113.9, 127.0.0.1"]),
        with("a chain in two lines", "X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-For: 203.0.113.9\r\n")
            .with(&["x-forwarded-for: 6.6.6.6, 203.0.113.9, 127.0.0.1"]),
        with("a scheme", "X-Forwarded-Proto: https\r\n").with(&["x-forwarded-proto: https"]),
        with("a scheme that is none", "X-Forwarded-Proto: gopher\r\n").with(&["x-forwarded-proto: http"]),
        with("a host", "X-Forwarded-Host: out.example\r\n").with(&["x-forwarded-host: out.example"]),
        with("a host that is none", "X-Forwarded-Host: a/b\r\n").with(&["x-forwarded-host: localhost"]),
        with("nothing", "").with(&["x-forwarded-for: 127.0.0.1", "x-forwarded-host: gw.example"]),
        case("proxied: an underscore", get("/api/v1/x/", "X_Forwarded_For: 6.6.6.6\r\n")).refused(400),
        case("proxied: dots", get("/api/v1/..;/", "X-Forwarded-For: 203.0.113.9\r\n")).refused(400),
    ]);
    cases
}
