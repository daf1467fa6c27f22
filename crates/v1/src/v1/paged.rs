//! Reading a complete v1 collection in as few calls as possible.
//!
//! v1 computes its pages again for every request (trap 43, `pagination_second_after_delete`): rows that appear or
//! disappear between two pages shift the rest. `whole` tells whether the pages are still one state of the collection.
//! Otherwise the pages are read again, a few times. May use: `context`, `refusal`, this folder.

use super::client::Client;
use super::message::{V1Error, V1Request, V1Response};
use super::object::Object;
use super::outcome::NotDone;
use super::whole::Looks;
use super::{V1Key, refusals};
use crate::context::Context;
use crate::refusal::Refusal;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::HashSet;
use uuid::Uuid;

/// Largest page v1 gives (`pagination_per_page_1001` is refused).
const PER_PAGE: usize = 1000;
/// Factor by which pages are made smaller when one is larger than an answer may be. All page sizes down to 1 are whole
/// numbers of the next smaller ones, so the walk goes on where it is.
const SMALLER: usize = 10;
/// Number of walks through a collection before the read fails because it changes too fast.
const WALKS: u32 = 4;

impl From<V1Error> for NotDone {
    fn from(lost: V1Error) -> Self {
        Self::Refused(lost.refusal())
    }
}

impl From<NotDone> for Refusal {
    /// For callers that expect only success.
    fn from(failure: NotDone) -> Self {
        match failure {
            NotDone::Refused(refusal) => refusal,
            NotDone::Answered(answer) => refusals::refusal_of_status(&answer).unwrap_or_else(|| {
                let status = answer.status;
                Refusal::upstream("A list could not be read.", format!("v1 answered a page with {status}"))
            }),
        }
    }
}

/// The needed members of a page; all others are skipped without being built.
#[derive(Deserialize)]
struct Page {
    total_count: usize,
    next_page_results: bool,
    results: Vec<Object<Row>>,
}

#[derive(Deserialize)]
struct Row {
    id: Uuid,
}

impl Client {
    /// Reads all pages of the collection at `path` and returns page bodies: v1's pages in order, or a single composed
    /// page when the collection changed meanwhile. `query` holds `fields` and `order_by` only, and `fields`, if given,
    /// contains `id`. Where a page would be larger than an answer may be, smaller pages are read.
    ///
    /// # Errors
    /// [`NotDone::Answered`] for a page that v1 refuses; [`NotDone::Refused`] when there is no
    /// answer, a damaged one, or the collection changes faster than it can be read.
    pub async fn read_all(
        &self,
        key: &V1Key,
        path: &str,
        query: &str,
        ctx: &Context,
    ) -> Result<Vec<Bytes>, NotDone> {
        let (mut looks, mut bodies) = (Looks::default(), Vec::new());
        for _ in 0..WALKS {
            let begun = bodies.len();
            looks.begin();
            let Some(rows) = self.walk(key, path, query, ctx, &mut looks, &mut bodies).await? else { continue };
            match looks.whole() {
                Some(whole) if looks.walk_is_whole() && rows == whole.len() => return Ok(bodies.split_off(begun)),
                Some(whole) => return put_together(&bodies, whole).map_err(NotDone::Refused),
                None => {}
            }
        }
        let cause = format!("the pages of {path} were never one state of it");
        Err(NotDone::Refused(Refusal::KeptChanging { cause }))
    }

