//! A PostgreSQL server and its demands: TLS, the encoding of the database, the rights of the user.

use crate::store::place::{Place, V1, WORKSPACE, edit, given};
use crate::support::pg_wire::refusal_of_login;
use crate::support::postgres::Database;
use crate::support::switch::until;
use causeway::doctor::{self, Report, State};
use causeway::fresh::Changes;
use causeway::settings::{LoadArgs, Settings};
use causeway::store::{Store, StoreError};
use causeway::task::spawn;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use serde_json::json;
use sqlx::Connection;
use sqlx::migrate::Migrate;
use sqlx::postgres::PgConnection;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// First message of a client that wants TLS.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// Writes the certificate of a new issuer to `file`; returns an acceptor with a certificate for `localhost`.
fn acceptor_of(file: &Path) -> TlsAcceptor {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an issuer");
    std::fs::write(file, issuer.pem()).expect("a file");
    let key = KeyPair::generate().expect("a key");
    let names = CertificateParams::new(["localhost".to_owned()]).expect("a name");
    let certificate = names.signed_by(&key, &issuer).expect("a certificate");
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions of TLS")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .expect("a certificate that fits its key");
    TlsAcceptor::from(Arc::new(config))
}

/// Starts a server before the one at `url` that accepts nothing without TLS. Returns the URL of the same database
/// there.
async fn behind_tls(url: &str, issuer: &Path) -> String {
    let acceptor = acceptor_of(issuer);
    before(url, move |client, server| pass(client, acceptor.clone(), server)).await
}

/// Starts a server that gives each connection to `pass`, with the address of the server at `url`. Returns the URL of
/// the same database there.
async fn before<F>(url: &str, pass: impl Fn(TcpStream, String) -> F + Send + 'static) -> String
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let (start, rest) = url.split_once('@').expect("a user");
    let (server, database) = rest.split_once('/').expect("a database");
    let there = format!("{start}@localhost:{port}/{}", database.split('?').next().unwrap_or_default());
    let server = server.to_owned();
    spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            spawn(pass(client, server.clone()));
        }
    });
    there
}

/// Ends a connection whose first message is not the request for TLS, as a server does that demands TLS.
async fn pass(mut client: TcpStream, acceptor: TlsAcceptor, server: String) {
    let mut first = [0; SSL_REQUEST.len()];
    if client.read_exact(&mut first).await.is_err() || first != SSL_REQUEST || client.write_all(b"S").await.is_err()
    {
        return;
    }
    let Ok(mut client) = acceptor.accept(client).await else { return };
    let mut server = TcpStream::connect(server).await.expect("the server of the tests");
    let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
}

/// Words of a server whose pg_hba.conf admits nobody with TLS.
const NO_ENTRY: &str = "no pg_hba.conf entry for host \"127.0.0.1\", SSL encryption";

