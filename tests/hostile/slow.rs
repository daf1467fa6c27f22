//! Slow clients hold no resource that others need, neither by bodies that do not arrive nor by unread answers.

use crate::sockets::{PATIENCE, answered, begun, exchange, patiently, read};
use crate::support::gateway::{Gateway, WEB};
use causeway::sandbox::Seed;
use causeway::task::spawn;
use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Addresses of the attacker and the honest client in these tests: 127.0.0.x.
const ATTACKER: u8 = 2;
const HONEST: u8 = 9;

/// A small gateway, so that an attack needs few connections.
const SMALL: [(&str, &str); 8] = [
    ("limits.concurrency", "32"),
    ("limits.pass_through", "32"),
    ("limits.oauth", "32"),
    ("limits.pages", "32"),
    ("limits.bodies", "32"),
    ("limits.body_grace", "4s"),
    ("limits.body_pause", "4s"),
    ("secrets.key", "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="),
];
/// A number above all that [`SMALL`] serves at once.
const MANY: usize = 40;
/// Places of each kind in [`SMALL`].
const PLACES: usize = 32;

async fn small(more: &[(&str, &str)]) -> (Gateway, SocketAddr) {
    let settings = [&SMALL[..], more].concat();
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &settings).await;
    let address = gateway.base().trim_start_matches("http://").parse().expect("an address");
    (gateway, address)
}

fn request(method: &str, path: &str, body: &str) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: gw.example\r\nConnection: close\r\nX-Api-Key: ada\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Returns the statuses of an honest client that uses every part of the gateway once.
async fn honest_statuses(gateway: SocketAddr) -> Vec<u16> {
    let requests = [
        request("GET", &format!("{WEB}/states/"), ""),
        request("POST", &format!("{WEB}/labels/"), "{\"name\":\"\"}"),
        request("GET", "/api/v1/users/me/", ""),
        request("POST", "/api/v1/nothing/", "{}"),
        request("POST", "/auth/o/token/", "{}"),
        request("GET", "/api/v2/docs/", ""),
        request("GET", "/readyz", ""),
    ];
    let mut statuses = Vec::new();
    for request in requests {
        statuses.push(exchange(gateway, HONEST, &request).await.status);
    }
    statuses
}

/// Sends bodies to `path` that begin and do not go on.
async fn stalled_bodies(gateway: SocketAddr, path: &str) -> Vec<TcpStream> {
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: gw.example\r\nX-Api-Key: bob\r\nContent-Type: application/json\r\n\
         Content-Length: 1000\r\n\r\n{{\""
    );
    let mut sockets = Vec::new();
    for _ in 0..MANY {
        sockets.push(begun(gateway, ATTACKER, &head).await);
    }
    sockets
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_of_which_two_bytes_arrive_stop_nobody() {
    let (_running, gateway) = small(&[]).await;
    let quiet = honest_statuses(gateway).await;
    assert!(!quiet.contains(&503), "{quiet:?}");
    for path in ["/api/v1/workspaces/acme/", "/auth/o/token/", &format!("{WEB}/labels/")] {
        let attack = stalled_bodies(gateway, path).await;
        assert_eq!(honest_statuses(gateway).await, quiet, "under stalled bodies for {path}");
        let mut refused = 0;
        for mut socket in attack {
            let status = answered(&mut socket).await;
            assert!([400, 503].contains(&status), "{path}: {status}");
            refused += usize::from(status == 503);
        }
        // A client that finds no room gets a 503, not an error about its request.
        assert!(refused >= MANY - PLACES, "{path}: {refused} of {MANY} were told that there is no room");
    }
}

/// The gateway can check only a complete body for v1's signature, so any client can begin a delivery.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deliveries_that_do_not_come_keep_none_of_v1s_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("webhooks");
    std::fs::write(&file, "acme plane_wh_secret\n").expect("a file");
    let file = file.display().to_string();
    let (_running, gateway) = small(&[("hints.secrets_file", &file), ("upstream.service_key", "ada")]).await;
    let body = r#"{"event": "cycle", "data": {}}"#;
    let signature = "3b6f0b3f0d1f4d4c0e9f6d0d1a5a3c9f3b6f0b3f0d1f4d4c0e9f6d0d1a5a3c9f";
    let head = |signature: &str, length: usize| {
        format!(
            "POST /hints/v1/acme/ HTTP/1.1\r\nHost: gw.example\r\nConnection: close\r\nX-Plane-Signature: {signature}\r\n\
             Content-Length: {length}\r\n\r\n"
        )
    };
    let mut attack = Vec::new();
    // Each from an address of its own, so that no limit of one address stops them.
    for from in 10..210 {
        attack.push(begun(gateway, from, &head(signature, 1000)).await);
    }
    let mac = Hmac::<Sha256>::new_from_slice(b"plane_wh_secret").expect("any length").chain_update(body);
    let signed: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    for _ in 0..20 {
        let mut delivery = begun(gateway, HONEST, &head(&signed, body.len())).await;
        // In two pieces, as v1 sends it.
        tokio::time::sleep(Duration::from_millis(20)).await;
        delivery.write_all(body.as_bytes()).await.expect("a body");
        assert_eq!(answered(&mut delivery).await, 200);
    }
    drop(attack);
}

/// Single bytes with pauses, which reset every timer that only watches pauses.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_that_drip_stop_nobody_and_end_soon() {
    let (_running, gateway) = small(&[]).await;
    let quiet = honest_statuses(gateway).await;
    for path in ["/auth/o/token/", "/api/v1/workspaces/acme/"] {
        let attack = stalled_bodies(gateway, path).await;
        let began = Instant::now();
        let drips = attack.into_iter().map(|socket| spawn(drip(socket)));
        let drips: Vec<_> = drips.collect();
        assert_eq!(honest_statuses(gateway).await, quiet, "under drips for {path}");
        for drip in drips {
            let status = patiently(drip).await.expect("a client that drips");
            assert!([400, 503].contains(&status), "{path}: {status}");
        }
        assert!(began.elapsed() < PATIENCE / 2, "{path}: held for {:?}", began.elapsed());
    }
}

