//! Noticing acknowledged writes that other writers, bypassing the gateway, have undone.
//!
//! v1 saves whole rows, so a client that writes to v1 directly can put an older value back over one that was
//! acknowledged here. The gateway cannot prevent this, but it can see it: the answer to the next write of the record
//! shows another value in a field that the previous write had set and this one did not send. The change may also be
//! intended, so it is logged and counted, but the value is never written again. May use: `cache`, `v2`
//! (time).

use crate::cache::{Bounds, Cache};
use crate::v2::time;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use uuid::Uuid;

/// Time for which a write is remembered; by then v1 has long finished all writes that ran at the same time.
const REMEMBERED: Duration = Duration::from_secs(10);
const RECORDS: u64 = 10_000;

/// The values set by recent writes, by record, as v1 showed them; clones are the same.
#[derive(Clone)]
pub(in crate::run) struct Losses {
    written: Cache<Uuid, Map<String, Value>>,
    suspected: Arc<AtomicU64>,
}

impl Default for Losses {
    fn default() -> Self {
        let written = Cache::new(Bounds::of(RECORDS).for_time(REMEMBERED));
        Self { written, suspected: Arc::default() }
    }
}

impl Losses {
    /// Notes a write of `sent` after which v1 shows the record as `shown`. Returns the names of fields that have lost
    /// the value set by the previous write. An element of a set for which `deleted` holds was deleted through the
    /// gateway, and is no loss.
    pub(in crate::run) fn wrote(
        &self,
        id: Uuid,
        sent: &Map<String, Value>,
        shown: &Map<String, Value>,
        deleted: impl Fn(&Value) -> bool,
    ) -> Vec<String> {
        let before = self.written.get(&id).unwrap_or_default();
        let now = |name: &str| shown.get(name).filter(|_| !sent.contains_key(name));
        let other = |(name, value): &(&String, &Value)| now(name).is_some_and(|now| !same(now, value, &deleted));
        let lost: Vec<String> = before.iter().filter(other).map(|(name, _)| name.clone()).collect();
        let mut written = before;
        written.retain(|name, _| !lost.contains(name));
        let set = sent.keys().filter_map(|name| Some((name.clone(), shown.get(name)?.clone())));
        written.extend(set);
        self.written.insert(id, written);
        if !lost.is_empty() {
            let total = self.suspected.fetch_add(1, Ordering::Relaxed) + 1;
            tracing::warn!(
                record = %id, fields = lost.join(","), total,
                "suspected lost update: a writer past the gateway has put older values back"
            );
        }
        lost
    }

    /// Forgets the record: it was deleted or created again.
    pub(in crate::run) fn forget(&self, id: Uuid) {
        self.written.remove(&id);
    }

    /// Returns the number of writes with a suspected loss since the start.
    #[cfg(test)]
    fn total(&self) -> u64 {
        self.suspected.load(Ordering::Relaxed)
    }
}

/// Checks whether two values are equal, apart from deleted elements.
fn same(now: &Value, before: &Value, deleted: &impl Fn(&Value) -> bool) -> bool {
    match (now, before) {
        (Value::Array(now), Value::Array(before)) => {
            now.iter().filter(|one| !deleted(one)).eq(before.iter().filter(|one| !deleted(one)))
        }
        // v1 writes instants in the time zone of the caller (trap 42, `tz_list_kim`).
        (Value::String(now), Value::String(before)) if now != before => time::is_same_instant(now, before),
        _ => now == before,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn members(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn a_value_that_is_gone_though_nobody_sent_another_is_suspected_once() {
        let (losses, id) = (Losses::default(), Uuid::new_v4());
        let wrote =
            |sent: Value, shown: Value| losses.wrote(id, &members(sent), &members(shown), |one| one == "deleted");
        let none = Vec::<String>::new();
        assert_eq!(wrote(json!({"name": "new"}), json!({"name": "new", "color": "red"})), none);
        assert_eq!(wrote(json!({"color": "blue"}), json!({"name": "new", "color": "blue"})), none);
        assert_eq!(wrote(json!({"name": "newer"}), json!({"name": "newer", "color": "red"})), ["color"]);
        assert_eq!(losses.total(), 1);
        assert_eq!(wrote(json!({"name": "last"}), json!({"name": "last", "color": "red"})), none, "told once");
        // A field that is missing in an answer proves nothing.
        assert_eq!(wrote(json!({"color": "green"}), json!({"color": "green"})), none);
        losses.forget(id);
        // An element deleted through the gateway is no loss; any other loss is reported.
        assert_eq!(wrote(json!({"labels": ["a", "deleted"]}), json!({"labels": ["a", "deleted"]})), none);
        assert_eq!(wrote(json!({"name": "x"}), json!({"name": "x", "labels": ["a"]})), none);
        assert_eq!(wrote(json!({"name": "y"}), json!({"name": "y", "labels": []})), ["labels"]);
        assert_eq!(losses.total(), 2);
        losses.forget(id);
        // The same instant in another zone is no other value.
        let (there, here) = ("2026-01-05T17:30:00+05:30", "2026-01-05T12:00:00Z");
        assert_eq!(wrote(json!({"start_date": here}), json!({"start_date": there})), none);
        assert_eq!(wrote(json!({"name": "a"}), json!({"name": "a", "start_date": here})), none);
        assert_eq!(losses.total(), 2);
        losses.forget(id);
        assert_eq!(wrote(json!({"color": "red"}), json!({"name": "x", "color": "red"})), none);
        assert_eq!(losses.total(), 2);
    }

    #[test]
    fn one_record_tells_nothing_about_another() {
        let losses = Losses::default();
        let (sent, shown) = (members(json!({"name": "a"})), members(json!({"name": "a"})));
        assert!(losses.wrote(Uuid::new_v4(), &sent, &shown, |_| false).is_empty());
        let other = members(json!({"name": "b", "color": "red"}));
        assert!(losses.wrote(Uuid::new_v4(), &members(json!({"color": "red"})), &other, |_| false).is_empty());
        assert_eq!(losses.total(), 0);
    }
}
