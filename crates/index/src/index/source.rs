//! Where rows come from: the work item list of v1, page by page.
//!
//! A trait, so that the logic of building and refreshing is tested against a model that changes between any
//! two calls. May use: `v2`, `context`, `refusal`, `units`, `v1`, `translate` (the typed item).

use crate::context::{Context, Priority};
use crate::refusal::Refusal;
use crate::translate::work_items::{self, FIELDS, Item};
use crate::units::now_micros;
use crate::v1::{Client, Object, V1Key, V1Request};
use crate::v2::time::Micros;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// How long after a call of somebody else others are expected.
const LATELY: Duration = Duration::from_secs(5);

/// How far v1's clock may be ahead of ours.
const AHEAD: Micros = 10 * 60 * 1_000_000;

/// A page of v1.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Page<T> {
    /// Rows of the whole list.
    #[serde(rename = "total_count")]
    pub total: usize,
    /// Whether pages follow.
    #[serde(rename = "next_page_results")]
    pub more: bool,
    /// Rows of this page.
    #[serde(rename = "results")]
    pub rows: Vec<T>,
}

impl Page<Item> {
    /// The newest change among the rows, as far as it can have happened already. One that lies in the future, by more
    /// than clocks differ, would be taken for the newest until then, and what changes meanwhile be missed.
    pub fn newest(&self) -> Micros {
        let latest = now_micros().saturating_add(AHEAD);
        let told = self.rows.iter().map(|item| item.updated_at).filter(|updated| *updated <= latest);
        told.max().unwrap_or(Micros::MIN)
    }
}

/// An id and when its item last changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) struct Mark {
    pub id: Uuid,
    #[serde(deserialize_with = "work_items::instant")]
    pub updated_at: Micros,
}

/// Which page of how many rows; pages count from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cut {
    pub number: usize,
    pub size: usize,
}

/// The list of one project.
pub(super) trait Source: Send + Sync {
    /// A page of items, the last changed first.
    fn items(&self, cut: Cut) -> impl Future<Output = Result<Page<Item>, Refusal>> + Send;

    /// A page of marks, the oldest item first.
    fn marks(&self, cut: Cut) -> impl Future<Output = Result<Page<Mark>, Refusal>> + Send;

    /// One item; none when v1 does not show it.
    fn record(&self, id: Uuid) -> impl Future<Output = Result<Option<Item>, Refusal>> + Send;

    /// Whether somebody else asks v1 just now, as far as this gateway sees.
    fn is_urgent(&self) -> bool {
        false
    }
}

/// The list as v1 shows it to one key.
pub(super) struct V1Source {
    pub client: Client,
    pub key: V1Key,
    pub path: Arc<str>,
    pub ctx: Context,
    /// How urgent the first page of items is: what a small project has is on it, and somebody waits.
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

fn damaged(cause: impl std::fmt::Display) -> Refusal {
    Refusal::upstream("The service behind answered with damaged data.", format!("a page of work items: {cause}"))
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

    fn is_urgent(&self) -> bool {
        self.client.is_urgent_within(LATELY)
    }
}
