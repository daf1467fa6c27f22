//! How clients are served: listeners, addresses, limits, logs and traces. May use: this folder.

use super::address::HttpAddress;
use super::raw::Raw;
use super::reader::{Reader, at_once, positive, settings, some_bytes, whole};
use super::value::{Secret, Setting, Size};
use ipnet::IpNet;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use strum::EnumString;
use tracing_subscriber::filter::{LevelFilter, Targets};

settings! {
    /// The listener (`[listen]`).
    #[derive(Debug, Clone, PartialEq, Eq)]
    ListenSettings {
        /// Address and port.
        address: SocketAddr = Reader::get,
        /// Time for a complete request head, counted from the connection (first head) or from its first byte (later
        /// heads).
        header_timeout: Duration = positive,
        /// Maximum size of a request head, in bytes.
        max_header_size: usize = head_size,
        /// Maximum number of header fields in a request.
        max_headers: usize = whole(10..=1000),
        /// Time that a connection may stay open without a request.
        idle_timeout: Duration = positive,
        /// Maximum time that a client may leave an answer unread, and maximum time that it may be behind its pace.
        send_timeout: Duration = positive,
        /// Bytes a second that a client must read on average.
        send_pace: usize = some_bytes,
        /// Maximum number of connections at once.
        max_connections: usize = at_once,
        /// Time in which running requests may finish after a stop signal.
        drain_time: Duration = Reader::get,
        /// TLS; without it connections are unencrypted.
        tls: Option<TlsSettings> = tls,
    }
}

/// Smallest limit of a request head. Below it ordinary requests fail.
const SMALLEST_HEAD: usize = 8 * 1024;
/// Largest limit of a request head.
const LARGEST_HEAD: usize = 1024 * 1024;

fn head_size(from: &mut Reader, key: &str) -> usize {
    let allowed = |size: &Size| (SMALLEST_HEAD..=LARGEST_HEAD).contains(&size.0);
    from.get_where(key, "a size from \"8KiB\" to \"1MiB\"", allowed).0
}

/// The certificate of the listener (`[listen.tls]`), as PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsSettings {
    /// File with the certificate, followed by the certificates of its issuers.
    pub certificate_file: PathBuf,
    /// File with its private key.
    pub key_file: PathBuf,
}

fn tls(from: &mut Reader, _: &str) -> Option<TlsSettings> {
    const FILES: [&str; 2] = ["listen.tls.certificate_file", "listen.tls.key_file"];
    match FILES.map(|name| from.optional(name)) {
        [Some(certificate_file), Some(key_file)] => Some(TlsSettings { certificate_file, key_file }),
        [None, None] => None,
        [certificate, _] => {
            let (given, missing) = if certificate.is_some() { (0, 1) } else { (1, 0) };
            from.fault(FILES[missing], &format!("missing beside {}", FILES[given]), "name both files, or neither");
            None
        }
    }
}

settings! {
    /// The listener for operators (`[admin]`).
    #[derive(Debug, Clone, PartialEq, Eq, Default)]
    AdminSettings {
        /// Host names under which the listener answers, besides addresses and `localhost`.
        hosts: Vec<String> = hosts,
        /// File with the token.
        token_file: Option<PathBuf> = Reader::optional,
        /// The token as text; takes precedence over the file.
        token: Option<Secret> = token,
        /// Address and port; without them there is no such listener.
        listen: Option<SocketAddr> = admin_listen(token_file.is_some() || token.is_some()),
    }
}

/// Reads names of hosts. The listener compares them with the `Host` header without its port.
fn hosts(from: &mut Reader, key: &str) -> Vec<String> {
    let is_name = |host: &String| {
        !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
    };
    let form = "names of hosts without scheme and port, such as \"causeway.internal\"";
    from.get_where(key, form, |list: &Vec<String>| list.iter().all(is_name))
}

/// Minimum length of the token. Guessing such a token takes longer than any gateway runs.
const SHORTEST_TOKEN: usize = 16;

/// The form of a token, for messages.
pub const TOKEN_FORM: &str =
    "at least 16 printable characters without spaces, for example from `openssl rand -hex 24`";

