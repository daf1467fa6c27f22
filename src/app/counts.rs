//! Counting of calls: the parts that start and end with the gateway.
//!
//! A reload keeps the same counts. When it changes the mappings, later calls are counted by the new plan.
//!
//! May use: `access`, `plan`, `settings`, `store`, `usage`, `v1`; it is composition.

use super::background::until_dropped;
use crate::access::Access;
use crate::plan::Plan;
use crate::settings::Settings;
use crate::store::Store;
use crate::usage::{Usage, Writer};
use crate::v1::Budget;
use std::sync::Arc;
use tokio_util::task::AbortOnDropHandle;

/// The counts, their writer, and their background tasks. Cheap to clone.
#[derive(Clone)]
pub(super) struct Counts {
    pub(super) usage: Usage,
    writer: Arc<Writer>,
    work: Arc<[AbortOnDropHandle<()>]>,
}

/// Starts counting as `settings` say. When the store cannot return the secret of the fingerprints, this is logged, and
/// nothing is counted.
pub(super) async fn begin(
    settings: &Settings,
    plan: &Arc<Plan>,
    store: &Store,
    access: &Access,
    budget: &Budget,
) -> Option<Counts> {
    if !settings.usage.count {
        return None;
    }
    let secret = match store.usage_secret().await {
        Ok(secret) => secret,
        Err(fault) => {
            tracing::warn!(%fault, "calls are not counted: the store cannot be used for it");
            return None;
        }
    };
    let (usage, unknown) = Usage::new(Arc::clone(plan), &secret, settings.usage.learn);
    let writer = Arc::new(Writer::new(usage.clone(), store.clone(), settings.usage));
    let mut work = Vec::new();
    if settings.usage.learn {
        work.push(until_dropped(Writer::learn(usage.clone(), unknown, access.clone(), budget.clone())));
    }
    let writing = Arc::clone(&writer);
    work.push(until_dropped(async move { writing.run().await }));
    Some(Counts { usage, writer, work: work.into() })
}

impl Counts {
    /// Returns the same counts for calls of another plan.
    pub(super) fn with_plan(&self, plan: &Arc<Plan>) -> Self {
        Self { usage: self.usage.with_plan(plan), ..self.clone() }
    }

    /// Ends the background tasks and writes the counts since the last write: the store is closed next.
    pub(super) async fn write_the_last(&self) {
        self.work.iter().for_each(AbortOnDropHandle::abort);
        if let Err(fault) = self.writer.write().await {
            tracing::warn!(%fault, "the last counts of calls could not be written");
        }
    }
}
