//! A v2 of the deployment's own: checked before anything is changed, and put together with the other parts.
//!
//! May use: `edge`, `native`, `plan`, `settings`, `shadow`, `store`, `task`, `v1`; it is composition.

use super::background::until_dropped;
use super::foreign_writes::ForeignWrites;
use super::start::StartError;
use crate::edge::{PassThrough, WriteObserver};
use crate::native::probe::{self, ProbeResult};
use crate::native::{Modes, Native};
use crate::plan::Plan;
use crate::settings::{Mode, Settings};
use crate::shadow::{Shadow, Tally, Work, Writer};
use crate::store::{LeftWorkspace, Store};
use crate::task::spawn;
use crate::v1::Client;
use futures_util::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::task::AbortOnDropHandle;

/// Time added to the longest life of a cache entry before a difference is checked once more.
const MARGIN: Duration = Duration::from_secs(1);

/// Checks that the deployment's own v2, if configured, is a v2, and reads from the store which records were carried
/// over to it. When it does not answer, this is only logged: it may come back at any time.
pub(super) async fn look(
    settings: &Settings,
    store: &Store,
    client: &Client,
) -> Result<Vec<LeftWorkspace>, StartError> {
    if let Some(address) = &settings.native.base_url
        && let ProbeResult::Silence(cause) =
            probe::ask(address, &client.instance).await.map_err(StartError::Native)?
    {
        tracing::warn!(
            address = address.as_str(),
            cause,
            "the deployment's own v2 (native.base_url) does not answer; what it has to answer is 503 until it does"
        );
    }
    let native = settings.native.serve.iter().any(|serve| serve.mode == Mode::Native);
    match store.left_workspaces().await {
        Ok(left) => Ok(left),
        Err(fault) if native => Err(fault.into()),
        // An unreadable store does not prevent serving when no operation is native.
        Err(_) => Ok(Vec::new()),
    }
}

/// The parts that serve the deployment's own v2, built from the settings.
#[derive(Default)]
pub(super) struct CutOver {
    pub(super) native: Option<Arc<Native>>,
    pub(super) shadow: Option<Shadow>,
    work: Option<Work>,
}

impl CutOver {
    /// Builds the parts that `settings` need for the operations of `plan`.
    pub(super) fn new(
        settings: &Settings,
        plan: &Arc<Plan>,
        left: &[LeftWorkspace],
        client: &Client,
        writes: ForeignWrites,
        compared: &Compared,
    ) -> Result<Self, StartError> {
        let modes = Modes::new(&settings.native, plan, left).map_err(StartError::Native)?;
        for left in left.iter().filter(|left| modes.keeps(plan, &left.slug)) {
            tracing::warn!(
                workspace = left.slug,
                to = left.url,
                "a workspace that has been left is still served from this store; what is written meanwhile stays here"
            );
        }
        let Some(address) = &settings.native.base_url else { return Ok(Self::default()) };
        let mut way = PassThrough::new(address, &settings.upstream, settings.public.clone())
            .map_err(StartError::PassThrough)?;
        way.instance = client.instance.clone();
        way.observer = Arc::new(NativeWrites(writes));
        way.late_write = settings.store.late_write;
        let comparing = modes.any(Mode::Shadow).then(|| {
            Work::new(
                Arc::clone(plan),
                address.clone(),
                client.instance.clone(),
                settings.native.shadow,
                compared.tally.clone(),
                settings.upstream.connect_timeout,
                settings.cache.collection.max(settings.index.freshness) + MARGIN,
            )
        });
        let (shadow, work) = comparing.transpose().map_err(StartError::PassThrough)?.unzip();
        compared.writer.keep(settings.native.shadow.keep);
        Ok(Self { native: Some(Arc::new(Native::new(modes, way))), shadow, work })
    }

    /// Starts to compare answers. The task ends by itself when the services that offer answers are gone.
    pub(super) fn begin(&mut self) {
        if let Some(work) = self.work.take() {
            spawn(work.run());
        }
    }
}

/// Results of comparisons; the same for the whole life of the process.
pub(super) struct Compared {
    pub(super) tally: Tally,
    writer: Arc<Writer>,
    work: AbortOnDropHandle<()>,
}

impl Compared {
    /// Starts with no results, and starts the task that writes them into `store`.
    pub(super) fn begin(settings: &Settings, store: &Store) -> Self {
        let tally = Tally::default();
        let (flush, days) = (settings.usage.flush, settings.usage.days as i64);
        let writer = Arc::new(Writer::new(tally.clone(), store.clone(), flush, days));
        let writing = Arc::clone(&writer);
        Self { tally, writer, work: until_dropped(async move { writing.run().await }) }
    }

    /// Ends the task and writes the results since the last write: the store is closed next.
    pub(super) async fn write_the_last(&self) {
        self.work.abort();
        if let Err(fault) = self.writer.write().await {
            tracing::warn!(%fault, "the last comparisons could not be written");
        }
    }
}

/// Observer of writes to the deployment's own v2. They change the data that v1 shows, like pass-through writes to v1.
/// The paths are the same after their prefix. Neither v1's order of checks nor its rules for keys hold there.
struct NativeWrites(ForeignWrites);

fn of_v1(path: &str) -> String {
    path.replacen("/api/v2/", "/api/v1/", 1)
}

impl WriteObserver for NativeWrites {
    fn carry_out(&self, work: BoxFuture<'static, ()>) {
        self.0.carry_out(work);
    }

    fn client_left(&self, path: &str) {
        self.0.client_left(&of_v1(path));
    }

    fn after_write(&self, path: &str) -> BoxFuture<'static, ()> {
        self.0.after_write(&of_v1(path))
    }
}
