//! A wire between a gateway and PostgreSQL that counts statements, can be cut, can fall silent and can refuse logins.
//!
//! May use: nothing of the crate.

use causeway::task::spawn;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// The wire. It lives as long as the test's runtime.
pub struct PgWire {
    url: String,
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    /// Number of executed statements (`Execute` and `Query` messages), without those of the keeper's connection.
    statements: AtomicU64,
    silent: watch::Sender<bool>,
    cut: watch::Sender<u64>,
    refusing: AtomicBool,
    /// The SQLSTATE with which logins are refused.
    refused_login: Mutex<Option<&'static str>>,
    /// Number of refused logins.
    refused_logins: AtomicU64,
    /// Whether notifications are held back, as by a pooler in transaction mode.
    deaf: AtomicBool,
    /// The commit that is late or lost, and by how much.
    late_commit: Mutex<Option<(String, Late)>>,
}

/// Delay of a commit.
#[derive(Clone, Copy)]
enum Late {
    /// The commit arrives after this time; its connection ends at once.
    Lost(Duration),
    /// The commit arrives after this time.
    Slow(Duration),
}

impl PgWire {
    /// A wire to the server at `url` (`postgres://USER@HOST:PORT/DATABASE`).
    pub async fn before(url: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let here = listener.local_addr().expect("an address");
        let (start, rest) = url.split_once('@').expect("a user");
        let (server, database) = rest.split_once('/').expect("a database");
        let wire = Self {
            url: format!("{start}@{here}/{}?sslmode=disable", database.trim_end_matches('?')),
            inner: Arc::default(),
        };
        let (server, inner) = (server.to_owned(), Arc::clone(&wire.inner));
        spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if inner.refusing.load(Ordering::SeqCst) {
                    continue;
                }
                let refused_login = *inner.refused_login.lock().expect("a lock");
                match refused_login {
                    Some(code) => {
                        inner.refused_logins.fetch_add(1, Ordering::SeqCst);
                        spawn(refuse_login(client, code))
                    }
                    None => spawn(pass(client, server.clone(), Arc::clone(&inner))),
                };
            }
        });
        wire
    }

    /// The URL of the database through this wire.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the number of statements so far, without those of connections that listen.
    pub fn statements(&self) -> u64 {
        self.inner.statements.load(Ordering::SeqCst)
    }

    /// From now on lets nothing through, without an error; or lets everything through again.
    pub fn silence(&self, silent: bool) {
        self.inner.silent.send_replace(silent);
    }

    /// From now on holds notifications back, like a pooler in transaction mode; to be called before any connection.
    pub fn keep_notifications_back(&self) {
        self.inner.deaf.store(true, Ordering::SeqCst);
    }

    /// Delays the commit of the next transaction that contains `text` by `late`, and ends its connection at once.
    pub fn lose_commit_of(&self, text: &str, late: Duration) {
        self.inner.has_late_commit(text, Late::Lost(late));
    }

    /// Delays the commit of the next transaction that contains `text` by `late`.
    pub fn slow_commit_of(&self, text: &str, late: Duration) {
        self.inner.has_late_commit(text, Late::Slow(late));
    }

    /// From now on refuses every login with this SQLSTATE, as the server does; or none. Open connections stay.
    pub fn refuse_logins(&self, code: Option<&'static str>) {
        *self.inner.refused_login.lock().expect("a lock") = code;
    }

    /// Returns the number of logins refused so far.
    pub fn refused_logins(&self) -> u64 {
        self.inner.refused_logins.load(Ordering::SeqCst)
    }

    /// Ends all connections; new ones are refused while `refusing`.
    pub fn cut(&self, refusing: bool) {
        self.inner.refusing.store(refusing, Ordering::SeqCst);
        self.inner.cut.send_modify(|times| *times += 1);
    }
}

impl Inner {
    fn has_late_commit(&self, text: &str, late: Late) {
        *self.late_commit.lock().expect("a lock") = Some((text.to_owned(), late));
    }

