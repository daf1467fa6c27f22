//! A gateway with a store in a file, and another one before the same v1 that plays the deployment's own v2.

use crate::support::gateway::{Gateway, serve_sandbox};
use crate::support::planting::{Asked, Planting};
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::shadow::{Line, Report};
use causeway::store::Store;
use serde_json::Value;
use std::time::Duration;
use tempfile::TempDir;

/// Settings that write counts quickly and look at differences again soon.
const QUICK: [(&str, &str); 3] =
    [("usage.flush", "50ms"), ("cache.collection", "50ms"), ("index.freshness", "50ms")];

/// Both sides.
pub struct Stage {
    pub gateway: Gateway,
    pub native: Planting,
    pub store: Store,
    pub sandbox: Sandbox,
    /// The gateway behind the wire.
    pub behind: Gateway,
    _folder: TempDir,
}

impl Stage {
    /// A stage with `serve` as `native.serve`, and a wire that changes nothing.
    pub async fn serving(serve: &str) -> Self {
        Self::with(Seed::Recorded, &[("native.serve", serve)], |_, _, _, _| {}).await
    }

    /// A stage with settings, and a wire that changes answers.
    pub async fn with(
        seed: Seed,
        settings: &[(&str, &str)],
        edit: impl Fn(&Asked, usize, &mut u16, &mut Value) + Send + Sync + 'static,
    ) -> Self {
        let sandbox = Sandbox::new(Config { seed, ..Config::default() });
        let v1 = serve_sandbox(&sandbox).await;
        let alike: Vec<_> = settings.iter().filter(|(name, _)| *name == "strict_query").copied().collect();
        let behind = Gateway::with(&v1, &alike).await;
        let native = Planting::before(behind.base(), edit).await;
        let folder = tempfile::tempdir().expect("a folder");
        let url = format!("sqlite:{}", folder.path().join("store.db").display());
        {
            // The workspaces that have been left are recorded before the gateway starts.
            let store = Store::open(&url, &v1).await.expect("a store");
            store.mark_left("acme", &format!("{}/", native.base_url())).await.expect("noted");
            store.close().await;
        }
        let mut all = vec![("store.url", url.as_str()), ("native.base_url", native.base_url())];
        all.extend(QUICK);
        all.extend_from_slice(settings);
        let gateway = Gateway::with(&v1, &all).await;
        let store = gateway.store().await;
        Self { gateway, native, store, sandbox, behind, _folder: folder }
    }

    /// Waits for a report for which `enough` returns true, and returns it.
    pub async fn report(&self, enough: impl Fn(&Report) -> bool) -> Report {
        for _ in 0..1200 {
            let report = Report::read(&self.store).await.expect("a report");
            if enough(&report) {
                return report;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("not enough: {:?}", Report::read(&self.store).await.expect("a report"));
    }

    /// Waits for a report with that many reads, and returns it.
    pub async fn reads(&self, reads: i64) -> Report {
        self.report(|report| report.operations.iter().map(all).sum::<i64>() == reads).await
    }
}

/// Returns the number of reads of a line.
pub fn all(line: &Line) -> i64 {
    line.equal + line.different + line.not_comparable + line.dropped + line.failed
}
