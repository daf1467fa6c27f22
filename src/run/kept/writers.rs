//! Turns of writers at a place, and how a read avoids half-done writes.
//!
//! A write may take several calls. A read during such a write in this process waits for its end, so that no caller sees
//! a half of it, unless v1 hangs in the write. Writes of other processes are not known here.
//!
//! May use: `cache`.

use crate::cache::{Bounds, Cache};
use parking_lot::Mutex;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::OwnedMutexGuard;
use tokio::time::timeout;

/// Number of places whose writers are tracked.
const PLACES: u64 = 100_000;
/// Time after which an unused place is forgotten.
const IDLE: Duration = Duration::from_secs(86_400);
/// Longest wait of a read for a half-done write: a v1 that hangs in a write must not block other requests.
const LONGEST_HALF: Duration = Duration::from_secs(1);

/// The writers of all places, by their paths.
#[derive(Clone)]
pub struct Writers(Cache<Arc<str>, Arc<Queue>>);

/// The writers at one place.
#[derive(Default)]
struct Queue {
    turn: Arc<tokio::sync::Mutex<()>>,
    /// Whether the present writer has sent anything to v1 yet.
    sent: Mutex<Option<Arc<AtomicBool>>>,
    /// Number of ended writers that had sent something.
    ended: AtomicU64,
}

impl Queue {
    /// Checks whether the present write may be half done.
    fn is_half_done(&self) -> bool {
        self.sent.lock().as_ref().is_some_and(|sent| sent.load(Ordering::SeqCst))
    }
}

/// The turn of one writer, until it is dropped.
pub struct Turn {
    queue: Arc<Queue>,
    _guard: OwnedMutexGuard<()>,
}

impl Drop for Turn {
    fn drop(&mut self) {
        let sent = self.queue.sent.lock().take();
        if sent.is_some_and(|sent| sent.load(Ordering::SeqCst)) {
            self.queue.ended.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl Writers {
    /// Creates it without any writer.
    pub fn new() -> Self {
        Self(Cache::new(Bounds::of(PLACES).while_used_within(IDLE)))
    }

    /// Waits for the turn of a writer at `path`, after earlier ones. `sent` tells whether v1 was sent any of the write.
    pub async fn turn(&self, path: &Arc<str>, sent: Arc<AtomicBool>) -> Turn {
        let queue = self.0.get_or_insert(Arc::clone(path), Arc::default);
        let guard = Arc::clone(&queue.turn).lock_owned().await;
        *queue.sent.lock() = Some(sent);
        Turn { queue, _guard: guard }
    }

    /// Returns the result of `load` for `path`. It first waits for a half-done write there, and loads again when a
    /// write happened meanwhile. After a second of waiting, it returns the present state.
    ///
    /// # Errors
    /// Those of `load`.
    pub async fn whole<T, E, F>(&self, path: &Arc<str>, load: impl Fn() -> F) -> Result<T, E>
    where
        F: Future<Output = Result<T, E>>,
    {
        let queue = || self.0.get(path);
        let ended = || queue().map_or(0, |queue| queue.ended.load(Ordering::SeqCst));
        if let Some(queue) = queue().filter(|queue| queue.is_half_done()) {
            let waited = timeout(LONGEST_HALF, queue.turn.lock()).await.map(drop);
            if waited.is_err() {
                return load().await;
            }
        }
        let before = ended();
        let loaded = load().await?;
        match queue().filter(|queue| queue.is_half_done() || ended() != before) {
            Some(queue) => match timeout(LONGEST_HALF, queue.turn.lock()).await {
                Ok(_turn) => load().await,
                Err(_) => Ok(loaded),
            },
            None => Ok(loaded),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;
    use tokio::time::Instant;

    async fn write(writers: &Writers, sent: bool) -> Turn {
        writers.turn(&"states/".into(), Arc::new(AtomicBool::new(sent))).await
    }

    async fn read(writers: &Writers, value: u32) -> u32 {
        let Ok(value) = writers.whole(&"states/".into(), || async { Ok::<_, Infallible>(value) }).await;
        value
    }

    #[tokio::test]
    async fn a_read_during_a_half_done_write_waits_for_its_end() {
        let writers = Writers::new();
        assert_eq!(read(&writers, 1).await, 1, "nobody has ever written");
        let waits = write(&writers, false).await;
        assert_eq!(read(&writers, 2).await, 2, "v1 was sent nothing yet");
        drop(waits);
        let half = write(&writers, true).await;
        let reader = read(&writers, 3);
        tokio::pin!(reader);
        assert!(timeout(Duration::from_millis(20), &mut reader).await.is_err());
        drop(half);
        assert_eq!(reader.await, 3);
    }

    #[tokio::test]
    async fn a_read_beside_a_whole_write_is_repeated() {
        let (writers, reads) = (Writers::new(), AtomicU64::new(0));
        let load = || async {
            let read = reads.fetch_add(1, Ordering::SeqCst);
            if read == 0 {
                drop(write(&writers, true).await);
            }
            Ok::<_, Infallible>(read)
        };
        let Ok(read) = writers.whole(&"states/".into(), load).await;
        assert_eq!(read, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_read_during_a_hanging_write_waits_at_most_a_second() {
        let writers = Writers::new();
        let _hangs = write(&writers, true).await;
        let begun = Instant::now();
        assert_eq!(read(&writers, 1).await, 1);
        assert!(begun.elapsed() >= LONGEST_HALF && begun.elapsed() < 2 * LONGEST_HALF, "{:?}", begun.elapsed());
    }
}
