//! The acknowledged writes, and the check whether their results are there.

use super::child::Child;
use super::writer::{ITEMS, KEY, TYPES};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// The allowed results of a read at a path.
#[derive(Debug, Clone)]
pub struct Expected {
    /// Values of `description` (types) or of the custom field (items) that may be read; more than one when the
    /// last write was not acknowledged.
    pub values: Vec<String>,
    /// Whether it may be gone: an unacknowledged create or delete.
    pub may_be_gone: bool,
    /// Whether it must be gone: an acknowledged delete.
    pub gone: bool,
    /// The round of the last write.
    pub round: usize,
}

/// All writes so far.
#[derive(Debug, Default)]
pub struct Ledger {
    records: BTreeMap<String, Expected>,
    acknowledged: usize,
    latest: usize,
}

impl Ledger {
    /// Returns the number of acknowledged writes.
    pub fn acknowledged(&self) -> usize {
        self.acknowledged
    }

    /// Notes that a write to `path` is about to be sent, which sets `value` or deletes.
    pub fn about_to(&mut self, path: &str, round: usize, value: Option<&str>) {
        self.latest = round;
        if let Some(expected) = self.records.get_mut(path) {
            expected.round = round;
            match value {
                Some(value) => expected.values.push(value.to_owned()),
                None => expected.may_be_gone = true,
            }
        }
    }

    /// Notes that the write was acknowledged.
    pub fn done(&mut self, path: &str, round: usize, value: Option<&str>) {
        self.acknowledged += 1;
        let gone = value.is_none();
        let values = value.map(str::to_owned).into_iter().collect();
        self.records.insert(path.to_owned(), Expected { values, may_be_gone: gone, gone, round });
    }

    /// Checks that the expected records are there: those of the last round, or all. The found values become the
    /// expected ones.
    pub async fn settle(ledger: &Mutex<Self>, child: &Child, everything: bool) {
        let records: Vec<(String, Expected)> = {
            let ledger = ledger.lock().expect("a ledger");
            let recent = |expected: &Expected| everything || expected.round + 1 >= ledger.latest;
            ledger.records.iter().filter(|(_, e)| recent(e)).map(|(p, e)| (p.clone(), e.clone())).collect()
        };
        let client = super::client();
        for (path, expected) in records {
            let answer = client.get(format!("{}{path}", child.base())).header("X-Api-Key", KEY).send().await;
            let answer = answer.expect("an answer");
            let status = answer.status().as_u16();
            let body: Value = serde_json::from_slice(&answer.bytes().await.expect("a body")).unwrap_or_default();
            match status {
                404 if expected.may_be_gone => {
                    ledger.lock().expect("a ledger").records.remove(&path);
                }
                200 if !expected.gone => {
                    let value = value_of(&path, &body);
                    let known = value.as_ref().is_some_and(|value| expected.values.contains(value));
                    assert!(known, "{path} holds {value:?}, acknowledged was {expected:?}: {body}");
                    let mut ledger = ledger.lock().expect("a ledger");
                    let record = ledger.records.get_mut(&path).expect("a record");
                    record.values = value.into_iter().collect();
                    record.may_be_gone = false;
                }
                status => panic!("{path} answers {status}, acknowledged was {expected:?}: {body}"),
            }
        }
    }
}

fn value_of(path: &str, body: &Value) -> Option<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if path.starts_with(ITEMS) {
        // Half a write: the item without the type it was created with.
        assert!(body["type_id"].is_string(), "{path} has lost its type: {body}");
        return text(&body["custom_fields"]["note"]["value"]);
    }
    assert!(path.starts_with(TYPES), "{path}");
    text(&body["description"])
}
