//! The connection: one for all, kept up by a task of its own, so that no request ever waits for it to be made.
//!
//! Each question has a time limit of some tens of milliseconds. When three in a row are not answered, one is refused, or
//! the connection ends, it is made anew; until then everybody is told [`Away`] at once. That is said once in the log, and
//! once when it is over. A connection is only of use when a write is answered on it in time: a Redis that became a
//! replica, or is too slow, counts as away. May use: `script`.

use super::script::{Answer, Away, Call};
use parking_lot::Mutex;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, ErrorKind, RedisError, ServerErrorKind, Value};
use std::sync::Weak;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_millis(50);
/// Answers that may be late in a row before the connection is made anew.
const LATE: usize = 3;
/// Longest time to make a connection.
const CONNECTING: Duration = Duration::from_secs(2);
/// Time from one attempt to make a connection to the next.
const PAUSE: Duration = Duration::from_millis(200);
/// A connection that is lost sooner is made anew after a rest, twice as long each time, and the longest rest.
const SOON: Duration = Duration::from_secs(30);
const LONGEST_REST: Duration = Duration::from_secs(30);
/// Time from one line in the log about what Redis refuses to the next.
const QUIET: Duration = Duration::from_secs(60);
/// The oldest Redis that will do.
const OLDEST: u32 = 6;

/// Why Redis cannot be used at all: the address is none, it does not let us in, or it is too old.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SharedError(pub(super) String);

/// The connection, and what is known of those who share the place.
pub struct Link {
    pub(super) client: Client,
    pub(super) deployment: String,
    /// The connection, and since when there is one.
    connection: Mutex<Option<(MultiplexedConnection, Instant)>>,
    /// The rest before the next is made.
    rest: Mutex<Duration>,
    /// Told when the connection is gone.
    gone: Notify,
    late: AtomicUsize,
    away: AtomicBool,
    refused: Mutex<Option<Instant>>,
    pub(super) processes: AtomicUsize,
    asked: AtomicU64,
}

/// Why there is no connection.
pub(super) enum Unfit {
    /// Nothing that goes away by itself.
    Never(SharedError),
    Now(RedisError),
}

impl From<RedisError> for Unfit {
    fn from(fault: RedisError) -> Self {
        let refused = matches!(fault.kind(), ErrorKind::AuthenticationFailed | ErrorKind::InvalidClientConfig)
            || matches!(fault.code(), Some("WRONGPASS" | "NOAUTH" | "NOPERM"));
        match refused {
            true => Self::Never(SharedError(format!("Redis refuses to be used: {fault}"))),
            false => Self::Now(fault),
        }
    }
}

