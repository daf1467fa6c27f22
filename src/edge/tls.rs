//! TLS on the public listener: its certificate, read again when its files change, while connections live on.
//!
//! TLS 1.2 and 1.3 with the suites that `rustls` holds for safe; ALPN offers HTTP/2 before HTTP/1.1. A request without
//! TLS is answered in words, and only `/healthz` is answered as ever, so that probes need no certificate.
//!
//! May use: `settings`, `telemetry`.

use crate::settings::TlsSettings;
use crate::telemetry::field;
use parking_lot::{Mutex, RwLock};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use yasna::tags::TAG_UTCTIME;
use yasna::{ASN1Error, ASN1ErrorKind, ASN1Result};

/// Time from one look at the files to the next.
const LOOK: Duration = Duration::from_secs(5);
/// The record that a connection with TLS begins with (RFC 8446, 5.1: handshake).
const HANDSHAKE: u8 = 22;
/// What the version of a certificate begins with, where it is said.
const VERSION: u8 = 0xa0;
/// What may be spoken, the preferred first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];
/// The answer to a client that speaks without TLS.
pub(super) const SPEAK_TLS: &[u8] = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\
    Content-Type: application/problem+json\r\nCache-Control: no-store\r\nContent-Length: 157\r\n\r\n\
    {\"type\":\"about:blank\",\"title\":\"Validation Error\",\"status\":400,\"code\":\"validation_error\",\"detail\":\"This address speaks TLS only: write https:// for http://.\"}";

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or is no PEM.
    #[error("{file} cannot be used: {cause}", file = .file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        cause: String,
    },
    /// The certificate and the key do not go together, or are of a kind that cannot be used.
    #[error("the certificate in {certificate} and the key in {key} cannot be used together: {cause}",
        certificate = .files.certificate_file.display(), key = .files.key_file.display())]
    Unfit {
        /// The files.
        files: TlsSettings,
        /// Why.
        cause: rustls::Error,
    },
}

/// The certificate of the listener; cheap to clone, all clones are the same.
#[derive(Clone)]
pub struct Tls(Arc<Shared>);

struct Shared {
    files: TlsSettings,
    current: RwLock<Certificate>,
    /// How the files were when they were last looked at.
    seen: Mutex<[Stamp; 2]>,
}

/// A certificate that was read and is not in use yet.
pub struct Renewed(Certificate, [Stamp; 2]);

struct Certificate {
    acceptor: TlsAcceptor,
    /// When the first of its chain ends, in seconds since 1970.
    ends_at: i64,
}

impl Tls {
    /// Reads the certificate and its key.
    ///
    /// # Errors
    /// When they cannot be read, or do not go together.
    pub fn open(files: &TlsSettings) -> Result<Self, TlsError> {
        let Renewed(certificate, seen) = read(files)?;
        let shared = Shared { files: files.clone(), current: RwLock::new(certificate), seen: Mutex::new(seen) };
        Ok(Self(Arc::new(shared)))
    }

    /// Reads both files again, and changes nothing yet.
    ///
    /// # Errors
    /// As [`Tls::open`].
    pub fn renewed(&self) -> Result<Renewed, TlsError> {
        read(&self.0.files)
    }

    /// New connections get this certificate; those that are open keep theirs.
    pub fn exchange(&self, renewed: Renewed) {
        let Renewed(certificate, seen) = renewed;
        *self.0.current.write() = certificate;
        *self.0.seen.lock() = seen;
    }

    /// When the certificate, or one of its chain, ends; in seconds since 1970.
    pub fn ends_at(&self) -> i64 {
        self.0.current.read().ends_at
    }

    /// Exchanges the certificate whenever its files have changed. One that cannot be used is told once, and the one
    /// before stays.
    pub async fn watch(self) {
        loop {
            tokio::time::sleep(LOOK).await;
            self.look();
        }
    }

    fn look(&self) {
        let now = stamps(&self.0.files);
        if *self.0.seen.lock() == now {
            return;
        }
        match self.renewed() {
            Ok(renewed) => {
                self.exchange(renewed);
                tracing::info!("the certificate of the listener was exchanged");
            }
            Err(fault) => {
                *self.0.seen.lock() = now;
                tracing::error!({ field::CAUSE } = %fault, "the certificate stays as it was");
            }
        }
    }

