//! The whole store as lines of JSON: written while the gateway runs, read into a store of either engine.
//!
//! The first line tells the form and the version of the tables, then every row has a line, and the last line
//! counts them, so that a dump that was cut off is known for one. Neither direction holds more than a row.
//! May use: this folder.

use super::engine::{Engine, Kind};
use super::error::StoreError;
use super::rows::{all, query, sql};
use super::service::Store;
use super::session::Session;
use super::tables::{TABLES, Table, all_empty};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sqlx::Row;
use std::io::{BufRead, Write};

/// Form of the lines; another one is not read.
const FORM: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    Head { causeway_store: u32, tables_version: i64 },
    Row { table: String, row: Map<String, Value> },
    End { rows: u64 },
}

/// Why a store was not replaced.
#[derive(Debug, thiserror::Error)]
pub enum DumpError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file.
    #[error("the dump cannot be read or written: {0}")]
    File(#[from] std::io::Error),
    /// What the file says.
    #[error("line {line} of the dump: {what}")]
    Content {
        /// Number of the line, from 1.
        line: u64,
        /// What is wrong with it.
        what: String,
    },
    /// There is something to lose.
    #[error("the store is not empty; give --force to replace what it holds")]
    NotEmpty,
}

impl Store {
    /// Writes every row of every table, of one moment; returns their number.
    pub async fn export(&self, to: &mut (impl Write + Send)) -> Result<u64, DumpError> {
        let engine = self.engine();
        let mut reading = engine.reading().await?;
        let version = engine.tables_version().await?;
        write_line(to, &Line::Head { causeway_store: FORM, tables_version: version })?;
        let mut rows = 0;
        for name in TABLES {
            let table = Table::of(&mut reading, engine.kind(), name).await?;
            if table.columns.is_empty() {
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

    /// Replaces what the store holds by a dump, all or nothing; returns the number of rows. A store that holds
    /// something is replaced only with `force`.
    ///
    /// # Errors
    /// [`DumpError`], also when a gateway serves the store; then the store is as it was.
    pub async fn import(&self, from: &mut (impl BufRead + Send), force: bool) -> Result<u64, DumpError> {
        let engine = self.engine();
        // A gateway at work would go on with what it has read, and belong to another deployment perhaps.
        let _unserved = engine.unserved().await?;
        let empty = all_empty(engine).await?;
        if !empty && !force {
            return Err(DumpError::NotEmpty);
        }
        let mut writing = engine.writing().await?;
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
}

fn write_line(to: &mut impl Write, line: &Line) -> Result<(), DumpError> {
    serde_json::to_writer(&mut *to, line).map_err(std::io::Error::from)?;
    Ok(to.write_all(b"\n")?)
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
                table.insert(writing, &row).await.map_err(|cause| fault(cause.to_string()))?;
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

/// Empties all tables. The log's rows cannot be deleted one by one, not even here, so it is made anew.
async fn clear(writing: &mut Session, kind: Kind) -> Result<(), StoreError> {
    let mut guards: Vec<(String, String)> = Vec::new();
    match kind {
        Kind::Sqlite => {
            let reading = query("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'", &[]);
            guards = all(&mut *writing, reading, |cells| Ok((cells.next()?, cells.next()?))).await?;
        }
        Kind::Postgres => run(writing, "ALTER TABLE audit_log DISABLE TRIGGER USER").await?,
    }
    for (name, _) in &guards {
        run(writing, &format!("DROP TRIGGER {name}")).await?;
    }
    for table in TABLES.iter().rev() {
        run(writing, &format!("DELETE FROM {table}")).await?;
    }
    for (_, text) in &guards {
        run(writing, text).await?;
    }
    if kind == Kind::Postgres {
        run(writing, "ALTER TABLE audit_log ENABLE TRIGGER USER").await?;
    }
    Ok(())
}

/// Numbers by which gateway processes notice changes: after a restore all are higher than any before, so that
/// nothing kept from the time before passes for current.
struct Growing {
    version: i64,
    items: i64,
    epoch: i64,
}

impl Growing {
    async fn of(writing: &mut Session) -> Result<Self, StoreError> {
        let row = sqlx::query(
            "SELECT COALESCE((SELECT MAX(version) FROM workspace), 0), \
             COALESCE((SELECT MAX(items) FROM project), 0), COALESCE((SELECT MAX(epoch) FROM project), 0)",
        )
        .fetch_one(writing)
        .await?;
        Ok(Self { version: row.try_get(0)?, items: row.try_get(1)?, epoch: row.try_get(2)? })
    }

    async fn surpass(&self, writing: &mut Session) -> Result<(), StoreError> {
        let text = "UPDATE workspace SET version = version + $1 WHERE $1 > 0";
        writing.run(query(text, &[&self.version])).await?;
        let text = "UPDATE project SET items = items + $1, epoch = epoch + $2";
        writing.run(query(text, &[&self.items, &self.epoch])).await.map(drop)
    }
}

async fn run(writing: &mut Session, text: &str) -> Result<(), StoreError> {
    writing.run(query(sql(text.to_owned()), &[])).await.map(drop)
}