impl Link {
    /// What the processes of `deployment` share, without a connection yet.
    pub(super) fn new(client: Client, deployment: String) -> Self {
        Self {
            client,
            deployment,
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

    /// Makes the first connection, or goes on without one.
    ///
    /// # Errors
    /// When it never can be made.
    pub(super) async fn begin(&self) -> Result<(), SharedError> {
        match self.connect().await {
            Ok(connection) => *self.connection.lock() = Some((connection, Instant::now())),
            Err(Unfit::Never(fault)) => return Err(fault),
            Err(Unfit::Now(fault)) => self.is_away(&fault),
        }
        Ok(())
    }

    /// Makes a connection for a look; why there is none at present.
    ///
    /// # Errors
    /// When it never can be made.
    pub(super) async fn look(&self) -> Result<Option<String>, SharedError> {
        match self.connect().await {
            Ok(_) => Ok(None),
            Err(Unfit::Never(fault)) => Err(fault),
            Err(Unfit::Now(fault)) => Ok(Some(fault.to_string())),
        }
    }

    /// Whether Redis is there, as far as is known.
    pub fn is_up(&self) -> bool {
        self.connection.lock().is_some()
    }

    /// How often Redis was asked: scripts that go together count once.
    pub fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    /// The key of the `kind` of thing that `tag` names; all of it goes to one place of a cluster.
    pub fn key(&self, kind: &str, tag: &str) -> String {
        format!("causeway:{}:{kind}:{{{}.{tag}}}", self.deployment, self.deployment)
    }

    async fn connect(&self) -> Result<MultiplexedConnection, Unfit> {
        // Each command has a limit of its own, so that an answer that is late is told from a command that is not sent.
        let how = AsyncConnectionConfig::new().set_connection_timeout(Some(CONNECTING)).set_response_timeout(None);
        let mut connection = self.client.get_multiplexed_async_connection_with_config(&how).await?;
        let mut question = redis::cmd("INFO");
        question.arg("server");
        match tokio::time::timeout(CONNECTING, question.query_async::<String>(&mut connection)).await {
            Ok(Ok(told)) => match version(&told) {
                Some((major, text)) if major < OLDEST => {
                    let old = format!("Redis 6 or later, or Valkey, is needed; this is {text}");
                    return Err(Unfit::Never(SharedError(old)));
                }
                _ => {}
            },
            // A user that is not allowed to ask for it is still allowed to use it.
            Ok(Err(fault)) if fault.code() == Some("NOPERM") => {}
            Ok(Err(fault)) => return Err(fault.into()),
            Err(_) => return Err(Unfit::Now(no_answer())),
        }
        let mut write = redis::cmd("ZREMRANGEBYSCORE");
        write.arg(self.key("nothing", "all")).arg("-inf").arg(0);
        match tokio::time::timeout(PATIENCE, write.query_async::<i64>(&mut connection)).await {
            Ok(Ok(_)) => Ok(connection),
            Ok(Err(fault)) => Err(fault.into()),
            Err(_) => Err(Unfit::Now(RedisError::from((ErrorKind::Io, "a write takes more than 50 ms")))),
        }
    }

    /// Runs one script.
    ///
    /// # Errors
    /// As [`Link::run`].
    pub async fn run_one(&self, call: Call) -> Result<Answer, Away> {
        self.run(vec![call]).await?.pop().ok_or(Away)
    }

    /// Runs scripts, all sent at once, each by itself.
    ///
    /// # Errors
    /// [`Away`] when Redis does not answer in time or refuses one of them.
    pub async fn run(&self, calls: Vec<Call>) -> Result<Vec<Answer>, Away> {
        let (connection, since) = self.connection.lock().clone().ok_or(Away)?;
        self.asked.fetch_add(1, Ordering::Relaxed);
        match tokio::time::timeout(PATIENCE, answers(connection, &calls)).await {
            Ok(Ok(answers)) => {
                self.late.store(0, Ordering::Relaxed);
                Ok(answers)
            }
            // Where there is no room for one thing there is for others: the quota takes none.
            Ok(Err(fault)) if fault.to_string().contains("OOM") => {
                self.refused(&fault);
                Err(Away)
            }
            Ok(Err(fault)) => {
                self.lost(&fault, since);
                Err(Away)
            }
            Err(_) => {
                if self.late.fetch_add(1, Ordering::Relaxed) + 1 >= LATE {
                    self.lost(&no_answer(), since);
                }
                Err(Away)
            }
        }
    }

    /// The connection that there is since then is of no use any more.
    fn lost(&self, fault: &RedisError, since: Instant) {
        self.late.store(0, Ordering::Relaxed);
        let is_it = |(_, now): &mut (MultiplexedConnection, Instant)| *now == since;
        if self.connection.lock().take_if(is_it).is_none() {
            return;
        }
        let mut rest = self.rest.lock();
        *rest = if since.elapsed() < SOON { (*rest * 2).clamp(PAUSE, LONGEST_REST) } else { Duration::ZERO };
        drop(rest);
        self.is_away(fault);
        self.gone.notify_one();
    }

    fn is_away(&self, fault: &RedisError) {
        if !self.away.swap(true, Ordering::Relaxed) {
            tracing::warn!(%fault, "Redis is away: limits, quota and proofs of access are kept by each process alone");
        }
    }

    fn refused(&self, fault: &RedisError) {
        let mut refused = self.refused.lock();
        if refused.is_none_or(|at| at.elapsed() >= QUIET) {
            *refused = Some(Instant::now());
            tracing::warn!(%fault, "Redis refuses what it is asked");
        }
    }
}

/// Makes the connection anew whenever it is gone, until nobody uses the place any more.
pub(super) async fn keep_up(place: Weak<Link>) {
    loop {
        let Some(inner) = place.upgrade() else { return };
        if inner.connection.lock().is_some() {
            // Not for ever: whether anybody uses the place is looked at again.
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
            Err(_) => {
                drop(inner);
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

fn no_answer() -> RedisError {
    RedisError::from((ErrorKind::Io, "no answer"))
}

/// What each of `calls` answers; scripts that Redis does not know yet are told and asked again.
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

/// The version that Redis tells: its first number and the whole.
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
