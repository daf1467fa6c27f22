//! Requests of HTTP/2: the same door as for HTTP/1, with `:authority` in the place of `Host`.

use super::frames::Outcome::{GoneAway, Passed, Refused, Reset};
use super::frames::{DATA, END_HEADERS, END_STREAM, HEADERS, Outcome, Row, block, frame};

type Headers<'a> = Vec<(&'a str, &'a [u8])>;

/// The pseudo-headers of a GET.
fn get(path: &str) -> Headers<'_> {
    vec![(":method", b"GET"), (":scheme", b"http"), (":path", path.as_bytes()), (":authority", b"gw.example")]
}

/// A request without a body.
pub fn row(name: &str, headers: &[(&str, &[u8])], outcome: Outcome) -> Row {
    let frames = frame(HEADERS, END_HEADERS | END_STREAM, 1, &block(headers));
    Row { name: format!("h2: {name}"), frames, outcome, reaching: Vec::new(), without: Vec::new() }
}

impl Row {
    /// Sets the one request that reaches v1.
    pub fn reaching(mut self, line: &str) -> Self {
        self.reaching = vec![line.to_owned()];
        self
    }

    /// Sets the texts that v1 must not get.
    fn without(mut self, texts: &[&str]) -> Self {
        self.without = texts.iter().map(|text| (*text).to_owned()).collect();
        self
    }

    /// The same with a body.
    fn with_body(mut self, body: &[u8]) -> Self {
        self.frames[4] = END_HEADERS;
        self.frames.extend(frame(DATA, END_STREAM, 1, body));
        self
    }
}

pub fn cases() -> Vec<Row> {
    let mut rows = paths();
    rows.extend(authorities());
    rows.extend(methods());
    rows.extend(fields());
    rows.extend(bodies());
    rows
}

fn paths() -> Vec<Row> {
    let refused = [
        ("dots", "/api/v1/../admin/"),
        ("dots in percent", "/api/v1/%2e%2e/admin/"),
        ("dots and a semicolon", "/api/v1/..;/admin/"),
        ("a slash in percent", "/api/v1/a%2fb/"),
        ("a backslash", "/api/v1/a\\b/"),
        ("a backslash in percent", "/api/v1/a%5cb/"),
        ("a NUL in percent", "/api/v1/%00/"),
        ("an overlong dot", "/api/v1/%c0%ae%c0%ae/"),
        ("a line break in percent", "/api/v1/%0d%0a/"),
        ("a NUL in the query", "/api/v1/x/?q=%00"),
        ("dots in v2", "/api/v2/../v1/x/"),
        ("dots behind health", "/healthz/../x"),
        ("an asterisk", "*"),
    ];
    let taken = [
        "/api/v1/x/",
        "/api/v1//x/?q=%20",
        "/api/v1/%252e/",
        "/api/v1/a..b/?next=../%00x".trim_end_matches("%00x"),
        "/api/v1/x/?q={a}[b]|c\\d^e`f",
    ];
    let refused = refused.map(|(name, path)| row(name, &get(path), Refused(400)));
    let taken = taken
        .map(|path| row(&format!("the path {path}"), &get(path), Passed).reaching(&format!("GET {path} HTTP/1.1")));
    let broken = [
        ("an empty path", ""),
        ("a blank in the path", "/api/v1/a b/"),
        ("a NUL in the path", "/api/v1/\0/"),
        ("a backtick in the path", "/api/v1/a`b/"),
        ("a quotation mark in the query", "/api/v1/x/?q=a\"b"),
        ("a less-than sign in the query", "/api/v1/x/?q=a<b"),
        ("a greater-than sign in the query", "/api/v1/x/?q=a>b"),
    ];
    let broken = broken.map(|(name, path)| row(name, &get(path), Reset));
    // The library that reads the frames drops a fragment before the gateway sees the path.
    let fragments = [
        row("a fragment", &get("/api/v1/x/#y"), Passed).reaching("GET /api/v1/x/ HTTP/1.1"),
        row("a fragment after a query", &get("/api/v1/x/?q=1#/../y"), Passed)
            .reaching("GET /api/v1/x/?q=1 HTTP/1.1"),
    ];
    refused.into_iter().chain(taken).chain(broken).chain(fragments).collect()
}

fn authorities() -> Vec<Row> {
    let with = |authority: Option<&'static str>, hosts: &[&'static str]| {
        let mut headers: Headers<'static> =
            vec![(":method", b"GET"), (":scheme", b"http"), (":path", b"/api/v1/x/")];
        headers.extend(authority.map(|authority| (":authority", authority.as_bytes())));
        headers.extend(hosts.iter().map(|host| ("host", host.as_bytes())));
        headers
    };
    let line = "GET /api/v1/x/ HTTP/1.1";
    vec![
        row("no authority and no Host", &with(None, &[]), Refused(400)),
        row("a Host alone", &with(None, &["gw.example"]), Passed).reaching(line),
        row("two Hosts", &with(None, &["gw.example", "gw.example"]), Refused(400)),
        row("a Host that differs", &with(Some("gw.example"), &["evil.example"]), Refused(400)),
        row("a Host with another port", &with(Some("gw.example:80"), &["gw.example:81"]), Refused(400)),
        row("the same Host", &with(Some("gw.example"), &["GW.example:80"]), Passed).reaching(line),
        row("two Hosts, one the same", &with(Some("gw.example"), &["gw.example", "evil.example"]), Refused(400)),
        row("a user in the authority", &with(Some("user@gw.example"), &[]), Refused(400)),
        row("an authority that is none", &with(Some("gw.example/x"), &[]), Reset),
        row("an authority in percent", &with(Some("%67w.example"), &[]), Reset),
        row("an IPv6 address", &with(Some("[::1]:8080"), &[]), Passed).reaching(line),
        row("a port too large", &with(Some("gw.example:99999"), &[]), Refused(400)),
        row("an invalid Host", &with(None, &["a/b"]), Refused(400)),
    ]
}

