//! Answers that were given a moment ago, ready to be given again: pages of a collection as bytes, kept with it.
//!
//! They go with the collection, so everything that voids it voids them, and everybody who may see it may see them. The
//! query is the key as it was read, so that one that would be refused finds nothing. May use: `v2`.

use crate::v2::{Parameters, Reply, tag};
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::HashMap;

/// Most bytes kept of the answers of one collection, with what was asked, and how many times the bytes of its records.
const MOST: usize = 256 * 1024;
const TIMES: usize = 4;
/// What may be kept of those of the smallest one.
const LEAST: usize = 8 * 1024;
/// What an answer takes beside its body and the query, about.
const ENTRY: usize = 256;

/// An operation, by its number in the plan, and what was asked of it.
type Asked = (usize, Parameters);

#[derive(Debug)]
pub(in crate::run) struct Ready {
    kept: Mutex<Kept>,
    pub(in crate::run) most: usize,
}

impl Default for Ready {
    fn default() -> Self {
        Self::beside(0)
    }
}

#[derive(Debug, Default)]
struct Kept {
    answers: HashMap<Asked, (Bytes, String)>,
    bytes: usize,
}

impl Ready {
    /// Nothing yet, for a collection whose records have so many bytes.
    pub(in crate::run) fn beside(size: usize) -> Self {
        Self { kept: Mutex::default(), most: (size * TIMES).clamp(LEAST, MOST) }
    }

    /// The answer that was given to the same.
    pub(in crate::run) fn get(&self, operation: usize, parameters: &Parameters) -> Option<Reply> {
        let asked = (operation, parameters.clone());
        let kept = self.kept.lock();
        let answer = kept.answers.get(&asked);
        answer.map(|(body, tag)| Reply::json(200, body.clone()).of_version(Some(tag.clone())))
    }

    /// The answer to `parameters`, kept when there is room for it.
    pub(in crate::run) fn answer(&self, operation: usize, parameters: &Parameters, body: Vec<u8>) -> Reply {
        let tag = tag::of(&body);
        let body = Bytes::from(body);
        let (asked, size) = ((operation, parameters.clone()), body.len() + parameters.size() + ENTRY);
        let mut kept = self.kept.lock();
        // Several who ask at once make the same answer.
        if kept.bytes + size <= self.most && !kept.answers.contains_key(&asked) {
            kept.bytes += size;
            kept.answers.insert(asked, (body.clone(), tag.clone()));
        }
        Reply::json(200, body).of_version(Some(tag))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_found_by_all_that_was_asked_and_not_kept_without_room() {
        let ready = Ready::beside(MOST);
        let asked = |query: &str| Parameters::parse(query);
        let first = ready.answer(1, &asked("order_by=name"), b"[1]".to_vec());
        assert_eq!(ready.get(1, &asked("order_by=name")), Some(first));
        assert_eq!(ready.get(1, &asked("order_by=-name")), None);
        assert_eq!(ready.get(2, &asked("order_by=name")), None);
        let large = ready.answer(1, &asked("per_page=200"), vec![b' '; MOST]);
        assert_eq!(large.body.map(|body| body.len()), Some(MOST));
        assert_eq!(ready.get(1, &asked("per_page=200")), None);
    }

    #[test]
    fn an_answer_that_is_made_twice_and_a_long_query_take_the_room_they_need() {
        let (ready, asked) = (Ready::default(), Parameters::parse("search=x"));
        ready.answer(1, &asked, b"[]".to_vec());
        let once = ready.kept.lock().bytes;
        ready.answer(1, &asked, b"[]".to_vec());
        assert_eq!(ready.kept.lock().bytes, once);
        let long = Parameters::parse(&format!("search={}", "x".repeat(MOST)));
        ready.answer(1, &long, b"[]".to_vec());
        assert_eq!(ready.get(1, &long), None);
    }
}
