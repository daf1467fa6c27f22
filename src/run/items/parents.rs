//! Parents of work items: found by id or human key, and never below the item itself.
//!
//! v1 refuses parents of other projects and checks neither self nor loops (trap 30,
//! `items_create_parent_other_project`, `items_patch_parent_self_accepted`, `items_patch_parent_loop_accepted`).
//! May use: what `run` may use.

use crate::index::Index;
use crate::refusal::Refusal;
use crate::run::in_project::InProject;
use crate::run::items::looked_up::LookedUp;
use crate::run::items::record::if_live;
use crate::translate::work_items::Item;
use crate::translate::work_items_key::HumanKey;
use crate::v2::body::Given;
use crate::v2::value::trimmed;
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;
use uuid::Uuid;

/// Work items above a parent that are read one by one; v1 sets no limit to the levels. From then on the index is asked,
/// which takes one call for 1,000 items.
const SINGLE_READS: usize = 50;
const UNKNOWN: &str = "names no live work item of this project; a parent in another project cannot be stored by \
                       the service behind";

/// The parent that `parent_id` or `parent` names, null included; none when neither was sent.
pub(in crate::run) async fn resolve(
    job: &InProject<'_>,
    given: &Given,
    stored: Option<&Item>,
) -> Result<LookedUp, Refusal> {
    let (member, found) = match (given.get("parent_id"), given.get("parent").and_then(Value::as_str)) {
        (Some(Value::Null), _) => return Ok(LookedUp::Found(Value::Null)),
        (Some(id), _) => {
            let Some(id) = id.as_str().and_then(|id| Uuid::try_parse(id).ok()) else {
                return Ok(LookedUp::NotSent);
            };
            if stored.is_some_and(|item| item.parent == Some(id)) {
                return Ok(LookedUp::Found(id.to_string().into()));
            }
            ("parent_id", if_live(job.live_item(id).await)?)
        }
        (None, Some(key)) => ("parent", by_key(job, key).await?),
        (None, None) => return Ok(LookedUp::NotSent),
    };
    let Some(parent) = found else {
        let advice = if member == "parent" { "; use parent_id" } else { "" };
        return Ok(LookedUp::wrong(member, format!("{UNKNOWN}{advice}")));
    };
    if let Some(own) = stored
        && meets_above(job, &parent, own.id).await?
    {
        return Ok(LookedUp::wrong(member, "is the work item itself or one below it"));
    }
    Ok(LookedUp::Found(parent.id.to_string().into()))
}

async fn by_key(job: &InProject<'_>, key: &str) -> Result<Option<Item>, Refusal> {
    let key = HumanKey::parse(trimmed(key)).filter(|key| job.card.identifier == key.project);
    let Some(key) = key else { return Ok(None) };
    if_live(job.own_item_by_key(&key).await)
}

/// Whether going up from `start` one meets `own`, as parents are now: the write has the rule to itself. The walk leads
/// on over what was archived through the gateway, whose parent is noted, and ends at others that v1 hides.
async fn meets_above(job: &InProject<'_>, start: &Item, own: Uuid) -> Result<bool, Refusal> {
    let mut seen = HashSet::from([start.id]);
    let mut reads = 0;
    let mut index: Option<Arc<Index>> = None;
    let (mut id, mut above) = (start.id, start.parent);
    loop {
        if id == own || above == Some(own) {
            return Ok(true);
        }
        let Some(next) = above.filter(|next| seen.insert(*next)) else { return Ok(false) };
        if index.is_none() && reads == SINGLE_READS {
            index = Some(job.runner.indexes.newest(&job.index_scope()?, job.key(), &job.call.ctx).await?);
        }
        let live = match (&index, job.vouched(next)) {
            (Some(index), _) => index.get(next),
            (None, Some(item)) => Some(item),
            (None, None) => {
                reads += 1;
                if_live(job.read_item(next).await)?
            }
        };
        match live {
            Some(item) => (id, above) = (item.id, item.parent),
            None => (id, above) = (next, job.runner.store.archived_parent(next).await?),
        }
    }
}
