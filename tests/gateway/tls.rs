//! TLS on the gateway's own listener: the accepted and refused versions, and certificates replaced while it serves.

use crate::support::captured::Captured;
use crate::support::gateway::Gateway;
use causeway::app::App;
use causeway::sandbox::Seed;
use causeway::settings::{LoadArgs, Settings};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, ProtocolVersion, RootCertStore};
use rustls::{SignatureScheme, SupportedCipherSuite, version};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(30);

/// An issuer, and the files of a certificate that it has signed for `localhost`.
struct Files {
    folder: TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Files {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an issuer");
        let files = Self { folder: tempfile::tempdir().expect("a folder"), issuer };
        files.renew();
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes another certificate and key into the same files.
    fn renew(&self) {
        self.renew_until(4096);
    }

    /// The same, with a certificate that is valid until the begin of a year.
    fn renew_until(&self, year: i32) {
        let key = KeyPair::generate().expect("a key");
        let mut names = CertificateParams::new(["localhost".to_owned()]).expect("a name");
        names.not_after = rcgen::date_time_ymd(year, 1, 1);
        let certificate = names.signed_by(&key, &self.issuer).expect("a certificate");
        std::fs::write(self.path("certificate.pem"), certificate.pem()).expect("a file");
        std::fs::write(self.path("key.pem"), key.serialize_pem()).expect("a file");
    }

    fn settings(&self) -> [(&'static str, String); 2] {
        let text = |path: PathBuf| path.to_str().expect("UTF-8").to_owned();
        [
            ("listen.tls.certificate_file", text(self.path("certificate.pem"))),
            ("listen.tls.key_file", text(self.path("key.pem"))),
        ]
    }

    async fn gateway(&self, further: &[(&str, &str)]) -> Gateway {
        let settings = self.settings();
        let mut all: Vec<(&str, &str)> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
        all.extend_from_slice(further);
        Gateway::sandboxed_with(Seed::Demo, &all).await
    }

    fn client(&self) -> Client {
        let provider = ring::default_provider();
        let mut roots = RootCertStore::empty();
        roots.add(self.issuer.der().clone()).expect("an issuer");
        Client { roots, provider, versions: vec![&version::TLS12, &version::TLS13], protocols: Vec::new() }
    }
}

struct Client {
    roots: RootCertStore,
    provider: CryptoProvider,
    versions: Vec<&'static rustls::SupportedProtocolVersion>,
    protocols: Vec<&'static str>,
}

impl Client {
    fn speaking(mut self, protocols: &[&'static str]) -> Self {
        self.protocols = protocols.to_vec();
        self
    }

    fn with_suite(mut self, suite: SupportedCipherSuite) -> Self {
        self.versions = vec![suite.version()];
        self.provider.cipher_suites = vec![suite];
        self
    }

    /// Connects without checking the certificate.
    async fn trusting_all(self, gateway: &Gateway) -> TlsStream<TcpStream> {
        let config = ClientConfig::builder_with_provider(Arc::new(self.provider));
        let config = config.with_protocol_versions(&self.versions).expect("versions").dangerous();
        let config = config.with_custom_certificate_verifier(Arc::new(Blind)).with_no_client_auth();
        let name = ServerName::try_from("localhost").expect("a name");
        TlsConnector::from(Arc::new(config)).connect(name, plain(gateway).await).await.expect("a handshake")
    }

    async fn connect(self, gateway: &Gateway) -> io::Result<TlsStream<TcpStream>> {
        let config = ClientConfig::builder_with_provider(Arc::new(self.provider));
        let config = config.with_protocol_versions(&self.versions).expect("versions");
        let mut config = config.with_root_certificates(self.roots).with_no_client_auth();
        config.alpn_protocols = self.protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        let name = ServerName::try_from("localhost").expect("a name");
        TlsConnector::from(Arc::new(config)).connect(name, plain(gateway).await).await
    }
}

/// A verifier that accepts every certificate.
#[derive(Debug)]
struct Blind;

impl ServerCertVerifier for Blind {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}

async fn plain(gateway: &Gateway) -> TcpStream {
    TcpStream::connect(gateway.base().trim_start_matches("http://")).await.expect("a connection")
}

fn shown(stream: &TlsStream<TcpStream>) -> CertificateDer<'static> {
    stream.get_ref().1.peer_certificates().expect("a certificate")[0].clone().into_owned()
}

/// Returns status and body of a request with a Content-Length answer, on a connection that stays open.
async fn ask(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), path: &str) -> (u16, String) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: gateway.example\r\nX-Api-Key: demo-admin-key\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("a request");
    let mut bytes = Vec::new();
    let head = loop {
        let read = tokio::time::timeout(PATIENCE, stream.read_buf(&mut bytes)).await.expect("an answer in time");
        assert!(read.expect("an answer") > 0, "{}", String::from_utf8_lossy(&bytes));
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, _)) = text.split_once("\r\n\r\n") {
            break head.to_lowercase();
        }
    };
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).expect("a length");
    let whole = head.len() + 4 + length.parse::<usize>().expect("a number");
    while bytes.len() < whole {
        assert!(stream.read_buf(&mut bytes).await.expect("a body") > 0);
    }
    (status, String::from_utf8_lossy(&bytes[head.len() + 4..whole]).into_owned())
}