    /// Reads the pages from the first to the last. Returns the number of rows, or `None` when there was no last page.
    async fn walk(
        &self,
        key: &V1Key,
        path: &str,
        query: &str,
        ctx: &Context,
        looks: &mut Looks,
        bodies: &mut Vec<Bytes>,
    ) -> Result<Option<usize>, NotDone> {
        let (mut rows, mut number, mut size) = (0, 0, PER_PAGE);
        let mut held: usize = bodies.iter().map(Bytes::len).sum();
        loop {
            let request = V1Request::get(path, page_query(size, number, query));
            let body = match self.call(key, request, ctx).await {
                Err(V1Error::TooLarge(_)) if size > 1 => {
                    (size, number) = (size / SMALLER, number * SMALLER);
                    continue;
                }
                answer => page_in(answer?)?,
            };
            let Object(page): Object<Page> =
                serde_json::from_slice(&body).map_err(|cause| NotDone::Refused(refusals::malformed(cause)))?;
            let ids: Vec<Uuid> = page.results.iter().map(|row| row.0.id).collect();
            looks.page(page.total_count, &ids);
            held += body.len();
            self.check_room(held, ctx)?;
            bodies.push(body);
            rows += ids.len();
            if !page.next_page_results {
                return Ok(Some(rows));
            }
            // Stop at a page without rows, or after more pages than v1 counts rows: such a v1 would announce a next
            // page for ever.
            if ids.is_empty() || number > page.total_count {
                return Ok(None);
            }
            number += 1;
        }
    }
}

/// Returns the body of a page, or v1's refusal.
fn page_in(answer: V1Response) -> Result<Bytes, NotDone> {
    match refusals::refusal_of_failure(&answer) {
        Some(refusal) => Err(NotDone::Refused(refusal)),
        None if answer.status == 200 => Ok(answer.body),
        None => Err(NotDone::Answered(answer)),
    }
}

/// Composes one page from the rows in `whole`, each in its last seen state.
fn put_together(bodies: &[Bytes], mut whole: HashSet<Uuid>) -> Result<Vec<Bytes>, Refusal> {
    #[derive(Deserialize, Serialize)]
    struct Rows<'b> {
        #[serde(borrow)]
        results: Vec<&'b RawValue>,
    }
    let mut put = Vec::with_capacity(whole.len());
    for body in bodies.iter().rev() {
        let Object(page): Object<Rows<'_>> = serde_json::from_slice(body).map_err(refusals::malformed)?;
        for row in page.results.into_iter().rev() {
            let Object(Row { id }) = serde_json::from_str(row.get()).map_err(refusals::malformed)?;
            if whole.remove(&id) {
                put.push(row);
            }
        }
    }
    put.reverse();
    let page = serde_json::to_vec(&Rows { results: put }).map_err(refusals::malformed)?;
    Ok(vec![page.into()])
}

/// Builds the query of page `number`, of `size` rows. The page size is repeated on every page, because the cursor does
/// not hold it (trap 43, `pagination_cursor_without_per_page`).
fn page_query(size: usize, number: usize, query: &str) -> String {
    let mut text = format!("per_page={size}");
    if number > 0 {
        text.push_str(&format!("&cursor={size}:{number}:0"));
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
    fn rows_are_put_together_once_each_as_they_were_last_seen() {
        let id = |n: u128| Uuid::from_u128(n);
        let page = |rows: &[(u128, &str)]| {
            let rows: Vec<_> =
                rows.iter().map(|(n, name)| serde_json::json!({"id": id(*n), "name": name})).collect();
            Bytes::from(serde_json::json!({"total_count": 3, "results": rows}).to_string())
        };
        let bodies = [page(&[(3, "c"), (2, "b")]), page(&[(2, "b again"), (1, "a")]), page(&[(9, "gone")])];
        let put = put_together(&bodies, HashSet::from([id(1), id(2), id(3)])).unwrap();
        let put: serde_json::Value = serde_json::from_slice(&put[0]).unwrap();
        let names: Vec<_> = put["results"].as_array().unwrap().iter().map(|row| row["name"].clone()).collect();
        assert_eq!(names, ["c", "b again", "a"]);
    }

    #[test]
    fn the_page_size_is_on_every_page() {
        assert_eq!(page_query(PER_PAGE, 0, ""), "per_page=1000");
        assert_eq!(page_query(PER_PAGE, 0, "fields=id"), "per_page=1000&fields=id");
        assert_eq!(page_query(PER_PAGE, 2, "fields=id"), "per_page=1000&cursor=1000:2:0&fields=id");
        assert_eq!(page_query(100, 2, "fields=id"), "per_page=100&cursor=100:2:0&fields=id");
    }
}
