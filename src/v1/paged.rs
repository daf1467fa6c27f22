//! A complete v1 collection, read in as few calls as possible.
//!
//! v1's pages are cut anew for every request (trap 43, `pagination_second_after_delete`): rows that come
//! or go between two pages shift the rest, so that a row is missed or seen twice. The read is therefore
//! checked against v1's own count and repeated once. May use: `context`, `refusal`, this folder.

use super::client::Client;
use super::message::{V1Error, V1Request, V1Response};
use super::{V1Key, refusals};
use crate::context::Context;
use crate::refusal::Refusal;
use bytes::Bytes;
use serde::Deserialize;
use std::collections::HashSet;
use uuid::Uuid;

/// Largest page v1 gives (`pagination_per_page_1001` is refused).
const PER_PAGE: usize = 1000;
/// Times a collection is read before it is given up as moving too fast.
const READS: u32 = 2;

/// Why a collection could not be read completely.
#[derive(Debug, Clone, PartialEq)]
pub enum ReadFailure {
    /// v1 answered a page with something else than success: for the caller to interpret.
    Answered(V1Response),
    /// The collection is not there as a whole: no answer, a damaged one, or it moved while being read.
    Refused(Refusal),
}

impl From<V1Error> for ReadFailure {
    fn from(lost: V1Error) -> Self {
        Self::Refused(lost.refusal())
    }
}

impl From<ReadFailure> for Refusal {
    /// For callers to whom any answer but success is a surprise.
    fn from(failure: ReadFailure) -> Self {
        match failure {
            ReadFailure::Refused(refusal) => refusal,
            ReadFailure::Answered(answer) => refusals::refusal_of_status(&answer).unwrap_or_else(|| {
                let status = answer.status;
                Refusal::upstream("A list could not be read.", format!("v1 answered a page with {status}"))
            }),
        }
    }
}

/// What of a page is looked at; everything else in it is skipped without being built.
#[derive(Deserialize)]
struct Page {
    total_count: usize,
    next_page_results: bool,
    results: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    id: Uuid,
}

/// One walk over all pages.
struct Walk {
    bodies: Vec<Bytes>,
    /// Whether the rows add up to v1's count and no row came twice.
    whole: bool,
}

impl Client {
    /// Reads all pages of the collection at `path`, returning the page bodies in order. `query` holds
    /// `fields` and `order_by` only, and `fields`, if given, contains `id`.
    ///
    /// # Errors
    /// [`ReadFailure::Answered`] for a page that v1 refuses; [`ReadFailure::Refused`] when there is no
    /// answer, a damaged one, or the rows do not add up twice in a row.
    pub async fn read_all(
        &self,
        key: &V1Key,
        path: &str,
        query: &str,
        ctx: &Context,
    ) -> Result<Vec<Bytes>, ReadFailure> {
        for _ in 0..READS {
            let walk = self.walk(key, path, query, ctx).await?;
            if walk.whole {
                return Ok(walk.bodies);
            }
        }
        let cause = format!("the pages of {path} do not add up to their total_count");
        Err(ReadFailure::Refused(Refusal::upstream("The list kept changing while it was being read.", cause)))
    }

    async fn walk(&self, key: &V1Key, path: &str, query: &str, ctx: &Context) -> Result<Walk, ReadFailure> {
        let (mut bodies, mut ids, mut rows, mut first_total) = (Vec::new(), HashSet::new(), 0, None);
        loop {
            let body = self.page(key, path, page_query(bodies.len(), query), ctx).await?;
            let page: Page =
                serde_json::from_slice(&body).map_err(|cause| ReadFailure::Refused(refusals::malformed(cause)))?;
            let total = *first_total.get_or_insert(page.total_count);
            rows += page.results.len();
            ids.extend(page.results.iter().map(|row| row.id));
            bodies.push(body);
            // A count that changed, or a page without rows that promises more, is a collection on the move.
            let endless = page.results.is_empty() && page.next_page_results;
            let moved = page.total_count != total || rows > total || endless;
            if moved || !page.next_page_results {
                return Ok(Walk { bodies, whole: !moved && rows == total && ids.len() == rows });
            }
        }
    }

    async fn page(&self, key: &V1Key, path: &str, query: String, ctx: &Context) -> Result<Bytes, ReadFailure> {
        let answer = self.call(key, V1Request::get(path, query), ctx).await?;
        match refusals::refusal_of_failure(&answer) {
            Some(refusal) => Err(ReadFailure::Refused(refusal)),
            None if answer.status == 200 => Ok(answer.body),
            None => Err(ReadFailure::Answered(answer)),
        }
    }
}

/// The query of page `number`. The page size is repeated on every page, because the cursor does not hold
/// it (trap 43, `pagination_cursor_without_per_page`).
fn page_query(number: usize, query: &str) -> String {
    let mut text = format!("per_page={PER_PAGE}");
    if number > 0 {
        text.push_str(&format!("&cursor={PER_PAGE}:{number}:0"));
    }
    if !query.is_empty() {
        text.push('&');
        text.push_str(query);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_size_is_on_every_page() {
        assert_eq!(page_query(0, ""), "per_page=1000");
        assert_eq!(page_query(0, "fields=id"), "per_page=1000&fields=id");
        assert_eq!(page_query(2, "fields=id"), "per_page=1000&cursor=1000:2:0&fields=id");
    }
}
