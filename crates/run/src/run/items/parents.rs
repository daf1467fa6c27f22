//! Parents of work items: found by id or human key, and never below the item itself.
//!
//! v1 refuses parents of other projects and checks neither self nor loops (trap 30,
//! `items_create_parent_other_project`, `items_patch_parent_self_accepted`, `items_patch_parent_loop_accepted`).

use crate::refusal::Refusal;
use crate::run::in_project::InProject;
use crate::run::items::looked_up::LookedUp;
use crate::run::items::record::if_live;
use crate::translate::work_items::Item;
use crate::translate::work_items_key::HumanKey;
use crate::v2::body::Given;
use serde_json::Value;
use std::collections::HashSet;
use uuid::Uuid;

/// Levels walked upwards; v1 itself sets no limit.
const DEEPEST: usize = 50;
const TOO_DEEP: &str = "is more than 50 levels deep";
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
    let Some(parent) = found else { return Ok(LookedUp::wrong(member, UNKNOWN)) };
    if let Some(own) = stored {
        match meets_above(job, &parent, own.id).await? {
            Above::Apart => {}
            Above::Meets => return Ok(LookedUp::wrong(member, "is the work item itself or one below it")),
            Above::TooDeep => return Ok(LookedUp::wrong(member, TOO_DEEP)),
        }
    }
    Ok(LookedUp::Found(parent.id.to_string().into()))
}

async fn by_key(job: &InProject<'_>, key: &str) -> Result<Option<Item>, Refusal> {
    let key = HumanKey::parse(key.trim()).filter(|key| job.card.identifier == key.project);
    let Some(key) = key else { return Ok(None) };
    if_live(job.own_item_by_key(&key).await)
}

/// What going up from a work item meets.
enum Above {
    /// The top, and not the work item asked about.
    Apart,
    /// The work item asked about.
    Meets,
    /// More than [`DEEPEST`] levels.
    TooDeep,
}

/// Whether going up from `start` one meets `own`, as parents are now: the write has the rule to itself. The walk leads
/// on over what was archived through the gateway, whose parent is noted, and ends at others that v1 hides.
async fn meets_above(job: &InProject<'_>, start: &Item, own: Uuid) -> Result<Above, Refusal> {
    let mut seen = HashSet::from([start.id]);
    let (mut id, mut above) = (start.id, start.parent);
    for _ in 0..DEEPEST {
        if id == own || above == Some(own) {
            return Ok(Above::Meets);
        }
        let Some(next) = above.filter(|next| seen.insert(*next)) else { return Ok(Above::Apart) };
        match if_live(job.live_item(next).await)? {
            Some(item) => (id, above) = (item.id, item.parent),
            None => (id, above) = (next, job.runner.store.archived_parent(next).await?),
        }
    }
    Ok(Above::TooDeep)
}
