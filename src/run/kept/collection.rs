//! The complete v1 collection of a resource, as it is kept.
//!
//! May use: `translate`, `v1` (keys), `ready`, `shelf`.

use super::ready::Ready;
use super::shelf::Shelved;
use crate::translate::Held;
use crate::v1::KeyId;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use uuid::Uuid;

/// All records of a collection, in v1's order.
#[derive(Debug, Default)]
pub struct Collection {
    rows: Vec<Arc<Held>>,
    by_id: HashMap<Uuid, usize>,
    pub(in crate::run) size: usize,
    /// Ids by name, found out when they are asked for.
    by_name: OnceLock<HashMap<String, Vec<Uuid>>>,
    /// Pages of it that were answered.
    pub(in crate::run) ready: Ready,
    /// The only key that it counts for. Of a list without a row it is the one that it was read with: what its owner may
    /// see was proven a moment before, and others may see more (`empty_lists`).
    only_for: Option<KeyId>,
}

/// What a record takes beside its texts, about.
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
    /// Keeps `rows` in their order.
    pub fn new(rows: Vec<Arc<Held>>) -> Self {
        let by_id = rows.iter().enumerate().map(|(index, held)| (held.record.id, index)).collect();
        let size = rows.iter().map(|held| held.record.json.len()).sum();
        Self { rows, by_id, size, by_name: OnceLock::new(), ready: Ready::beside(size), only_for: None }
    }

    /// The same, which counts for `key` alone.
    pub(in crate::run) fn of(self, key: KeyId) -> Self {
        Self { only_for: Some(key), ..self }
    }

    pub fn get(&self, id: Uuid) -> Option<&Arc<Held>> {
        self.by_id.get(&id).map(|&index| &self.rows[index])
    }

    /// Ids of the records by their v1 name, which `folded` makes comparable. Kept, so that it is always the same.
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

    /// The collection with `changed` in place of the records of the same ids, new ones first.
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

    pub fn without(&self, id: Uuid) -> Self {
        let rows = self.rows.iter().filter(|held| held.record.id != id).cloned().collect();
        Self { only_for: self.only_for, ..Self::new(rows) }
    }
}
