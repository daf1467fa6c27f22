//! The service that answers requests, built from settings: at start, and again at each reload.
//!
//! Parts that a reload does not change are kept with their contents: the store, the client for v1 with its budget and
//! connections, proofs of access, indices, cached lists, limits and places. So nothing has to be learned again, and
//! running requests of the old service know of the same writes as requests of the new one.
//!
//! May use: everything but `cli` and `sandbox`; it is composition.

use super::authorization::{authorization, authorization_on, counters};
use super::background::{forget_ended, report_spending, until_dropped};
use super::counts::{self, Counts};
use super::cut_over::{Compared, CutOver, look};
use super::derived::{budget_settings, client_settings, index_settings, patience};
use super::files::Files;
use super::foreign_calls::ForeignCalls;
use super::foreign_writes::ForeignWrites;
use super::peers::Peers;
use super::proofs::Proofs;
use super::ready::Ready;
use super::shared_indexes::SharedIndexes;
use super::start::{Compiled, StartError};
use super::surface::{Operations, hint_door, keys_of_v1_only, usable_secrets};
use crate::access::Access;
use crate::admin::AdminPage;
use crate::board::Board;
use crate::describe::openapi::Document;
use crate::docs::DocsPage;
use crate::edge::{Counting, Notices, Pages, PassThrough, Stack, Surface, Tls, Traces};
use crate::front::Front;
use crate::hints::{HintSecrets, HintTally};
use crate::idempotency::Idempotency;
use crate::index::Indexes;
use crate::limits::Limits;
use crate::load::{Memory, Share};
use crate::metrics::MetricsPage;
use crate::oauth::{Keyring, OAuth, OAuthPages};
use crate::plan::{Plan, Source};
use crate::request::{Beside, V2};
use crate::retirement::Retirement;
use crate::run::{Runner, follow_hints, keep_ahead, service_key, settle_left_open};
use crate::settings::{CacheSettings, Settings};
use crate::shared::Shared;
use crate::store::{self, Joined, LeftWorkspace, Store};
use crate::tally::{Calls, Counter, Requests};
use crate::traces::Exporter;
use crate::v1::{Budget, Client};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

/// Longest wait for the store to take what is written last.
const LAST: Duration = Duration::from_secs(10);

/// The parts of a gateway that stay the same for the whole life of the process.
pub(super) struct Lasting {
    pub(super) client: Client,
    pub(super) memory: Memory,
    store: Store,
    indexes: Indexes,
    /// Redis, through which processes share data in addition to the store.
    shared: Option<Shared>,
    events: Arc<[Counter]>,
    hints: Arc<HintTally>,
    traces: Option<Arc<Exporter>>,
    compared: Compared,
}

impl Lasting {
    /// Makes the requests that are needed before [`Service::with_settings`].
    pub(super) async fn look(&self, settings: &Settings) -> Result<Vec<LeftWorkspace>, StartError> {
        look(settings, &self.store, &self.client).await
    }
}

pub(super) struct Service {
    pub(super) settings: Settings,
    pub(super) lasting: Arc<Lasting>,
    compiled: Compiled,
    document: Arc<Document>,
    access: Access,
    pub(super) oauth: OAuth,
    /// The secrets, shared by all parts that seal with them.
    keyring: Option<Keyring>,
    runner: Arc<Runner>,
    limits: Arc<Limits>,
    proofs: Option<Proofs>,
    requests: Arc<Requests>,
    calls: Arc<Calls>,
    idempotency: Idempotency,
    /// Counts of calls, if calls are counted; the same for the whole life of the process.
    counts: Option<Counts>,
    retirement: Option<Arc<Retirement>>,
    /// The secrets of v1's signatures of hints, if hints are accepted.
    hint_secrets: Option<HintSecrets>,
    /// Sends operations to the deployment's own v2, where it answers them.
    cut_over: CutOver,
    background: Vec<AbortOnDropHandle<()>>,
}

