//! Answers that their clients do not read. May use: this folder.

use super::support::{Gateway, LARGE, patiently};
use bytes::Bytes;
use http_body_util::Empty;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const BUDGET: usize = 4 * LARGE;

#[tokio::test]
async fn answers_that_are_not_read_are_bounded_by_the_memory_and_refused_before() {
    let gateway = Gateway::start(|settings| {
        settings.limits.memory = BUDGET;
        // The first answers are still held when the last is asked for.
        settings.listen.send_timeout = Duration::from_secs(5);
    })
    .await;
    let mut unread = Vec::new();
    let mut statuses = Vec::new();
    for _ in 0..12 {
        let mut socket = gateway.connect().await;
        socket.write_all(b"GET /api/v2/large/ HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        let mut begin = [0; 12];
        patiently(socket.read_exact(&mut begin)).await.unwrap();
        statuses.push(String::from_utf8_lossy(&begin[9..]).into_owned());
        assert!(gateway.memory.used() <= BUDGET);
        unread.push(socket);
    }
    assert!(statuses.contains(&"503".to_owned()) && statuses.contains(&"200".to_owned()), "{statuses:?}");
    // The answers are dropped although their clients stay.
    let dropped = async {
        while gateway.memory.used() > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    patiently(dropped).await;
    assert_eq!(gateway.get("/api/v2/large/").await.body.len(), LARGE);
    drop(unread);
    patiently(async {
        while gateway.memory.used() > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

/// Other requests on a connection do not keep an answer alive that its client does not read.
#[tokio::test]
async fn a_stream_of_http2_that_is_not_read_ends_its_connection() {
    let gateway = Gateway::start(|settings| settings.listen.send_timeout = Duration::from_millis(300)).await;
    let client = Client::builder(TokioExecutor::new())
        .http2_only(true)
        .http2_initial_stream_window_size(65_535)
        .build_http::<Empty<Bytes>>();
    let ask = |path: &str| {
        let request = http::Request::get(format!("http://{}/api/v2/{path}/", gateway.address));
        client.request(request.body(Empty::new()).unwrap())
    };
    let unread = patiently(ask("large")).await.unwrap();
    assert!(gateway.memory.used() >= LARGE);
    let dropped = async {
        while gateway.memory.used() >= LARGE {
            let _ = ask("ok").await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    patiently(dropped).await;
    drop(unread);
}
