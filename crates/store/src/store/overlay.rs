//! Overlay values in the database.
//!
//! May use: `units`, `v2` (times), this folder.

use super::error::StoreError;
use super::overlay_value::OverlayValue;
use super::rows::{Statement, all, query, sql};
use super::service::Store;
use crate::units::now_micros;
use crate::v2::time::Micros;
use std::collections::HashMap;
use uuid::Uuid;

/// Overlaid fields by the id of the v1 record.
pub type Overlays = HashMap<Uuid, Vec<OverlayValue>>;

impl Store {
    /// Returns all overlay values of one kind of record in a workspace.
    pub async fn overlay_of(&self, workspace: Uuid, kind: &str) -> Result<Overlays, StoreError> {
        let text = "SELECT record_id, field, value, seen FROM overlay WHERE workspace_id = $1 AND kind = $2 \
                    ORDER BY record_id, field";
        self.overlays(query(text, &[&workspace, &kind])).await
    }

    /// Returns the overlay values of these records only, for pages of large collections.
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

    /// Writes these fields of a record, all of them or none; other fields of the record stay.
    pub async fn put_overlay(
        &self,
        workspace: Uuid,
        kind: &str,
        record: Uuid,
        fields: &[OverlayValue],
    ) -> Result<(), StoreError> {
        let mut writing = self.engine.writing().await?;
        // Values of one write are equally old, so that a removal finds all of them old enough or none.
        let now = now_micros();
        for field in in_order(fields) {
            let text = "INSERT INTO overlay (workspace_id, kind, record_id, field, value, seen, written_at) \
                        VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (workspace_id, kind, record_id, field) \
                        DO UPDATE SET value = excluded.value, seen = excluded.seen, \
                        written_at = excluded.written_at";
            writing
                .run(query(text, &[&workspace, &kind, &record, &field.field, &field.value, &field.seen, &now]))
                .await?;
        }
        writing.commit().await
    }

    /// Removes all fields of a record, because the record was deleted.
    pub async fn delete_overlay(&self, workspace: Uuid, kind: &str, record: Uuid) -> Result<(), StoreError> {
        let text = "DELETE FROM overlay WHERE workspace_id = $1 AND kind = $2 AND record_id = $3";
        self.engine.write(query(text, &[&workspace, &kind, &record])).await.map(drop)
    }

    /// Removes these values of a record at once, because v1 shows another value than when they were written. Values
    /// that were written at `until` or later stay, and so do values that another write has replaced.
    pub async fn delete_outdated_overlay(
        &self,
        workspace: Uuid,
        kind: &str,
        record: Uuid,
        outdated: &[OverlayValue],
        until: Micros,
    ) -> Result<(), StoreError> {
        let text = "DELETE FROM overlay WHERE workspace_id = $1 AND kind = $2 AND record_id = $3 AND field = $4 \
                    AND seen = $5 AND written_at < $6";
        let mut writing = self.engine.writing().await?;
        for value in in_order(outdated) {
            writing.run(query(text, &[&workspace, &kind, &record, &value.field, &value.seen, &until])).await?;
        }
        writing.commit().await
    }

    /// Removes these fields of a record, because v1 now holds the value itself. An old overlay value would return as
    /// soon as v1 shows again the value it showed when the overlay was written.
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

/// Returns the values of a record in one order everywhere, so that two transactions do not wait for each other
/// (deadlock).
fn in_order(values: &[OverlayValue]) -> Vec<&OverlayValue> {
    let mut values: Vec<&OverlayValue> = values.iter().collect();
    values.sort_unstable_by(|one, other| one.field.as_str().cmp(other.field.as_str()));
    values
}
