//! Indices that the gateway processes of one deployment build for each other.
//!
//! One process builds an index. The others load it and read the changes since then, which is one call. A process that
//! is restarted does the same. The process that builds holds a lock that ends with it. The others wait; they check
//! regularly whether the index is there, and how far the build has come. An index that cannot be loaded is built again.
//! `shared_reads` describes how the processes continue after the build.
//!
//! May use: `store` (what it tells of refreshes), this folder.

use super::file_form::DIGEST;
use super::files::{checksum_of, of_bytes, to_bytes};
use super::progress::{Progress, ProgressReport};
use super::verified::Verified;
use super::whole_file::file_name;
use crate::store::{DeltaTurn, StoredDelta, TakenTurn};
use futures_util::future::BoxFuture;
use std::any::Any;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

/// Interval at which a process checks the build of another process.
const LOOK: Duration = Duration::from_millis(500);
/// Interval at which a process reports the progress of its build.
const WORD: Duration = Duration::from_secs(1);

/// Lock for work that only one process does. When it is dropped, other processes may do the work.
pub type BuildLock = Box<dyn Any + Send>;

/// Storage that all processes of a deployment share.
pub trait Deployment: Send + Sync + 'static {
    /// Returns the bytes kept under a name; none when there are none or they cannot be read.
    fn load(&self, name: String) -> BoxFuture<'static, Option<Vec<u8>>>;

    /// Keeps bytes under a name, unless the bytes already there are younger than `age`.
    fn save(&self, name: String, bytes: Vec<u8>, age: Duration) -> BoxFuture<'static, ()>;

    /// Tries to make this process the one that builds the index kept under `name`.
    fn alone(&self, name: String) -> BoxFuture<'static, Turn>;

    /// Returns the messages under `name` with a number above `after`, from turns that began within the last `within`,
    /// by number. None when the storage does not respond.
    fn deltas(&self, name: String, after: i64, within: Duration) -> BoxFuture<'static, Option<Vec<StoredDelta>>>;

    /// Tries to make this process the one that refreshes the index kept under `name`. None when the storage does not
    /// respond; each process then refreshes for itself.
    fn refresher(&self, name: String) -> BoxFuture<'static, Option<TakenTurn>>;

    /// Extends the turn. A turn that is not renewed for three seconds is lost.
    fn renew(&self, name: String, turn: DeltaTurn) -> BoxFuture<'static, ()>;

    /// Ends the turn and publishes the message `told`, if there is one. Returns the number of the message.
    fn end(&self, name: String, turn: DeltaTurn, told: Option<Vec<u8>>) -> BoxFuture<'static, Option<i64>>;
}

/// Which process builds an index.
pub enum Turn {
    /// This process.
    Mine(BuildLock),
    /// Another process, which is building already.
    Others,
    /// The storage does not respond, so each process builds for itself.
    Unknown,
}

/// Result of a search for an index that is not in memory.
pub(super) enum LoadedOrBuild {
    /// An index that another process has built.
    Index(Verified),
    /// No index: this process builds it. No other process does so while the lock is held.
    Nothing(Option<BuildLock>),
}

/// The place of one index in the storage of all processes.
#[derive(Clone)]
pub(super) struct SharedPlace {
    pub deployment: Arc<dyn Deployment>,
    pub identity: String,
}

impl SharedPlace {
    /// Returns the name under which the index is kept.
    pub fn name(&self) -> String {
        file_name(&self.identity)
    }

    /// Returns the index that another process has built, or tells that this process is to build it. Waits while another
    /// process builds, and notes the reports of that process in `progress`.
    pub async fn find(&self, progress: &Progress) -> LoadedOrBuild {
        loop {
            if let Some(verified) = self.load().await {
                return LoadedOrBuild::Index(verified);
            }
            match self.deployment.alone(self.name()).await {
                // Another process may have finished just before.
                Turn::Mine(alone) => match self.load().await {
                    Some(verified) => return LoadedOrBuild::Index(verified),
                    None => return LoadedOrBuild::Nothing(Some(alone)),
                },
                Turn::Unknown => return LoadedOrBuild::Nothing(None),
                Turn::Others => {
                    progress.hear(self.heard().await);
                    tokio::time::sleep(LOOK).await;
                }
            }
        }
    }

    fn word(&self) -> String {
        format!("{}.progress", self.name())
    }

