//! The raw-socket table: the bytes sent to the gateway, its answer, whether the connection stays open, and the bytes
//! that reach v1, which are recorded.
//!
//! Each topic is a table of [`Case`]s in a file of its own. A case has the bytes to send and the expected outcome;
//! a new check of the door needs new cases here.
//!
//! May use: the public interface of the crate and `tests/support`.

mod chunks;
mod exchange;
mod floods;
mod forwarded;
mod frames;
mod framing;
mod h2;
mod h2_frames;
mod headers;
mod host;
mod lengths;
mod methods;
mod pipelining;
mod recorder;
mod request_line;
mod target;
mod trusted;

use crate::support::gateway::Gateway;
use exchange::run;
use recorder::Recorder;

/// One row of the table.
pub struct Case {
    name: String,
    bytes: Vec<u8>,
    /// Status of each answer, in order.
    statuses: Vec<u16>,
    closes: bool,
    /// Request lines that reach v1, in order.
    reaching: Vec<String>,
    /// Lines that v1 must find in the head.
    with: Vec<String>,
    /// Texts that must not reach v1.
    without: Vec<String>,
    /// The body at v1, when it matters.
    body: Option<Vec<u8>>,
}

/// A case that sends `bytes`, so far without an answer.
pub fn case(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Case {
    Case {
        name: name.into(),
        bytes: bytes.into(),
        statuses: Vec::new(),
        closes: false,
        reaching: Vec::new(),
        with: Vec::new(),
        without: Vec::new(),
        body: None,
    }
}

impl Case {
    /// Sets the statuses of the answers, in order; errors are problems.
    fn answers(mut self, statuses: &[u16]) -> Self {
        self.statuses = statuses.to_vec();
        self
    }

    /// Expects one refusal, and a connection that stays open.
    fn refused(self, status: u16) -> Self {
        self.answers(&[status])
    }

    /// Expects the connection to close after the answers; without this it must serve a further request.
    fn closes(mut self) -> Self {
        self.closes = true;
        self
    }

    /// Expects one 200 of v1, which gets exactly one request with this line.
    fn passes(self, line: &str) -> Self {
        self.answers(&[200]).reaching(&[line])
    }

    /// Sets the request lines that v1 gets.
    fn reaching(mut self, lines: &[&str]) -> Self {
        self.reaching = lines.iter().map(|line| (*line).to_owned()).collect();
        self
    }

    /// Sets header lines that v1 gets, in lower case.
    fn with(mut self, lines: &[&str]) -> Self {
        self.with = lines.iter().map(|line| (*line).to_owned()).collect();
        self
    }

    /// Sets texts that v1 must not get anywhere, in lower case.
    fn without(mut self, texts: &[&str]) -> Self {
        self.without = texts.iter().map(|text| (*text).to_owned()).collect();
        self
    }

    /// Sets the body that v1 gets.
    fn body(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.body = Some(bytes.into());
        self
    }
}

/// The rest of a valid request behind its first line.
const HOST: &str = "Host: gw.example\r\n";

/// A GET of `path` with further header lines.
fn get(path: &str, lines: &str) -> String {
    format!("GET {path} HTTP/1.1\r\n{HOST}{lines}\r\n")
}

/// A POST to v1 with these header lines and this body.
fn post(lines: &str, body: &str) -> String {
    format!("POST /api/v1/x/ HTTP/1.1\r\n{HOST}{lines}\r\n{body}")
}

/// One path of each kind: passed through, v2, a page, health, nothing.
const PATHS: [(&str, &str); 5] = [
    ("v1", "/api/v1/x/"),
    ("v2", "/api/v2/users/me/"),
    ("a page", "/.well-known/oauth-authorization-server"),
    ("health", "/healthz"),
    ("nowhere", "/nothing/here"),
];

/// The same fault on each kind of path: `request` makes the bytes from the path.
fn everywhere(name: &str, request: impl Fn(&str) -> String, expect: impl Fn(Case) -> Case) -> Vec<Case> {
    PATHS.iter().map(|(kind, path)| expect(case(format!("{name} ({kind})"), request(path)))).collect()
}

/// All cases of HTTP/1 that need no setting.
fn table() -> Vec<Case> {
    let topics = [
        framing::cases(),
        lengths::cases(),
        chunks::cases(),
        pipelining::cases(),
        request_line::cases(),
        host::cases(),
        target::cases(),
        methods::cases(),
        headers::cases(),
        forwarded::cases(),
    ];
    topics.into_iter().flatten().collect()
}

/// Runs all `cases` against `gateway` and reports every case with another outcome.
async fn all_hold(gateway: &Gateway, v1: &Recorder, cases: &[Case]) {
    let mut wrong = Vec::new();
    for case in cases {
        if let Err(fault) = run(gateway, v1, case).await {
            wrong.push(format!("{}: {fault}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[tokio::test]
async fn http1_as_the_table_says() {
    let v1 = Recorder::start().await;
    let gateway = Gateway::before(v1.base()).await;
    all_hold(&gateway, &v1, &table()).await;
}

#[tokio::test]
async fn underscores_can_be_dropped_instead() {
    let v1 = Recorder::start().await;
    let gateway = Gateway::with(v1.base(), &[("edge.underscores", "drop")]).await;
    all_hold(&gateway, &v1, &headers::dropping()).await;
}

#[tokio::test]
async fn headers_of_a_trusted_proxy_are_used_but_not_forwarded() {
    let v1 = Recorder::start().await;
    let gateway = Gateway::with(v1.base(), &[("trusted_proxies", "127.0.0.0/8")]).await;
    all_hold(&gateway, &v1, &trusted::cases()).await;
}

#[tokio::test]
async fn http2_as_the_table_says() {
    let v1 = Recorder::start().await;
    let gateway = Gateway::before(v1.base()).await;
    frames::all_hold(&gateway, &v1, &h2::cases()).await;
    frames::all_hold(&gateway, &v1, &h2_frames::cases()).await;
}

#[test]
fn the_table_is_large_and_names_each_case_once() {
    let mut names: Vec<String> = table().into_iter().map(|case| case.name).collect();
    let http1 = names.len();
    names.extend(headers::dropping().into_iter().chain(trusted::cases()).map(|case| case.name));
    names.extend(h2::cases().into_iter().chain(h2_frames::cases()).map(|case| case.name));
    let all = names.len();
    println!("raw cases: {all}, of them {http1} of HTTP/1 without settings");
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all, "two cases have one name");
    assert!(all >= 200, "{all} cases");
}
