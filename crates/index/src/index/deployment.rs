//! Indices that gateway processes of one deployment build for each other.
//!
//! One process builds an index, the others load what it has built and read what has changed since, which is one call. A
//! process that is restarted does the same. The process that builds has a lock that ends with it; the others wait for
//! it and look now and then whether the index is there, and how far it has come. An index that cannot be loaded is
//! built anew. How they go on together from there is in `shared_reads`.
//!
//! May use: `store` (what it tells of refreshes), this folder.

use super::file_form::DIGEST;
use super::files::{checksum_of, of_bytes, to_bytes};
use super::progress::{Progress, Told};
use super::verified::Verified;
use super::whole_file::file_name;
use crate::store::{DeltaTurn, StoredDelta, TakenTurn};
use futures_util::future::BoxFuture;
use std::any::Any;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

/// Time from one look at what another process builds to the next.
const LOOK: Duration = Duration::from_millis(500);
/// Time from one word about how far a build has come to the next.
const WORD: Duration = Duration::from_secs(1);

/// What only one process does; others may when this is dropped.
pub type Alone = Box<dyn Any + Send>;

/// The place that all processes of a deployment share.
pub trait Deployment: Send + Sync + 'static {
    /// The bytes kept under a name; none when there are none or they cannot be had.
    fn load(&self, name: String) -> BoxFuture<'static, Option<Vec<u8>>>;

    /// Keeps bytes under a name, unless those that are there are younger than `age`.
    fn save(&self, name: String, bytes: Vec<u8>, age: Duration) -> BoxFuture<'static, ()>;

    /// Takes this process for the one that builds what is kept under `name`.
    fn alone(&self, name: String) -> BoxFuture<'static, Turn>;

    /// What was told under `name` after the number `after`, in turns that began within `within`, in the order of their
    /// numbers; none when nobody can say.
    fn deltas(&self, name: String, after: i64, within: Duration) -> BoxFuture<'static, Option<Vec<StoredDelta>>>;

    /// Takes this process for the one that refreshes what is kept under `name`. None when nobody can say, so that each
    /// refreshes for itself.
    fn refresher(&self, name: String) -> BoxFuture<'static, Option<TakenTurn>>;

    /// The turn goes on; one that is not renewed for three seconds is lost.
    fn renew(&self, name: String, turn: DeltaTurn) -> BoxFuture<'static, ()>;

    /// Ends the turn, with what was read in it if there is anything to tell; the number under which it was told.
    fn end(&self, name: String, turn: DeltaTurn, told: Option<Vec<u8>>) -> BoxFuture<'static, Option<i64>>;
}

/// Whether this process builds.
pub enum Turn {
    /// It does.
    Mine(Alone),
    /// Another one is at it.
    Others,
    /// Nobody can say, so each builds for itself.
    Unknown,
}

/// What there is instead of an index in memory.
pub(super) enum Found {
    /// What another process has built.
    Index(Verified),
    /// Nothing: this process builds, and nobody else as long as this is held.
    Nothing(Option<Alone>),
}

/// The place of one index among all processes.
#[derive(Clone)]
pub(super) struct SharedPlace {
    pub deployment: Arc<dyn Deployment>,
    pub identity: String,
}

impl SharedPlace {
    /// The name under which it is kept.
    pub fn name(&self) -> String {
        file_name(&self.identity)
    }

    /// What another process has built, waiting for one that is at it and noting in `progress` what it says; or that
    /// this one is to build.
    pub async fn find(&self, progress: &Progress) -> Found {
        loop {
            if let Some(verified) = self.load().await {
                return Found::Index(verified);
            }
            match self.deployment.alone(self.name()).await {
                // Another one may have ended just before.
                Turn::Mine(alone) => match self.load().await {
                    Some(verified) => return Found::Index(verified),
                    None => return Found::Nothing(Some(alone)),
                },
                Turn::Unknown => return Found::Nothing(None),
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

    async fn heard(&self) -> Option<Told> {
        let bytes = self.deployment.load(self.word()).await?;
        postcard::from_bytes(&bytes).ok().flatten()
    }

    /// Tells the processes that wait for this one how far it has come, until it is dropped. The first word takes the
    /// place of what was said of an earlier build.
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

    /// The index in these bytes.
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

    /// Keeps an index for the others, unless one is there that is younger than `age`. Answers its checksum.
    pub async fn save(&self, verified: Verified, age: Duration) -> Option<[u8; DIGEST]> {
        let identity = self.identity.clone();
        let bytes = tokio::task::spawn_blocking(move || to_bytes(&identity, &verified)).await.ok()?.ok()?;
        let checksum = checksum_of(&bytes);
        self.deployment.save(self.name(), bytes, age).await;
        checksum
    }

    /// The index with this checksum that another process has kept.
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

    /// A place where another process is always the one that builds.
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
    async fn who_waits_for_another_process_hears_early_that_it_takes_too_long() {
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
        // After the first page, the next word about it and the next look.
        assert!(begun.elapsed() <= Duration::from_secs(4) + WORD + LOOK, "{:?}", begun.elapsed());
    }
}
