//! Ends writes that their request could not end, by the item that v1 shows now.
//!
//! A request that is about to show an item settles the open writes about it first, so that no client sees half of
//! a write. It waits for writes whose request still runs. A write that v1's data do not decide is reported. The item
//! then answers `store_unavailable` until a write of its type or values, or an operator, decides it. A lost delete
//! stays open too, but blocks nobody: while v1 shows the item, nothing of it was removed. May use: what `run` may use.

use super::source::ItemSource;
use crate::index::Index;
use crate::refusal::Refusal;
use crate::run::job::InProject;
use crate::run::members::SKEW;
use crate::run::reads::load::{AT_ONCE, records_of};
use crate::run::reads::outage::store_is_away;
use crate::store::{Intent, IntentKind, IntentState, ProjectItems, Settled, Store, WrittenSince};
use crate::translate::work_items::{self, Item};
use crate::translate::work_items_write::{self, Evidence};
use crate::units::{micros, now_micros};
use crate::v2::time::Micros;
use crate::v2::value::trimmed;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Longest wait for a request that still runs.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);
/// The first and the longest pause between two checks; each pause is twice as long as the one before. A change that v1
/// shows is usually recorded a moment later, and while a reader pauses, further writes begin.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const PAUSE: Duration = Duration::from_millis(20);

/// An item as v1 showed it in a list.
#[derive(Debug, Clone, Deserialize)]
pub(in crate::run) struct Newest {
    pub(in crate::run) id: Uuid,
    pub(in crate::run) name: String,
    #[serde(deserialize_with = "crate::v1::present")]
    pub(in crate::run) created_by: Option<Uuid>,
    #[serde(deserialize_with = "work_items::instant")]
    pub(in crate::run) created_at: Micros,
}

impl Newest {
    fn of(item: &Item) -> Self {
        Self { id: item.id, name: item.name.clone(), created_by: item.created_by, created_at: item.created_at }
    }
}

/// Settles the open writes about `items`; returns the recorded data of the project afterwards. For writes, during their
/// turn: no other write through a gateway changes the items meanwhile.
///
/// # Errors
/// `store_unavailable` while a create or change of one of them is not settled.
pub(in crate::run) async fn settle_open_writes(
    job: &InProject<'_>,
    items: &[Item],
    source: ItemSource,
) -> Result<Arc<ProjectItems>, Refusal> {
    let recorded = settled(job, items, source, None, PATIENCE).await?;
    recorded.ok_or_else(|| Refusal::internal("what is recorded was held against nothing"))
}

/// The context of a reader of items.
#[derive(Clone, Copy)]
pub(super) struct Reading<'r> {
    /// The data recorded before the items were read.
    pub before: &'r ProjectItems,
    /// Whether only their types are shown of the recorded data.
    pub types_alone: bool,
}

/// Settles the open writes about `items`; returns the recorded data of the project afterwards. A reader also gets items
/// as they were before a write under way and, if only types are shown, before a write that has ended since. None when
/// the items must be read again because of such a write.
///
/// # Errors
/// `store_unavailable` while a create or change of one of them is not settled; after `patience` also while any write
/// about one of them still runs.
pub(super) async fn settled(
    job: &InProject<'_>,
    items: &[Item],
    source: ItemSource,
    reading: Option<Reading<'_>>,
    patience: Duration,
) -> Result<Option<Arc<ProjectItems>>, Refusal> {
    let (store, project) = (&job.runner.store, job.card.id);
    let (began, mut listed) = (Instant::now(), Listed::default());
    let mut pause = FIRST_PAUSE;
    loop {
        let recorded = store.project_items(project).await?;
        if is_written_elsewhere(job, items, source, &recorded) {
            return Err(store_is_away());
        }
        let mut earlier = Vec::new();
        for item in items {
            let Some(reading) = reading else { break };
            match fits(item, reading.before, &recorded) {
                ItemMoment::Now => {}
                ItemMoment::Before if reading.types_alone => earlier.push(item.id),
                ItemMoment::Before | ItemMoment::NotKnown => return Ok(None),
            }
        }
        let shown = |recorded: Arc<ProjectItems>| match reading.filter(|_| !earlier.is_empty()) {
            Some(reading) => Arc::new(recorded.with_types_of(reading.before, &earlier)),
            None => recorded,
        };
        let open = recorded.open.iter().filter(|intent| concerns(job, intent, items, &recorded));
        let (mut running, mut left): (Vec<&Intent>, Vec<&Intent>) =
            open.partition(|intent| is_running(job, intent));
        running.retain(|intent| reading.is_none() || !is_to_come(intent, items));
        // Older data decide nothing.
        let decides = !job.call.ctx.meter.is_stale();
        let ends = |intent: &Intent| decides && is_late(job, intent, source.is_index());
        left.retain(|intent| intent.kind != IntentKind::Delete || ends(intent));
        if running.is_empty() && left.is_empty() {
            if decides {
                unmark_missing(job, items, &recorded).await?;
            }
            return Ok(Some(shown(recorded)));
        }
        if !running.is_empty() {
            if began.elapsed() > patience {
                return Err(Refusal::WriteUndecided);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE);
            continue;
        }
        // A request that ran until a moment ago may have ended its write after it was seen open.
        let still_open = Arc::clone(&store.project_items(project).await?.open);
        if left.iter().any(|intent| !still_open.iter().any(|open| open.id == intent.id)) {
            continue;
        }
        if !decides {
            return Err(Refusal::WriteUndecided);
        }
        if !end(job, &left, items, source, &recorded, &mut listed).await? {
            return Ok(Some(shown(recorded)));
        }
    }
}