/// Sends a byte each tenth of a second until the gateway answers, and returns the status.
async fn drip(mut socket: TcpStream) -> u16 {
    let (mut reading, mut writing) = socket.split();
    let drips = async {
        while writing.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        std::future::pending().await
    };
    tokio::select! {
        status = drips => status,
        status = answered(&mut reading) => status,
    }
}

/// The rest of a refused body is read for a while, so that its sender sees the answer: only while bytes arrive, and not
/// for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_rest_of_a_refused_body_is_read_for_a_bounded_time() {
    let (_running, gateway) = small(&[]).await;
    let head = "POST /nothing/here HTTP/1.1\r\nHost: gw.example\r\nContent-Length: 1000000000\r\n\r\n{";
    let (mut stalls, mut drips) = (begun(gateway, ATTACKER, head).await, begun(gateway, ATTACKER, head).await);
    assert_eq!((answered(&mut stalls).await, answered(&mut drips).await), (404, 404));
    let began = Instant::now();
    let stalled = async {
        read(&mut stalls).await;
        began.elapsed()
    };
    let dripped = async {
        let (mut reading, mut writing) = drips.split();
        tokio::select! {
            _ = async { while writing.write_all(b"x").await.is_ok() { tokio::time::sleep(Duration::from_millis(200)).await } } => {}
            _ = async { while reading.read(&mut [0; 64]).await.is_ok_and(|read| read > 0) {} } => {}
        }
        began.elapsed()
    };
    let (stalled, dripped) = tokio::join!(patiently(stalled), patiently(dripped));
    // One that stalls is held for 2 s, and one that drips for 10 s.
    assert!(stalled < Duration::from_secs(9), "one that stalls was held for {stalled:?}");
    assert!((stalled..Duration::from_secs(30)).contains(&dripped), "one that drips was held for {dripped:?}");
}

/// A refused body that arrives at full speed is read up to a size.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_rest_of_a_refused_body_is_read_up_to_a_size() {
    let (_running, gateway) = small(&[]).await;
    let head = "POST /nothing/here HTTP/1.1\r\nHost: gw.example\r\nContent-Length: 1000000000\r\n\r\n";
    let mut socket = begun(gateway, ATTACKER, head).await;
    let piece = vec![b'x'; 1 << 20];
    let mut sent = 0;
    while sent < 1000 && patiently(socket.write_all(&piece)).await.is_ok() {
        sent += 1;
    }
    assert!(sent < 100, "{sent} MiB were taken");
}
