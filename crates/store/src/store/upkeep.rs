//! Operations of an operator on a store: open it without a gateway, and update its tables.
//!
//! May use: `fresh`, this folder.

use super::asked;
use super::definitions;
use super::engine::Engine;
use super::error::StoreError;
use super::items_kept;
use super::lines::{HELD, Turns};
use super::place::{expect_file, in_words, opening};
use super::repeated::Repeated;
use super::service::Store;
use super::unchanged::Unchanged;
use crate::fresh::Changes;
use std::sync::Arc;

impl Store {
    /// Opens the store of any deployment, and leaves its tables as they are.
    ///
    /// # Errors
    /// [`StoreError`]: unknown kind or no access.
    pub async fn open_for_upkeep(url: &str) -> Result<Self, StoreError> {
        let changes = Changes::default();
        let engine = Engine::open(url, &changes).await.map_err(|fault| opening(fault, url))?;
        Ok(Self {
            engine,
            memory: definitions::memory::Memory::new(),
            versions: asked::none(&changes),
            epochs: asked::none(&changes),
            counters: Unchanged::default(),
            turns: Turns::new(HELD),
            items: items_kept::none(&changes),
            running: Arc::default(),
            repeated: Repeated::default(),
        })
    }

    /// Opens the store at `url` like [`Store::open_for_upkeep`], but only a store that has the tables of a gateway.
    /// Creates nothing.
    ///
    /// # Errors
    /// [`StoreError::Missing`], [`StoreError::Forbidden`], [`StoreError::Foreign`], and errors of
    /// [`Store::open_for_upkeep`].
    pub async fn open_existing(url: &str) -> Result<Self, StoreError> {
        expect_file(url)?;
        let store = Self::open_for_upkeep(url).await?;
        // There is no such table or column. Any other fault is left to the caller, who meets it at the next statement.
        if matches!(store.deployment().await, Err(StoreError::Internal(_))) {
            store.close().await;
            return Err(StoreError::Foreign(in_words(url)));
        }
        Ok(store)
    }

    /// Updates the tables to the form that this version needs; returns the names of the steps taken.
    ///
    /// # Errors
    /// [`StoreError::Schema`] when a newer version has changed the tables, and those of [`Store::expect_unicode`].
    pub async fn migrate(&self) -> Result<Vec<String>, StoreError> {
        self.expect_unicode().await?;
        let before = self.engine.tables_version().await?;
        self.engine.migrate().await?;
        Ok(self.engine.steps_after(before))
    }

    /// Returns the names of the steps that [`Store::migrate`] would take.
    pub async fn steps_to_take(&self) -> Result<Vec<String>, StoreError> {
        Ok(self.engine.steps_after(self.engine.tables_version().await?))
    }

    /// Checks that this version reads the tables correctly.
    ///
    /// # Errors
    /// [`StoreError::Schema`] when a newer version has changed the meaning of existing data.
    pub async fn check_readable(&self) -> Result<(), StoreError> {
        self.engine.check_reads_newer_tables(self.engine.tables_version().await?).await
    }

    /// Checks that this version writes the tables correctly.
    ///
    /// # Errors
    /// [`StoreError::Schema`] when a newer version has changed the tables in a way that this version does not know.
    pub async fn check_writable(&self) -> Result<(), StoreError> {
        self.engine.fits_newer_tables(self.engine.tables_version().await?).await
    }
}