/// Checks whether `text` can be a token.
pub fn is_token(text: &str) -> bool {
    text.len() >= SHORTEST_TOKEN && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn token(from: &mut Reader, key: &str) -> Option<Secret> {
    from.secret_not_from_flag(key, TOKEN_FORM, |token: &Secret| is_token(token.expose()))
}

/// Reads the table `[admin]`. Its listener needs another address than the listener of clients.
pub(super) fn admin(listen: &ListenSettings) -> impl Fn(&mut Reader, &str) -> AdminSettings {
    move |from, key| {
        let admin = AdminSettings::read(from, key);
        if listen.address.port() != 0 && admin.listen == Some(listen.address) {
            from.fault("admin.listen", "listen.address is the same address", "write another port");
        }
        admin
    }
}

fn admin_listen(has_token: bool) -> impl Fn(&mut Reader, &str) -> Option<SocketAddr> {
    move |from, key| {
        let address: Option<SocketAddr> = from.optional(key);
        if !has_token && address.is_some_and(|address| !address.ip().to_canonical().is_loopback()) {
            from.fault(
                key,
                "other machines can reach it, and there is no token",
                "set admin.token_file or the variable CAUSEWAY_ADMIN__TOKEN, or listen on 127.0.0.1",
            );
        }
        address
    }
}

settings! {
    /// The handling of incoming requests and outgoing answers (`[edge]`).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    EdgeSettings {
        /// The treatment of headers whose names have underscores.
        underscores: Underscores = Reader::get,
        /// Whether answers of v2 are sent as gzip or zstd to clients that accept it.
        compress: bool = Reader::get,
    }
}

/// The treatment of headers whose names have underscores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum Underscores {
    /// The request is refused.
    #[default]
    Refuse,
    /// The request is processed without them.
    Drop,
}

impl Setting for Underscores {
    const FORM: &'static str = "\"refuse\" or \"drop\"";

    fn from_raw(raw: &Raw) -> Option<Self> {
        String::from_raw(raw)?.parse().ok()
    }
}

/// The address at which clients reach the gateway, and the proxies that are trusted (`public_url`, `trusted_proxies`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PublicSettings {
    /// Fixed public address; `None` takes it from each request.
    pub url: Option<HttpAddress>,
    /// Reverse proxies whose forwarding headers are trusted.
    pub trusted_proxies: Vec<IpNet>,
}

impl PublicSettings {
    pub(super) fn read(from: &mut Reader, _: &str) -> Self {
        Self { url: from.optional("public_url"), trusted_proxies: from.get("trusted_proxies") }
    }

    /// Checks whether forwarding headers from `peer` are trusted. An IPv4 address mapped into IPv6 counts as IPv4.
    pub fn trusts(&self, peer: IpAddr) -> bool {
        let peer = peer.to_canonical();
        self.trusted_proxies.iter().any(|network| network.contains(&peer))
    }
}

settings! {
    /// The pages that may call the gateway from a browser (`[cors]`).
    #[derive(Debug, Clone, PartialEq, Eq, Default)]
    CorsSettings {
        /// Origins such as `https://app.example.com`; `*` stands for any.
        allowed_origins: Vec<String> = origins,
    }
}

impl CorsSettings {
    /// Checks whether pages of `origin` may call the gateway.
    pub fn allows(&self, origin: &str) -> bool {
        self.allowed_origins.iter().any(|allowed| allowed == "*" || allowed == origin)
    }
}

fn origins(from: &mut Reader, key: &str) -> Vec<String> {
    let form = "origins of scheme, host and optional port, such as \"https://app.example.com\", or \"*\"";
    from.get_where(key, form, |list: &Vec<String>| list.iter().all(|origin| is_origin(origin)))
}

/// Checks whether `text` is an origin in the normal form. Browsers send no other form, so none could ever match.
fn is_origin(text: &str) -> bool {
    let plain = |address: HttpAddress| address.as_str() == text && address.path().is_empty();
    text == "*" || HttpAddress::parse(text).is_some_and(plain)
}

settings! {
    /// The conditions under which the gateway counts as ready (`[ready]`).
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    ReadySettings {
        /// Whether the gateway is not ready while v1 is unusable.
        needs_v1: bool = Reader::get,
        /// Whether the gateway is not ready while the store is read-only or does not answer.
        needs_writes: bool = Reader::get,
    }
}

