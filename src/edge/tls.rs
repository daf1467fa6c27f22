//! TLS on the public listener. Its certificate is read again when its files change; open connections continue.
//!
//! TLS 1.2 and 1.3 with the suites that `rustls` considers safe; ALPN offers HTTP/2 before HTTP/1.1. A request without
//! TLS gets an unencrypted problem that says to use `https://`. Only `/healthz` is answered as usual without TLS, so
//! that probes need no certificate.
//!
//! While the gateway serves, the files are read on a thread of their own. A file system may hang for ever, and neither
//! requests nor the end of the process may wait for it.
//!
//! May use: `aside`, `settings`, `telemetry`.

use crate::aside::{READING, WorkLock};
use crate::settings::TlsSettings;
use crate::telemetry::field;
use parking_lot::{Mutex, RwLock};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{fs, io};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use yasna::tags::TAG_UTCTIME;
use yasna::{ASN1Error, ASN1ErrorKind, ASN1Result};

/// Time between two checks of the files.
const LOOK: Duration = Duration::from_secs(5);
/// Type of the first record of a TLS connection (RFC 8446, 5.1: handshake).
const HANDSHAKE: u8 = 22;
/// First byte of the version of a certificate, where the version is present.
const VERSION: u8 = 0xa0;
/// Offered protocols, the preferred first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// Reason why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("{file} cannot be used: {cause}", file = .file.display())]
    Unreadable { file: PathBuf, cause: String },
    #[error("the certificate in {certificate} and the key in {key} cannot be used together: {cause}",
        certificate = .files.certificate_file.display(), key = .files.key_file.display())]
    Unfit { files: TlsSettings, cause: rustls::Error },
    #[error("the certificate in {file} has ended, and the one in use has not", file = .0.display())]
    Ended(PathBuf),
    #[error("{certificate} and {key} cannot be used: they could not be read within {READING:?}",
        certificate = .0.certificate_file.display(), key = .0.key_file.display())]
    Hangs(TlsSettings),
}

/// The certificate of the listener. Cheap to clone; all clones are the same.
#[derive(Clone)]
pub struct Tls(Arc<Shared>);

struct Shared {
    files: TlsSettings,
    current: RwLock<Certificate>,
    /// State of the files at the last check.
    seen: Mutex<[Stamp; 2]>,
    /// Allows one reader of the files at a time.
    reading: WorkLock,
}

/// A certificate that was read and is not in use yet.
pub struct Renewed(Certificate, [Stamp; 2]);

struct Certificate {
    acceptor: TlsAcceptor,
    /// Earliest expiry of all certificates in the chain, in seconds since 1970.
    ends_at: i64,
}

impl Tls {
    /// Reads the certificate and its key.
    pub fn open(files: &TlsSettings) -> Result<Self, TlsError> {
        let Renewed(certificate, seen) = read(files)?;
        let shared = Shared {
            files: files.clone(),
            current: RwLock::new(certificate),
            seen: Mutex::new(seen),
            reading: WorkLock::default(),
        };
        Ok(Self(Arc::new(shared)))
    }

    /// Reads both files again, without using them yet.
    ///
    /// # Errors
    /// As [`Tls::open`]; also when reading takes too long, or when the read certificate has expired and the present one
    /// has not.
    pub async fn renewed(&self) -> Result<Renewed, TlsError> {
        self.aside(read).await?.and_then(|renewed| self.as_good(renewed))
    }

    /// Uses this certificate for new connections; open connections keep theirs.
    pub fn exchange(&self, renewed: Renewed) {
        let Renewed(certificate, seen) = renewed;
        *self.0.current.write() = certificate;
        *self.0.seen.lock() = seen;
    }

    /// Returns the earliest expiry of all certificates in the chain, in seconds since 1970.
    pub fn ends_at(&self) -> i64 {
        self.0.current.read().ends_at
    }

    /// Exchanges the certificate whenever its files have changed. An unusable certificate is logged once, and the
    /// present one stays. The expiry of the present certificate is logged once as well.
    pub async fn watch(self) {
        let (mut hung, mut told) = (false, None);
        loop {
            let ends_at = self.ends_at();
            if has_ended(ends_at) && told.replace(ends_at) != Some(ends_at) {
                let file = self.0.files.certificate_file.display();
                tracing::warn!(%file, "the certificate of the listener has ended; clients refuse it");
            }
            tokio::time::sleep(LOOK).await;
            hung = self.look(hung).await;
        }
    }

    /// Checks the files once. Returns whether they could not be read in time, which is not logged again when it `hung`
    /// before.
    async fn look(&self, hung: bool) -> bool {
        let seen = *self.0.seen.lock();
        let changed = move |files: &_| {
            let now = stamps(files);
            (now != seen).then(|| (now, read(files)))
        };
        match self.aside(changed).await {
            Ok(Some((now, outcome))) => self.take_in(now, outcome),
            Ok(None) => {}
            Err(_) if hung => return true,
            Err(fault) => {
                tracing::error!({ field::CAUSE } = %fault, "the certificate stays as it was");
                return true;
            }
        }
        false
    }

