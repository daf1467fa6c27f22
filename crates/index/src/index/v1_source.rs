//! The list of work items as v1 shows it to one key.
//!
//! May use: `context`, `refusal`, `v1`, `translate` (the typed item), `units`, `v2` (times), this folder.

use super::source::{Cut, Mark, Page, Source};
use crate::context::{Context, Priority};
use crate::refusal::Refusal;
use crate::translate::work_items::{self, FIELDS, Item};
use crate::units::now_micros;
use crate::v1::{Client, Object, V1Key, V1Request};
use crate::v2::time::Micros;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// Time after a request of another caller in which more such requests are expected.
const LATELY: Duration = Duration::from_secs(5);

/// The list as v1 shows it to one key.
pub(super) struct V1Source {
    pub client: Client,
    pub key: V1Key,
    pub path: Arc<str>,
    pub ctx: Context,
    /// Priority of the first page of items: it holds all items of a small project, and a caller waits for it.
    pub first: Priority,
    /// Longest time for one call.
    pub allowed: Duration,
}

impl V1Source {
    async fn page<T: DeserializeOwned>(
        &self,
        order: &str,
        fields: &str,
        (cut, priority): (Cut, Priority),
    ) -> Result<Page<T>, Refusal> {
        let cursor = if cut.number > 0 { format!("&cursor={}:{}:0", cut.size, cut.number) } else { String::new() };
        // The page size is repeated on every page, because the cursor does not hold it (trap 43).
        let query = format!("per_page={}{cursor}&order_by={order}&{fields}", cut.size);
        let ctx = self.ctx.for_shared_work(self.allowed).with_priority(priority);
        let answer = self.client.ask(&self.key, V1Request::get(&*self.path, query), &ctx).await?;
        match answer.status {
            200 => {
                let read = serde_json::from_slice(&answer.body).map_err(damaged)?;
                let Object(Page { total, more, rows }): Object<Page<Object<T>>> = read;
                Ok(Page { total, more, rows: rows.into_iter().map(|row| row.0).collect() })
            }
            403 | 404 => Err(Refusal::not_found()),
            status => Err(Refusal::upstream("The list could not be read.", format!("status {status}"))),
        }
    }
}

impl Source for V1Source {
    async fn items(&self, cut: Cut) -> Result<Page<Item>, Refusal> {
        let priority = if cut.number == 0 { self.first } else { self.ctx.priority };
        self.page("-updated_at", FIELDS, (cut, priority)).await
    }

    async fn marks(&self, cut: Cut) -> Result<Page<Mark>, Refusal> {
        self.page("created_at", "fields=id,updated_at", (cut, self.ctx.priority)).await
    }

    async fn record(&self, id: Uuid) -> Result<Option<Item>, Refusal> {
        let path = format!("{}{id}/", self.path);
        let ctx = self.ctx.for_shared_work(self.allowed);
        let answer = self.client.ask(&self.key, V1Request::get(path, FIELDS), &ctx).await?;
        let text = std::str::from_utf8(&answer.body).map_err(damaged)?;
        match answer.status {
            200 => match work_items::read(text).map_err(|fault| damaged(fault.0))? {
                item if item.id == id => Ok(Some(item)),
                other => Err(damaged(format!("{id} was answered with {}", other.id))),
            },
            403 | 404 => Ok(None),
            status => Err(Refusal::upstream("A work item could not be read.", format!("status {status}"))),
        }
    }

    fn now(&self) -> Micros {
        self.client.clock.at(now_micros())
    }

    fn is_urgent(&self) -> bool {
        self.client.is_urgent_within(LATELY)
    }
}

fn damaged(cause: impl std::fmt::Display) -> Refusal {
    Refusal::upstream("The service behind answered with damaged data.", format!("a page of work items: {cause}"))
}
