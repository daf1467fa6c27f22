//! Overlay values in the database.
//!
//! May use: `units`, this folder.

use super::error::StoreError;
use super::overlay::OverlayValue;
use super::rows::{query, sql};
use super::service::{Overlays, Store};
use crate::units::now_micros;
use serde_json::Value;
use sqlx::Row;
use sqlx::any::AnyRow;
use uuid::Uuid;

impl Store {
    /// All overlay values of one kind of record in a workspace.
    pub async fn overlay_of(&self, workspace: Uuid, kind: &str) -> Result<Overlays, StoreError> {
        let text = "SELECT record_id, field, value, seen FROM overlay WHERE workspace_id = $1 AND kind = $2 \
                    ORDER BY record_id, field";
        let rows = query(text, &[&workspace, &kind]).fetch_all(self.engine.pool()).await?;
        overlays(&rows)
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
        let rows = query(sql(text), &[&workspace, &kind, &records]).fetch_all(self.engine.pool()).await?;
        overlays(&rows)
    }

    /// Writes these fields of a record, all or none; other fields of the record stay.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written; then nothing was.
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
            query(text, &[&workspace, &kind, &record, &field.field, &field.value, &field.seen, &now_micros()])
                .execute(&mut *writing)
                .await?;
        }
        writing.commit().await
    }

    /// Removes all fields of a record, because the record was deleted.
    pub async fn delete_overlay(&self, workspace: Uuid, kind: &str, record: Uuid) -> Result<(), StoreError> {
        let mut writing = self.engine.writing().await?;
        let text = "DELETE FROM overlay WHERE workspace_id = $1 AND kind = $2 AND record_id = $3";
        query(text, &[&workspace, &kind, &record]).execute(&mut *writing).await?;
        writing.commit().await
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
        let mut writing = self.engine.writing().await?;
        query(sql(text), &[&workspace, &kind, &record, &fields]).execute(&mut *writing).await?;
        writing.commit().await
    }
}

fn overlays(rows: &[AnyRow]) -> Result<Overlays, StoreError> {
    let mut found = Overlays::new();
    for row in rows {
        let record: &str = row.try_get(0)?;
        let record = Uuid::parse_str(record).map_err(|_| StoreError::unreadable("record_id", record))?;
        let value = OverlayValue { field: row.try_get(1)?, value: json(row, 2)?, seen: json(row, 3)? };
        found.entry(record).or_default().push(value);
    }
    Ok(found)
}

fn json(row: &AnyRow, column: usize) -> Result<Value, StoreError> {
    let text: &str = row.try_get(column)?;
    serde_json::from_str(text).map_err(|_| StoreError::unreadable("overlay value", text))
}