/// Passes connections without TLS on. Admits nobody with TLS; without an acceptor, the handshake of TLS fails.
async fn pass_plain(mut client: TcpStream, acceptor: Option<TlsAcceptor>, server: String) {
    let mut first = [0; SSL_REQUEST.len()];
    if client.read_exact(&mut first).await.is_err() {
        return;
    }
    if first != SSL_REQUEST {
        let mut server = TcpStream::connect(server).await.expect("the server of the tests");
        server.write_all(&first).await.expect("a server that reads");
        let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
        return;
    }
    // An end with unread bytes could take the answer from the client, so each connection is read to its end.
    let Some(acceptor) = acceptor else {
        let _ = client.write_all(b"S, but none of the messages of TLS").await;
        let _ = tokio::io::copy(&mut client, &mut tokio::io::sink()).await;
        return;
    };
    if client.write_all(b"S").await.is_err() {
        return;
    }
    let Ok(mut client) = acceptor.accept(client).await else { return };
    let _ = client.write_all(&refusal_of_login("28000", NO_ENTRY)).await;
    let _ = client.flush().await;
    let _ = tokio::io::copy(&mut client, &mut tokio::io::sink()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_whose_tls_fails_is_used_without_it_unless_it_is_demanded() {
    let place = Place::postgres().await;
    let acceptor = acceptor_of(&place.folder().join("issuer.pem"));
    for acceptor in [None, Some(acceptor)] {
        let url = before(&place.url(), move |client, server| pass_plain(client, acceptor.clone(), server)).await;
        let store = Store::open(&url, V1).await.unwrap();
        edit(&store, |edit| edit.create_type(None, &given(json!({"name": url})))).await.unwrap();
        // The connection that hears of the other processes needs no TLS either.
        store.join(&Changes::default(), Duration::ZERO).await.unwrap().leave().await;
        store.close().await;
        Store::open(&format!("{url}?sslmode=require"), V1).await.unwrap_err();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_demands_tls_holds_the_store() {
    let place = Place::postgres().await;
    let issuer = place.folder().join("issuer.pem");
    let url = behind_tls(&place.url(), &issuer).await;
    let checked = format!("{url}?sslmode=verify-full&sslrootcert={}", issuer.display());
    // `prefer` is the default: TLS where the server has it.
    for url in [checked, format!("{url}?sslmode=require"), format!("{url}?sslmode=prefer")] {
        let store = Store::open(&url, V1).await.unwrap();
        edit(&store, |edit| edit.create_type(None, &given(json!({"name": url})))).await.unwrap();
        store.close().await;
    }
    Store::open(&format!("{url}?sslmode=disable"), V1).await.unwrap_err();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_that_cannot_be_checked_is_told_with_what_to_do() {
    let place = Place::postgres().await;
    let url = behind_tls(&place.url(), &place.folder().join("issuer.pem")).await;
    let (other, missing) = (place.folder().join("other.pem"), place.folder().join("missing.pem"));
    acceptor_of(&other);
    for further in
        [String::new(), format!("&sslrootcert={}", other.display()), format!("&sslrootcert={}", missing.display())]
    {
        let refused = Store::open(&format!("{url}?sslmode=verify-full{further}"), V1).await.unwrap_err();
        let told = refused.to_string();
        assert!(matches!(refused, StoreError::Unavailable(_)), "{refused:?}");
        assert!(told.contains("name the file with the root certificate of the server"), "{told}");
    }
    let elsewhere = url.replace("@localhost:", "@127.0.0.1:");
    let issuer = place.folder().join("issuer.pem");
    let elsewhere = format!("{elsewhere}?sslmode=verify-full&sslrootcert={}", issuer.display());
    let told = Store::open(&elsewhere, V1).await.unwrap_err().to_string();
    assert!(told.contains("write a host that the certificate of the server names"), "{told}");
}

/// A server that hangs still accepts connections.
#[tokio::test]
async fn a_server_that_says_nothing_is_told_with_what_to_do() {
    let url = before("postgres://u@localhost/c", |mut client, _| async move {
        let _ = tokio::io::copy(&mut client, &mut tokio::io::sink()).await;
    })
    .await;
    let opening = tokio::time::timeout(Duration::from_secs(30), Store::open(&url, V1));
    let told = opening.await.expect("an end").unwrap_err().to_string();
    assert!(told.contains("no answer") && told.contains("see whether PostgreSQL runs there"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_update_of_the_tables_waits_for_a_long_one_of_another_process() {
    let place = Place::postgres().await;
    let url = place.url();
    let mut other = PgConnection::connect(&url).await.unwrap();
    other.lock().await.unwrap();
    let ends = async {
        // Longer than a writer waits for a lock.
        tokio::time::sleep(Duration::from_secs(7)).await;
        other.unlock().await.unwrap();
    };
    let (opened, ()) = tokio::join!(Store::open(&url, V1), ends);
    opened.unwrap();
}

#[tokio::test]
async fn a_database_that_cannot_hold_every_sign_is_refused() {
    let latin = "ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0";
    let database = Database::create_with(latin).await;
    let refused = Store::open(&database.url(), V1).await.unwrap_err();
    let told = refused.to_string();
    assert!(matches!(refused, StoreError::Unavailable(_)), "{refused:?}");
    assert!(told.contains("its encoding is LATIN1; make a database with ENCODING 'UTF8'"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_takes_the_bytes_of_every_text_holds_the_store() {
    let ascii = "ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0";
    let database = Database::create_with(ascii).await;
    Store::open(&database.url(), V1).await.unwrap().close().await;
    check_says(&database.url(), State::Fine, "sound").await;
    let store = Store::open(&database.url(), V1).await.unwrap();
    edit(&store, |edit| edit.create_type(None, &given(json!({"name": "größe € 型"})))).await.unwrap();
    let written = store.catalogue(WORKSPACE).await.unwrap();
    store.close().await;
    let again = Store::open(&database.url(), V1).await.unwrap();
    assert_eq!(*again.catalogue(WORKSPACE).await.unwrap(), *written);
}

/// Version 0.2.0 accepted every encoding.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_in_a_database_that_is_refused_can_be_carried_over() {
    let (database, target) = (Database::create().await, Place::postgres().await);
    let store = Store::open(&database.url(), V1).await.unwrap();
    edit(&store, |edit| edit.create_type(None, &given(json!({"name": "kept"})))).await.unwrap();
    let written = store.catalogue(WORKSPACE).await.unwrap();
    store.close().await;
    let latin =
        "UPDATE pg_database SET encoding = pg_char_to_encoding('LATIN1') WHERE datname = current_database()";
    database.run(latin).await;
    check_says(&database.url(), State::Fault, "its encoding is LATIN1; make a database").await;
    Store::open(&database.url(), V1).await.unwrap_err();
    let before = Store::open_for_upkeep(&database.url()).await.unwrap();
    let refused = before.migrate().await.unwrap_err().to_string();
    assert!(refused.contains("`causeway store backup` and `causeway store restore`"), "{refused}");
    let mut lines = Vec::new();
    before.export(&mut lines).await.unwrap();
    let after = Store::open_for_upkeep(&target.url()).await.unwrap();
    after.migrate().await.unwrap();
    after.import(&mut &lines[..], false).await.unwrap();
    after.close().await;
    assert_eq!(*target.open().await.catalogue(WORKSPACE).await.unwrap(), *written);
}

/// Asserts that the check of an installation reports this about the store at `url`.
async fn check_says(url: &str, state: State, found: &str) {
    let overrides = vec![("store.url".to_owned(), url.to_owned())];
    let settings = Settings::load(LoadArgs { file: None, env: std::iter::empty(), overrides }).unwrap();
    let mut report = Report::default();
    doctor::store(&settings, &mut report).await;
    assert!(report.checks.iter().any(|check| check.state == state && check.found.contains(found)), "{report:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_reports_what_the_user_of_the_database_may_not_do() {
    let database = Database::create().await;
    let url = database.url();
    // This role is on every server, and owns nothing. PostgreSQL 14 and older let everybody make tables.
    let limited = format!("{url}&options[role]=pg_monitor");
    database.run("REVOKE CREATE ON SCHEMA public FROM PUBLIC").await;
    check_says(&url, State::Fine, "behind; the next start brings it up to date").await;
    check_says(&limited, State::Fault, "permission denied to make tables in the schema \"public\"; let the user")
        .await;
    assert!(Store::open(&limited, V1).await.is_err());
    Store::open(&url, V1).await.unwrap().close().await;
    database.run("GRANT SELECT ON ALL TABLES IN SCHEMA public TO pg_monitor").await;
    check_says(&url, State::Fine, "sound").await;
    check_says(&limited, State::Fault, "permission denied to write the table service; let the user").await;
    // Nothing changes or deletes entries of the audit log.
    database.run("GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO pg_monitor").await;
    database.run("REVOKE UPDATE, DELETE ON audit_log FROM pg_monitor").await;
    check_says(&limited, State::Fine, "sound").await;
    database.run("REVOKE INSERT ON audit_log FROM pg_monitor").await;
    check_says(&limited, State::Fault, "permission denied to write the table audit_log; let the user").await;
}

/// PostgreSQL tells without a write what the user of a session may do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_who_may_only_read_is_found_until_the_right_to_write_is_given() {
    let database = Database::create().await;
    Store::open(&database.url(), V1).await.unwrap().close().await;
    database.run("GRANT SELECT ON ALL TABLES IN SCHEMA public TO pg_monitor").await;
    let limited = Store::open(&format!("{}&options[role]=pg_monitor", database.url()), V1).await.unwrap();
    limited.ping().await.unwrap();
    assert!(limited.is_read_only());
    database.run("GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO pg_monitor").await;
    let is_written = async || {
        limited.ping().await.unwrap();
        !limited.is_read_only()
    };
    until("the right is found", is_written).await;
    database.run("REVOKE INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public FROM pg_monitor").await;
    limited.ping().await.unwrap();
    assert!(limited.is_read_only());
}
