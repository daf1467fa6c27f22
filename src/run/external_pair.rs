//! `external_id` and `external_source` of a work item: how v1 is asked for the item that has both.
//!
//! v1 answers with the item itself, with 404 when there is none, and with 500 when two share the pair (trap 47,
//! `items_find_by_shared_external_pair`). It also finds archived and draft items (`archived_find_by_external_pair`).
//! May use: what `run` may use.

use super::job::Job;
use crate::refusal::Refusal;
use crate::v1::V1Request;
use crate::v2::value::trimmed;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

impl Job {
    /// Asks v1 for the work item of this project that has the pair.
    pub(in crate::run) fn pair_request(&self, id: &str, source: &str) -> Result<V1Request, Refusal> {
        let encode = |text| utf8_percent_encode(text, NON_ALPHANUMERIC);
        let query = format!("external_id={}&external_source={}", encode(id), encode(source));
        Ok(V1Request::get(self.collection_path(self.work_items()?)?, query))
    }
}

/// Whether the `id` and `source` that v1 shows are those of `asked`. v1 stores both trimmed.
pub(in crate::run) fn is_pair(id: Option<&str>, source: Option<&str>, asked: (&str, &str)) -> bool {
    let same = |shown: Option<&str>, asked: &str| shown.is_some_and(|shown| trimmed(shown) == trimmed(asked));
    same(id, asked.0) && same(source, asked.1)
}