fn methods() -> Vec<Row> {
    let with = |method: &'static str, path: &'static str| {
        let mut headers = get(path);
        headers[0].1 = method.as_bytes();
        headers
    };
    let connect: Headers<'_> = vec![(":method", b"CONNECT"), (":authority", b"v1.example:443")];
    let mut websocket = with("CONNECT", "/api/v1/x/");
    websocket.push((":protocol", b"websocket"));
    vec![
        row("CONNECT", &connect, Refused(405)),
        row("CONNECT for WebSocket", &websocket, Reset),
        row("TRACE", &with("TRACE", "/api/v1/x/"), Refused(405)),
        row("trace", &with("trace", "/api/v1/x/"), Refused(400)),
        row("delete", &with("delete", "/api/v1/x/"), Refused(400)),
        row("PATCH", &with("PATCH", "/api/v1/x/"), Passed).reaching("PATCH /api/v1/x/ HTTP/1.1"),
        row("OPTIONS *", &with("OPTIONS", "*"), Refused(404)),
        row("HEAD of health", &with("HEAD", "/healthz"), Passed),
        row("a method with a blank", &with("GE T", "/api/v1/x/"), GoneAway),
    ]
}

fn fields() -> Vec<Row> {
    let with = |name: &'static str, value: &'static [u8]| {
        let mut headers = get("/api/v1/x/");
        headers.push((name, value));
        headers
    };
    let line = "GET /api/v1/x/ HTTP/1.1";
    let mut cookies = with("cookie", b"a=b");
    cookies.push(("cookie", b"t=cwk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"));
    vec![
        row("an underscore", &with("x_odd", b"1"), Refused(400)),
        row("a key under an underscore", &with("x_api_key", b"k"), Refused(400)),
        row("a gateway key", &with("x-api-key", b"cwk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"), Refused(401)),
        row("a gateway key in a cookie", &cookies, Refused(401)),
        row("a stranger's address", &with("x-forwarded-for", b"6.6.6.6"), Passed)
            .reaching(line)
            .without(&["6.6.6.6"]),
        row("a stranger's X-Real-IP", &with("x-real-ip", b"6.6.6.6"), Passed).reaching(line).without(&["6.6.6.6"]),
        row("a stranger's Forwarded", &with("forwarded", b"for=6.6.6.6"), Passed)
            .reaching(line)
            .without(&["6.6.6.6"]),
        row("a stranger's X-Original-URL", &with("x-original-url", b"/admin"), Passed)
            .reaching(line)
            .without(&["/admin"]),
        row("a name in capitals", &with("X-Odd", b"1"), GoneAway),
        row("a line break in a value", &with("x-odd", b"a\r\nx-evil: 1"), GoneAway),
        row("a NUL in a value", &with("x-odd", b"a\0b"), GoneAway),
        row("a blank in a name", &with("x odd", b"1"), GoneAway),
        row("a line break in a name", &with("x-odd: 1\r\nx-evil", b"1"), GoneAway),
        row("an empty name", &with("", b"1"), GoneAway),
        row("Connection", &with("connection", b"close"), Reset),
        row("Keep-Alive", &with("keep-alive", b"1"), Reset),
        row("Upgrade", &with("upgrade", b"h2c"), Reset),
        row("Proxy-Connection", &with("proxy-connection", b"close"), Reset),
        row("Transfer-Encoding", &with("transfer-encoding", b"chunked"), Reset),
        row("TE of another kind", &with("te", b"gzip"), Reset),
        row("TE for trailers", &with("te", b"trailers"), Passed).reaching(line),
    ]
}

fn bodies() -> Vec<Row> {
    let with = |name: &str, lengths: &[&'static [u8]], body: &[u8], outcome: Outcome| {
        let mut headers = get("/api/v1/x/");
        headers[0].1 = b"POST";
        headers.extend(lengths.iter().map(|length| ("content-length", *length)));
        row(name, &headers, outcome).with_body(body)
    };
    let line = "POST /api/v1/x/ HTTP/1.1";
    let smuggled = b"GET /api/v1/hidden/ HTTP/1.1\r\nHost: x\r\n\r\n";
    vec![
        with("a body", &[], b"abc", Passed).reaching(line),
        with("a body with its length", &[b"3"], b"abc", Passed).reaching(line),
        with("a body that looks like chunks", &[], b"0\r\n\r\nGET /api/v1/hidden/ HTTP/1.1\r\n\r\n", Passed)
            .reaching(line),
        with("a body that looks like a request", &[], smuggled, Passed).reaching(line),
        with("two lengths, the first right", &[b"3", b"5"], b"abc", Reset),
        with("two lengths, both right", &[b"3", b"3"], b"abc", Refused(400)),
        with("a list of lengths", &[b"3, 3"], b"abc", Reset),
        with("a length with a plus", &[b"+3"], b"abc", Reset),
        with("a length that is none", &[b"x"], b"abc", Reset),
        with("a length too small", &[b"0"], smuggled, Reset),
        with("a length too large", &[b"90"], b"abc", Reset),
    ]
}