#[tokio::test]
async fn versions_suites_and_protocols_are_todays() {
    let files = Files::new();
    let gateway = files.gateway(&[]).await;
    for suite in ring::ALL_CIPHER_SUITES {
        // The key is an ECDSA key, as most are; suites with RSA need another key.
        if format!("{:?}", suite.suite()).contains("ECDHE_RSA") {
            continue;
        }
        let stream = files.client().with_suite(*suite).connect(&gateway).await.expect("a handshake");
        let spoken = stream.get_ref().1;
        assert_eq!(spoken.negotiated_cipher_suite().map(|suite| suite.suite()), Some(suite.suite()));
        assert_eq!(spoken.protocol_version(), Some(suite.version().version));
    }
    let stream = files.client().connect(&gateway).await.expect("a handshake");
    assert_eq!(stream.get_ref().1.protocol_version(), Some(ProtocolVersion::TLSv1_3));
    for (offered, chosen) in [
        (&["http/1.1", "h2"][..], Some("h2")),
        (&["h2"], Some("h2")),
        (&["http/1.1"], Some("http/1.1")),
        (&[], None),
    ] {
        let stream = files.client().speaking(offered).connect(&gateway).await.expect("a handshake");
        let spoken = stream.get_ref().1.alpn_protocol().map(|name| String::from_utf8_lossy(name).into_owned());
        assert_eq!(spoken.as_deref(), chosen, "{offered:?}");
    }
    let refused = files.client().speaking(&["spdy/3"]).connect(&gateway).await.expect_err("nothing in common");
    assert!(refused.to_string().contains("NoApplicationProtocol"), "{refused}");
}

/// Returns a ClientHello of `version` with suites that every version before TLS 1.3 knew.
fn greeting(version: u8) -> Vec<u8> {
    let suites = [0xc0, 0x13, 0xc0, 0x14, 0xc0, 0x09, 0xc0, 0x0a, 0x00, 0x2f, 0x00, 0x35, 0x00, 0x0a, 0x00, 0x05];
    let mut hello = vec![3, version];
    hello.extend([7; 32]);
    hello.push(0);
    hello.extend([0, suites.len() as u8]);
    hello.extend(suites);
    hello.extend([1, 0]);
    let mut message = vec![1, 0, 0, hello.len() as u8];
    message.extend(hello);
    let mut record = vec![22, 3, version.min(1), 0, message.len() as u8];
    record.extend(message);
    record
}

#[tokio::test]
async fn outdated_tls_versions_and_suites_are_refused() {
    let files = Files::new();
    let gateway = files.gateway(&[]).await;
    // SSL 3, TLS 1.0, TLS 1.1, and TLS 1.2 with only suites that lack forward secrecy or use SHA-1.
    for version in 0..=3 {
        let mut socket = plain(&gateway).await;
        socket.write_all(&greeting(version)).await.expect("a greeting");
        let mut answer = Vec::new();
        let _ = tokio::time::timeout(PATIENCE, socket.read_to_end(&mut answer)).await.expect("an end");
        // A fatal (2) alert (21).
        assert_eq!((answer.first(), answer.get(5)), (Some(&21), Some(&2)), "version 3.{version}: {answer:?}");
    }
}

