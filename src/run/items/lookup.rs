//! Look-ups that v1 answers directly although its lists have no filters: by an external pair, and by a number within
//! the project. One call each; all other conditions of a list are checked on the one row that can match.
//!
//! May use: what `run` may use.

use crate::plan::{Column, Resource};
use crate::refusal::Refusal;
use crate::run::items::key::{another, is_pair};
use crate::run::items::unlisted_states;
use crate::run::job::InProject;
use crate::translate::work_items::Item;
use crate::v2::query::{Condition, ListCall, Test};
use crate::v2::record::Cell;

/// Longest half of an external pair at v1, in characters (`items_create_external_id_256`).
const LONGEST_HALF: usize = 255;

#[derive(Debug, Clone, PartialEq)]
pub(in crate::run) enum Direct {
    Pair(String, String),
    Number(u64),
}

/// Returns the look-up that answers `call`, if its conditions contain one.
pub(in crate::run) fn wanted(resource: &Resource, call: &ListCall) -> Option<Direct> {
    let equal = |column: Column| {
        let mut conditions = call.conditions.iter();
        conditions.find_map(|Condition { cell, test }| match test {
            Test::AnyOf(cells) if cells.len() == 1 && resource.columns[*cell] == column => cells.first(),
            _ => None,
        })
    };
    if let Some(Cell::Number(number)) = equal(Column::SequenceId) {
        return (*number >= 0.0 && number.fract() == 0.0).then_some(Direct::Number(*number as u64));
    }
    match (equal(Column::ExternalId), equal(Column::ExternalSource)) {
        // With an empty half v1 looks nothing up and answers the whole list.
        (Some(Cell::Text(id)), Some(Cell::Text(source))) if !id.is_empty() && !source.is_empty() => {
            Some(Direct::Pair(id.to_string(), source.to_string()))
        }
        _ => None,
    }
}

pub(in crate::run) enum LookupResult {
    /// The one matching live item.
    Item(Box<Item>),
    /// There is no such live item.
    Nothing,
    /// v1 cannot tell which item matches; the index must.
    Unclear,
}

/// Looks up the one matching live item.
pub(in crate::run) async fn find(job: &InProject<'_>, direct: &Direct) -> Result<LookupResult, Refusal> {
    let is_too_long = |half: &String| half.chars().count() > LONGEST_HALF;
    let request = match direct {
        // A server before v1 may refuse a call with such a long query.
        Direct::Pair(id, source) if [id, source].into_iter().any(is_too_long) => return Ok(LookupResult::Nothing),
        // v1 reads a slash in the identifier as the end of the key, and has no such path (`errors_unknown_path`).
        Direct::Number(_) if job.card.identifier.contains('/') => return Ok(LookupResult::Unclear),
        Direct::Pair(id, source) => job.pair_request(id, source)?,
        Direct::Number(number) => job.request_by_key(&format!("{}-{number}", job.card.identifier))?,
    };
    let answer = job.runner.client.call(job.key(), request, &job.call.ctx).await;
    let answer = answer.map_err(|lost| lost.refusal())?;
    // Two items that share the pair or the number are a 500 (traps 18 and 47,
    // `items_find_by_shared_external_pair`, `items_key_of_shared_number`).
    if answer.status == 500 {
        return Ok(LookupResult::Unclear);
    }
    if let Some(refusal) = crate::v1::refusal_of_status(&answer) {
        return Err(job.after_refused_read(refusal).await);
    }
    match answer.status {
        200 => of_direct(job, direct, &answer.body).await,
        404 => {
            // In an archived project no number is found (trap 58), and another project may have the identifier by
            // now. Not for pairs: import programs look for one before each create, and would pay for this read too.
            if matches!(direct, Direct::Number(_)) && !job.is_identifier_now(&job.card.identifier).await? {
                return Ok(LookupResult::Unclear);
            }
            Ok(LookupResult::Nothing)
        }
        // An identifier that changed meanwhile is refused like an unknown one
        // (`updated_old_key_after_identifier_change`), and so is a lost right: the index asks without an
        // identifier and can distinguish the two.
        403 => Ok(LookupResult::Unclear),
        status => Err(Refusal::upstream("The work item could not be looked up.", format!("status {status}"))),
    }
}

/// Returns the item that v1 found, if it is the requested one.
async fn of_direct(job: &InProject<'_>, direct: &Direct, body: &[u8]) -> Result<LookupResult, Refusal> {
    let found = match direct {
        Direct::Pair(..) => live(job, body).await?,
        // The look-up by number shows live items only (trap 53). When another project has the identifier by now, the
        // answer says nothing about this project.
        Direct::Number(_) => match of_this_project(job, body)? {
            Some(item) => Some(item),
            None => return Ok(LookupResult::Unclear),
        },
    };
    let is_meant = |item: &Item| match direct {
        Direct::Pair(id, source) => {
            is_pair(item.external_id.as_deref(), item.external_source.as_deref(), (id, source))
        }
        Direct::Number(number) => u64::try_from(item.sequence_id) == Ok(*number),
    };
    match found {
        Some(item) if !is_meant(&item) => Err(another(format!("v1 answered {direct:?} with {}", item.id))),
        Some(item) => Ok(LookupResult::Item(Box::new(item))),
        None => Ok(LookupResult::Nothing),
    }
}

/// Returns the item if it belongs to this call's project: another project may have got the identifier meanwhile.
fn of_this_project(job: &InProject<'_>, body: &[u8]) -> Result<Option<Item>, Refusal> {
    let (item, project) = job.owned_item(body)?;
    Ok((project == job.card.id).then_some(item))
}

/// Returns the item if it is live: the pair look-up also finds archived, draft and triage items (trap 47,
/// `archived_find_by_external_pair`), which v2 does not list.
async fn live(job: &InProject<'_>, body: &[u8]) -> Result<Option<Item>, Refusal> {
    let found = of_this_project(job, body)?;
    let Some(item) = found.filter(|item| item.archived_at.is_none() && !item.is_draft) else { return Ok(None) };
    Ok(unlisted_states::is_shown(job, &item).await?.then_some(item))
}
