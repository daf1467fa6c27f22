//! Checks whether a version of the program may use tables that another version has created.
//!
//! May use: this folder.

use super::engine::Engine;
use super::error::StoreError;
use super::rows::query;
use sqlx::Row;

/// Last step of the tables that a program must know to read them correctly (`MIN_WRITER`: to write them). A step that
/// only adds data that older versions can ignore leaves both unchanged; a step that changes the meaning of existing
/// data raises them. A step that removes something comes in a later release than the one that stops using it.
const MIN_READER: i64 = 5;
/// See [`MIN_READER`].
const MIN_WRITER: i64 = 5;

impl Engine {
    /// Checks whether this version may write to tables of `version`, by the `min_writer` recorded in the store.
    pub(super) async fn fits_newer_tables(&self, version: i64) -> Result<(), StoreError> {
        self.check_knows(version, "SELECT min_writer FROM service WHERE id = 1", "writes").await
    }

    /// Checks that this version may read tables of `version`.
    pub(super) async fn check_reads_newer_tables(&self, version: i64) -> Result<(), StoreError> {
        self.check_knows(version, "SELECT min_reader FROM service WHERE id = 1", "reads").await
    }

    async fn check_knows(&self, version: i64, least: &'static str, does: &str) -> Result<(), StoreError> {
        let known = self.newest_step();
        if version <= known {
            return Ok(());
        }
        let newer = format!("a newer one has made step {version} of its tables, and this one knows {known} steps");
        let needs = sqlx::query(least).fetch_optional(self.pool_of_any_version()).await;
        let needs: Option<i64> = needs.ok().flatten().and_then(|row| row.try_get(0).ok());
        match needs {
            Some(needs) if needs <= known => Ok(()),
            Some(needs) => Err(StoreError::Schema(format!("{newer}; whoever {does} must know {needs}"))),
            None => Err(StoreError::Schema(newer)),
        }
    }

    /// Records in the store which other versions may use it.
    pub(super) async fn allow_versions(&self) -> Result<(), StoreError> {
        let said = "SELECT 1 FROM service WHERE id = 1 AND (min_reader < $1 OR min_writer < $2)";
        let said = query(said, &[&MIN_READER, &MIN_WRITER]).fetch_optional(self.pool_of_any_version());
        if said.await?.is_none() {
            return Ok(());
        }
        let text = "UPDATE service SET min_reader = $1, min_writer = $2 WHERE id = 1";
        query(text, &[&MIN_READER, &MIN_WRITER]).execute(self.pool_of_any_version()).await?;
        Ok(())
    }
}
