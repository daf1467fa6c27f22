//! The connection to Redis: one for all callers. A separate task keeps it up, so that no request waits for connecting.
//!
//! Each request to Redis has the time limit of the setting `shared.timeout`. The connection is replaced when three requests
//! in a row get no answer, when one is refused, or when the connection ends. Until then every caller gets
//! [`RedisUnavailable`] at once. The log has one line when Redis goes away, one when it is back, and one a minute while
//! it refuses the credentials. A new connection must first answer a write in time: a Redis that became a replica, or is
//! too slow, counts as away. May use: `script`.

use super::script::{Answer, Call, RedisUnavailable};
use parking_lot::Mutex;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, ErrorKind, RedisError, ServerErrorKind, Value};
use std::fmt::Display;
use std::sync::Weak;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Number of late answers in a row after which the connection is replaced.
const LATE: usize = 3;
/// Longest time to make a connection.
const CONNECTING: Duration = Duration::from_secs(2);
/// Pause between two attempts to connect.
const PAUSE: Duration = Duration::from_millis(200);
/// After a connection that lasted less than this, the task rests before it reconnects, twice as long each time, up to
/// the longest rest.
const SOON: Duration = Duration::from_secs(30);
const LONGEST_REST: Duration = Duration::from_secs(30);
/// Pause between two lines in the log about refusals of Redis.
const QUIET: Duration = Duration::from_secs(60);
/// Oldest supported major version of Redis.
const OLDEST: u32 = 6;

/// Parts of answers to the choice of a database that stay the same until the settings change: there is no such
/// database, or it needs credentials or rights. The client keeps only the text of these answers.
const NO_DATABASE: [&str; 4] =
    ["DB index", "not allowed in cluster mode", "Authentication required", "has no permissions"];

/// Reason why Redis cannot be used at all: the address is invalid, Redis refuses the credentials or the database, or it
/// is too old.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SharedError(pub(super) String);

/// Reason why Redis cannot be used at present.
#[derive(Debug)]
pub enum Unusable {
    /// It cannot be reached, or gives no answer in time.
    Silent(String),
    /// It answers with an error, such as a replica that takes no writes.
    Refusing(String),
}

/// The connection, and the known number of processes that share the place.
pub struct Link {
    pub(super) client: Client,
    pub(super) deployment: String,
    /// Longest wait for an answer.
    patience: Duration,
    /// The connection, and the time when it was made.
    connection: Mutex<Option<(MultiplexedConnection, Instant)>>,
    /// Rest before the next connection is made.
    rest: Mutex<Duration>,
    /// Notified when the connection is lost.
    gone: Notify,
    late: AtomicUsize,
    away: AtomicBool,
    refused: Mutex<Option<Instant>>,
    pub(super) processes: AtomicUsize,
    asked: AtomicU64,
}

/// Reason why there is no connection.
pub(super) enum ConnectError {
    /// A permanent problem.
    Never(SharedError),
    Now(RedisError),
}

impl From<RedisError> for ConnectError {
    fn from(fault: RedisError) -> Self {
        let refused = matches!(fault.kind(), ErrorKind::AuthenticationFailed | ErrorKind::InvalidClientConfig)
            || matches!(fault.code(), Some("WRONGPASS" | "NOAUTH" | "NOPERM"))
            || fault.detail().is_some_and(|told| NO_DATABASE.iter().any(|part| told.contains(part)));
        match refused {
            true => Self::Never(SharedError(format!("Redis refuses to be used: {fault}"))),
            false => Self::Now(fault),
        }
    }
}

impl Link {
    /// Creates the link of `deployment`, without a connection yet. `patience` is the longest wait for an answer.
    pub(super) fn new(client: Client, deployment: String, patience: Duration) -> Self {
        Self {
            client,
            deployment,
            patience,
            connection: Mutex::default(),
            rest: Mutex::default(),
            gone: Notify::new(),
            late: AtomicUsize::new(0),
            away: AtomicBool::new(false),
            refused: Mutex::default(),
            processes: AtomicUsize::new(1),
            asked: AtomicU64::new(0),
        }
    }

    /// Makes the first connection, or continues without one.
    ///
    /// # Errors
    /// When no connection can ever be made.
    pub(super) async fn begin(&self) -> Result<(), SharedError> {
        match self.connect().await {
            Ok(connection) => *self.connection.lock() = Some((connection, Instant::now())),
            Err(ConnectError::Never(fault)) => return Err(fault),
            Err(ConnectError::Now(fault)) => self.note_away(&fault),
        }
        Ok(())
    }

