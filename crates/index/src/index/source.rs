//! Source of the rows: the work item list of v1, page by page.
//!
//! A trait, so that building and refreshing can be tested with a model that changes between any
//! two calls. May use: `v2`, `refusal`, `units`, `translate` (the typed item).

use crate::refusal::Refusal;
use crate::translate::work_items::{self, Item};
use crate::units::now_micros;
use crate::v2::time::Micros;
use serde::{Deserialize, Serialize};
use std::future::Future;
use uuid::Uuid;

/// Longest time that a change may be ahead of our estimate of v1's clock, in microseconds.
const AHEAD: Micros = 10 * 60 * 1_000_000;

/// A page of v1.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Page<T> {
    /// Number of rows of the whole list.
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
    /// Returns the newest change among the rows that can have happened by `now`, which is our estimate of v1's clock. A
    /// change that lies further in the future than clocks differ is ignored. Otherwise it would be taken for the newest
    /// until then, and the changes meanwhile would be missed.
    pub fn newest(&self, now: Micros) -> Micros {
        let latest = now.saturating_add(AHEAD);
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

/// Number and size of a page; pages count from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cut {
    pub number: usize,
    pub size: usize,
}

/// The work item list of one project.
pub(super) trait Source: Send + Sync {
    /// Returns a page of items, the last changed first.
    fn items(&self, cut: Cut) -> impl Future<Output = Result<Page<Item>, Refusal>> + Send;

    /// Returns a page of marks, the oldest item first.
    fn marks(&self, cut: Cut) -> impl Future<Output = Result<Page<Mark>, Refusal>> + Send;

    /// One item; none when v1 does not show it.
    fn record(&self, id: Uuid) -> impl Future<Output = Result<Option<Item>, Refusal>> + Send;

    /// Returns our estimate of the present time by v1's clock.
    fn now(&self) -> Micros {
        now_micros()
    }

    /// Checks whether another request asks v1 just now, as far as this gateway sees.
    fn is_urgent(&self) -> bool {
        false
    }
}