#[tokio::test]
async fn requests_are_answered_under_their_own_address() {
    let files = Files::new();
    let gateway = files.gateway(&[]).await;
    let mut stream = files.client().connect(&gateway).await.expect("a handshake");
    let (status, body) = ask(&mut stream, "/api/v2/users/me/").await;
    assert!(status == 200 && body.contains("ada@acme.test"), "{status} {body}");
    let (status, body) = ask(&mut stream, "/api/v1/users/me/").await;
    assert!(status == 200 && body.contains("ada@acme.test"), "{status} {body}");
    let (status, body) = ask(&mut stream, "/api/v2/nothing/").await;
    assert!(status == 404 && body.contains("\"https://gateway.example/errors/"), "{status} {body}");
}

#[tokio::test]
async fn without_tls_only_the_probe_is_answered() {
    let files = Files::new();
    let gateway = files.gateway(&[("public_url", "https://v2.example.com")]).await;
    let mut socket = plain(&gateway).await;
    socket.write_all(b"GET /api/v2/users/me/ HTTP/1.1\r\nHost: x\r\n\r\n").await.expect("a request");
    let mut answer = String::new();
    tokio::time::timeout(PATIENCE, socket.read_to_string(&mut answer)).await.expect("an end").expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("speaks TLS only"), "{answer}");
    assert!(answer.contains("\"https://v2.example.com/errors/validation_error\""), "{answer}");
    let mut probe = plain(&gateway).await;
    assert_eq!(ask(&mut probe, "/healthz").await.0, 200);
    let (status, body) = ask(&mut probe, "/api/v2/users/me/").await;
    assert!(status == 400 && body.contains("speaks TLS only"), "{status} {body}");
}

#[tokio::test]
async fn a_stalled_tls_handshake_is_closed_after_the_header_timeout() {
    let files = Files::new();
    let gateway = files.gateway(&[("listen.header_timeout", "1s")]).await;
    let mut socket = plain(&gateway).await;
    socket.write_all(&greeting(3)[..20]).await.expect("a beginning");
    let mut answer = Vec::new();
    let ended = tokio::time::timeout(PATIENCE, socket.read_to_end(&mut answer)).await;
    assert!(ended.is_ok() && answer.is_empty(), "{ended:?} {answer:?}");
}

/// Returns the end of the certificate according to the metrics.
async fn ending(gateway: &Gateway) -> f64 {
    let text = gateway.metrics().await;
    let line =
        text.lines().find_map(|line| line.strip_prefix("causeway_tls_certificate_expiry_timestamp_seconds "));
    line.unwrap_or_else(|| panic!("no such figure: {text}")).parse().expect("a number")
}

/// The begin of these years in seconds since 1970.
const YEAR_2077: f64 = 3_376_684_800.0;
const YEAR_4096: f64 = 67_090_118_400.0;

#[tokio::test]
async fn a_reload_exchanges_the_certificate_and_connections_live_on() {
    let files = Files::new();
    let gateway = files.gateway(&[("admin.listen", "127.0.0.1:0")]).await;
    let mut old = files.client().connect(&gateway).await.expect("a handshake");
    assert_eq!(ask(&mut old, "/api/v2/users/me/").await.0, 200);
    assert_eq!(ending(&gateway).await, YEAR_4096);
    files.renew_until(2077);
    gateway.reload(&[]).await.expect("a reload");
    assert_eq!(ending(&gateway).await, YEAR_2077, "the figure is that of the new one");
    let new = files.client().connect(&gateway).await.expect("a handshake");
    assert_ne!(shown(&old), shown(&new));
    assert_eq!(ask(&mut old, "/api/v2/users/me/").await.0, 200);

    std::fs::write(files.path("key.pem"), KeyPair::generate().expect("a key").serialize_pem()).expect("a file");
    let refused =
        gateway.reload(&[("strict_query", "false")]).await.expect_err("a key of another certificate").to_string();
    assert!(
        refused.starts_with("nothing was changed: the settings listen.tls: the certificate in ")
            && refused.contains("cannot be used together"),
        "{refused}"
    );
    let still = files.client().connect(&gateway).await.expect("a handshake");
    assert_eq!(shown(&still), shown(&new));
}

