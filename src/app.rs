//! The composition root: the one place where all parts meet.
//!
//! May use: everything but `cli` and `sandbox`.

mod foreign_writes;
mod trouble;

use crate::access::credential::presents_own;
use crate::access::{Access, AccessSettings};
use crate::context::Context;
use crate::describe::openapi::Document;
use crate::docs::DocsPage;
use crate::edge::{Admission, Body, PassThrough, Stack, Surface, V2Service, read_body, serve, stack};
use crate::fresh::Changes;
use crate::idempotency::Idempotency;
use crate::index::{IndexSettings, Indexes};
use crate::limits::Limits;
use crate::load::{Memory, Share};
use crate::mapping::{Files, Texts};
use crate::oauth::{Audited, Keyring, KeyringError, OAuth, OAuthPages};
use crate::plan::{self, Plan, Special};
use crate::refusal::Refusal;
use crate::request::V2;
use crate::run::{Runner, RunnerSettings, keep_ahead, settle_left_open};
use crate::settings::{HttpAddress, Settings};
use crate::store::Store;
use crate::v1::{Budget, BudgetSettings, Client, ClientSettings, ConcurrencySettings, Quota, V1Key};
use crate::v2::Reply;
use foreign_writes::ForeignWrites;
use futures_util::future::BoxFuture;
use http::{HeaderMap, Request};
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::net::TcpListener;
use trouble::{ForeignCalls, Ready};