/// Ends writes that their requests have left open: only one create at a time, because each changes the recorded data.
/// Returns false when nothing more can be done about the remaining writes.
async fn end(
    job: &InProject<'_>,
    open: &[&Intent],
    items: &[Item],
    source: ItemSource,
    recorded: &ProjectItems,
    listed: &mut Listed,
) -> Result<bool, Refusal> {
    let (mut tolerated, mut is_undecided) = (0, false);
    for intent in open {
        let item = items.iter().find(|item| Some(item.id) == intent.item);
        let settled = match item {
            Some(item) => settle_change(job, intent, item, source.is_index()).await?,
            None => settle_create(job, intent, recorded, listed).await? == CreateOutcome::Settled,
        };
        match (source, intent.state) {
            _ if settled && item.is_none() => return Ok(true),
            _ if settled => {}
            // The client sets the values now. Afterwards the older write is obsolete, or belongs to another item.
            (ItemSource::Deciding { .. }, IntentState::Conflicting | IntentState::Ambiguous) => tolerated += 1,
            _ if item.is_some() => return Err(Refusal::WriteUndecided),
            // Another create may be decided, and then this one too.
            _ => is_undecided = true,
        }
    }
    if is_undecided { Err(Refusal::WriteUndecided) } else { Ok(tolerated < open.len()) }
}

/// The moment that an item shows: the present recorded data, or the data recorded before the item was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ItemMoment {
    /// The present recorded data: nothing about it was written in between, or it shows the last change sent to v1.
    Now,
    /// The data recorded before it was read: it shows nothing of later writes.
    Before,
    NotKnown,
}

fn fits(item: &Item, before: &ProjectItems, recorded: &ProjectItems) -> ItemMoment {
    if recorded.agrees_about(item.id, before) {
        return ItemMoment::Now;
    }
    // An item without recorded data any more was deleted.
    if !recorded.knows(item.id) {
        return ItemMoment::NotKnown;
    }
    match recorded.written_since(item.id, before) {
        WrittenSince::NotKnown => ItemMoment::NotKnown,
        WrittenSince::StoreOnly => ItemMoment::Now,
        WrittenSince::Updates { last, .. }
            if item.updated_at > updated_before(last) && of_update(last, item) == Evidence::Done =>
        {
            ItemMoment::Now
        }
        WrittenSince::Updates { first, .. } if is_as_before(first, item) => ItemMoment::Before,
        WrittenSince::Updates { .. } => ItemMoment::NotKnown,
    }
}

/// Returns the time of v1's last change of the item before the update was sent.
fn updated_before(update: &Intent) -> Micros {
    update.sent.get("before").and_then(Value::as_i64).unwrap_or(Micros::MIN)
}

