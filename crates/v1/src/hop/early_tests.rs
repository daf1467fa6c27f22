//! Tests of servers that answer before they have read the request, and close the connection at once. The kernel then
//! resets the connection while the body is being sent. May use: this folder.

use super::*;
use http::{Method, StatusCode};
use http_body_util::BodyExt;
use hyper::body::{Frame, SizeHint};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::pin::Pin;
use std::sync::mpsc;
use std::task::{Context, Poll};
use std::thread;
use tokio::sync::oneshot;

/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(30);
const PIECE: usize = 64 * 1024;
/// Pieces after the closing that a body has ready. Then it waits for ever.
const READY: usize = 40;

const REFUSED: &str = "HTTP/1.1 413 Too Large\r\nContent-Length: 9\r\nConnection: close\r\n\r\ntoo large";
const KEPT: &str = "HTTP/1.1 413 Too Large\r\nContent-Length: 9\r\n\r\ntoo large";

/// Reaction of a server to a request of which it reads only the head.
#[derive(Clone, Copy, Default)]
struct Reaction {
    /// Written when the head has come.
    at_once: &'static str,
    /// Written just before the connection is closed.
    at_the_end: &'static str,
    /// Whether the end of the answer is announced (FIN) before the connection is reset.
    orderly: bool,
}

/// A server that closes each connection when its client says so, with a part of the body unread.
struct Server {
    address: String,
    /// Has an entry for each connection.
    accepted: mpsc::Receiver<()>,
    closing: Arc<Closing>,
}

/// Signals between a body and the server.
struct Closing {
    close: mpsc::SyncSender<()>,
    closed: parking_lot::Mutex<mpsc::Receiver<()>>,
}

impl Server {
    fn start(reaction: Reaction) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/", listener.local_addr().unwrap());
        let (close, to_close) = mpsc::sync_channel(1);
        let (is_closed, closed) = mpsc::channel();
        let (accept, accepted) = mpsc::channel();
        thread::spawn(move || {
            for connection in listener.incoming() {
                let mut connection = connection.unwrap();
                let _ = accept.send(());
                read_head(&mut connection);
                connection.write_all(reaction.at_once.as_bytes()).unwrap();
                if to_close.recv().is_err() {
                    return;
                }
                // Unread bytes are the reason why the kernel resets the connection.
                assert!(connection.peek(&mut [0]).is_ok_and(|unread| unread > 0));
                connection.write_all(reaction.at_the_end.as_bytes()).unwrap();
                if reaction.orderly {
                    connection.shutdown(Shutdown::Write).unwrap();
                }
                drop(connection);
                let _ = is_closed.send(());
            }
        });
        let closing = Arc::new(Closing { close, closed: parking_lot::Mutex::new(closed) });
        Self { address, accepted, closing }
    }

    /// Returns a request, a sender that lets its second piece be read, and a receiver that ends with the body.
    fn request(&self, method: Method) -> (Request<Pieces>, oneshot::Sender<()>, oneshot::Receiver<()>) {
        let ((go_on, begin), (held, ended)) = (oneshot::channel(), oneshot::channel());
        let body = Pieces { given: 0, flushed: false, begin, closing: Arc::clone(&self.closing), _held: held };
        (Request::builder().method(method).uri(&self.address).body(body).unwrap(), go_on, ended)
    }

    /// Sends a request and reads the answer.
    async fn ask(&self, hop: &Hop<Pieces>, method: Method) -> Result<(StatusCode, Bytes), String> {
        let (request, go_on, ended) = self.request(method);
        go_on.send(()).unwrap();
        let answer = hop.send(request).await.map_err(|error| {
            assert!(!error.is_connect() && !error.is_of_the_body(), "{}", chain(&error));
            chain(&error)
        })?;
        let status = answer.status();
        let body = answer.into_body().collect().await.map_err(|error| chain(&error));
        // Nothing more of the request is read.
        assert!(tokio::time::timeout(PATIENCE, ended).await.is_ok());
        Ok((status, body?.to_bytes()))
    }
}

fn read_head(connection: &mut TcpStream) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        connection.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
}

