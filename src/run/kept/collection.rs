//! The complete v1 collection of a resource, as it is cached, and recent answers from it: pages as bytes, which can be
//! sent again.
//!
//! The answers are stored in the collection. So they are invalidated together with it, and all callers who may see it
//! may see them. Their key is the parsed query and whether it is read strictly (`strict_query`), so a query that would
//! be refused finds no answer.
//!
//! May use: `translate`, `v1` (keys), `v2`, `shelf`.

use super::shelf::Shelved;
use crate::translate::Held;
use crate::v1::KeyId;
use crate::v2::{Parameters, Reply, tag};
use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use uuid::Uuid;

/// All records of a collection, in v1's order.
#[derive(Debug)]
pub struct Collection {
    rows: Vec<Arc<Held>>,
    by_id: HashMap<Uuid, usize>,
    pub(in crate::run) size: usize,
    /// Ids by name; built on first use.
    by_name: OnceLock<HashMap<String, Vec<Uuid>>>,
    /// Records of its kind that v1 does not list and shows elsewhere, in v1's members.
    beside: Mutex<HashMap<Uuid, Arc<Map<String, Value>>>>,
    /// Pages of the collection that were answered.
    pub(in crate::run) ready: AnswerStore,
    /// The only key for which the collection is valid; none when it is valid for all. A list without rows may be valid
    /// only for the key that read it: its owner's rights were proven a moment before, and others may see more
    /// (`empty_lists`).
    only_for: Option<KeyId>,
}

/// Approximate size of a record beside its texts.
const ROW: usize = 300;

impl Shelved for Collection {
    const MOST: u64 = 64 * 1024 * 1024;

    fn bytes(&self) -> usize {
        let v1: usize = self.rows.iter().map(|held| held.v1.len()).sum();
        self.size + v1 + self.rows.len() * ROW + self.ready.most
    }

    fn counts_for(&self, key: KeyId) -> bool {
        self.only_for.is_none_or(|only| only == key)
    }
}

impl Collection {
    /// Creates a collection of `rows` in their order.
    pub fn new(rows: Vec<Arc<Held>>) -> Self {
        let by_id = rows.iter().enumerate().map(|(index, held)| (held.record.id, index)).collect();
        let size = rows.iter().map(|held| held.record.json.len()).sum();
        let (by_name, beside, ready) = (OnceLock::new(), Mutex::default(), AnswerStore::beside(size));
        Self { rows, by_id, size, by_name, beside, ready, only_for: None }
    }

    /// Returns the same collection, valid for `key` alone.
    pub(in crate::run) fn of(self, key: KeyId) -> Self {
        Self { only_for: Some(key), ..self }
    }

    pub fn get(&self, id: Uuid) -> Option<&Arc<Held>> {
        self.by_id.get(&id).map(|&index| &self.rows[index])
    }

    /// Returns a record that v1 does not list but shows elsewhere, if it was found since the collection was read.
    pub fn beside(&self, id: Uuid) -> Option<Arc<Map<String, Value>>> {
        self.beside.lock().get(&id).cloned()
    }

    /// Stores such a record as long as the collection itself.
    pub fn keep_beside(&self, id: Uuid, members: Arc<Map<String, Value>>) {
        self.beside.lock().insert(id, members);
    }

    /// Returns ids by v1 name, which `folded` makes comparable. The map is cached, so `folded` must always be the same.
    pub fn by_name(&self, folded: fn(&str) -> String) -> &HashMap<String, Vec<Uuid>> {
        self.by_name.get_or_init(|| {
            let mut named: HashMap<String, Vec<Uuid>> = HashMap::new();
            for held in &self.rows {
                if let Some(name) = held.v1_members().get("name").and_then(Value::as_str) {
                    named.entry(folded(name)).or_default().push(held.record.id);
                }
            }
            named
        })
    }

    pub fn rows(&self) -> &[Arc<Held>] {
        &self.rows
    }

    /// Returns the collection with `changed` in place of the records with these ids, new ones first.
    pub fn with(&self, changed: &[Held]) -> Self {
        let mut rows = self.rows.clone();
        for held in changed {
            match self.by_id.get(&held.record.id) {
                Some(&index) => rows[index] = Arc::new(held.clone()),
                None => rows.insert(0, Arc::new(held.clone())),
            }
        }
        Self { only_for: self.only_for, ..Self::new(rows) }
    }