/// Checks that none of `items` shows the effect of a write under way yet, so that each is in its previous state: v1
/// changes `updated_at` when it carries a change out, and hides deleted items.
fn is_to_come(intent: &Intent, items: &[Item]) -> bool {
    let mut its_own = items.iter().filter(|item| intent.item == Some(item.id));
    match intent.kind {
        IntentKind::Create => false,
        IntentKind::Update => its_own.all(|item| is_as_before(intent, item)),
        IntentKind::Delete => true,
    }
}

fn is_as_before(update: &Intent, item: &Item) -> bool {
    item.updated_at <= updated_before(update) || of_update(update, item) == Evidence::Unchanged
}

/// Checks whether another process may have written one of `items`, perhaps with a type, since the database last
/// responded: v1 shows that the item was created or changed, and the known store data do not include it. The former
/// number of processes proves nothing, because one may have joined since. A project without recorded data is assumed
/// not to get its first types during the outage.
fn is_written_elsewhere(job: &InProject<'_>, items: &[Item], source: ItemSource, recorded: &ProjectItems) -> bool {
    let Some(since) = job.runner.store.away_since() else { return false };
    let known_until = job.runner.client.clock.at(now_micros() - micros(since.elapsed()));
    let is_ours = |item: &Item| recorded.knows(item.id) || job.runner.plain.contains(&item.id);
    // An index in use was read earlier, whatever v1's clock shows.
    let changed_until = if source.is_index() { known_until } else { known_until - SKEW };
    items.iter().any(|item| {
        item.created_at > known_until - SKEW && !is_ours(item)
            || item.updated_at > changed_until && !recorded.is_nothing()
    })
}

/// Settles all open writes of the project; returns whether one is left that may change the type of a shown item.
pub(in crate::run) async fn settle_all(job: &InProject<'_>) -> Result<bool, Refusal> {
    let (store, mut listed) = (&job.runner.store, Listed::default());
    'anew: loop {
        let (recorded, mut left) = (store.project_items(job.card.id).await?, false);
        for intent in recorded.open.iter().filter(|intent| !is_running(job, intent)) {
            let sets_type = intent.kind != IntentKind::Delete;
            match intent.item {
                Some(id) => match Box::pin(job.read_item(id)).await {
                    // Older data decide nothing.
                    Ok(_) if job.call.ctx.meter.is_stale() => left |= sets_type,
                    Ok(item) => left |= !settle_change(job, intent, &item, false).await? && sets_type,
                    // The read itself has noted the absence.
                    Err(Refusal::NotFound { .. }) => {}
                    Err(refusal) => return Err(refusal),
                },
                None => match settle_create(job, intent, &recorded, &mut listed).await? {
                    // Its item is known now, which may decide others.
                    CreateOutcome::Settled => continue 'anew,
                    CreateOutcome::NoItem => {}
                    CreateOutcome::Undecided => left = true,
                },
            }
        }
        return Ok(left);
    }
}

/// Drops the lost writes of `item` that v1's data did not decide: a type or values were just written. When that fails,
/// the item stays undecided until the next such write.
pub(in crate::run) async fn drop_undecided(job: &InProject<'_>, item: Uuid) {
    let store = &job.runner.store;
    let dropped = async {
        let recorded = store.project_items(job.card.id).await?;
        let about = recorded.open.iter().filter(|intent| intent.item == Some(item));
        for intent in about.filter(|intent| intent.state == IntentState::Conflicting) {
            store.settle_left(intent, Settled::Dropped).await?;
        }
        Ok::<(), Refusal>(())
    };
    if let Err(refusal) = dropped.await {
        tracing::warn!(%item, code = refusal.code(), "an older write that is obsolete could not be dropped");
    }
}

/// Removes the mark "missing" from items that v1 shows.
async fn unmark_missing(job: &InProject<'_>, items: &[Item], recorded: &ProjectItems) -> Result<(), Refusal> {
    if recorded.missing.is_empty() {
        return Ok(());
    }
    let back: Vec<Uuid> = items.iter().map(|item| item.id).filter(|id| recorded.missing.contains(id)).collect();
    if !back.is_empty() {
        job.runner.store.mark_missing(job.card.id, &[], &back, Micros::MAX).await?;
    }
    Ok(())
}