/// A body whose second piece comes when the server has closed the connection, so that the next write fails.
struct Pieces {
    given: usize,
    /// Whether the first piece has been sent: once, the body was not ready.
    flushed: bool,
    begin: oneshot::Receiver<()>,
    closing: Arc<Closing>,
    _held: oneshot::Sender<()>,
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.given == 1 {
            if !self.flushed {
                self.flushed = true;
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            if Pin::new(&mut self.begin).poll(cx).is_pending() {
                return Poll::Pending;
            }
            // Blocks the thread, so that the client cannot notice the end of the connection before it writes.
            self.closing.close.send(()).unwrap();
            self.closing.closed.lock().recv_timeout(PATIENCE).unwrap();
        }
        if self.given == 1 + READY {
            return Poll::Pending;
        }
        self.given += 1;
        Poll::Ready(Some(Ok(Frame::data(vec![b'a'; PIECE].into()))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact((PIECE * (READY + 2)) as u64)
    }
}

fn hop() -> Hop<Pieces> {
    hop_of(Versions::Http1)
}

fn hop_of(versions: Versions) -> Hop<Pieces> {
    let settings = HopSettings { connect_timeout: PATIENCE, pool_size: 8, idle: PATIENCE, versions };
    Hop::new(&Scheme::HTTP, &settings).unwrap()
}

fn refused() -> Result<(StatusCode, Bytes), String> {
    Ok((StatusCode::PAYLOAD_TOO_LARGE, "too large".into()))
}

#[tokio::test]
async fn an_early_answer_is_read_although_the_connection_is_reset() {
    for at_the_end in [REFUSED, KEPT] {
        for method in [Method::POST, Method::GET] {
            let server = Server::start(Reaction { at_the_end, ..Reaction::default() });
            assert_eq!(server.ask(&hop(), method).await, refused());
        }
    }
}

#[tokio::test]
async fn a_connection_that_was_reset_is_not_used_again() {
    let (server, hop) = (Server::start(Reaction { at_the_end: KEPT, ..Reaction::default() }), hop());
    // Without TLS each write has a connection of its own anyway; reads share them.
    for _ in 0..20 {
        assert_eq!(server.ask(&hop, Method::GET).await, refused());
    }
    assert_eq!(server.accepted.try_iter().count(), 20);
}

#[tokio::test]
async fn the_rest_of_an_answer_is_read_when_only_its_head_came_before() {
    let (at_once, at_the_end) = REFUSED.split_at(REFUSED.len() - 5);
    let server = Server::start(Reaction { at_once, at_the_end, orderly: false });
    let (request, go_on, _ended) = server.request(Method::POST);
    let answer = hop().send(request).await.unwrap();
    go_on.send(()).unwrap();
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "too large");
}

#[tokio::test]
async fn an_answer_whose_end_is_the_end_of_the_connection_is_read_when_that_end_came() {
    let at_the_end = "HTTP/1.1 413 Too Large\r\n\r\ntoo large";
    let server = Server::start(Reaction { at_the_end, orderly: true, ..Reaction::default() });
    assert_eq!(server.ask(&hop(), Method::POST).await, refused());
}

#[tokio::test]
async fn a_reset_connection_without_any_answer_is_told_as_such() {
    let answer = Server::start(Reaction::default()).ask(&hop(), Method::POST).await;
    assert!(answer.as_ref().is_err_and(|told| told.contains("reset by peer")), "{answer:?}");
}

/// A connection for many requests must not outlast a failed write.
#[tokio::test]
async fn a_failed_write_ends_a_connection_that_may_speak_http2() {
    let server = Server::start(Reaction { at_the_end: REFUSED, ..Reaction::default() });
    let answer = server.ask(&hop_of(Versions::Http1And2), Method::GET).await;
    assert!(answer.as_ref().is_err_and(|told| told.contains("error writing")), "{answer:?}");
}

#[tokio::test]
async fn a_reset_connection_without_a_whole_answer_is_an_error() {
    for (at_the_end, orderly) in [
        ("", false),
        ("", true),
        ("HTTP/1.1 413 Too", false),
        ("HTTP/1.1 413 Too Large\r\nContent-Length: 10\r\n\r\ntoo large", false),
        ("HTTP/1.1 413 Too Large\r\nContent-Length: 10\r\n\r\ntoo large", true),
        ("HTTP/1.1 413 Too Large\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ntoo large\r\n", true),
        // Nothing announces the end of this body, so that a part of it may be missing.
        ("HTTP/1.1 413 Too Large\r\n\r\ntoo large", false),
    ] {
        for method in [Method::POST, Method::GET] {
            let server = Server::start(Reaction { at_the_end, orderly, ..Reaction::default() });
            let answer = server.ask(&hop(), method.clone()).await;
            assert!(answer.is_err(), "{method} {at_the_end:?}: {answer:?}");
        }
    }
}
