//! Where and how the gateway accepts connections. May use: this folder.

use super::bounded::{at_once, positive, some_bytes, whole};
use super::reader::Reader;
use super::value::Size;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Smallest request head limit: below it ordinary requests fail.
const SMALLEST_HEAD: usize = 8 * 1024;
/// Largest request head limit.
const LARGEST_HEAD: usize = 1024 * 1024;

/// The listener (`[listen]`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenSettings {
    /// Address and port.
    pub address: SocketAddr,
    /// Time for a complete request head: the first from when the client has connected, later ones once begun.
    pub header_timeout: Duration,
    /// Largest request head in bytes.
    pub max_header_size: usize,
    /// Most header fields in a request.
    pub max_headers: usize,
    /// Time an open connection may stay without a request.
    pub idle_timeout: Duration,
    /// Longest time a client may leave an answer unread, and by which it may fall behind its pace.
    pub send_timeout: Duration,
    /// Bytes a second that a client has to read on average.
    pub send_pace: usize,
    /// Most connections at once.
    pub max_connections: usize,
    /// Time running requests get to finish after a stop signal.
    pub drain_time: Duration,
    /// TLS; without it connections are plain.
    pub tls: Option<TlsSettings>,
}

/// The certificate of the listener (`[listen.tls]`), as PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsSettings {
    /// File with the certificate, followed by those of its issuers.
    pub certificate_file: PathBuf,
    /// File with its private key.
    pub key_file: PathBuf,
}

impl ListenSettings {
    pub(super) fn read(from: &mut Reader) -> Self {
        Self {
            address: from.get("listen.address"),
            header_timeout: positive(from, "listen.header_timeout"),
            max_header_size: head_size(from),
            max_headers: whole(from, "listen.max_headers", 10..=1000),
            idle_timeout: positive(from, "listen.idle_timeout"),
            send_timeout: positive(from, "listen.send_timeout"),
            send_pace: some_bytes(from, "listen.send_pace"),
            max_connections: at_once(from, "listen.max_connections"),
            drain_time: from.get("listen.drain_time"),
            tls: TlsSettings::read(from),
        }
    }
}

impl TlsSettings {
    fn read(from: &mut Reader) -> Option<Self> {
        const FILES: [&str; 2] = ["listen.tls.certificate_file", "listen.tls.key_file"];
        match FILES.map(|name| from.optional(name)) {
            [Some(certificate_file), Some(key_file)] => Some(Self { certificate_file, key_file }),
            [None, None] => None,
            [certificate, _] => {
                let (given, missing) = if certificate.is_some() { (0, 1) } else { (1, 0) };
                from.fault(
                    FILES[missing],
                    &format!("missing beside {}", FILES[given]),
                    "name both files, or neither",
                );
                None
            }
        }
    }
}

fn head_size(from: &mut Reader) -> usize {
    let allowed = |size: &Size| (SMALLEST_HEAD..=LARGEST_HEAD).contains(&size.0);
    from.get_where("listen.max_header_size", "a size from \"8KiB\" to \"1MiB\"", allowed).0
}
