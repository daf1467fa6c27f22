//! Carrying out one call: the plan chooses its step; a write takes its turn and is announced to other processes.
//!
//! May use: what `run` may use.

use super::job::Job;
use super::reads::list;
use super::reads::outage::store_is_away;
use super::writes::{create, delete, exclusive, update};
use super::{own, special};
use crate::context::Note;
use crate::plan::{Special, Step};
use crate::refusal::Refusal;
use crate::v2::Reply;
use std::time::{Duration, Instant};

/// Most times that one read is carried out when the database of the store goes away during it.
const READS: usize = 3;
/// A read that has taken at least this long is proven again if its first proof has become too old.
const A_WHILE: Duration = Duration::from_secs(1);

impl Job {
    /// Carries the call out. A write waits for its turn together with the client, and then runs as its own task.
    pub async fn run(mut self) -> Result<Reply, Refusal> {
        if self.body_size() > 0 {
            Box::pin(self.parse_large_body()).await?;
        }
        if !self.operation().method.writes() {
            let begun = Instant::now();
            let answer = self.read().await?;
            if begun.elapsed() >= A_WHILE
                && let Some(less) = Box::pin(self.prove_again()).await?
            {
                // The answer is one for the earlier role, which saw more.
                self.call.standing = less;
                return Box::pin(self.read()).await;
            }
            return Ok(answer);
        }
        if self.is_create() && self.body_is_refused() {
            // It writes nothing, so it needs no turn.
            self.catch_up().await;
            return self.step().await;
        }
        let place = Box::pin(self.wait_for_quota()).await?;
        let turn = Box::pin(self.wait_for_turn()).await?;
        Box::pin(self.check_credential_again()).await?;
        Box::pin(self.carry_out_in(turn, place)).await
    }

    /// Checks that the credential has not ended while the call waited; a write must not begin after a revocation.
    ///
    /// # Errors
    /// [`Refusal::InvalidToken`] when the credential was revoked or has expired; errors of the store unchanged.
    pub(super) async fn check_credential_again(&self) -> Result<(), Refusal> {
        match &self.waiting {
            Some(waiting) => waiting.check_again().await,
            None => Ok(()),
        }
    }

    /// Checks whether this is a client's read that asks v1 each time, as reads of single records and work items do. So do
    /// lists below a work item, which must be live.
    pub fn is_uncached_read(&self) -> bool {
        let (step, resource) = (self.operation().step, self.resource());
        let one = step == Step::ReadOne && resource.reads_alone()
            || step == Step::ReadCollection && resource.requires.is_some();
        let items = [Special::WorkItemRetrieve, Special::WorkItemLookup, Special::WorkItemsList];
        self.call.ctx.tolerant && (one || items.map(Step::Special).contains(&step))
    }

    /// Checks whether this creates a record and addresses no existing one of its kind.
    pub(super) fn is_create(&self) -> bool {
        self.operation().status == 201 && self.variable("pk").is_none()
    }

    /// Carries a read out. It is repeated when the database of the store went away during it: a part of the answer may
    /// be from before the outage, and the answer does not say so.
    async fn read(&self) -> Result<Reply, Refusal> {
        for _ in 0..READS {
            let outages = self.runner.store.outages();
            self.use_older_data_in_store_outage()?;
            self.catch_up().await;
            let outcome = self.step().await;
            if self.runner.store.outages() == outages {
                return outcome.map_err(|refusal| self.unless_unknown(refusal));
            }
        }
        Err(store_is_away())
    }

    /// While the database of the store does not respond, lets a read use the data that this process knew before, for as
    /// long as during an outage of v1, and notes this in the answer.
    fn use_older_data_in_store_outage(&self) -> Result<(), Refusal> {
        let Some(since) = self.runner.store.away_since() else { return Ok(()) };
        if !self.call.ctx.tolerant || since.elapsed() > self.runner.settings.cache.stale_if_error {
            return Err(store_is_away());
        }
        self.call.ctx.meter.relies_on(since, Note::Store);
        Ok(())
    }

    /// While the store is away, turns the 404 of one of its records into an error: older data cannot prove its absence.
    fn unless_unknown(&self, refusal: Refusal) -> Refusal {
        let is_away = || self.is_own() && self.runner.store.away_since().is_some();
        match refusal.status() {
            404 if is_away() => store_is_away(),
            _ => refusal,
        }
    }

    pub(super) async fn catch_up(&self) {
        if let Some(card) = self.call.card() {
            self.runner.catch_up(card.id).await;
        }
    }

    pub(super) async fn step(&self) -> Result<Reply, Refusal> {
        self.check_precondition().await?;
        self.run_operation().await
    }

    /// Runs the operation itself. Steps that are rare or take long are boxed, so that the other steps' futures stay
    /// small.
    pub(super) async fn run_operation(&self) -> Result<Reply, Refusal> {
        match (self.operation().step, self.resource().records) {
            (Step::Special(special), _) => special::run(special, self).await,
            (Step::Pending, _) => Err(Refusal::NotImplemented { operation: self.operation().id.clone() }),
            (step, Some(records)) => Box::pin(own::run(records, step, self)).await,
            (Step::ReadCollection, None) => list::list(self).await,
            (Step::ReadOne, None) => Box::pin(list::one(self)).await,
            (Step::Create, None) => match &self.resource().exclusive {
                Some(rule) => Box::pin(exclusive::create(self, rule)).await,
                None => Box::pin(create::create(self)).await,
            },
            (Step::Update, None) => match &self.resource().exclusive {
                Some(rule) => Box::pin(exclusive::update(self, rule)).await,
                None => Box::pin(update::update(self)).await,
            },
            (Step::Delete, None) => Box::pin(delete::delete(self)).await,
        }
    }
}