impl Service {
    /// Builds the service of `settings` and the `files` that they name. Also returns its process among those that share
    /// the store, and the parts for the HTTP surface.
    pub(super) async fn start(settings: &Settings, files: Files) -> Result<(Self, Joined, Surface), StartError> {
        let upstream = settings.upstream.needed_base_url()?.clone();
        let compiled = Compiled::of(files.texts, None)?;
        let memory = Memory::new(settings.limits.memory, Share(settings.limits.share));
        let shared = match &settings.shared.url {
            Some(url) => Some(Shared::open(url.expose(), upstream.as_str(), settings.shared.timeout).await?),
            None => None,
        };
        let peers = Arc::new(Peers::new(shared.clone()));
        let budget = Budget::among(budget_settings(settings), shared.clone(), Some(Arc::clone(&peers) as _));
        let client = Client::new(client_settings(settings, &upstream))?.paced_by(budget).within(memory.clone());
        let (calls, requests) = counted(&compiled.plan);
        client.count_in(Arc::clone(&calls));
        let (events, keyring) = (counters(), files.keyring);
        let patience = patience(settings);
        let store = Store::open_to_serve(&settings.store.url, upstream.as_str(), patience).await?;
        let (oauth, access, store) = authorization(settings, keyring.clone(), &client, store, &events);
        if store.is_read_only() {
            tracing::warn!(
                store = %store::in_words(&settings.store.url),
                "the store can only be read: writes that need it are answered 503 until it can be written"
            );
        }
        let joined = store.join(access.changes(), patience).await?;
        peers.know(store.clone(), &client);
        let proofs = Proofs::of(shared.as_ref(), keyring.as_ref());
        let access = sharing(access, proofs.as_ref());
        let indexes = Indexes::new(client.clone(), index_settings(settings), access.changes());
        let indexes = match store.is_for_many() {
            true => indexes.shared_in(Arc::new(SharedIndexes(store.clone()))),
            false => indexes,
        };
        let plan = Arc::clone(&compiled.plan);
        let counts = counts::begin(settings, &plan, &store, &access, &client.budget).await;
        let retirement = retirement(settings, &plan)?;
        let left = look(settings, &store, &client).await?;
        let runner =
            Runner::new(plan, client.clone(), access.clone(), store.clone(), indexes.clone(), settings.clone());
        let (runner, compared) = (Arc::new(runner), Compared::begin(settings, &store));
        let limits = limits(settings, shared.as_ref());
        let writes = foreign_writes(&runner, &access, &limits);
        let cut_over = CutOver::new(settings, &compiled.plan, &left, &client, writes, &compared)?;
        let traces = Exporter::start(&settings.traces)?.map(Arc::new);
        let service = Self {
            settings: settings.clone(),
            document: Arc::new(Document::new(Arc::clone(&compiled.plan))),
            compiled,
            idempotency: idempotency(settings, &store, keyring.clone()),
            keyring,
            access,
            oauth,
            runner,
            limits,
            proofs,
            requests,
            calls,
            counts,
            retirement,
            hint_secrets: usable_secrets(files.hints, settings),
            cut_over,
            background: Vec::new(),
            lasting: Arc::new(Lasting {
                client,
                memory,
                store,
                indexes,
                shared,
                events,
                hints: Arc::default(),
                traces,
                compared,
            }),
        };
        let surface = service.surface()?;
        Ok((service, joined, surface))
    }

    /// Builds the service with other settings, none of which needs a restart, and with the `files` that they name. The
    /// present service stays unchanged.
    pub(super) fn with_settings(
        &self,
        settings: &Settings,
        files: Files,
        left: &[LeftWorkspace],
    ) -> Result<(Self, Surface), StartError> {
        let (before, lasting) = (&self.settings, &self.lasting);
        let (compiled, keyring) = (Compiled::of(files.texts, Some(&self.compiled))?, files.keyring);
        let (calls, requests) = match self.requests.are_for(&operations(&compiled.plan)) {
            true => (Arc::clone(&self.calls), Arc::clone(&self.requests)),
            false => counted(&compiled.plan),
        };
        let ages = |of: &CacheSettings| (of.card, of.identity, of.refused_identity, of.outage_grace);
        let proofs_stay = ages(&settings.cache) == ages(&before.cache);
        // The file of the secrets may have the same name and another first secret, which must seal from now on.
        let (now, then) =
            ((&settings.oauth, &settings.secrets, &keyring), (&before.oauth, &before.secrets, &self.keyring));
        let stays = proofs_stay && now == then;
        let (oauth, access, proofs, keyring) = match stays {
            true => (self.oauth.clone(), self.access.clone(), self.proofs.clone(), self.keyring.clone()),
            false => {
                let access = match proofs_stay {
                    true => self.access.clone(),
                    false => Access::new(lasting.client.clone(), &settings.cache, self.access.changes()),
                };
                let (oauth, access) =
                    authorization_on(settings, keyring.clone(), access, &lasting.store, &lasting.events);
                let proofs = Proofs::of(lasting.shared.as_ref(), keyring.as_ref());
                (oauth, sharing(access, proofs.as_ref()), proofs, keyring)
            }
        };
        let plan = Arc::clone(&compiled.plan);
        let runner = Arc::new(self.runner.with_settings(plan, access.clone(), settings.clone()));
        let limits = match settings.limits.rate == before.limits.rate {
            true => Arc::clone(&self.limits),
            false => Arc::new(self.limits.with_rates(&settings.limits.rate)),
        };
        let document = match Arc::ptr_eq(&compiled.plan, &self.compiled.plan) {
            true => Arc::clone(&self.document),
            false => Arc::new(Document::new(Arc::clone(&compiled.plan))),
        };
        let retirement = retirement(settings, &compiled.plan)?;
        let writes = foreign_writes(&runner, &access, &limits);
        let cut_over = CutOver::new(settings, &compiled.plan, left, &lasting.client, writes, &lasting.compared)?;
        let service = Self {
            settings: settings.clone(),
            lasting: Arc::clone(lasting),
            counts: self.counts.as_ref().map(|counts| counts.with_plan(&compiled.plan)),
            compiled,
            document,
            idempotency: idempotency(settings, &lasting.store, keyring.clone()).following(&self.idempotency),
            keyring,
            access,
            oauth,
            runner,
            limits,
            proofs,
            requests,
            calls,
            retirement,
            hint_secrets: usable_secrets(files.hints, settings),
            cut_over,
            background: Vec::new(),
        };
        let surface = service.surface()?;
        Ok((service, surface))
    }

