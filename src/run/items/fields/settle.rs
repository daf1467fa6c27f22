//! Ends writes whose request could not: from what v1 shows of the item now.
//!
//! A request that is about to show an item settles what is open about it first, so that nobody sees the half of
//! a write. Writes whose request still runs are waited for. A write that v1 does not decide is reported, and the item
//! answers `store_unavailable` until that is decided by a write of its type or values, or by an operator. May use: what
//! `run` may use.

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

/// Longest wait for a request that is still at work.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);
/// The first pause between two looks, and the longest: each is twice as long as the one before. What v1 shows is mostly
/// recorded a moment later, and while a reader pauses further writes begin.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const PAUSE: Duration = Duration::from_millis(20);

/// Where the items at hand come from, and what is wanted of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::run) enum Looking {
    Read,
    /// Rows of an index, which may be a little older.
    Indexed,
    /// About to be written with a type or values of their own, which decides what v1 cannot.
    Deciding,
}

/// What v1 showed of an item in a list.
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

/// Settles what is open about `items`, and tells what is recorded about the project of the call then. For writes, whose
/// turn it is: nobody else writes the items through a gateway meanwhile.
///
/// # Errors
/// `store_unavailable` while a write about one of them is not settled.
pub(in crate::run) async fn settle_open_writes(
    job: &InProject<'_>,
    items: &[Item],
    looking: Looking,
) -> Result<Arc<ProjectItems>, Refusal> {
    let recorded = settled(job, items, looking, None, PATIENCE).await?;
    recorded.ok_or_else(|| Refusal::internal("what is recorded was held against nothing"))
}

/// What a reader of items brings along.
#[derive(Clone, Copy)]
pub(super) struct Reading<'r> {
    /// What was recorded before the items were read.
    pub before: &'r ProjectItems,
    /// Whether nothing but their types is shown of what is recorded.
    pub types_alone: bool,
}

/// Settles what is open about `items`, and tells what is recorded about the project then. For a reader, items are also
/// shown as they were before a write that is under way, and those whose types alone are shown as they were before one that
/// has ended since; none when the items have to be read again, because of such a write.
///
/// # Errors
/// `store_unavailable` while a write about one of them is not settled, after `patience` also when it still runs.
pub(super) async fn settled(
    job: &InProject<'_>,
    items: &[Item],
    looking: Looking,
    reading: Option<Reading<'_>>,
    patience: Duration,
) -> Result<Option<Arc<ProjectItems>>, Refusal> {
    let (store, project) = (&job.runner.store, job.card.id);
    let is_running = |intent: &Intent| store.is_running(intent, late(job) + SKEW);
    let (began, mut listed) = (Instant::now(), Listed::default());
    let mut pause = FIRST_PAUSE;
    loop {
        let recorded = store.project_items(project).await?;
        if is_written_elsewhere(job, items, looking, &recorded) {
            return Err(store_is_away());
        }
        let mut earlier = Vec::new();
        for item in items {
            let Some(reading) = reading else { break };
            match fits(item, reading.before, &recorded) {
                Fits::Now => {}
                Fits::Before if reading.types_alone => earlier.push(item.id),
                Fits::Before | Fits::NotKnown => return Ok(None),
            }
        }
        let shown = |recorded: Arc<ProjectItems>| match reading.filter(|_| !earlier.is_empty()) {
            Some(reading) => Arc::new(recorded.with_types_of(reading.before, &earlier)),
            None => recorded,
        };
        let is_to_come = |intent: &Intent| reading.is_some() && is_running(intent) && is_to_come(intent, items);
        let open = recorded.open.iter().filter(|intent| concerns(job, intent, items, &recorded));
        let open: Vec<&Intent> = open.filter(|intent| !is_to_come(intent)).collect();
        // Older data decide nothing.
        let decides = !job.call.ctx.meter.is_stale();
        if open.is_empty() {
            if decides {
                unmark_missing(job, items, &recorded).await?;
            }
            return Ok(Some(shown(recorded)));
        }
        if open.iter().any(|intent| is_running(intent)) {
            if began.elapsed() > patience {
                return Err(Refusal::WriteUndecided);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE);
            continue;
        }
        // One that ran until a moment ago may have ended after it was seen open.
        let still_open = Arc::clone(&store.project_items(project).await?.open);
        if open.iter().any(|intent| !still_open.iter().any(|open| open.id == intent.id)) {
            continue;
        }
        if !decides {
            return Err(Refusal::WriteUndecided);
        }
        if !end(job, &open, items, looking, &recorded, &mut listed).await? {
            return Ok(Some(shown(recorded)));
        }
    }
}