    /// Begins TLS on a connection.
    ///
    /// # Errors
    /// When the client speaks something else, or accepts nothing that is offered.
    pub(super) async fn begin(&self, socket: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let acceptor = self.0.current.read().acceptor.clone();
        acceptor.accept(socket).await
    }
}

/// Whether a connection that begins with these bytes speaks TLS.
pub(super) fn is_tls(beginning: &[u8]) -> bool {
    beginning.first() == Some(&HANDSHAKE)
}

fn read(files: &TlsSettings) -> Result<Renewed, TlsError> {
    // Before the files are read: a change made meanwhile is noticed at the next look.
    let seen = stamps(files);
    let fault = |file: &Path| {
        let file = file.to_owned();
        move |fault: pem::Error| TlsError::Unreadable { file, cause: in_words(&fault) }
    };
    let (certificate, key) = (&files.certificate_file, &files.key_file);
    let chain: Result<Vec<_>, _> = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect);
    let chain = chain.map_err(fault(certificate))?;
    if chain.is_empty() {
        return Err(fault(certificate)(pem::Error::NoItemsFound));
    }
    let ends_at = ends_at(certificate, &chain)?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(fault(key))?;
    let unfit = |cause| TlsError::Unfit { files: files.clone(), cause };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(unfit)?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(unfit)?;
    config.alpn_protocols = PROTOCOLS.iter().map(|name| name.to_vec()).collect();
    Ok(Renewed(Certificate { acceptor: TlsAcceptor::from(Arc::new(config)), ends_at }, seen))
}

/// When the first of the chain in `file` ends, in seconds since 1970.
fn ends_at(file: &Path, chain: &[CertificateDer<'_>]) -> Result<i64, TlsError> {
    let fault = |cause: ASN1Error| TlsError::Unreadable { file: file.to_owned(), cause: cause.to_string() };
    let mut ends = chain.iter().map(|one| not_after(one).map_err(fault));
    ends.try_fold(i64::MAX, |first, end| end.map(|end| first.min(end)))
}

/// `notAfter` of a certificate (RFC 5280, 4.1).
fn not_after(certificate: &[u8]) -> ASN1Result<i64> {
    let parts = |bytes: &[u8]| yasna::parse_der(bytes, |reader| reader.collect_sequence_of(|part| part.read_der()));
    let at = |parts: &[Vec<u8>], at: usize| parts.get(at).cloned().ok_or(ASN1Error::new(ASN1ErrorKind::Eof));
    let signed = parts(&at(&parts(certificate)?, 0)?)?;
    // Number, algorithm and issuer stand before it, and the version if it is said.
    let before = if at(&signed, 0)?.first() == Some(&VERSION) { 4 } else { 3 };
    yasna::parse_der(&at(&parts(&at(&signed, before)?)?, 1)?, |end| {
        let end = match end.lookahead_tag()? {
            TAG_UTCTIME => *end.read_utctime()?.datetime(),
            _ => *end.read_generalized_time()?.datetime(),
        };
        Ok(end.unix_timestamp())
    })
}

fn in_words(fault: &pem::Error) -> String {
    match fault {
        pem::Error::NoItemsFound => "it has no such PEM block (BEGIN CERTIFICATE, or BEGIN PRIVATE KEY)".to_owned(),
        pem::Error::Io(cause) => cause.to_string(),
        other => other.to_string(),
    }
}

/// What shows that a file is another one than before. Links are followed, for certificates are often exchanged by them.
type Stamp = Option<(SystemTime, u64, u64)>;

fn stamps(files: &TlsSettings) -> [Stamp; 2] {
    [&files.certificate_file, &files.key_file].map(|file| {
        let file = fs::metadata(file).ok()?;
        Some((file.modified().ok()?, file.len(), file.ino()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_without_tls_is_as_long_as_it_says() {
        let text = std::str::from_utf8(SPEAK_TLS).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("Content-Length: {}", body.len())), "{}", body.len());
        let problem: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(problem["status"], 400);
    }

    #[test]
    fn a_handshake_is_told_from_words() {
        assert!(is_tls(&[22, 3, 1, 0]));
        assert!(!is_tls(b"GET / HTTP/1.1") && !is_tls(b"PRI *") && !is_tls(b""));
    }
}