/// Checks whether an open write is, or may be, about one of these items.
fn concerns(job: &InProject<'_>, intent: &Intent, items: &[Item], recorded: &ProjectItems) -> bool {
    items.iter().any(|item| match intent.kind {
        IntentKind::Update | IntentKind::Delete => intent.item == Some(item.id),
        IntentKind::Create => may_have_made(job, intent, &Newest::of(item), recorded),
    })
}

/// Checks whether a create with unknown outcome may have created an item that is not known as another create's.
fn may_have_made(job: &InProject<'_>, intent: &Intent, item: &Newest, recorded: &ProjectItems) -> bool {
    let is_anothers = recorded.knows(item.id) || job.runner.plain.contains(&item.id);
    !is_anothers && matches(intent, item, (job.runner.client.clock.at(intent.began_at), late(job)))
}

/// Checks whether a create may have created an item: same creator, same name, and within its time by v1's clock.
fn matches(intent: &Intent, item: &Newest, (began, late): (Micros, Micros)) -> bool {
    let name = intent.sent.get("name").and_then(Value::as_str).unwrap_or_default();
    item.created_by == Some(intent.user)
        && trimmed(&item.name) == trimmed(name)
        && (began - SKEW..=began + late + SKEW).contains(&item.created_at)
}

/// Settles a change or a delete of an item that v1 shows; `lagging`: the item may be slightly older than now.
async fn settle_change(job: &InProject<'_>, intent: &Intent, item: &Item, lagging: bool) -> Result<bool, Refusal> {
    let (store, is_late) = (&job.runner.store, is_late(job, intent, lagging));
    let evidence = match of_update(intent, item) {
        Evidence::Unseen => match Box::pin(job.read_item(item.id)).await {
            Ok(_) if job.call.ctx.meter.is_stale() => return Ok(false),
            Ok(whole) => of_update(intent, &whole),
            Err(Refusal::NotFound { .. }) => return Ok(false),
            Err(refusal) => return Err(refusal),
        },
        evidence => evidence,
    };
    let settled = match (intent.kind, evidence) {
        (IntentKind::Update, Evidence::Done) => Settled::Done(item.id),
        (IntentKind::Update, Evidence::Otherwise) if is_late => {
            report(store, intent, IntentState::Conflicting).await?;
            return Ok(false);
        }
        (_, Evidence::Unchanged) if is_late => Settled::Dropped,
        (IntentKind::Delete, _) if is_late => Settled::Dropped,
        _ => return Ok(false),
    };
    store.settle_left(intent, settled).await?;
    tracing::info!(intent = %intent.id, item = %item.id, ?settled, "a write whose answer was lost is settled");
    Ok(true)
}

/// Returns the evidence of an item about a change: by the sent and the previous members. The time of its last change is
/// no evidence, because anything moves it, even a comment or v1 itself (trap 56).
fn of_update(intent: &Intent, item: &Item) -> Evidence {
    let none = Map::new();
    let told = |name: &str| intent.sent.get(name).and_then(Value::as_object).unwrap_or(&none);
    match work_items_write::evidence(told("body"), told("was"), item) {
        // An item that has not changed since is in its previous state.
        Evidence::Otherwise if item.updated_at <= updated_before(intent) => Evidence::Unchanged,
        evidence => evidence,
    }
}

/// Result of settling a create.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CreateOutcome {
    /// It has its item.
    Settled,
    /// There is no item yet that it can have created.
    NoItem,
    /// Other writes may have created the item too.
    Undecided,
}