    /// Returns the delay of this commit, if it is the chosen one; `is_its` says whether its text has passed.
    fn delays(&self, piece: &[u8], is_its: &mut bool) -> Option<Late> {
        let mut lost = self.late_commit.lock().expect("a lock");
        let (text, late) = lost.clone()?;
        let has = |text: &str| piece.windows(text.len()).any(|part| part == text.as_bytes());
        *is_its |= has(&text);
        (*is_its && has("COMMIT")).then(|| {
            *lost = None;
            late
        })
    }
}

/// Returns the message of a server that refuses a login.
pub fn refusal_of_login(code: &str, text: &str) -> Vec<u8> {
    let fields = format!("SFATAL\0VFATAL\0C{code}\0M{text}\0\0");
    let length = u32::try_from(fields.len() + 4).expect("a short message").to_be_bytes();
    [&b"E"[..], &length[..], fields.as_bytes()].concat()
}

async fn refuse_login(mut client: TcpStream, code: &str) {
    let _ = client.write_all(&refusal_of_login(code, "not now")).await;
    // An end with unread bytes could take the message from the client, so the connection is read to its end.
    let _ = tokio::io::copy(&mut client, &mut tokio::io::sink()).await;
}

async fn pass(client: TcpStream, server: String, inner: Arc<Inner>) {
    let Ok(server) = TcpStream::connect(server).await else { return };
    let mut cut = inner.cut.subscribe();
    cut.mark_unchanged();
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    let (there, back) = (carry(from_client, to_server, &inner, true), carry(from_server, to_client, &inner, false));
    tokio::select! { () = there => {}, () = back => {}, _ = cut.changed() => {} }
}

async fn carry(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    inner: &Inner,
    counted: bool,
) {
    let (mut silent, mut counting) = (inner.silent.subscribe(), Counting::default());
    let mut piece = vec![0; 64 * 1024];
    let mut is_its = false;
    loop {
        let Ok(size @ 1..) = from.read(&mut piece).await else { return };
        if !counted && inner.deaf.load(Ordering::SeqCst) {
            let passed = counting.without_notifications(&piece[..size]);
            if to.write_all(&passed).await.is_err() {
                return;
            }
            continue;
        }
        if counted {
            inner.statements.fetch_add(counting.look(&piece[..size]), Ordering::SeqCst);
        }
        match inner.delays(&piece[..size], &mut is_its).filter(|_| counted) {
            Some(Late::Slow(late)) => tokio::time::sleep(late).await,
            Some(Late::Lost(late)) => {
                let commit = piece[..size].to_vec();
                spawn(async move {
                    tokio::time::sleep(late).await;
                    let _ = to.write_all(&commit).await;
                    // By then the server has read the commit, before it sees the end.
                    tokio::time::sleep(Duration::from_millis(200)).await;
                });
                return;
            }
            None => {}
        }
        if silent.wait_for(|silent| !silent).await.is_err() || to.write_all(&piece[..size]).await.is_err() {
            return;
        }
    }
}

/// Reads the messages of a client: one byte of kind, four bytes of length; the first message has no kind.
#[derive(Default)]
struct Counting {
    held: Vec<u8>,
    begun: bool,
    listens: bool,
}

impl Counting {
    /// Returns the complete messages of a server in `piece`, without notifications.
    fn without_notifications(&mut self, piece: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(piece);
        let mut passed = Vec::new();
        while let Some(length) = self.held.get(1..5) {
            let length = u32::from_be_bytes(length.try_into().expect("four bytes")) as usize + 1;
            if self.held.len() < length {
                break;
            }
            let message: Vec<u8> = self.held.drain(..length).collect();
            if message[0] != b'A' {
                passed.extend(message);
            }
        }
        passed
    }

    fn look(&mut self, piece: &[u8]) -> u64 {
        self.held.extend_from_slice(piece);
        let mut found = 0;
        loop {
            let at = usize::from(self.begun);
            let Some(length) = self.held.get(at..at + 4) else { return found };
            let length = u32::from_be_bytes(length.try_into().expect("four bytes")) as usize;
            if self.held.len() < at + length {
                return found;
            }
            let message: Vec<u8> = self.held.drain(..at + length).collect();
            if self.begun {
                self.listens |= message.windows(6).any(|word| word == b"LISTEN");
                found += u64::from(!self.listens && matches!(message[0], b'E' | b'Q'));
            }
            self.begun = true;
        }
    }
}
