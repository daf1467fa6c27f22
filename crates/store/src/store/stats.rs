//! The content of a store in numbers, and moving it along with its deployment.
//!
//! May use: `fresh`, `v1` (the base URL), this folder.

use super::error::StoreError;
use super::kind::Kind;
use super::place::file_of;
use super::rows::{query, sql};
use super::service::{Store, deployment_of};
use super::tables::TABLES;
use super::unfinished::with_ending;
use crate::v1::BaseUrl;
use sqlx::Row;
use std::path::Path;

/// The content of a store in numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stats {
    /// The v1 deployment it belongs to; none before its first use.
    pub deployment: Option<String>,
    /// The last step of its tables; 0 when there are none yet.
    pub tables_version: i64,
    /// Reason why this version of the program must not use tables of a newer one; none when it may.
    pub unfit: Option<String>,
    /// Number of steps that this version of the program would still take.
    pub steps_to_take: usize,
    /// Bytes on disk, with the log and the indices of the tables.
    pub bytes: u64,
    /// Tables and their numbers of rows, deleted rows included.
    pub rows: Vec<(&'static str, i64)>,
}

impl Stats {
    /// Checks whether the store belongs to the v1 deployment at `address`, or to none yet.
    pub fn may_belong_to(&self, address: &str) -> bool {
        let asked = BaseUrl::parse(address).ok();
        self.deployment.as_ref().is_none_or(|known| asked.is_some_and(|asked| asked.as_str() == known))
    }
}

impl Store {
    /// Counts the content of this store, whose URL is `url`.
    pub async fn stats(&self, url: &str) -> Result<Stats, StoreError> {
        let engine = self.engine();
        let tables_version = engine.tables_version().await?;
        let mut stats = Stats {
            deployment: None,
            tables_version,
            unfit: None,
            steps_to_take: engine.steps_after(tables_version).len(),
            bytes: self.bytes(url).await?,
            rows: Vec::new(),
        };
        if tables_version == 0 {
            return Ok(stats);
        }
        stats.unfit = engine.fits_newer_tables(tables_version).await.err().map(|fault| fault.to_string());
        stats.deployment = self.deployment().await?;
        for name in TABLES {
            // Tables of later steps do not exist yet.
            let counted = sqlx::query(sql(format!("SELECT COUNT(*) FROM {name}")));
            if let Ok(row) = counted.fetch_one(engine.pool_of_any_version()).await {
                stats.rows.push((name, row.try_get(0)?));
            }
        }
        Ok(stats)
    }

    async fn bytes(&self, url: &str) -> Result<u64, StoreError> {
        if self.engine().kind() == Kind::Postgres {
            let size = sqlx::query("SELECT pg_database_size(current_database())");
            let size: i64 = size.fetch_one(self.engine().pool_of_any_version()).await?.try_get(0)?;
            return Ok(size.unsigned_abs());
        }
        let of =
            |file: &Path, ending: &str| std::fs::metadata(with_ending(file, ending)).map_or(0, |file| file.len());
        Ok(file_of(url).map_or(0, |file| of(&file, "") + of(&file, "-wal") + of(&file, "-shm")))
    }

    /// Returns the v1 deployment that the store belongs to; none before its first use.
    pub async fn deployment(&self) -> Result<Option<String>, StoreError> {
        let recorded = deployment_of(self.engine().pool_of_any_version()).await?;
        Ok(recorded.map(|(address, _)| address))
    }

    /// Records that the deployment of this store has moved to `address`; returns the old address, and the new address
    /// in its normal form.
    ///
    /// # Errors
    /// [`StoreError`]: invalid address, no deployment yet, a gateway serves the store, or it cannot be written.
    pub async fn rebase(&self, address: &str) -> Result<(String, String), StoreError> {
        let address = BaseUrl::parse(address)?.to_string();
        // A running gateway would continue to write data that it reads at the old address.
        let _unserved = self.engine().ensure_unserved().await?;
        let mut writing = self.engine().writing().await?;
        let row = sqlx::query("SELECT v1_base_url FROM service WHERE id = 1").fetch_optional(&mut *writing).await?;
        let Some(row) = row else { return Err(StoreError::Unclaimed) };
        let before: String = row.try_get(0)?;
        writing.run(query("UPDATE service SET v1_base_url = $1 WHERE id = 1", &[&address])).await?;
        writing.commit().await?;
        Ok((before, address))
    }
}
