//! One call carried out: its step chosen by the plan, a write in its turn and told to others.
//!
//! May use: what `run` may use.

use super::job::Job;
use super::reads::list;
use super::reads::outage::store_is_away;
use super::writes::{create, delete, exclusive, update};
use super::{own, special};
use crate::context::Note;
use crate::plan::{Source, Special, Step};
use crate::refusal::Refusal;
use crate::v2::Reply;
use std::time::{Duration, Instant};

/// Times that a read is carried out, while the database of the store goes away in the middle of it.
const READS: usize = 3;
/// A read that has taken so long is proven again where its first proof has grown too old meanwhile.
const A_WHILE: Duration = Duration::from_secs(1);

impl Job {
    /// Carries the call out. Writes wait for their turn with the client, and then run as tasks of their own.
    pub async fn run(mut self) -> Result<Reply, Refusal> {
        if self.body_size() > 0 {
            Box::pin(self.parse_large_body()).await?;
        }
        if !self.operation().method.writes() {
            let begun = Instant::now();
            let answer = self.read().await.map_err(|refusal| self.unless_unknown(refusal))?;
            if begun.elapsed() >= A_WHILE
                && let Some(less) = Box::pin(self.prove_again()).await?
            {
                // The answer is one for the role that there was.
                self.call.standing = less;
                return Box::pin(self.read()).await.map_err(|refusal| self.unless_unknown(refusal));
            }
            return Ok(answer);
        }
        if self.is_create() && self.body_is_refused() {
            // It writes nothing, so it waits for nobody and has nobody wait.
            self.catch_up().await;
            return self.step().await;
        }
        let place = Box::pin(self.wait_for_quota()).await?;
        let turn = Box::pin(self.wait_for_turn()).await?;
        Box::pin(self.is_still_allowed()).await?;
        Box::pin(self.carry_out_in(turn, place)).await
    }

    /// Whoever took a permission back is told that it has ended; nothing may begin after that.
    ///
    /// # Errors
    /// [`Refusal::InvalidToken`] when the credential was revoked or has expired; faults of the store as they are.
    pub(super) async fn is_still_allowed(&self) -> Result<(), Refusal> {
        match &self.waiting {
            Some(waiting) => waiting.still_good().await,
            None => Ok(()),
        }
    }

    /// Whether this is a read for a client that asks v1 each time, as single records and work items do.
    pub fn asks_anew(&self) -> bool {
        let step = self.operation().step;
        let one = step == Step::ReadOne && self.resource().reads_alone();
        let items = [Special::WorkItemRetrieve, Special::WorkItemLookup, Special::WorkItemsList];
        self.call.ctx.tolerant && (one || items.map(Step::Special).contains(&step))
    }

    /// Whether this makes a record, and addresses none of its kind.
    pub(super) fn is_create(&self) -> bool {
        self.operation().status == 201 && self.variable("pk").is_none()
    }

    /// Carries a read out; once more when the database of the store was found not to answer in the middle of it: a part of
    /// the answer may be from before then, and nothing says so.
    async fn read(&self) -> Result<Reply, Refusal> {
        for _ in 0..READS {
            let outages = self.runner.store.outages();
            self.make_do_without_the_store()?;
            self.catch_up().await;
            let outcome = self.step().await;
            if self.runner.store.outages() == outages {
                return outcome;
            }
        }
        Err(store_is_away())
    }

    /// While the database of the store does not answer, a read makes do with what this process knew up to then, for as
    /// long as it would while v1 does not answer, and says so.
    fn make_do_without_the_store(&self) -> Result<(), Refusal> {
        let Some(since) = self.runner.store.away_since() else { return Ok(()) };
        if !self.call.ctx.tolerant || since.elapsed() > self.runner.settings.cache.stale_if_error {
            return Err(store_is_away());
        }
        self.call.ctx.meter.relies_on(since, Note::Store);
        Ok(())
    }

    /// That the store does not hold a record cannot be told from what was known of it up to then.
    fn unless_unknown(&self, refusal: Refusal) -> Refusal {
        let is_away = || self.resource().source == Source::Own && self.runner.store.away_since().is_some();
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
        self.hold_precondition().await?;
        self.run_operation().await
    }

    /// The operation itself. Steps that are seldom asked for or take long are boxed, so that the others do not move
    /// their room about.
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