/// Assigns a create to the item that it can have created. Lost creates that store the same are interchangeable.
async fn settle_create(
    job: &InProject<'_>,
    intent: &Intent,
    recorded: &ProjectItems,
    listed: &mut Listed,
) -> Result<CreateOutcome, Refusal> {
    let (store, items) = (&job.runner.store, listed.for_create(job, intent).await?);
    let may_be = |intent: &Intent, item: &Newest| may_have_made(job, intent, item, recorded);
    let candidates: Vec<&Newest> = items.iter().filter(|item| may_be(intent, item)).collect();
    let Some(first) = candidates.first() else { return Ok(CreateOutcome::NoItem) };
    let creates = recorded.open.iter().filter(|other| other.kind == IntentKind::Create);
    let rivals = creates.filter(|other| candidates.iter().any(|item| may_be(other, item)));
    let (equal, different): (Vec<&Intent>, Vec<&Intent>) = rivals.partition(|other| other.own == intent.own);
    if equal.iter().any(|other| is_running(job, other)) {
        // It knows its item in a moment.
        return Ok(CreateOutcome::Undecided);
    }
    let made_all = equal.iter().filter(|other| candidates.iter().all(|item| may_be(other, item))).count();
    // With more items than creates, one of them is of an unknown write.
    if made_all < candidates.len() || !different.is_empty() {
        report(store, intent, IntentState::Ambiguous).await?;
        return Ok(CreateOutcome::Undecided);
    }
    let bound = store.settle_left(intent, Settled::Done(first.id)).await?;
    if bound {
        tracing::info!(intent = %intent.id, item = %first.id, "a new item whose answer was lost has its values");
    }
    Ok(if bound { CreateOutcome::Settled } else { CreateOutcome::Undecided })
}

/// The newest items as v1 listed them for one request, so that several writes need only one call.
#[derive(Default)]
struct Listed {
    items: Vec<Newest>,
    /// Creation time from which all items are listed, and the time of the listing.
    of: Option<(Micros, Micros)>,
}

impl Listed {
    /// Returns the items that an open create can have created.
    async fn for_create(&mut self, job: &InProject<'_>, intent: &Intent) -> Result<&[Newest], Refusal> {
        let since = job.runner.client.clock.at(intent.began_at) - SKEW;
        if !self.of.is_some_and(|(from, at)| from <= since && intent.began_at < at) {
            self.of = Some((since, now_micros()));
            self.items = newest(job, since).await?;
        }
        Ok(&self.items)
    }
}

/// Drops creates that created nothing: `index` was read when v1 could not carry them out any more.
pub(super) async fn drop_unmade(
    job: &InProject<'_>,
    index: &Index,
    recorded: &ProjectItems,
) -> Result<(), Refusal> {
    let now = now_micros();
    let settled_by = 2 * late(job) + micros(job.runner.indexes.settings().freshness) + SKEW;
    for intent in recorded.open.iter().filter(|intent| intent.kind == IntentKind::Create) {
        if now - intent.began_at < settled_by || job.runner.store.is_running(intent, settled_by) {
            continue;
        }
        let made = index.items().any(|item| may_have_made(job, intent, &Newest::of(&item), recorded));
        if !made {
            job.runner.store.settle_left(intent, Settled::Dropped).await?;
            tracing::warn!(intent = %intent.id, "a new item was never made by v1; its values are dropped");
        }
    }
    Ok(())
}

/// Returns the items of the project created since `since`, newest first.
pub(in crate::run) async fn newest(job: &InProject<'_>, since: Micros) -> Result<Vec<Newest>, Refusal> {
    let query = "order_by=-created_at&fields=id,name,created_by,created_at";
    let first: Vec<Newest> = records_of(&job.first_page(job.work_items()?, query).await?.body)?;
    let reaches = first.len() < AT_ONCE || first.last().is_some_and(|row| row.created_at < since);
    if reaches {
        return Ok(first);
    }
    job.all_records(job.work_items()?, query).await
}

async fn report(store: &Store, intent: &Intent, state: IntentState) -> Result<(), Refusal> {
    if intent.state != state {
        tracing::warn!(intent = %intent.id, state = state.word(), "a write whose answer was lost is not decided");
        store.report_intent(intent, state).await?;
    }
    Ok(())
}

/// Checks whether an item, which may be slightly older than now (`lagging`), was read when v1 could not carry the write
/// out any more.
fn is_late(job: &InProject<'_>, intent: &Intent, lagging: bool) -> bool {
    let freshness = if lagging { micros(job.runner.indexes.settings().freshness) } else { 0 };
    now_micros() - intent.began_at > late(job) + freshness
}

/// Checks whether the request of a write may still be at work.
pub(super) fn is_running(job: &InProject<'_>, intent: &Intent) -> bool {
    job.runner.store.is_running(intent, late(job) + SKEW)
}

/// Returns the longest delay with which v1 may still carry a write out.
pub(super) fn late(job: &InProject<'_>) -> Micros {
    micros(job.runner.settings.store.late_write)
}
