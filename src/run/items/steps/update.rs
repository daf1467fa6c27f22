//! Updates a work item.
//! v1's PATCH reaches items that no read shows (trap 53, `archived_patch_name`), so the item must be proven live first,
//! by a fresh row of the index or by a read. When the stored value matters, the item is read from v1 in any case: for
//! one date alone, the state under workflow rules, one half of an external pair, and for a parent, a set or an unlisted
//! state that stays as it is. The answer to the PATCH is the stored record and is compared with the sent members. If v1
//! dropped part of a set, the update is undone. Type and values alone need no write to v1; together with a write they
//! are noted before it and stored after it. May use: what `run` may use.

use crate::fresh::Changed;
use crate::plan::{Extra, WriteKind};
use crate::refusal::Refusal;
use crate::run::items::fields::{ItemSource, WriteUnderWay, drop_undecided, settle_open_writes};
use crate::run::items::key::is_pair;
use crate::run::items::names::{self, Resolved};
use crate::run::items::{expansions, workflow};
use crate::run::job::InProject;
use crate::run::members::{Members, as_id, members};
use crate::run::writes::checks;
use crate::run::writes::write::{in_words, is_certain};
use crate::store::{OwnWrite, Settled};
use crate::translate::work_items::Item;
use crate::translate::work_items_write;
use crate::v1::refusal_of_status;
use crate::v2::Reply;
use crate::v2::body::Given;
use serde_json::Value;

/// The words for v1's own 409 about a pair (`archived_external_pair_conflict`).
const TAKEN: &str = "Another work item of this project (archived ones count) has this external pair.";

pub(in crate::run) async fn run(job: &InProject<'_>) -> Result<Reply, Refusal> {
    let id = job.pk()?;
    let item_in_fresh_index = job.item_in_fresh_index(id);
    let mut read_now = item_in_fresh_index.is_none();
    let mut stored = match item_in_fresh_index {
        Some(item) => item,
        None => job.read_item(id).await?,
    };
    let given = job.given_with(|given| work_items_write::faults_between(given).into())?;
    let at_hand = if read_now { ItemSource::Read } else { ItemSource::Indexed };
    let source = if decides(&given) { ItemSource::Deciding { indexed: !read_now } } else { at_hand };
    let recorded = settle_open_writes(job, std::slice::from_ref(&stored), source).await?;
    let type_id = recorded.types.get(&id).copied();
    let Resolved { mut body, own, keeps } = names::resolve(job, &given, Some((&stored, type_id))).await?;
    let is_deciding = !own.is_empty();
    if source != at_hand && !is_deciding {
        // Nothing is stored that would make an undecided write obsolete.
        settle_open_writes(job, std::slice::from_ref(&stored), at_hand).await?;
    }
    if !read_now && (keeps || needs_truth(job, &given, &body, &own, &stored)) {
        stored = job.read_item(id).await?;
        read_now = true;
    }
    // v1 uses the same names for these fields.
    checks::order_of_dates(job.resource(), &given, Some(&stored.members()))?;
    if let Some(state) = body.get("state").and_then(as_id) {
        workflow::check_move(job, stored.state, state).await?;
    }
    check_pair(job, &stored, &given).await?;
    if read_now {
        // A row of the index may be seconds old, so no member is left out as unchanged by comparing with it.
        work_items_write::keep_changes(&mut body, &stored);
    }
    let expanding = expansions::calls(job)?;
    if body.is_empty() {
        job.store_own(id, &own).await?;
        if is_deciding {
            drop_undecided(job, id).await;
        }
        if !read_now {
            stored = job.with_live_labels(stored).await?;
        }
        job.item_changed(&stored);
    } else {
        let undone = usize::from(work_items_write::may_drop(job.resource(), &body));
        let _room = job.room_for(&[(Extra::DroppedSet, undone)], expanding).await?;
        let begun = WriteUnderWay::update(job, &stored, &body, own).await?;
        stored = patch(job, &given, &stored, &body, (begun, is_deciding)).await?;
    }
    let recorded = job.runner.store.project_items(job.card.id).await?;
    expansions::reply(job, &stored, &recorded).await
}

/// Checks whether the body sets data of the own store.
fn decides(given: &Given) -> bool {
    ["type", "type_id", "custom_fields"].iter().any(|name| given.contains_key(*name))
}

/// Checks whether a stored value matters for the sent members. It does for a parent or a set that the item seems to
/// have already: v1 refuses it, or loses a part, if the parent was archived or a person has left since.
fn needs_truth(job: &InProject<'_>, given: &Given, body: &Members, own: &OwnWrite, stored: &Item) -> bool {
    let one_date = checks::needs_stored_dates(job.resource(), given);
    let guarded = body.contains_key("state") && workflow::guards_moves(job);
    let repeated = work_items_write::repeats(job.resource(), body, stored);
    // With type or values, the previous state must be known if the answer is lost; lists do not show it.
    let hidden = work_items_write::HIDDEN.iter().any(|key| body.contains_key(*key));
    one_date || guarded || repeated || (hidden && !own.is_empty()) || given.contains_key("external_source")
}