/// Ends writes whose request ended without. Of creates one at a time, because what is recorded is another then. False
/// when nothing is left to be done about those that remain.
async fn end(
    job: &InProject<'_>,
    open: &[&Intent],
    items: &[Item],
    looking: Looking,
    recorded: &ProjectItems,
    listed: &mut Listed,
) -> Result<bool, Refusal> {
    let mut tolerated = 0;
    for intent in open {
        let item = items.iter().find(|item| Some(item.id) == intent.item);
        let settled = match item {
            Some(item) => settle_change(job, intent, item, looking == Looking::Indexed).await?,
            None => settle_create(job, intent, recorded, listed).await?,
        };
        match (looking, intent.state) {
            _ if settled && item.is_none() => return Ok(true),
            _ if settled => {}
            // The client says what the item is to be: the older write is over, or is not this item's.
            (Looking::Deciding, IntentState::Conflicting) => {
                job.runner.store.settle_left(intent, Settled::Dropped).await?;
            }
            (Looking::Deciding, IntentState::Ambiguous) => tolerated += 1,
            _ => return Err(Refusal::WriteUndecided),
        }
    }
    Ok(tolerated < open.len())
}

/// Which moment an item belongs to that was read since something was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fits {
    /// That of what is recorded now: nothing about it was written in between, or it shows the last that v1 was asked for.
    Now,
    /// That of what was recorded before it was read: it shows nothing of what was written since.
    Before,
    NotKnown,
}

fn fits(item: &Item, before: &ProjectItems, recorded: &ProjectItems) -> Fits {
    if recorded.agrees_about(item.id, before) {
        return Fits::Now;
    }
    // One of which nothing is recorded any more was deleted.
    if !recorded.knows(item.id) {
        return Fits::NotKnown;
    }
    match recorded.written_since(item.id, before) {
        WrittenSince::NotKnown => Fits::NotKnown,
        WrittenSince::StoreOnly => Fits::Now,
        WrittenSince::Updates { last, .. }
            if item.updated_at > updated_before(last) && of_update(last, item) == Evidence::Done =>
        {
            Fits::Now
        }
        WrittenSince::Updates { first, .. } if is_as_before(first, item) => Fits::Before,
        WrittenSince::Updates { .. } => Fits::NotKnown,
    }
}

/// When v1 had last changed the item of a change before it was asked for it.
fn updated_before(update: &Intent) -> Micros {
    update.sent.get("before").and_then(Value::as_i64).unwrap_or(Micros::MIN)
}

/// Whether none of `items` shows yet what a write that is under way does, so that each is as it was before: v1 moves the
/// time of the last change when it carries a change out, and hides what it deletes.
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

/// Whether another process may have written one of `items`, with a type of its own perhaps, since the database answered
/// last: v1 shows that the item was made or changed, and what was known of the store does not tell of it. A process may
/// have joined since, so how many there were says nothing. Nobody is thought to begin with types just then.
fn is_written_elsewhere(job: &InProject<'_>, items: &[Item], looking: Looking, recorded: &ProjectItems) -> bool {
    let Some(since) = job.runner.store.away_since() else { return false };
    let known_until = job.runner.client.clock.at(now_micros() - micros(since.elapsed()));
    let is_ours = |item: &Item| recorded.knows(item.id) || job.runner.plain.contains(&item.id);
    // An index that is used was read before, whatever v1's clock says.
    let changed_until = if looking == Looking::Indexed { known_until } else { known_until - SKEW };
    items.iter().any(|item| {
        item.created_at > known_until - SKEW && !is_ours(item)
            || item.updated_at > changed_until && !recorded.is_nothing()
    })
}

/// Settles everything open in the project, and tells whether anything about an item that exists is left.
pub(in crate::run) async fn settle_all(job: &InProject<'_>) -> Result<bool, Refusal> {
    let recorded = job.runner.store.project_items(job.card.id).await?;
    let (mut left, mut listed) = (false, Listed::default());
    for intent in recorded.open.iter() {
        if job.runner.store.is_running(intent, late(job) + SKEW) {
            continue;
        }
        left |= match intent.item {
            Some(id) => match Box::pin(job.read_item(id)).await {
                Ok(item) => !settle_change(job, intent, &item, false).await?,
                // Its end was seen by the read itself.
                Err(Refusal::NotFound { .. }) => false,
                Err(refusal) => return Err(refusal),
            },
            None => {
                !settle_create(job, intent, &recorded, &mut listed).await? && intent.state == IntentState::Ambiguous
            }
        };
    }
    Ok(left)
}

/// v1 shows no such live item to a single read: a delete that was under way has happened; anything else
/// recorded about it is kept, because it may return.
pub(in crate::run) async fn note_absence(job: &InProject<'_>, id: Uuid) {
    if let Err(refusal) = try_note_absence(job, id).await {
        tracing::warn!(item = %id, code = refusal.code(), "the absence of an item could not be noted");
    }
}

async fn try_note_absence(job: &InProject<'_>, id: Uuid) -> Result<(), Refusal> {
    let card = job.card;
    let store = &job.runner.store;
    let recorded = store.project_items(card.id).await?;
    if !recorded.knows(id) {
        return Ok(());
    }
    let mut about = recorded.open.iter().filter(|intent| intent.item == Some(id));
    if let Some(intent) = about.find(|intent| intent.kind == IntentKind::Delete) {
        if !store.is_running(intent, late(job) + SKEW) {
            store.settle_left(intent, Settled::Purged(id)).await?;
        }
    } else if !recorded.missing.contains(&id) && !recorded.archived.contains(&id) {
        store.mark_missing(card.id, &[id], &[], now_micros()).await?;
    }
    Ok(())
}