    async fn heard(&self) -> Option<ProgressReport> {
        let bytes = self.deployment.load(self.word()).await?;
        postcard::from_bytes(&bytes).ok().flatten()
    }

    /// Reports the progress of this process to the processes that wait, until this future is dropped. The first report
    /// replaces the last report of an earlier build.
    pub async fn tell(&self, progress: &Progress) -> Infallible {
        let mut last = None;
        loop {
            let told = progress.told();
            if last != Some(told)
                && let Ok(bytes) = postcard::to_stdvec(&told)
            {
                self.deployment.save(self.word(), bytes, Duration::ZERO).await;
                last = Some(told);
            }
            tokio::time::sleep(WORD).await;
        }
    }

    async fn load(&self) -> Option<Verified> {
        self.read(self.deployment.load(self.name()).await?).await
    }

    /// Decodes the index in these bytes.
    async fn read(&self, bytes: Vec<u8>) -> Option<Verified> {
        let identity = self.identity.clone();
        let read = tokio::task::spawn_blocking(move || of_bytes(&identity, &bytes)).await.ok()?;
        match read {
            Ok(verified) => Some(verified),
            Err(fault) => {
                tracing::warn!(fault, "an index that another process has kept cannot be used; v1 is asked instead");
                None
            }
        }
    }

    /// Keeps an index for the other processes, unless the kept one is younger than `age`. Returns its checksum.
    pub async fn save(&self, verified: Verified, age: Duration) -> Option<[u8; DIGEST]> {
        let identity = self.identity.clone();
        let bytes = tokio::task::spawn_blocking(move || to_bytes(&identity, &verified)).await.ok()?.ok()?;
        let checksum = checksum_of(&bytes);
        self.deployment.save(self.name(), bytes, age).await;
        checksum
    }

    /// Returns the index with this checksum that another process has kept.
    pub async fn load_this(&self, checksum: [u8; DIGEST]) -> Option<Verified> {
        let bytes = self.deployment.load(self.name()).await?;
        if checksum_of(&bytes) != Some(checksum) {
            return None;
        }
        self.read(bytes).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;
    use std::collections::HashMap;
    use tokio::time::Instant;

    /// Storage in which another process always builds.
    #[derive(Default)]
    struct Busy(Mutex<HashMap<String, Vec<u8>>>);

    impl Deployment for Busy {
        fn load(&self, name: String) -> BoxFuture<'static, Option<Vec<u8>>> {
            let bytes = self.0.lock().get(&name).cloned();
            Box::pin(std::future::ready(bytes))
        }

        fn save(&self, name: String, bytes: Vec<u8>, _: Duration) -> BoxFuture<'static, ()> {
            self.0.lock().insert(name, bytes);
            Box::pin(std::future::ready(()))
        }

        fn alone(&self, _: String) -> BoxFuture<'static, Turn> {
            Box::pin(std::future::ready(Turn::Others))
        }

        fn deltas(&self, _: String, _: i64, _: Duration) -> BoxFuture<'static, Option<Vec<StoredDelta>>> {
            Box::pin(std::future::ready(None))
        }

        fn refresher(&self, _: String) -> BoxFuture<'static, Option<TakenTurn>> {
            Box::pin(std::future::ready(None))
        }

        fn renew(&self, _: String, _: DeltaTurn) -> BoxFuture<'static, ()> {
            Box::pin(std::future::ready(()))
        }

        fn end(&self, _: String, _: DeltaTurn, _: Option<Vec<u8>>) -> BoxFuture<'static, Option<i64>> {
            Box::pin(std::future::ready(None))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_for_a_slow_build_of_another_process_is_refused_early() {
        let place = SharedPlace { deployment: Arc::new(Busy::default()), identity: "one".into() };
        let (here, there, begun) = (Progress::default(), Progress::default(), Instant::now());
        there.begin(0, true);
        let pages = async {
            for done in 1..=10 {
                tokio::time::sleep(Duration::from_secs(4)).await;
                there.note_pages(done, 10);
            }
        };
        tokio::select! {
            () = here.will_outlast(begun + Duration::from_secs(29)) => {}
            _ = place.find(&here) => panic!("nothing is there"),
            _ = place.tell(&there) => {}
            () = pages => panic!("not told"),
        }
        // The time of the first page, of the next report and of the next look.
        assert!(begun.elapsed() <= Duration::from_secs(4) + WORD + LOOK, "{:?}", begun.elapsed());
    }
}