async fn patch(
    job: &InProject<'_>,
    given: &Given,
    stored: &Item,
    body: &Members,
    (begun, is_deciding): (WriteUnderWay, bool),
) -> Result<Item, Refusal> {
    let (resource, id) = (job.resource(), stored.id);
    let answered = match job.patch_raw(id, body).await {
        Ok(answer) if !answer.is_success() => {
            let refusal = job.refusal_of_write(WriteKind::Update, &answer).await;
            Err(work_items_write::refusal_of_update(given, stored, refusal))
        }
        answered => answered,
    };
    let answer = match answered {
        Ok(answer) => answer,
        Err(refusal) => {
            begun.settle_failed(job, &refusal).await;
            return Err(refusal);
        }
    };
    let shown = members(&answer);
    if let Ok(shown) = &shown {
        job.note_written(body, shown);
    }
    if let Ok(shown) = &shown
        && !decides(given)
        && let Some(refusal) = put_back(job, given, stored, body, shown).await
    {
        return Err(refusal);
    }
    // The row before the values: a reader that sees the row waits for the values.
    let item = shown.as_ref().ok().and_then(|shown| job.item_from(shown).ok());
    match &item {
        Some(item) => job.item_changed(item),
        None => drop(job.runner.changes.tell(Changed::WorkItems(job.card.id))),
    }
    if is_deciding {
        // Before this write ends: afterwards a reader could take the older one for carried out.
        drop_undecided(job, id).await;
    }
    begun.settle(job, Settled::Done(id)).await?;
    let shown = shown?;
    let item = match item {
        Some(item) => item,
        None => job.item_after(id, &shown).await?,
    };
    work_items_write::confirm_update(resource, given, body, &shown).map(|()| item)
}

/// Undoes and refuses the update if v1 silently dropped a person or a label (trap 15: a guest of the project, an ended
/// membership), which v1 does not show beforehand. None when nothing was dropped, or when the previous value of a
/// sent member is not known.
async fn put_back(
    job: &InProject<'_>,
    given: &Given,
    before: &Item,
    sent: &Members,
    shown: &Members,
) -> Option<Refusal> {
    let resource = job.resource();
    let checked = work_items_write::check(resource, sent, shown);
    let errors = work_items_write::dropped_sets(resource, given, sent, shown, &checked.lost)?;
    let before = job.with_live_labels(before.clone()).await.ok()?;
    let body = work_items_write::undoing(sent, &before)?;
    let undone = match job.patch(before.id, &body).await {
        Ok(answer) => job.item_after(before.id, &answer).await,
        Err(cause) => Err(cause),
    };
    Some(match undone {
        Ok(item) => {
            job.item_changed(&item);
            Refusal::fields(errors)
        }
        Err(cause) => {
            job.runner.changes.tell(Changed::Project(job.card.id));
            let undone = match is_certain(&cause) {
                true => "it could not be undone",
                false => "it is not certain whether it was undone",
            };
            let detail = format!("v1 did not store all of it ({}), and {undone}.", in_words(&errors));
            Refusal::OutcomeUnknown {
                detail,
                cause: format!("putting {} back: {cause:?}", before.id),
                timed_out: false,
            }
        }
    })
}

/// Refuses an external pair that another item has. v1 does not check this when `external_id` stays as it is (trap 38,
/// `items_patch_source_to_duplicate_pair_accepted`), and two items with one pair would
/// break its look-up (`items_find_by_shared_external_pair`).
async fn check_pair(job: &InProject<'_>, stored: &Item, given: &Given) -> Result<(), Refusal> {
    let text = |name: &str| given.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let Some(source) = text("external_source").filter(|source| stored.external_source.as_deref() != Some(source))
    else {
        return Ok(());
    };
    let kept = stored.external_id.as_deref().filter(|kept| !kept.is_empty());
    let same = given.get("external_id").is_none_or(|sent| sent.as_str() == kept);
    let Some(id) = kept.filter(|_| same) else { return Ok(()) };
    let mut request = job.pair_request(id, source)?;
    request.query.push_str("&fields=id");
    let answer = job.runner.client.call(job.key(), request, &job.call.ctx).await;
    let answer = answer.map_err(|lost| lost.refusal())?;
    let taken = || Refusal::Conflict { detail: TAKEN.into() };
    if let Some(refusal) = refusal_of_status(&answer) {
        // Two items that share the pair already are a 500 (trap 47, `items_find_by_shared_external_pair`).
        let doubled = answer.status == 500 && has_pair(job, id, source).await?;
        return Err(if doubled { taken() } else { refusal });
    }
    match answer.status {
        404 => Ok(()),
        200 => Err(taken()),
        status => Err(Refusal::upstream("The external pair could not be checked.", format!("status {status}"))),
    }
}

/// Checks by the index whether a live item has this pair.
async fn has_pair(job: &InProject<'_>, id: &str, source: &str) -> Result<bool, Refusal> {
    let index = job.newest_index().await?;
    let mut items = index.items();
    Ok(items.any(|item| is_pair(item.external_id.as_deref(), item.external_source.as_deref(), (id, source))))
}
