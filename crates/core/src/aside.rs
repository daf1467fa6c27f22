//! Runs work that may hang for ever on a thread of its own, mainly the reading of files.
//!
//! A thread that hangs is left alone. It delays neither the caller nor the end of the process.
//!
//! May use: nothing of this crate.

use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;

/// Maximum time for reading the files of a reload.
pub const READING: Duration = Duration::from_secs(10);

/// Runs `work` on a thread called `name` and returns its result; `None` when it takes longer than `time`.
pub async fn aside<T: Send + 'static>(
    name: &str,
    time: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (tell, told) = oneshot::channel();
    let working = move || {
        let _ = tell.send(work());
    };
    thread::Builder::new().name(name.to_owned()).spawn(working).ok()?;
    timeout(time, told).await.ok()?.ok()
}

/// A lock for work on threads of its own: one piece of work runs at a time. Clones are the same lock.
#[derive(Debug, Clone)]
pub struct WorkLock(Arc<Semaphore>);

impl Default for WorkLock {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

impl WorkLock {
    /// As [`aside`], but first waits until no other work holds the lock; `time` includes this wait. The thread holds
    /// the lock until its work has ended, so that no work starts beside work that hangs.
    pub async fn aside<T: Send + 'static>(
        &self,
        name: &str,
        time: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let working = async {
            let place = Arc::clone(&self.0).acquire_owned().await.ok()?;
            let work = move || {
                let done = work();
                drop(place);
                done
            };
            aside(name, time, work).await
        };
        timeout(time, working).await.ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[tokio::test]
    async fn a_hanging_task_is_waited_for_only_until_its_deadline() {
        assert_eq!(aside("test", READING, || 7).await, Some(7));
        let (hold, held) = channel::<()>();
        assert_eq!(aside("test", Duration::from_millis(20), move || held.recv()).await, None);
        assert_eq!(aside("test", READING, || 8).await, Some(8), "another does not wait for it");
        drop(hold);
    }

    #[tokio::test]
    async fn a_hanging_task_keeps_running_and_blocks_a_second_one() {
        let (alone, short) = (WorkLock::default(), Duration::from_millis(50));
        let (go_on, waits) = channel::<()>();
        assert_eq!(alone.aside("test", short, move || waits.recv().is_ok()).await, None);
        assert_eq!(alone.aside("test", short, || -> bool { panic!("begun beside the other") }).await, None);
        go_on.send(()).unwrap();
        assert_eq!(alone.aside("test", READING, || 7).await, Some(7));
    }
}
