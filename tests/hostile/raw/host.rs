//! `Host`: exactly one in HTTP/1.1, a name or address with an optional port, and the same as in an absolute address.

use super::{Case, case, everywhere};

const LINE: &str = "GET /api/v1/x/ HTTP/1.1";

pub fn cases() -> Vec<Case> {
    let mut cases = everywhere("no Host", |path| format!("GET {path} HTTP/1.1\r\n\r\n"), |case| case.refused(400));
    cases.extend(everywhere(
        "two Hosts",
        |path| format!("GET {path} HTTP/1.1\r\nHost: a.example\r\nHost: b.example\r\n\r\n"),
        |case| case.refused(400),
    ));
    let invalid = [
        ("an empty Host", ""),
        ("a Host of blanks", "   "),
        ("a Host with a user", "user@gw.example"),
        ("a Host with a user and password", "user:secret@gw.example"),
        ("a Host with a path", "gw.example/path"),
        ("a Host with a scheme", "http://gw.example"),
        ("a Host with a query", "gw.example?x"),
        ("a Host with a fragment", "gw.example#x"),
        ("a Host with a blank", "gw.example evil.example"),
        ("two Hosts in a list", "gw.example, evil.example"),
        ("a Host with a backslash", "gw.example\\evil"),
        ("a Host with quotes", "\"gw.example\""),
        ("a Host with markup", "<b>"),
        ("a Host in percent", "%67w.example"),
        ("a Host with a NUL in percent", "gw.example%00"),
        ("a Host of other letters", "b\u{fc}cher.example"),
        ("a port alone", ":80"),
        ("a port that is empty", "gw.example:"),
        ("a port of letters", "gw.example:http"),
        ("a port too large", "gw.example:65536"),
        ("a port with a minus", "gw.example:-1"),
        ("a port with a plus", "gw.example:+80"),
        ("two ports", "gw.example:80:81"),
        ("an open bracket", "[::1"),
        ("a bracket too many", "[::1]]"),
        ("empty brackets", "[]"),
        ("a name in brackets", "[gw.example]"),
        ("an IPv4 address in brackets", "[127.0.0.1]"),
        ("an IPv6 address without brackets", "::1"),
        ("an IPv6 address with a zone", "[fe80::1%25eth0]"),
        ("something behind the bracket", "[::1]x"),
        ("a dot alone", "."),
        ("an empty label", "gw..example"),
        ("a semicolon in Host", "gw.example;x"),
    ];
    cases.extend(invalid.map(|(name, host)| case(name, with(host)).refused(400)));
    cases.push(case("a long Host", with(&"a.".repeat(200))).refused(400));
    let valid = [
        ("a name", "gw.example"),
        ("a name with a port", "gw.example:8080"),
        ("a name with the usual port", "gw.example:80"),
        ("a name in capitals", "GW.EXAMPLE"),
        ("a name with a dot at its end", "gw.example."),
        ("a name with an underscore", "gate_way:8080"),
        ("a name without a dot", "localhost"),
        ("an IDN in its ASCII form", "xn--bcher-kva.example"),
        ("an IPv4 address", "127.0.0.1:8080"),
        ("an IPv6 address", "[::1]"),
        ("an IPv6 address with a port", "[2001:db8::1]:8080"),
    ];
    cases.extend(valid.map(|(name, host)| {
        let told = format!("x-forwarded-host: {}", host.to_lowercase());
        case(name, with(host)).passes(LINE).with(&[&told])
    }));
    cases.push(case("no Host in HTTP/1.0", "GET /api/v1/x/ HTTP/1.0\r\n\r\n").passes(LINE).closes());
    cases.push(
        case("two Hosts in HTTP/1.0", "GET /api/v1/x/ HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n")
            .refused(400)
            .closes(),
    );
    cases.push(case("one Host twice", "GET /api/v1/x/ HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n").refused(400));
    cases.push(
        case("a Host behind a lone LF", "GET /api/v1/x/ HTTP/1.1\r\nX: 1\nHost: b\r\nHost: a\r\n\r\n")
            .refused(400)
            .closes(),
    );
    cases.extend(absolute());
    cases
}

/// A request with this `Host`.
fn with(host: &str) -> String {
    format!("GET /api/v1/x/ HTTP/1.1\r\nHost: {host}\r\n\r\n")
}

/// Addresses instead of paths.
fn absolute() -> Vec<Case> {
    let request = |target: &str, host: &str| format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let refused = [
        ("another host in the address", "http://evil.example/api/v1/x/", "gw.example"),
        ("another port in the address", "http://gw.example:81/api/v1/x/", "gw.example"),
        ("the port of another scheme", "https://gw.example/api/v1/x/", "gw.example:80"),
        ("a user in the address", "http://user@gw.example/api/v1/x/", "gw.example"),
        (
            "a user in the address that looks like the host",
            "http://gw.example@evil.example/api/v1/x/",
            "gw.example",
        ),
        ("another scheme", "ftp://gw.example/api/v1/x/", "gw.example"),
        ("a file", "file:///api/v1/x/", "gw.example"),
        ("no host in the address", "http:///api/v1/x/", "gw.example"),
        ("a host instead of a path", "gw.example:80", "gw.example:80"),
        ("a relative path", "api/v1/x/", "gw.example"),
        ("a path with a star", "*", "gw.example"),
        ("dots in an address", "http://gw.example/api/v1/../x/", "gw.example"),
        ("an empty port in the address", "http://gw.example:/api/v1/x/", "gw.example"),
    ];
    let taken = [
        ("the same host in the address", "http://gw.example/api/v1/x/", "gw.example"),
        ("the same host in other letters", "http://GW.example/api/v1/x/", "gw.EXAMPLE"),
        ("the usual port in the address", "http://gw.example:80/api/v1/x/", "gw.example"),
        ("the usual port in Host", "http://gw.example/api/v1/x/", "gw.example:80"),
        ("the same port", "http://gw.example:8080/api/v1/x/", "gw.example:8080"),
        ("https in the address", "https://gw.example/api/v1/x/", "gw.example:443"),
        ("an IPv6 address in the address", "http://[::1]:8080/api/v1/x/", "[::1]:8080"),
    ];
    // hyper takes some of these values for no address at all, so that the connection ends.
    let broken = ["no host in the address", "a relative path", "a file"];
    let refused = refused.map(|(name, target, host)| {
        let refused = case(name, request(target, host)).refused(400);
        if broken.contains(&name) { refused.closes() } else { refused }
    });
    let taken = taken.map(|(name, target, host)| case(name, request(target, host)).passes(LINE));
    refused.into_iter().chain(taken).collect()
}