settings! {
    /// The limits of single requests, and of requests at once (`[limits]`).
    #[derive(Debug, Clone, PartialEq, Eq)]
    LimitSettings {
        /// Time until a v2 request must be answered.
        deadline: Duration = positive,
        /// Maximum number of v2 requests served at once.
        concurrency: usize = at_once,
        /// Maximum number of requests passed through at once, not counting those whose body has not fully arrived.
        pass_through: usize = at_once,
        /// Maximum number of requests to the authorization server served at once.
        oauth: usize = at_once,
        /// Maximum number of requests for documentation and for unknown paths served at once.
        pages: usize = at_once,
        /// Maximum number of bodies that arrive at once, for each of the four kinds of requests above.
        bodies: usize = at_once,
        /// Maximum number of answers that are sent at once.
        answers: usize = at_once,
        /// Share of each of these limits that one address or credential may have once half is taken, in per cent of
        /// the part that is still free.
        share: usize = per_cent,
        /// Maximum bytes of bodies, answers and v1's answers at once.
        memory: usize = some_bytes,
        /// Maximum size of a v2 request body, in bytes.
        body: usize = body_within(memory),
        /// Maximum pause between two pieces of a request body, except on the pass-through.
        body_pause: Duration = positive,
        /// Time that a body may be behind its pace.
        body_grace: Duration = positive,
        /// Bytes a second with which a request body must arrive.
        body_pace: usize = some_bytes,
        /// Maximum time that a request body may take, except on the pass-through.
        body_time: Duration = positive,
        /// Maximum number of writes that wait for the same record or rule.
        writers_waiting: usize = at_once,
        /// Requests a minute.
        rate: RateSettings = RateSettings::read,
    }
}

fn per_cent(from: &mut Reader, key: &str) -> usize {
    from.get_where(key, "per cent, a whole number from 1 to 100", |share| (1..=100).contains(share))
}

/// Reads a size of which one request can always have the memory: one client alone gets half of it (see `load`).
fn body_within(memory: usize) -> impl Fn(&mut Reader, &str) -> usize {
    move |from, key| {
        let body = some_bytes(from, key);
        if body > memory / 2 {
            let problem = format!(
                "a body of {body} bytes does not fit into half of limits.memory ({memory} bytes), and one client gets \
                 no more than half"
            );
            from.fault(key, &problem, "write a smaller size, or a limits.memory that is at least twice as large");
        }
        body
    }
}

settings! {
    /// The requests a minute that this gateway accepts (`[limits.rate]`); 0 means no limit.
    #[derive(Debug, Clone, PartialEq, Eq)]
    RateSettings {
        /// With one v1 API key.
        api_key: u32 = a_minute,
        /// With one token of the authorization server.
        oauth: u32 = a_minute,
        /// With one key for a workspace.
        workspace: u32 = a_minute,
        /// With one key of a service.
        service: u32 = a_minute,
        /// With one token from elsewhere.
        external: u32 = a_minute,
        /// From one address, without a valid credential.
        unauthenticated: u32 = a_minute,
    }
}

fn a_minute(from: &mut Reader, key: &str) -> u32 {
    let form = "a whole number of requests a minute up to 1000000, 0 for no limit";
    from.get_where(key, form, |rate: &usize| *rate <= 1_000_000) as u32
}

settings! {
    /// The content and form of the log (`[log]`).
    #[derive(Debug, Clone, PartialEq, Eq)]
    LogSettings {
        /// Form of the lines.
        format: LogFormat = Reader::get,
        /// Filter of the log, already validated: a level, and levels for parts of the program.
        filter: String = log_filter,
        /// Waiting time from which a request is logged as a warning; zero for none.
        slow: Duration = Reader::get,
        /// Whether log lines name the owner of a credential.
        owner: bool = Reader::get,
    }
}

/// Form of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

impl Setting for LogFormat {
    const FORM: &'static str = "\"text\" or \"json\"";

    fn from_raw(raw: &Raw) -> Option<Self> {
        String::from_raw(raw)?.parse().ok()
    }
}

fn log_filter(from: &mut Reader, key: &str) -> String {
    // A single word would be read as a part of the program, and would switch all other parts off.
    let is_level = |part: &str| part.contains('=') || part.trim().parse::<LevelFilter>().is_ok();
    let valid = |filter: &String| filter.split(',').all(is_level) && filter.parse::<Targets>().is_ok();
    from.get_where(key, "levels such as \"info\" or \"info,causeway=debug\"", valid)
}

settings! {
    /// The destination of traces (`[traces]`).
    #[derive(Debug, Clone, PartialEq, Eq)]
    TraceSettings {
        /// Address, with the path, at which a collector accepts OTLP over HTTP; without it no traces are sent.
        endpoint: Option<HttpAddress> = collector,
        /// One of this number of requests is recorded; 0 for none.
        one_in: usize = Reader::get,
    }
}

fn collector(from: &mut Reader, key: &str) -> Option<HttpAddress> {
    from.optional_where(key, "an address with its path, such as \"http://127.0.0.1:4318/v1/traces\"", |_| true)
}
