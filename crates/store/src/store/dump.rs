//! The whole store as lines of JSON, written while the gateway runs.
//!
//! The first line has the format and the version of the tables, then every row has a line, and the last line has their
//! count, so that a truncated dump is detected. Neither export nor import holds more than one row in memory.
//! May use: this folder.

use super::error::StoreError;
use super::rows::sql;
use super::service::Store;
use super::tables::{TABLES, Table, all_known};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::io::Write;

/// Format of the lines; dumps of another format are not read.
pub(super) const FORM: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged, expecting = "it is no line of a dump")]
pub(super) enum Line {
    Head { causeway_store: u32, tables_version: i64 },
    Row { table: String, row: Map<String, Value> },
    End { rows: u64 },
}

/// Error of an export or import.
#[derive(Debug, thiserror::Error)]
pub enum DumpError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file cannot be read or written.
    #[error("the dump cannot be read or written: {0}")]
    File(#[from] std::io::Error),
    /// The content of the file is wrong.
    #[error("line {line} of the dump: {what}")]
    Content {
        /// Number of the line, from 1.
        line: u64,
        /// Fault of the line.
        what: String,
    },
    /// The store holds data that would be lost.
    #[error("the store is not empty; give --force to replace what it holds")]
    NotEmpty,
}

impl Store {
    /// Writes every row of every table, all of one moment, and returns their number. Leaves out tables that a store of
    /// an older version does not have yet; a restore creates them.
    ///
    /// # Errors
    /// [`DumpError`], also for a store without tables, and for a store in which a newer version has created a table
    /// that this version does not know.
    pub async fn export(&self, to: &mut (impl Write + Send)) -> Result<u64, DumpError> {
        let engine = self.engine();
        all_known(engine).await?;
        let mut reading = engine.reading().await?;
        let version = engine.tables_version().await?;
        write_line(to, &Line::Head { causeway_store: FORM, tables_version: version })?;
        let mut rows = 0;
        for name in TABLES {
            let table = Table::of(&mut reading, engine.kind(), name).await?;
            if table.columns.is_empty() {
                if 0 < version && version < engine.newest_step() {
                    continue;
                }
                let older = format!("there is no table {name}; run `causeway store migrate` first");
                return Err(StoreError::Schema(older).into());
            }
            let mut found = sqlx::query(sql(table.select())).fetch(&mut reading);
            while let Some(row) = found.try_next().await.map_err(StoreError::from)? {
                write_line(to, &Line::Row { table: name.to_owned(), row: table.object(&row)? })?;
                rows += 1;
            }
        }
        write_line(to, &Line::End { rows })?;
        to.flush()?;
        Ok(rows)
    }
}

fn write_line(to: &mut impl Write, line: &Line) -> Result<(), DumpError> {
    serde_json::to_writer(&mut *to, line).map_err(std::io::Error::from)?;
    Ok(to.write_all(b"\n")?)
}