    /// Lists the files with other contents than `before`, without those whose settings are among `changed`.
    pub(super) fn read_anew(&self, before: &Self, changed: &[String]) -> Vec<String> {
        let named = |part: &str| changed.iter().any(|name| name.starts_with(part));
        let secrets = self.keyring != before.keyring && !named("secrets.");
        let mappings = !Arc::ptr_eq(&self.compiled.plan, &before.compiled.plan) && !named("mappings");
        let hints = self.hint_secrets != before.hint_secrets && !named("hints.") && !named("upstream.service_key");
        let read = [
            (secrets, "the secrets of secrets.key_file"),
            (hints, "the secrets of hints.secrets_file"),
            (mappings, "the files of mappings"),
        ];
        read.into_iter().filter(|(anew, _)| *anew).map(|(_, what)| what.to_owned()).collect()
    }

    /// Makes this the service that serves: starts its background tasks.
    pub(super) fn begin(&mut self) {
        self.lasting.client.count_in(Arc::clone(&self.calls));
        self.lasting.client.budget.serve(service_key(&self.settings).map(|key| key.id()));
        self.background = vec![
            until_dropped(report_spending(self.lasting.client.budget.clone())),
            until_dropped(self.idempotency.clone().sweep()),
            until_dropped(forget_ended(self.lasting.store.clone())),
        ];
        self.cut_over.begin();
        self.background.extend(self.retirement.clone().map(|told| until_dropped(told.report())));
        let heard = self.proofs.clone().map(|proofs| proofs.listen(self.access.changes().clone()));
        self.background.extend(heard.map(until_dropped));
        if let Some(key) = service_key(&self.settings) {
            if self.lasting.store.is_for_many() {
                let passed_on = self.lasting.store.passed_on();
                let follow = follow_hints(Arc::clone(&self.runner), key.clone(), passed_on);
                self.background.push(until_dropped(follow));
            }
            let runner = Arc::clone(&self.runner);
            self.background.push(until_dropped(async move {
                settle_left_open(Arc::clone(&runner), key.clone()).await;
                keep_ahead(runner, key).await;
            }));
        }
    }

    fn surface(&self) -> Result<Surface, StartError> {
        let settings = &self.settings;
        let upstream = settings.upstream.needed_base_url()?;
        let document = Arc::clone(&self.document);
        let (changes, breaker) = (self.access.changes().clone(), self.lasting.client.breaker.clone());
        let observer = foreign_writes(&self.runner, &self.access, &self.limits);
        let (budget, calls) = (self.lasting.client.budget.clone(), Arc::clone(&self.calls));
        let mut pass_through = PassThrough::new(upstream, &settings.upstream, settings.public.clone())
            .map_err(StartError::PassThrough)?;
        pass_through.instance = self.lasting.client.instance.clone();
        pass_through.observer = Arc::new(observer);
        pass_through.late_write = settings.store.late_write;
        let limits = Arc::clone(&self.limits);
        pass_through.calls =
            Some(Arc::new(ForeignCalls { budget, breaker: breaker.clone(), changes, limits, calls }));
        pass_through.admit = keys_of_v1_only;
        pass_through.notices = self.retirement.clone().map(|told| told as Arc<dyn Notices>);
        let (runner, access, limits) = (Arc::clone(&self.runner), self.access.clone(), Arc::clone(&self.limits));
        let usage = self.counts.as_ref().map(|counts| counts.usage.clone());
        let beside = Beside {
            native: self.cut_over.native.clone(),
            shadow: self.cut_over.shadow.clone(),
            budget: self.lasting.client.budget.clone(),
        };
        let (idempotency, counted) = (self.idempotency.clone(), usage.clone());
        let oauth = OAuthPages::new(self.oauth.clone(), Arc::clone(&limits));
        let v2 = V2::new(runner, access, limits, Arc::clone(&document), idempotency, counted, beside);
        let mut pages: Vec<Arc<dyn Pages>> =
            vec![Arc::new(oauth), Arc::new(DocsPage::new(document, self.oauth.clone()))];
        if let (Some(secrets), Some(key)) = (self.hint_secrets.clone(), service_key(settings)) {
            pages.push(hint_door(secrets, &self.lasting.hints, &self.runner, key));
        }
        // Last, because it takes every path that no other page has.
        pages.push(Arc::new(Front));
        Ok(Surface {
            v2: Arc::new(Operations { v2: Arc::new(v2), body_limit: settings.limits.body }),
            pages,
            pass_through,
            readiness: Arc::new(Ready { store: self.lasting.store.clone(), breaker, needs: settings.ready }),
            requests: Arc::clone(&self.requests),
            counting: usage.map(|usage| Arc::new(usage) as Arc<dyn Counting>),
            traces: self.lasting.traces.clone().map(|traces| traces as Arc<dyn Traces>),
        })
    }

