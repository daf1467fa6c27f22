//! Writes that an earlier run of the gateway left open, settled with the gateway's own key.
//!
//! May use: what `run` may use.

use crate::access::{Origin, ProvenAccess};
use crate::context::Context;
use crate::refusal::Refusal;
use crate::run::items::fields::settle_all;
use crate::run::job::{Call, Inside};
use crate::run::runner::Runner;
use crate::store::Intent;
use crate::v1::V1Key;
use crate::v2::Parameters;
use bytes::Bytes;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use uuid::Uuid;

/// Settles the writes that `key` can see; the others are settled by requests of callers who see them.
pub async fn settle_left_open(runner: Arc<Runner>, key: V1Key) {
    let open = match runner.store.unsettled().await {
        Ok(open) => open,
        Err(fault) => return tracing::warn!(%fault, "open writes could not be read"),
    };
    let slug = |intent: &Intent| intent.sent.get("slug").and_then(Value::as_str).map(str::to_owned);
    let projects: BTreeMap<Uuid, String> =
        open.iter().filter_map(|intent| Some((intent.project, slug(intent)?))).collect();
    for (project, slug) in projects {
        let settled = match listing(&runner, &key, project, &slug).await {
            Ok(job) => settle_all(&job.here()).await.map(|_| ()),
            Err(refusal) => Err(refusal),
        };
        if let Err(refusal) = settled {
            tracing::info!(%project, code = refusal.code(), "open writes of the project are left to its readers");
        }
    }
}

/// Returns a call that lists the project, with the permissions of the key's owner.
async fn listing(runner: &Arc<Runner>, key: &V1Key, project: Uuid, slug: &str) -> Result<Inside, Refusal> {
    let ctx = Context::new("settle", runner.settings.limits.deadline);
    let caller = runner.prove(key, &ctx).await?;
    let card = runner.access.project(&caller, slug, project, &ctx).await?;
    card.require_member()?;
    let operation = runner.plan.operations.iter().position(|operation| operation.id == "work_items_list");
    let call = Call {
        operation: operation.ok_or_else(|| Refusal::internal("no list of work items in the plan"))?,
        variables: vec![("slug".into(), slug.into()), ("project_id".into(), project.to_string())],
        parameters: Parameters::default(),
        caller,
        standing: ProvenAccess::Person,
        content_type: None,
        body: Ok(Bytes::new()),
        origin: Origin::default(),
        ctx,
    };
    Ok(Inside::new(Arc::clone(runner), call, card))
}