    /// Makes a connection as a test. Returns the reason when none can be made at present.
    ///
    /// # Errors
    /// When no connection can ever be made.
    pub(super) async fn look(&self) -> Result<Option<Unusable>, SharedError> {
        match self.connect().await {
            Ok(_) => Ok(None),
            Err(ConnectError::Never(fault)) => Err(fault),
            Err(ConnectError::Now(fault)) if is_answer(&fault) => Ok(Some(Unusable::Refusing(fault.to_string()))),
            Err(ConnectError::Now(fault)) => Ok(Some(Unusable::Silent(fault.to_string()))),
        }
    }

    /// Checks whether Redis is connected, as far as is known.
    pub fn is_up(&self) -> bool {
        self.connection.lock().is_some()
    }

    /// Returns the number of requests to Redis. Scripts that are sent together count once.
    pub fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    /// Returns the key for a `kind` of data about `tag`. All keys of one tag go to the same node of a cluster.
    pub fn key(&self, kind: &str, tag: &str) -> String {
        format!("causeway:{}:{kind}:{{{}.{tag}}}", self.deployment, self.deployment)
    }

    async fn connect(&self) -> Result<MultiplexedConnection, ConnectError> {
        // Each command has its own time limit, so that a late answer can be told from a command that was not sent.
        let how = AsyncConnectionConfig::new().set_connection_timeout(Some(CONNECTING)).set_response_timeout(None);
        let mut connection = self.client.get_multiplexed_async_connection_with_config(&how).await?;
        let mut question = redis::cmd("INFO");
        question.arg("server");
        match tokio::time::timeout(CONNECTING, question.query_async::<String>(&mut connection)).await {
            Ok(Ok(told)) => match version(&told) {
                Some((major, text)) if major < OLDEST => {
                    let old = format!("Redis 6 or later, or Valkey, is needed; this is {text}");
                    return Err(ConnectError::Never(SharedError(old)));
                }
                _ => {}
            },
            // A user without the permission for INFO may still use the other commands.
            Ok(Err(fault)) if fault.code() == Some("NOPERM") => {}
            Ok(Err(fault)) => return Err(fault.into()),
            Err(_) => return Err(ConnectError::Now(no_answer())),
        }
        let mut write = redis::cmd("ZREMRANGEBYSCORE");
        write.arg(self.key("nothing", "all")).arg("-inf").arg(0);
        match tokio::time::timeout(self.patience, write.query_async::<i64>(&mut connection)).await {
            Ok(Ok(_)) => Ok(connection),
            Ok(Err(fault)) => Err(fault.into()),
            Err(_) => Err(ConnectError::Now(RedisError::from((
                ErrorKind::Io,
                "a write takes longer than shared.timeout",
            )))),
        }
    }

    /// Runs one script.
    ///
    /// # Errors
    /// See [`Link::run`].
    pub async fn run_one(&self, call: Call) -> Result<Answer, RedisUnavailable> {
        self.run(vec![call]).await?.pop().ok_or(RedisUnavailable)
    }

    /// Sends scripts all at once; each runs separately.
    ///
    /// # Errors
    /// [`RedisUnavailable`] when Redis does not answer in time or refuses one of them.
    pub async fn run(&self, calls: Vec<Call>) -> Result<Vec<Answer>, RedisUnavailable> {
        let (connection, since) = self.connection.lock().clone().ok_or(RedisUnavailable)?;
        self.asked.fetch_add(1, Ordering::Relaxed);
        match tokio::time::timeout(self.patience, answers(connection, &calls)).await {
            Ok(Ok(answers)) => {
                self.late.store(0, Ordering::Relaxed);
                Ok(answers)
            }
            // When memory is full for this data, other data may still fit: the quota takes no memory. Keep the
            // connection.
            Ok(Err(fault)) if fault.to_string().contains("OOM") => {
                self.note_refusal(&fault);
                Err(RedisUnavailable)
            }
            Ok(Err(fault)) => {
                self.lost(&fault, since);
                Err(RedisUnavailable)
            }
            Err(_) => {
                if self.late.fetch_add(1, Ordering::Relaxed) + 1 >= LATE {
                    self.lost(&no_answer(), since);
                }
                Err(RedisUnavailable)
            }
        }
    }