    pub(super) fn operators_pages(&self, stack: &Stack, tls: Option<&Tls>) -> Vec<Arc<dyn AdminPage>> {
        let metrics = MetricsPage {
            requests: Arc::clone(&self.requests),
            stack: stack.clone(),
            tls: tls.cloned(),
            memory: (self.lasting.memory.clone(), self.settings.limits.memory),
            limits: Arc::clone(&self.limits),
            events: Arc::clone(&self.lasting.events),
            hints: Arc::clone(&self.lasting.hints),
            calls: Arc::clone(&self.calls),
            client: self.lasting.client.clone(),
            access: self.access.clone(),
            oauth: self.oauth.clone(),
            runner: Arc::clone(&self.runner),
            indexes: self.lasting.indexes.clone(),
            store: self.lasting.store.clone(),
            compared: self.lasting.compared.tally.clone(),
            retirement: self.retirement.clone(),
        };
        let board = Board::new(Arc::clone(&self.compiled.plan), self.lasting.store.clone());
        vec![Arc::new(metrics), Arc::new(board)]
    }

    /// Ends the service for good. It first waits, until `patience` is over, for the writes in flight.
    pub(super) async fn close(self, joined: Joined, patience: Instant) {
        self.runner.writes_have_ended(patience).await;
        self.oauth.writes_have_ended(patience).await;
        drop(self.background);
        let (counts, compared) = (&self.counts, &self.lasting.compared);
        let last = async {
            if let Some(counts) = counts {
                counts.write_the_last().await;
            }
            compared.write_the_last().await;
        };
        if timeout(LAST, last).await.is_err() {
            tracing::warn!("the store does not answer; the last counts and comparisons are lost");
        }
        self.lasting.indexes.close().await;
        joined.leave().await;
        self.lasting.store.close().await;
    }
}

/// Creates the observer of writes that pass through this gateway to v1, or to a v2 of the deployment's own.
fn foreign_writes(runner: &Arc<Runner>, access: &Access, limits: &Arc<Limits>) -> ForeignWrites {
    ForeignWrites { runner: Arc::clone(runner), changes: access.changes().clone(), limits: Arc::clone(limits) }
}

fn retirement(settings: &Settings, plan: &Arc<Plan>) -> Result<Option<Arc<Retirement>>, StartError> {
    let retirement = Retirement::new(settings, plan).map_err(StartError::Retirement)?;
    Ok(retirement.map(Arc::new))
}

/// Builds the limits of clients. With Redis they count together with the other processes.
fn limits(settings: &Settings, shared: Option<&Shared>) -> Arc<Limits> {
    let limits = Limits::new(&settings.limits.rate);
    Arc::new(match shared {
        Some(shared) => limits.shared_in(shared.clone()),
        None => limits,
    })
}

/// Returns `access` with its proofs shared, if that is possible.
fn sharing(access: Access, proofs: Option<&Proofs>) -> Access {
    access.with_proofs(proofs.map(|proofs| Arc::new(proofs.clone()) as _))
}

fn idempotency(settings: &Settings, store: &Store, keyring: Option<Keyring>) -> Idempotency {
    let (longest, late) = (settings.limits.deadline, settings.store.late_write);
    Idempotency::new(store.clone(), keyring, &settings.idempotency, longest, late)
}

fn operations(plan: &Plan) -> Vec<(String, bool)> {
    let own = |operation| plan.resource_of(operation).source == Source::Own;
    plan.operations.iter().map(|operation| (operation.id.clone(), own(operation))).collect()
}

fn counted(plan: &Plan) -> (Arc<Calls>, Arc<Requests>) {
    let operations = operations(plan);
    let calls = Calls::new(operations.iter().map(|(name, _)| name.clone()).collect());
    (Arc::new(calls), Arc::new(Requests::new(operations)))
}