/// Longest random wait before a read is repeated.
const RETRY_JITTER: Duration = Duration::from_millis(150);
/// Entries remembered of each kind of proof of access.
const PROOFS: u64 = 100_000;
/// The time in which v1 counts the requests of a key.
const QUOTA_WINDOW: Duration = Duration::from_secs(60);
/// Requests a minute that v1 takes from one key as it is shipped.
const USUAL_QUOTA: usize = 60;
/// The same for v1's service keys.
const USUAL_SERVICE_QUOTA: usize = 300;
/// Time from one line about v1's quota to the next.
const REPORT: Duration = Duration::from_secs(60);
/// Pairs of operation and credential in such a line.
const MOST_REPORTED: usize = 10;
/// Why the gateway cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The mappings do not compile.
    #[error("the mappings are faulty, nothing is served:\n{0}")]
    Mappings(#[from] crate::mapping::Faults),
    /// The folder of mappings cannot be read.
    #[error("{0}; the folder is the setting `mappings`")]
    Unreadable(#[from] crate::mapping::Unreadable),
    /// A setting is missing or wrong.
    #[error(transparent)]
    Settings(#[from] crate::settings::SettingsError),
    /// The client for v1 cannot be made.
    #[error("upstream.base_url cannot be used: {0}")]
    Client(#[from] crate::v1::ClientError),
    /// The store cannot be opened.
    #[error("the store (setting store.url) cannot be used: {0}")]
    Store(#[from] crate::store::StoreError),
    /// The secrets cannot be read.
    #[error(transparent)]
    Secrets(#[from] KeyringError),
    /// The pass-through cannot be made.
    #[error("the pass-through cannot be set up: {0}")]
    PassThrough(io::Error),
}

/// Compiles the embedded mappings, with those of `directory` laid over them. The plan of the embedded ones alone is
/// compiled once in a process.
///
/// # Errors
/// Every fault of every file at once, or why the directory cannot be read.
pub fn compile_plan(directory: Option<&Path>) -> Result<Arc<Plan>, StartError> {
    static EMBEDDED: OnceLock<Arc<Plan>> = OnceLock::new();
    let compiled = |texts| plan::compile(&Files::read(&texts), Special::all()).map(Arc::new);
    let Some(directory) = directory else {
        if let Some(plan) = EMBEDDED.get() {
            return Ok(Arc::clone(plan));
        }
        let plan = compiled(Texts::embedded())?;
        return Ok(Arc::clone(EMBEDDED.get_or_init(|| plan)));
    };
    Ok(compiled(Texts::embedded().overlay(directory)?)?)
}

/// A gateway that is ready to serve.
pub struct App {
    stack: Stack,
    memory: Memory,
    settings: Settings,
    upstream: HttpAddress,
    store: Store,
    oauth: OAuth,
    indexes: Indexes,
    background: Vec<AbortOnDrop>,
}

/// Work that ends with the gateway.
struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl App {
    /// Builds the gateway that `settings` describe.
    ///
    /// # Errors
    /// Anything that would keep it from serving; nothing is served then.
    pub async fn build(settings: &Settings) -> Result<Self, StartError> {
        let upstream = settings.upstream.needed_base_url()?.clone();
        let plan = compile_plan(settings.mappings.as_deref())?;
        let budget = Budget::new(budget_settings(settings));
        let memory = Memory::new(settings.limits.memory, Share(settings.limits.share));
        let client =
            Client::new(client_settings(settings, &upstream))?.paced_by(budget.clone()).within(memory.clone());
        let breaker = client.breaker().clone();
        let (oauth, access, store) = authorization(settings, &client, upstream.as_str()).await?;
        let idempotency = idempotency(settings, &store)?;
        let indexes = Indexes::new(client.clone(), index_settings(settings), access.changes());
        let document = Arc::new(Document::new(Arc::clone(&plan)));
        let (kept, how) = (store.clone(), runner_settings(settings));
        let runner = Arc::new(Runner::new(plan, client, access.clone(), kept, indexes.clone(), how));
        let mut background = vec![
            AbortOnDrop(tokio::spawn(report_spending(budget.clone()))),
            AbortOnDrop(tokio::spawn(idempotency.clone().sweep())),
        ];
        if let Some(key) = service_key(settings) {
            let runner = Arc::clone(&runner);
            background.push(AbortOnDrop(tokio::spawn(async move {
                settle_left_open(Arc::clone(&runner), key.clone()).await;
                keep_ahead(runner, key).await;
            })));
        }
        let observer = Arc::new(ForeignWrites { runner: Arc::clone(&runner), changes: access.changes().clone() });
        let pass_through = PassThrough::new(&upstream, &settings.upstream, settings.public.clone())
            .map_err(StartError::PassThrough)?
            .observed_by(observer)
            .counted_by(Arc::new(ForeignCalls {
                budget: budget.clone(),
                breaker: breaker.clone(),
                changes: access.changes().clone(),
            }))
            .admitting(Arc::new(KeysOfV1));
        let limits = Limits::new(&settings.limits.rate);
        let surface = Surface {
            v2: Arc::new(Operations {
                v2: V2::new(runner, access, limits, Arc::clone(&document), idempotency),
                body_limit: settings.limits.body,
            }),
            pages: vec![Arc::new(OAuthPages::new(oauth.clone())), Arc::new(DocsPage::new(document))],
            pass_through,
            readiness: Arc::new(Ready { store: store.clone(), breaker, needs: settings.ready }),
        };
        Ok(Self {
            stack: stack(settings, surface, memory.clone()),
            memory,
            settings: settings.clone(),
            upstream,
            store,
            oauth,
            indexes,
            background,
        })
    }

    /// What its clients and v1 take of its memory.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The authorization server.
    pub fn oauth(&self) -> &OAuth {
        &self.oauth
    }

    /// Address of the service behind.
    pub fn upstream(&self) -> &str {
        self.upstream.as_str()
    }

    /// Serves until `shutdown` resolves and running requests have drained.
    ///
    /// # Errors
    /// When the listener fails.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        let outcome = serve(listener, self.stack, &self.settings, self.memory, shutdown).await;
        drop(self.background);
        self.indexes.close().await;
        self.store.close().await;
        outcome.map(drop)
    }
}

/// The authorization server that `settings` describe, without a gateway around it; for the command line.
///
/// # Errors
/// Settings, secrets or the store cannot be used.
pub async fn open_oauth(settings: &Settings) -> Result<(OAuth, Store), StartError> {
    let upstream = settings.upstream.needed_base_url()?.clone();
    let client = Client::new(client_settings(settings, &upstream))?;
    let (oauth, _, store) = authorization(settings, &client, upstream.as_str()).await?;
    Ok((oauth, store))
}

/// The store, the authorization server over it, and the access that knows its credentials.
async fn authorization(
    settings: &Settings,
    client: &Client,
    upstream: &str,
) -> Result<(OAuth, Access, Store), StartError> {
    let keyring = Keyring::open(&settings.secrets)?;
    let access = Access::new(client.clone(), access_settings(settings), &Changes::default());
    let store = Store::open(&settings.store.url, upstream).await?;
    let events = Arc::new(Audited::new(store.clone(), access.clone()));
    let (oauth, access) = OAuth::new(&store, access, keyring, settings.oauth.clone(), events);
    Ok((oauth, access, store))
}

fn idempotency(settings: &Settings, store: &Store) -> Result<Idempotency, StartError> {
    let keyring = Keyring::open(&settings.secrets)?;
    let (longest, late) = (settings.limits.deadline, settings.store.late_write);
    Ok(Idempotency::new(store.clone(), keyring, &settings.idempotency, longest, late))
}

fn client_settings(settings: &Settings, upstream: &HttpAddress) -> ClientSettings {
    ClientSettings {
        base_url: upstream.as_str().to_owned(),
        connect_timeout: settings.upstream.connect_timeout,
        response_cap: settings.upstream.max_response_size,
        pool_per_host: settings.upstream.pool_size,
        retry_jitter: RETRY_JITTER,
        concurrency: ConcurrencySettings {
            min: settings.upstream.concurrency_min,
            max: settings.upstream.concurrency_max,
        },
    }
}

fn service_key(settings: &Settings) -> Option<V1Key> {
    settings.upstream.service_key.as_ref().map(|key| V1Key::new(key.expose()))
}

/// A quota that is set is kept; without one v1 is believed when it shows more than usual.
fn quota(set: Option<usize>, usual: usize) -> Quota {
    match set {
        None => Quota::AtLeast(usual),
        Some(0) => Quota::Unlimited,
        Some(calls) => Quota::Fixed(calls),
    }
}

fn budget_settings(settings: &Settings) -> BudgetSettings {
    let upstream = &settings.upstream;
    BudgetSettings {
        window: QUOTA_WINDOW,
        quota: quota(upstream.quota, USUAL_QUOTA),
        service_quota: quota(upstream.service_quota, USUAL_SERVICE_QUOTA),
        write_reserve: upstream.write_reserve,
        service: service_key(settings).map(|key| key.id()),
    }
}

/// Says in the log who has spent v1's quota, once a minute when anybody has.
async fn report_spending(budget: Budget) {
    loop {
        tokio::time::sleep(REPORT).await;
        let shares = budget.spent().since_last_report();
        let calls: u64 = shares.iter().map(|share| share.calls).sum();
        if calls == 0 {
            continue;
        }
        let most = shares.iter().take(MOST_REPORTED).map(|share| {
            let (credential, operation) = (share.spender.credential, &share.spender.operation);
            format!("{operation} of {credential:016x}: {}", share.calls)
        });
        let most = most.collect::<Vec<_>>().join(", ");
        tracing::info!(calls, most, "v1 calls of the last minute");
    }
}

fn access_settings(settings: &Settings) -> AccessSettings {
    AccessSettings {
        card_ttl: settings.cache.card,
        identity_ttl: settings.cache.identity,
        refused_identity_ttl: settings.cache.refused_identity,
        outage_grace: settings.cache.outage_grace,
        capacity: PROOFS,
    }
}

fn index_settings(settings: &Settings) -> IndexSettings {
    IndexSettings {
        freshness: settings.index.freshness,
        sweep: settings.index.sweep,
        max_bytes: settings.index.max_size,
        directory: settings.index.directory.clone().or_else(|| index_directory(&settings.store.url)),
        shared_work: settings.limits.deadline,
    }
}

/// Indices are kept beside the store's file; a store in memory keeps nothing, and beside a database server
/// there is no place to keep it.
fn index_directory(store: &str) -> Option<PathBuf> {
    let file = store.strip_prefix("sqlite:")?.trim_start_matches("//");
    let file = file.split('?').next().filter(|file| !file.is_empty() && !file.contains(":memory:"))?;
    Some(PathBuf::from(format!("{file}.index")))
}

fn runner_settings(settings: &Settings) -> RunnerSettings {
    RunnerSettings {
        collection_ttl: settings.cache.collection,
        strict_query: settings.strict_query,
        shared_work: settings.limits.deadline,
        workflow: settings.workflow.clone(),
        types: settings.types,
        late_write: settings.store.late_write,
        stretch: settings.cache.stretch,
        stale_if_error: settings.cache.stale_if_error,
        index_ahead: settings.index.ahead,
        service_key: service_key(settings),
        writers_waiting: settings.limits.writers_waiting,
    }
}

/// The v2 operations as the HTTP surface wants them.
struct Operations {
    v2: V2,
    body_limit: usize,
}

impl V2Service for Operations {
    fn answer(&self, request: Request<Body>, context: Context) -> BoxFuture<'static, Result<Reply, Refusal>> {
        let (v2, limit) = (self.v2.clone(), self.body_limit);
        Box::pin(async move {
            let (head, body) = request.into_parts();
            v2.answer(head, read_body(body, limit), context).await
        })
    }
}

/// What the gateway gave out itself is of no use at v1, and v1 must not learn of it.
struct KeysOfV1;

impl Admission for KeysOfV1 {
    fn admit(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        if presents_own(headers) { Err(Refusal::invalid_token()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_lie_beside_the_store() {
        assert_eq!(index_directory("sqlite:/var/lib/c.db"), Some(PathBuf::from("/var/lib/c.db.index")));
        assert_eq!(index_directory("sqlite://c.db?mode=rwc"), Some(PathBuf::from("c.db.index")));
        assert_eq!(index_directory("sqlite::memory:"), None);
        assert_eq!(index_directory("postgres://causeway@db/causeway"), None);
    }
}
