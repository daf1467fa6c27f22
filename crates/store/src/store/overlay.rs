//! Overlay values in the database, and when one counts: the rule that keeps it from masking a change made on v1.
//!
//! May use: `units`, this folder.

use super::error::StoreError;
use super::rows::{Statement, all, query, sql};
use super::service::Store;
use crate::units::now_micros;
use serde_json::{Number, Value};
use std::collections::HashMap;
use uuid::Uuid;

/// One overlaid field of one record.
#[derive(Debug, Clone, PartialEq)]
pub struct OverlayValue {
    /// v2 name of the field.
    pub field: String,
    /// The value v1 cannot hold.
    pub value: Value,
    /// What v1 showed for the field when `value` was written; null where v1 shows nothing. Instants must
    /// be given in UTC, because v1 shows them in each caller's own zone (trap 42).
    pub seen: Value,
}

impl OverlayValue {
    /// `value` for `field`, written while v1 showed `seen`.
    pub fn new(field: impl Into<String>, value: Value, seen: Value) -> Self {
        Self { field: field.into(), value, seen }
    }
}

/// Overlaid fields by the id of the v1 record.
pub type Overlays = HashMap<Uuid, Vec<OverlayValue>>;

/// Whether an overlay value written while v1 showed `seen` still counts now that v1 shows `current`: only
/// as long as v1 still shows the same. Numbers are compared by value (v1 shows `65535.0` where it was
/// given `65535`), everything else as JSON, the order of an object's keys aside.
pub fn overlay_wins(seen: &Value, current: &Value) -> bool {
    match (seen, current) {
        (Value::Number(one), Value::Number(other)) => same_number(one, other),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| overlay_wins(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, value)| other.get(key).is_some_and(|there| overlay_wins(value, there)))
        }
        _ => seen == current,
    }
}

/// By value; whole numbers exactly, also beyond the precision of a float.
fn same_number(one: &Number, other: &Number) -> bool {
    match (whole(one), whole(other)) {
        (Some(one), Some(other)) => one == other,
        _ => one.as_f64() == other.as_f64(),
    }
}

fn whole(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

impl Store {
    /// All overlay values of one kind of record in a workspace.
    pub async fn overlay_of(&self, workspace: Uuid, kind: &str) -> Result<Overlays, StoreError> {
        let text = "SELECT record_id, field, value, seen FROM overlay WHERE workspace_id = $1 AND kind = $2 \
                    ORDER BY record_id, field";
        self.overlays(query(text, &[&workspace, &kind])).await
    }

    /// The overlay values of these records only, for pages of large collections.
    pub async fn overlay_of_records(
        &self,
        workspace: Uuid,
        kind: &str,
        records: &[Uuid],
    ) -> Result<Overlays, StoreError> {
        let text = format!(
            "SELECT record_id, field, value, seen FROM overlay WHERE workspace_id = $1 AND kind = $2 \
             AND record_id IN {} ORDER BY record_id, field",
            self.engine.kind().elements("$3")
        );
        self.overlays(query(sql(text), &[&workspace, &kind, &records])).await
    }

    async fn overlays(&self, reading: Statement) -> Result<Overlays, StoreError> {
        let rows: Vec<(Uuid, OverlayValue)> = all(self.engine.pool(), reading, |cells| {
            let record = cells.next()?;
            Ok((record, OverlayValue { field: cells.next()?, value: cells.next()?, seen: cells.next()? }))
        })
        .await?;
        let mut found = Overlays::new();
        for (record, value) in rows {
            found.entry(record).or_default().push(value);
        }
        Ok(found)
    }

    /// Writes these fields of a record, all or none; other fields of the record stay.
    pub async fn put_overlay(
        &self,
        workspace: Uuid,
        kind: &str,
        record: Uuid,
        fields: &[OverlayValue],
    ) -> Result<(), StoreError> {
        let mut writing = self.engine.writing().await?;
        for field in fields {
            let text = "INSERT INTO overlay (workspace_id, kind, record_id, field, value, seen, written_at) \
                        VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (workspace_id, kind, record_id, field) \
                        DO UPDATE SET value = excluded.value, seen = excluded.seen, \
                        written_at = excluded.written_at";
            writing
                .run(query(
                    text,
                    &[&workspace, &kind, &record, &field.field, &field.value, &field.seen, &now_micros()],
                ))
                .await?;
        }
        writing.commit().await
    }

    /// Removes all fields of a record, because the record was deleted.
    pub async fn delete_overlay(&self, workspace: Uuid, kind: &str, record: Uuid) -> Result<(), StoreError> {
        let text = "DELETE FROM overlay WHERE workspace_id = $1 AND kind = $2 AND record_id = $3";
        self.engine.write(query(text, &[&workspace, &kind, &record])).await.map(drop)
    }

    /// Removes these fields of a record, because v1 now holds the value itself: an old overlay value would
    /// return as soon as v1 shows the value seen back then again.
    pub async fn delete_overlay_fields(
        &self,
        workspace: Uuid,
        kind: &str,
        record: Uuid,
        fields: &[&str],
    ) -> Result<(), StoreError> {
        let text = format!(
            "DELETE FROM overlay WHERE workspace_id = $1 AND kind = $2 AND record_id = $3 AND field IN {}",
            self.engine.kind().elements("$4")
        );
        self.engine.write(query(sql(text), &[&workspace, &kind, &record, &fields])).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn the_overlay_counts_only_while_v1_shows_what_it_showed() {
        for (seen, current) in [
            (json!(null), json!(null)),
            (json!(65535), json!(65535.0)),
            (json!("UTC"), json!("UTC")),
            (json!({"a": 1, "b": [1.0, "x"]}), json!({"b": [1, "x"], "a": 1.0})),
            (json!(u64::MAX), json!(u64::MAX)),
        ] {
            assert!(overlay_wins(&seen, &current), "{seen} {current}");
            assert!(overlay_wins(&current, &seen), "{current} {seen}");
        }
        for (seen, current) in [
            (json!(null), json!("UTC")),
            (json!("UTC"), json!("utc")),
            (json!(1), json!("1")),
            (json!(0), json!(false)),
            (json!({}), json!({"a": null})),
            (json!([1, 2]), json!([2, 1])),
            (json!([1]), json!([1, 1])),
            (json!(u64::MAX), json!(u64::MAX - 1)),
            (json!(1), json!(1.5)),
        ] {
            assert!(!overlay_wins(&seen, &current), "{seen} {current}");
            assert!(!overlay_wins(&current, &seen), "{current} {seen}");
        }
    }

    proptest! {
        #[test]
        fn a_whole_number_is_its_float(number in -(1_i64 << 53)..(1_i64 << 53)) {
            prop_assert!(overlay_wins(&json!(number), &json!(number as f64)));
        }
    }
}
