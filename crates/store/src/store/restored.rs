//! The store read back from lines of JSON, into either engine.
//!
//! May use: this folder.

use super::dump::{DumpError, FORM, Line};
use super::emptied::{Growing, clear, run};
use super::engine::{Engine, Kind};
use super::error::StoreError;
use super::rows::query;
use super::service::Store;
use super::session::Session;
use super::tables::{TABLES, Table, all_empty, all_known};
use std::io::BufRead;

impl Store {
    /// Replaces the content of the store by a dump, all or nothing; returns the number of rows. A store that is not
    /// empty is replaced only with `force`.
    ///
    /// # Errors
    /// [`DumpError`], also when a gateway serves the store; then the store is unchanged.
    pub async fn import(&self, from: &mut (impl BufRead + Send), force: bool) -> Result<u64, DumpError> {
        let engine = self.engine();
        // A running gateway would continue with data it has read, and perhaps belong to another deployment.
        let _unserved = engine.ensure_unserved().await?;
        all_known(engine).await?;
        let empty = all_empty(engine).await?;
        if !empty && !force {
            return Err(DumpError::NotEmpty);
        }
        let mut writing = engine.writing().await?;
        if engine.kind() == Kind::Postgres {
            // The lines may arrive slowly.
            run(&mut writing, "SET LOCAL idle_in_transaction_session_timeout = 0").await?;
        }
        let growing = Growing::of(&mut writing).await?;
        if empty {
            run(&mut writing, "DELETE FROM service").await?;
        } else {
            clear(&mut writing, engine.kind()).await?;
        }
        let rows = read_lines(&mut writing, engine, from).await?;
        growing.surpass(&mut writing).await?;
        writing.commit().await?;
        Ok(rows)
    }

    /// Moves the log of a SQLite file into it, so that the file alone is the store. Closing does the same, but does not
    /// tell why it fails.
    pub async fn merge_log(&self) -> Result<(), StoreError> {
        query("PRAGMA wal_checkpoint(TRUNCATE)", &[]).execute(self.engine().pool()).await?;
        Ok(())
    }
}

async fn read_lines(
    writing: &mut Session,
    engine: &Engine,
    from: &mut (impl BufRead + Send),
) -> Result<u64, DumpError> {
    let mut tables = Vec::with_capacity(TABLES.len());
    for name in TABLES {
        tables.push(Table::of(writing, engine.kind(), name).await?);
    }
    let (mut text, mut number, mut rows, mut ended) = (String::new(), 0_u64, 0_u64, false);
    loop {
        text.clear();
        if from.read_line(&mut text)? == 0 {
            break;
        }
        number += 1;
        let fault = |what: String| DumpError::Content { line: number, what };
        let line: Line = serde_json::from_str(&text).map_err(|cause| fault(cause.to_string()))?;
        match line {
            Line::Head { causeway_store, tables_version } => {
                if number != 1 || causeway_store != FORM || tables_version > engine.tables_version().await? {
                    return Err(fault("this version of the program does not read such a dump".into()));
                }
            }
            _ if number == 1 => return Err(fault("this is no dump of a store".into())),
            _ if ended => return Err(fault("there is more after the end".into())),
            Line::Row { table, row } => {
                let found = tables.iter().find(|known| known.name == table);
                let table = found.ok_or_else(|| fault(format!("there is no table {table}")))?;
                table.insert(writing, &row).await.map_err(|cause| match cause {
                    // The disk is full, for example; this is no fault of the line.
                    StoreError::Unavailable(_) => cause.into(),
                    other => fault(other.to_string()),
                })?;
                rows += 1;
            }
            Line::End { rows: expected } => {
                if rows != expected {
                    return Err(fault(format!("{rows} rows where there were {expected}")));
                }
                ended = true;
            }
        }
    }
    if !ended {
        return Err(DumpError::Content {
            line: number + 1,
            what: "the end is missing: the dump was cut off".into(),
        });
    }
    Ok(rows)
}