/// Items that are shown are not missing.
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

/// Whether an open write is, or may be, about one of these items.
fn concerns(job: &InProject<'_>, intent: &Intent, items: &[Item], recorded: &ProjectItems) -> bool {
    items.iter().any(|item| match intent.kind {
        IntentKind::Update | IntentKind::Delete => intent.item == Some(item.id),
        IntentKind::Create => may_have_made(job, intent, &Newest::of(item), recorded),
    })
}

/// Whether a create whose outcome is not known may have made an item: one that is not known to be another's.
fn may_have_made(job: &InProject<'_>, intent: &Intent, item: &Newest, recorded: &ProjectItems) -> bool {
    let is_anothers = recorded.knows(item.id) || job.runner.plain.contains(&item.id);
    !is_anothers && matches(intent, item, (job.runner.client.clock.at(intent.began_at), late(job)))
}

/// Whether an item may be what a create made: the same creator and name, made in its time, which is told with v1's clock.
fn matches(intent: &Intent, item: &Newest, (began, late): (Micros, Micros)) -> bool {
    let name = intent.sent.get("name").and_then(Value::as_str).unwrap_or_default();
    item.created_by == Some(intent.user)
        && trimmed(&item.name) == trimmed(name)
        && (began - SKEW..=began + late + SKEW).contains(&item.created_at)
}

/// Settles a change or an end of an item that v1 shows; `lagging` when it may be a little older than now.
async fn settle_change(job: &InProject<'_>, intent: &Intent, item: &Item, lagging: bool) -> Result<bool, Refusal> {
    let store = &job.runner.store;
    let freshness = if lagging { micros(job.runner.indexes.settings().freshness) } else { 0 };
    let is_late = now_micros() - intent.began_at > late(job) + freshness;
    let evidence = match of_update(intent, item) {
        Evidence::Unseen => match Box::pin(job.read_item(item.id)).await {
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

/// What an item tells about a change: by what was sent and what there was before, and not by the time of its last change,
/// which anything moves, a comment and v1 itself (trap 56) among it.
fn of_update(intent: &Intent, item: &Item) -> Evidence {
    let none = Map::new();
    let told = |name: &str| intent.sent.get(name).and_then(Value::as_object).unwrap_or(&none);
    let before = intent.sent.get("before").and_then(Value::as_i64).unwrap_or_default();
    match work_items_write::evidence(told("body"), told("was"), item) {
        // An item that nothing has changed is as it was.
        Evidence::Otherwise if item.updated_at <= before => Evidence::Unchanged,
        evidence => evidence,
    }
}

/// Binds a create to the one item it can have made; false when there is none yet, or several.
async fn settle_create(
    job: &InProject<'_>,
    intent: &Intent,
    recorded: &ProjectItems,
    listed: &mut Listed,
) -> Result<bool, Refusal> {
    let (store, items) = (&job.runner.store, listed.for_create(job, intent).await?);
    let may_be = |intent: &Intent, item: &Newest| may_have_made(job, intent, item, recorded);
    let candidates: Vec<&Newest> = items.iter().filter(|item| may_be(intent, item)).collect();
    let [only] = candidates.as_slice() else {
        if candidates.len() > 1 {
            report(store, intent, IntentState::Ambiguous).await?;
        }
        return Ok(false);
    };
    // Another create with other values may have made it just as well.
    let creates = recorded.open.iter().filter(|other| other.kind == IntentKind::Create && other.id != intent.id);
    if creates.clone().any(|other| may_be(other, only) && other.own != intent.own) {
        report(store, intent, IntentState::Ambiguous).await?;
        return Ok(false);
    }
    let bound = store.settle_left(intent, Settled::Done(only.id)).await?;
    if bound {
        tracing::info!(intent = %intent.id, item = %only.id, "a new item whose answer was lost has its values");
    }
    Ok(bound)
}

/// The newest items as v1 listed them for one request, so that it is asked once for several writes.
#[derive(Default)]
struct Listed {
    items: Vec<Newest>,
    /// From when on all items are listed, and when that was.
    of: Option<(Micros, Micros)>,
}

impl Listed {
    /// The items that a create which is open can have made.
    async fn for_create(&mut self, job: &InProject<'_>, intent: &Intent) -> Result<&[Newest], Refusal> {
        let since = job.runner.client.clock.at(intent.began_at) - SKEW;
        if !self.of.is_some_and(|(from, at)| from <= since && intent.began_at < at) {
            self.of = Some((since, now_micros()));
            self.items = newest(job, since).await?;
        }
        Ok(&self.items)
    }
}

/// Drops creates that made nothing: `index` was read after v1 could still have carried them out.
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

/// Items of the project made since `since`, newest first.
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

/// By how much later v1 may carry a write out.
pub(super) fn late(job: &InProject<'_>) -> Micros {
    micros(job.runner.settings.store.late_write)
}