    /// Drops the connection that was made at `since`, because it can no longer be used.
    fn lost(&self, fault: &RedisError, since: Instant) {
        self.late.store(0, Ordering::Relaxed);
        let is_it = |(_, now): &mut (MultiplexedConnection, Instant)| *now == since;
        if self.connection.lock().take_if(is_it).is_none() {
            return;
        }
        let mut rest = self.rest.lock();
        *rest = if since.elapsed() < SOON { (*rest * 2).clamp(PAUSE, LONGEST_REST) } else { Duration::ZERO };
        drop(rest);
        self.note_away(fault);
        self.gone.notify_one();
    }

    fn note_away(&self, fault: &RedisError) {
        if !self.away.swap(true, Ordering::Relaxed) {
            let state = if is_answer(fault) { "Redis answers with an error" } else { "Redis is away" };
            tracing::warn!(%fault, "{state}: limits, quota and proofs of access are kept by each process alone");
        }
    }

    fn note_refusal(&self, fault: &impl Display) {
        let mut refused = self.refused.lock();
        if refused.is_none_or(|at| at.elapsed() >= QUIET) {
            *refused = Some(Instant::now());
            tracing::warn!(%fault, "Redis rejects requests");
        }
    }
}

/// Reconnects whenever the connection is lost, until the place is no longer used.
pub(super) async fn keep_up(place: Weak<Link>) {
    loop {
        let Some(inner) = place.upgrade() else { return };
        if inner.connection.lock().is_some() {
            // With a time limit, so that the loop checks regularly whether the place is still used.
            let _ = tokio::time::timeout(Duration::from_secs(1), inner.gone.notified()).await;
            continue;
        }
        let rest = *inner.rest.lock();
        drop(inner);
        tokio::time::sleep(rest).await;
        let Some(inner) = place.upgrade() else { return };
        match inner.connect().await {
            Ok(connection) => {
                *inner.connection.lock() = Some((connection, Instant::now()));
                if inner.away.swap(false, Ordering::Relaxed) {
                    tracing::info!("Redis is back");
                }
            }
            Err(fault) => {
                // The log has only the first reason, and this one does not go away by itself.
                if let ConnectError::Never(fault) = &fault {
                    inner.note_refusal(fault);
                }
                drop(inner);
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Checks whether an error is an answer of Redis. Otherwise there was none.
fn is_answer(fault: &RedisError) -> bool {
    matches!(fault.kind(), ErrorKind::Server(_) | ErrorKind::Extension)
}

fn no_answer() -> RedisError {
    RedisError::from((ErrorKind::Io, "no answer"))
}

/// Returns the answers of `calls`. Scripts that Redis does not know yet are loaded and sent again.
async fn answers(mut connection: MultiplexedConnection, calls: &[Call]) -> Result<Vec<Answer>, RedisError> {
    let mut values = sent(&mut connection, calls.iter()).await?;
    let unknown: Vec<usize> = (0..values.len()).filter(|at| is_unknown_script(&values[*at])).collect();
    if !unknown.is_empty() {
        let mut codes: Vec<&str> = unknown.iter().map(|at| calls[*at].code).collect();
        codes.sort_unstable();
        codes.dedup();
        let mut loading = redis::pipe();
        for code in codes {
            loading.cmd("SCRIPT").arg("LOAD").arg(code).ignore();
        }
        loading.exec_async(&mut connection).await?;
        let again = sent(&mut connection, unknown.iter().map(|at| &calls[*at])).await?;
        for (at, value) in unknown.into_iter().zip(again) {
            values[at] = value;
        }
    }
    values.into_iter().map(|value| value.extract_error().map(Answer)).collect()
}

async fn sent<'c>(
    connection: &mut MultiplexedConnection,
    calls: impl Iterator<Item = &'c Call>,
) -> Result<Vec<Value>, RedisError> {
    let mut pipeline = redis::pipe();
    pipeline.ignore_errors();
    let mut count = 0;
    for call in calls {
        pipeline.add_command(call.command.clone());
        count += 1;
    }
    connection.send_packed_commands(&pipeline, 0, count).await
}

fn is_unknown_script(value: &Value) -> bool {
    matches!(value, Value::ServerError(fault) if fault.kind() == Some(ServerErrorKind::NoScript))
}

/// Parses the version from the answer of Redis: the major number and the full text.
fn version(told: &str) -> Option<(u32, String)> {
    let text = told.lines().find_map(|line| line.strip_prefix("redis_version:"))?.trim();
    Some((text.split('.').next()?.parse().ok()?, text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read() {
        assert_eq!(version("# Server\r\nredis_version:7.0.15\r\nx:y\r\n"), Some((7, "7.0.15".into())));
        assert_eq!(version("# Server\r\n"), None);
    }
}