#[tokio::test]
async fn changed_files_are_noticed_without_a_reload() {
    let files = Files::new();
    let gateway = files.gateway(&[]).await;
    let before = shown(&files.client().connect(&gateway).await.expect("a handshake"));
    // One new file of the two changes nothing.
    std::fs::write(files.path("key.pem"), KeyPair::generate().expect("a key").serialize_pem()).expect("a file");
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(shown(&files.client().connect(&gateway).await.expect("a handshake")), before);
    files.renew();
    let noticed = async {
        while shown(&files.client().connect(&gateway).await.expect("a handshake")) == before {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(PATIENCE, noticed).await.expect("the new certificate");
}

#[tokio::test]
async fn a_certificate_that_has_ended_replaces_only_another_one() {
    let files = Files::new();
    files.renew_until(2020);
    let log = Captured::default();
    let _listening = log.listen();
    let gateway = files.gateway(&[]).await;
    let ended = shown(&files.client().trusting_all(&gateway).await);
    let told = async {
        while !log.text().contains("the certificate of the listener has ended") {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, told).await.expect("a warning at the start");
    files.renew_until(2021);
    gateway.reload(&[]).await.expect("no worse than before");
    assert_ne!(shown(&files.client().trusting_all(&gateway).await), ended);
    files.renew();
    gateway.reload(&[]).await.expect("a good one");
    let good = shown(&files.client().connect(&gateway).await.expect("a handshake"));
    files.renew_until(2022);
    let refused = gateway.reload(&[]).await.expect_err("one that has ended").to_string();
    assert!(refused.contains("has ended, and the one in use has not"), "{refused}");
    let told = async {
        while !log.text().contains("the certificate stays as it was") {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(PATIENCE, told).await.expect("told without a reload too");
    assert_eq!(shown(&files.client().connect(&gateway).await.expect("a handshake")), good);
}

/// Returns the reason why a gateway with these files does not start.
async fn refused(certificate: &Path, key: &Path) -> String {
    let overrides = [
        ("upstream.base_url", "http://127.0.0.1:1"),
        ("store.url", "sqlite::memory:"),
        ("listen.tls.certificate_file", certificate.to_str().expect("UTF-8")),
        ("listen.tls.key_file", key.to_str().expect("UTF-8")),
    ];
    let overrides = overrides.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let args = LoadArgs { file: None, env: std::iter::empty::<(String, String)>(), overrides };
    let settings = Settings::load(args).expect("settings");
    App::build(&settings).await.err().expect("a refusal").to_string()
}

#[tokio::test]
async fn files_that_are_none_are_told_at_the_start() {
    let files = Files::new();
    let (certificate, key) = (files.path("certificate.pem"), files.path("key.pem"));
    let missing = refused(&files.path("none.pem"), &key).await;
    assert!(missing.contains("none.pem cannot be used: No such file"), "{missing}");
    let swapped = refused(&key, &certificate).await;
    assert!(swapped.contains("key.pem cannot be used: it has no such PEM block"), "{swapped}");
    let other = files.path("other.pem");
    std::fs::write(&other, KeyPair::generate().expect("a key").serialize_pem()).expect("a file");
    let unfit = refused(&certificate, &other).await;
    assert!(unfit.contains("cannot be used together"), "{unfit}");

    let overrides = vec![("listen.tls.key_file".to_owned(), "key.pem".to_owned())];
    let args = LoadArgs { file: None, env: std::iter::empty::<(String, String)>(), overrides };
    let fault = Settings::load(args).expect_err("one without the other").to_string();
    assert!(fault.contains("listen.tls.certificate_file") && fault.contains("missing beside"), "{fault}");
}