    /// Uses the certificate read from changed files, if possible.
    fn take_in(&self, now: [Stamp; 2], outcome: Result<Renewed, TlsError>) {
        match outcome.and_then(|renewed| self.as_good(renewed)) {
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

    /// Rejects an expired certificate unless the present one has expired too.
    fn as_good(&self, renewed: Renewed) -> Result<Renewed, TlsError> {
        if has_ended(renewed.0.ends_at) && !has_ended(self.ends_at()) {
            return Err(TlsError::Ended(self.0.files.certificate_file.clone()));
        }
        Ok(renewed)
    }

    /// Runs `work` on the files and returns its result. While an earlier read hangs, no other begins.
    async fn aside<T: Send + 'static>(
        &self,
        work: impl FnOnce(&TlsSettings) -> T + Send + 'static,
    ) -> Result<T, TlsError> {
        let files = self.0.files.clone();
        let found = self.0.reading.aside("certificate", READING, move || work(&files)).await;
        found.ok_or_else(|| TlsError::Hangs(self.0.files.clone()))
    }

    pub(super) async fn begin(&self, socket: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let acceptor = self.0.current.read().acceptor.clone();
        acceptor.accept(socket).await
    }
}

/// Checks whether a certificate with this expiry (in seconds since 1970) has expired.
fn has_ended(ends_at: i64) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_secs()).is_ok_and(|now| ends_at < now)
}

/// Builds the answer to a client that does not use TLS. `base` is the public address, if it is configured.
pub(super) fn speak_tls(base: Option<&str>) -> String {
    let kind = base.map_or_else(|| "about:blank".to_owned(), |base| format!("{base}/errors/validation_error"));
    let problem = serde_json::json!({
        "type": kind,
        "title": "Validation Error",
        "status": 400,
        "code": "validation_error",
        "detail": "This address speaks TLS only: write https:// for http://.",
    });
    let body = problem.to_string();
    format!(
        "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: application/problem+json\r\n\
         Cache-Control: no-store\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Checks whether a connection that begins with these bytes uses TLS.
pub(super) fn is_tls(beginning: &[u8]) -> bool {
    beginning.first() == Some(&HANDSHAKE)
}

fn read(files: &TlsSettings) -> Result<Renewed, TlsError> {
    // Before the files are read, so that a change during the read is noticed at the next check.
    let seen = stamps(files);
    let fault = |file: &Path| {
        let file = file.to_owned();
        move |fault: pem::Error| TlsError::Unreadable { file, cause: in_words(&fault) }
    };
    let (certificate, key) = (&files.certificate_file, &files.key_file);
    for file in [certificate, key] {
        // Opening a pipe would wait for a writer.
        if fs::metadata(file).is_ok_and(|found| !found.is_file()) {
            return Err(TlsError::Unreadable { file: file.clone(), cause: "it is no regular file".to_owned() });
        }
    }
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

/// Returns the earliest expiry of all certificates in the chain of `file`, in seconds since 1970.
fn ends_at(file: &Path, chain: &[CertificateDer<'_>]) -> Result<i64, TlsError> {
    let fault = |cause: ASN1Error| TlsError::Unreadable { file: file.to_owned(), cause: cause.to_string() };
    let mut ends = chain.iter().map(|one| not_after(one).map_err(fault));
    ends.try_fold(i64::MAX, |first, end| end.map(|end| first.min(end)))
}

/// Reads `notAfter` of a certificate (RFC 5280, 4.1).
fn not_after(certificate: &[u8]) -> ASN1Result<i64> {
    let parts = |bytes: &[u8]| yasna::parse_der(bytes, |reader| reader.collect_sequence_of(|part| part.read_der()));
    let at = |parts: &[Vec<u8>], at: usize| parts.get(at).cloned().ok_or(ASN1Error::new(ASN1ErrorKind::Eof));
    let signed = parts(&at(&parts(certificate)?, 0)?)?;
    // Serial number, algorithm and issuer come before it, and the version if it is present.
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

/// Data that changes when a file is replaced. Links are followed, because certificates are often exchanged by a link.
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
    fn the_answer_without_tls_is_a_problem_under_the_public_address() {
        for (base, kind) in [
            (None, "about:blank"),
            (Some("https://v2.example.com"), "https://v2.example.com/errors/validation_error"),
        ] {
            let answer = speak_tls(base);
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            assert!(head.contains(&format!("Content-Length: {}", body.len())), "{}", body.len());
            let problem: serde_json::Value = serde_json::from_str(body).unwrap();
            assert_eq!((&problem["type"], &problem["status"]), (&kind.into(), &400.into()));
        }
    }

    #[test]
    fn a_pipe_is_refused_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe.pem");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let files = TlsSettings { certificate_file: pipe.clone(), key_file: pipe };
        let fault = Tls::open(&files).err().unwrap().to_string();
        assert!(fault.ends_with("pipe.pem cannot be used: it is no regular file"), "{fault}");
    }

    #[test]
    fn a_handshake_is_told_from_words() {
        assert!(is_tls(&[22, 3, 1, 0]));
        assert!(!is_tls(b"GET / HTTP/1.1") && !is_tls(b"PRI *") && !is_tls(b""));
    }
}
