//! Writes over HTTP/2 that are refused before their bodies have arrived. May use: this folder.

use super::support::{Gateway, patiently};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const GO_AWAY: u8 = 7;
const WINDOW: u8 = 8;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// Encoded heads (RFC 7541): `GET` or `POST`, `http`, then the path and the authority as plain text.
const GET: u8 = 0x82;
const POST: u8 = 0x83;
/// First byte of a head with `:status: 200`.
const STATUS_200: u8 = 0x88;
/// Number of concurrent streams.
const AT_ONCE: u32 = 100;

struct Client {
    socket: TcpStream,
    next: u32,
}

impl Client {
    async fn connect(gateway: &Gateway) -> Self {
        let mut socket = gateway.connect().await;
        socket.write_all(PREFACE).await.unwrap();
        let mut client = Self { socket, next: 1 };
        client.send(SETTINGS, 0, 0, &[]).await;
        // A window that is large enough for all answers.
        client.send(WINDOW, 0, 0, &0x3fff_0000_u32.to_be_bytes()).await;
        client
    }

    async fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let mut frame = u32::try_from(payload.len()).unwrap().to_be_bytes()[1..].to_vec();
        frame.extend([kind, flags]);
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        patiently(self.socket.write_all(&frame)).await.unwrap();
    }

    /// Sends a head; returns the number of the stream.
    async fn begin(&mut self, method: u8, path: &str, flags: u8) -> u32 {
        let mut head = vec![method, 0x86];
        for (name, value) in [(4, path), (1, "gw.example")] {
            head.extend([name, u8::try_from(value.len()).unwrap()]);
            head.extend(value.as_bytes());
        }
        let stream = self.next;
        self.next += 2;
        self.send(HEADERS, flags | END_HEADERS, stream, &head).await;
        stream
    }

    /// Reads until `left` answers have ended; returns the first byte of each head.
    async fn answers(&mut self, mut left: u32) -> Vec<u8> {
        let mut begins = Vec::new();
        while left > 0 {
            let mut head = [0; 9];
            patiently(self.socket.read_exact(&mut head)).await.expect("the connection lives");
            let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
            patiently(self.socket.read_exact(&mut payload)).await.unwrap();
            let (kind, flags) = (head[3], head[4]);
            assert_ne!(kind, GO_AWAY, "{}", String::from_utf8_lossy(&payload));
            if kind == SETTINGS && flags == 0 {
                self.send(SETTINGS, 1, 0, &[]).await;
            }
            if kind == HEADERS {
                begins.push(payload[0]);
            }
            if matches!(kind, HEADERS | DATA) && flags & END_STREAM != 0 {
                left -= 1;
            }
        }
        begins
    }
}

#[tokio::test]
async fn thousands_of_refused_writes_do_not_cost_the_connection() {
    let gateway = Gateway::start(|_| {}).await;
    let mut client = Client::connect(&gateway).await;
    for _ in 0..30 {
        let mut streams = Vec::new();
        for _ in 0..AT_ONCE {
            streams.push(client.begin(POST, "/api/v2/nothing/", 0).await);
        }
        // The answers come before the bodies are sent.
        assert!(!client.answers(AT_ONCE).await.contains(&STATUS_200));
        for stream in streams {
            client.send(DATA, END_STREAM, stream, b"{}").await;
        }
    }
    client.begin(GET, "/api/v2/ok/", END_STREAM).await;
    assert_eq!(client.answers(1).await, [STATUS_200]);
}

/// The request is refused, but the client continues to send: the stream is ended, and the connection continues.
#[tokio::test]
async fn a_body_without_an_end_is_not_read_for_ever() {
    let gateway = Gateway::start(|_| {}).await;
    let mut client = Client::connect(&gateway).await;
    client.begin(POST, "/api/v2/nothing/", 0).await;
    client.answers(1).await;
    let reset = async {
        loop {
            let mut head = [0; 9];
            client.socket.read_exact(&mut head).await.unwrap();
            let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
            client.socket.read_exact(&mut payload).await.unwrap();
            if head[3] == 3 {
                return payload;
            }
        }
    };
    assert_eq!(patiently(reset).await, [0, 0, 0, 0], "no error");
    client.begin(GET, "/api/v2/ok/", END_STREAM).await;
    assert_eq!(client.answers(1).await, [STATUS_200]);
}
