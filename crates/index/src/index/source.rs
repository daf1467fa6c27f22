//! Where rows come from: the work item list of v1, page by page.
//!
//! A trait, so that the logic of building and refreshing is tested against a model that changes between any
//! two calls. May use: `v2`, `refusal`, `units`, `translate` (the typed item).

use crate::refusal::Refusal;
use crate::translate::work_items::{self, Item};
use crate::units::now_micros;
use crate::v2::time::Micros;
use serde::Deserialize;
use std::future::Future;
use uuid::Uuid;

/// How far a change may be ahead of what we take v1's clock for.
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
    /// The newest change among the rows, as far as it can have happened by `now`, which is v1's clock as far as ours
    /// tells. One that lies in the future, by more than clocks differ, would be taken for the newest until then, and what
    /// changes meanwhile be missed.
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

    /// What v1's clock shows now, as far as ours tells.
    fn now(&self) -> Micros {
        now_micros()
    }

    /// Whether somebody else asks v1 just now, as far as this gateway sees.
    fn is_urgent(&self) -> bool {
        false
    }
}
