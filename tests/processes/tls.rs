//! A v1 behind TLS, like nearly every real one: the gateway's own calls and the pass-through both verify certificates
//! against those of the system.

use super::child::Child;
use super::client;
use super::support::gateway::serve_sandbox;
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::task::spawn;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::path::Path;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

/// A value of the demo's admin that v1 and the gateway both show.
const EMAIL: &str = "ada@acme.test";
const LABELS: &str = "/api/v2/workspaces/acme/projects/00000000-0000-4000-c000-000000000001/labels/";

/// Ends TLS for `localhost` before a plain v1 and returns the port. The issuer's certificate is written to `issuer`.
pub async fn behind_tls(v1: &str, issuer: &Path) -> u16 {
    behind_tls_noting(v1, issuer, &[], Spoken::default()).await
}

/// The protocol agreed on for each connection; empty where there was none.
type Spoken = Arc<Mutex<Vec<String>>>;

/// The same; offers these protocols and records the agreed ones.
async fn behind_tls_noting(v1: &str, issuer: &Path, protocols: &[&str], spoken: Spoken) -> u16 {
    let (acceptor, listener, port) = listening(issuer, protocols).await;
    let plain = v1.trim_start_matches("http://").to_owned();
    spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, plain, spoken) = (acceptor.clone(), plain.clone(), Arc::clone(&spoken));
            spawn(async move {
                let Ok(mut outside) = acceptor.accept(stream).await else { return };
                let protocol = outside.get_ref().1.alpn_protocol().map(String::from_utf8_lossy).unwrap_or_default();
                spoken.lock().expect("a list").push(protocol.into_owned());
                let mut inside = TcpStream::connect(plain).await.expect("the plain v1");
                let _ = tokio::io::copy_bidirectional(&mut outside, &mut inside).await;
            });
        }
    });
    port
}

/// Returns a listener for `localhost`, what ends TLS on its connections, and its port. The issuer's certificate is
/// written to `issuer`.
async fn listening(issuer: &Path, protocols: &[&str]) -> (TlsAcceptor, TcpListener, u16) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an issuer");
    std::fs::write(issuer, authority.pem()).expect("a file");
    let key = KeyPair::generate().expect("a key");
    let names = CertificateParams::new(["localhost".to_owned()]).expect("a name");
    let certificate = names.signed_by(&key, &authority).expect("a certificate");
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions of TLS")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .expect("a certificate that fits its key");
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    (acceptor, listener, port)
}

/// Returns status and e-mail address of the current user, translated and passed through.
async fn me(gateway: &Child) -> [(u16, String); 2] {
    let ask = async |path: &str| {
        let request = client().get(format!("{}{path}", gateway.base())).header("X-Api-Key", "demo-admin-key");
        let answer = request.send().await.expect("an answer");
        let status = answer.status().as_u16();
        let text = answer.text().await.expect("a body");
        let body: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        (status, body["email"].as_str().or(body["code"].as_str()).unwrap_or_default().to_owned())
    };
    [ask("/api/v2/users/me/").await, ask("/api/v1/users/me/").await]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn v1_behind_tls_is_reached_where_its_certificate_is_good_and_nowhere_else() {
    let sandbox = Sandbox::new(Config { seed: Seed::Demo, ..Config::default() });
    let folder = tempfile::tempdir().expect("a folder");
    let issuer = folder.path().join("issuer.pem");
    let port = behind_tls(&serve_sandbox(&sandbox).await, &issuer).await;
    let store = "sqlite::memory:";
    // The variable of OpenSSL: for a deployment whose certificate is signed by an issuer of its own.
    let trusting = [("SSL_CERT_FILE", issuer.to_str().expect("UTF-8"))];
    let gateway = Child::start_with(&format!("https://localhost:{port}"), store, &trusting).await;
    assert_eq!(me(&gateway).await, [(200, EMAIL.to_owned()), (200, EMAIL.to_owned())]);
    let unavailable = || (503, "upstream_unavailable".to_owned());
    let another_name = Child::start_with(&format!("https://127.0.0.1:{port}"), store, &trusting).await;
    assert_eq!(me(&another_name).await, [unavailable(), unavailable()]);
    let unknown_issuer = Child::start(&format!("https://localhost:{port}"), store).await;
    assert_eq!(me(&unknown_issuer).await, [unavailable(), unavailable()]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_v1_that_speaks_http2_is_read_by_it_and_written_by_http1() {
    let sandbox = Sandbox::new(Config { seed: Seed::Demo, ..Config::default() });
    let folder = tempfile::tempdir().expect("a folder");
    let (issuer, spoken) = (folder.path().join("issuer.pem"), Spoken::default());
    let v1 = serve_sandbox(&sandbox).await;
    let port = behind_tls_noting(&v1, &issuer, &["h2", "http/1.1"], Arc::clone(&spoken)).await;
    let trusting = [("SSL_CERT_FILE", issuer.to_str().expect("UTF-8"))];
    let gateway = Child::start_with(&format!("https://localhost:{port}"), "sqlite::memory:", &trusting).await;
    let labels = format!("{}{LABELS}", gateway.base());
    let read = client().get(&labels).header("X-Api-Key", "demo-admin-key").send().await.expect("an answer");
    assert_eq!(read.status(), 200);
    let reads = spoken.lock().expect("a list").clone();
    assert!(!reads.is_empty() && reads.iter().all(|protocol| protocol == "h2"), "{reads:?}");
    let write = client().post(&labels).header("X-Api-Key", "demo-admin-key");
    let write = write.header("Content-Type", "application/json").body(r#"{"name": "made by HTTP/1.1"}"#);
    assert_eq!(write.send().await.expect("an answer").status(), 201);
    let all = spoken.lock().expect("a list").clone();
    assert!(all.iter().any(|protocol| protocol != "h2"), "{all:?}");
}

/// Answers 413 to the head of a request, and closes the connection while the body is still being sent.
async fn refuse_early(acceptor: TlsAcceptor, stream: TcpStream) {
    // Otherwise the answer could wait for the confirmation of the session tickets, and would be lost with them.
    stream.set_nodelay(true).expect("an option");
    let Ok(mut stream) = acceptor.accept(stream).await else { return };
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { return };
        head.push(byte);
    }
    if head.starts_with(b"POST ") {
        // The kernel resets a connection that is closed with unread bytes.
        assert!(stream.get_ref().0.peek(&mut [0]).await.is_ok_and(|unread| unread > 0));
    }
    let refused = b"HTTP/1.1 413 Too Large\r\nContent-Length: 9\r\n\r\ntoo large";
    stream.write_all(refused).await.expect("sent");
    stream.flush().await.expect("sent");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_early_answer_to_an_upload_goes_through_tls_although_the_connection_is_reset() {
    let folder = tempfile::tempdir().expect("a folder");
    let issuer = folder.path().join("issuer.pem");
    let (acceptor, listener, port) = listening(&issuer, &[]).await;
    spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            spawn(refuse_early(acceptor.clone(), stream));
        }
    });
    let trusting = [("SSL_CERT_FILE", issuer.to_str().expect("UTF-8"))];
    let gateway = Child::start_with(&format!("https://localhost:{port}"), "sqlite::memory:", &trusting).await;
    for _ in 0..30 {
        let upload = client().post(format!("{}/api/v1/x/", gateway.base())).body(vec![b'a'; 4 * 1024 * 1024]);
        let answer = upload.send().await.expect("an answer");
        assert_eq!((answer.status().as_u16(), answer.text().await.expect("a body").as_str()), (413, "too large"));
    }
}