    /// Returns the collection with its rows in the order of these places.
    pub fn reordered(&self, places: &[usize]) -> Self {
        let rows = places.iter().map(|&place| Arc::clone(&self.rows[place])).collect();
        Self { only_for: self.only_for, ..Self::new(rows) }
    }

    pub fn without(&self, id: Uuid) -> Self {
        let rows = self.rows.iter().filter(|held| held.record.id != id).cloned().collect();
        Self { only_for: self.only_for, ..Self::new(rows) }
    }
}

/// Most bytes of cached answers and queries of one collection, in total and as a multiple of its records' bytes.
const MOST: usize = 256 * 1024;
const TIMES: usize = 4;
/// Bytes of answers that even the smallest collection may have.
const LEAST: usize = 8 * 1024;
/// Approximate size of an answer beside its body and query.
const ENTRY: usize = 256;

/// The index of the operation in the plan, and whether its query is read strictly.
pub(in crate::run) type Asked = (usize, bool);

#[derive(Debug)]
pub(in crate::run) struct AnswerStore {
    kept: Mutex<EncodedAnswers>,
    pub(in crate::run) most: usize,
}

#[derive(Debug, Default)]
struct EncodedAnswers {
    /// Bodies with their tags, by what was asked and by its parameters.
    answers: HashMap<Asked, HashMap<Parameters, (Bytes, String)>>,
    bytes: usize,
}

impl AnswerStore {
    /// Creates an empty store of answers for a collection whose records have `size` bytes.
    pub(in crate::run) fn beside(size: usize) -> Self {
        Self { kept: Mutex::default(), most: (size * TIMES).clamp(LEAST, MOST) }
    }

    /// Returns the answer to an earlier equal request.
    pub(in crate::run) fn get(&self, asked: Asked, parameters: &Parameters) -> Option<Reply> {
        let kept = self.kept.lock();
        let answer = kept.answers.get(&asked)?.get(parameters);
        answer.map(|(body, tag)| Reply::json(200, body.clone()).of_version(Some(tag.clone())))
    }

    /// Builds the answer to `parameters`, and stores it if there is room.
    pub(in crate::run) fn answer(&self, asked: Asked, parameters: &Parameters, body: Vec<u8>) -> Reply {
        let tag = tag::of(&body);
        let body = Bytes::from(body);
        let size = body.len() + parameters.size() + ENTRY;
        let mut kept = self.kept.lock();
        let EncodedAnswers { answers, bytes } = &mut *kept;
        let answers = answers.entry(asked).or_default();
        // Several requests at the same time may build the same answer.
        if *bytes + size <= self.most && !answers.contains_key(parameters) {
            *bytes += size;
            answers.insert(parameters.clone(), (body.clone(), tag.clone()));
        }
        Reply::json(200, body).of_version(Some(tag))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Asked = (1, true);

    #[test]
    fn an_answer_is_found_by_all_that_was_asked_and_not_kept_without_room() {
        let ready = AnswerStore::beside(MOST);
        let asked = |query: &str| Parameters::parse(query);
        let first = ready.answer(ONE, &asked("order_by=name"), b"[1]".to_vec());
        assert_eq!(ready.get(ONE, &asked("order_by=name")), Some(first));
        assert_eq!(ready.get(ONE, &asked("order_by=-name")), None);
        assert_eq!(ready.get((2, true), &asked("order_by=name")), None);
        assert_eq!(ready.get((1, false), &asked("order_by=name")), None);
        let large = ready.answer(ONE, &asked("per_page=200"), vec![b' '; MOST]);
        assert_eq!(large.body.map(|body| body.len()), Some(MOST));
        assert_eq!(ready.get(ONE, &asked("per_page=200")), None);
    }

    #[test]
    fn an_answer_that_is_made_twice_and_a_long_query_take_the_room_they_need() {
        let (ready, asked) = (AnswerStore::beside(0), Parameters::parse("search=x"));
        ready.answer(ONE, &asked, b"[]".to_vec());
        let once = ready.kept.lock().bytes;
        ready.answer(ONE, &asked, b"[]".to_vec());
        assert_eq!(ready.kept.lock().bytes, once);
        let long = Parameters::parse(&format!("search={}", "x".repeat(MOST)));
        ready.answer(ONE, &long, b"[]".to_vec());
        assert_eq!(ready.get(ONE, &long), None);
    }
}
