//! The tables of the store, read row by row as JSON with any columns.
//!
//! May use: this folder.

use super::engine::{Engine, Kind};
use super::error::StoreError;
use super::rows::{Cell, Parameter, placeholder_rows, query, sql, with_cells};
use super::session::Session;
use serde_json::{Map, Value};
use sqlx::Row;
use sqlx::any::AnyRow;

/// All tables; a table comes after the tables it refers to.
pub(super) const TABLES: [&str; 30] = [
    "service",
    "overlay",
    "workspace",
    "work_item_type",
    "type_import",
    "property",
    "type_property",
    "property_option",
    "property_context",
    "context_option",
    "work_item",
    "custom_value",
    "project",
    "intent",
    "audit_end",
    "audit_log",
    "oauth_client",
    "oauth_grant",
    "oauth_code",
    "oauth_token",
    "gateway_key",
    "repeatable_request",
    "usage_secret",
    "usage_writer",
    "usage_caller",
    "usage_count",
    "left_workspaces",
    "shadow_count",
    "shadow_difference",
    "leave_record",
];

/// Tables that only running gateways use; nothing in them is needed after a restart of all.
pub(super) const PASSING: [&str; 6] =
    ["process", "index_snapshot", "index_turn", "index_delta", "quota_part", "write_under_way"];

/// Type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    Text,
    Whole,
    Real,
}

/// A table and its columns.
#[derive(Debug, Clone)]
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) columns: Vec<(String, Holds)>,
}

impl Table {
    /// Reads one of [`TABLES`] as it is in this database; without columns when it does not exist.
    pub(super) async fn of(connection: &mut Session, kind: Kind, name: &'static str) -> Result<Self, StoreError> {
        let text = match kind {
            Kind::Sqlite => "SELECT name, type FROM pragma_table_info($1) ORDER BY cid",
            Kind::Postgres => {
                "SELECT column_name::text, data_type::text FROM information_schema.columns \
                 WHERE table_name::text = $1 AND table_schema::text = current_schema()::text ORDER BY ordinal_position"
            }
        };
        let mut columns = Vec::new();
        for row in query(text, &[&name]).fetch_all(connection).await? {
            let (column, kind): (String, String) = (row.try_get(0)?, row.try_get(1)?);
            let holds = match kind.as_str() {
                "TEXT" | "text" => Holds::Text,
                "INTEGER" | "bigint" => Holds::Whole,
                "REAL" | "double precision" => Holds::Real,
                other => {
                    return Err(StoreError::Internal(format!("column {column} of {name} is of type {other}")));
                }
            };
            columns.push((column, holds));
        }
        Ok(Self { name, columns })
    }

    /// Returns the statement that reads the table.
    pub(super) fn select(&self) -> String {
        let columns: Vec<_> = self.columns.iter().map(|(column, _)| column.as_str()).collect();
        format!("SELECT {} FROM {}", columns.join(", "), self.name)
    }

    /// Converts a row of [`Table::select`] to an object with a member for each column.
    pub(super) fn object(&self, row: &AnyRow) -> Result<Map<String, Value>, StoreError> {
        let mut object = Map::new();
        for (at, (column, holds)) in self.columns.iter().enumerate() {
            let value = match holds {
                Holds::Text => row.try_get::<Option<String>, _>(at)?.map(Value::from),
                Holds::Whole => row.try_get::<Option<i64>, _>(at)?.map(Value::from),
                Holds::Real => row.try_get::<Option<f64>, _>(at)?.map(Value::from),
            };
            object.insert(column.clone(), value.unwrap_or(Value::Null));
        }
        Ok(object)
    }

    /// Adds a row. Columns missing in `object` get their default; members without a column are an error.
    pub(super) async fn insert(
        &self,
        connection: &mut Session,
        object: &Map<String, Value>,
    ) -> Result<(), StoreError> {
        let mut cells = Vec::with_capacity(object.len());
        for (name, value) in object {
            let holds = self.columns.iter().find(|(column, _)| column == name).map(|(_, holds)| *holds);
            let cell = holds.and_then(|holds| cell(holds, value));
            cells.push(
                cell.ok_or_else(|| StoreError::unreadable(&format!("{}.{name}", self.name), &value.to_string()))?,
            );
        }
        let columns: Vec<_> = object.keys().map(String::as_str).collect();
        let places = placeholder_rows(1, columns.len());
        let text = format!("INSERT INTO {} ({}) VALUES {places}", self.name, columns.join(", "));
        connection.run(with_cells(sql(text), cells)).await.map(drop)
    }
}

fn cell(holds: Holds, value: &Value) -> Option<Cell> {
    match (holds, value) {
        (Holds::Text, Value::Null) => Some(Cell::Text(None)),
        (Holds::Whole, Value::Null) => Some(Cell::Whole(None)),
        (Holds::Real, Value::Null) => Some(Cell::Real(None)),
        (Holds::Text, Value::String(text)) => Some(text.cell()),
        (Holds::Whole, Value::Number(number)) => number.as_i64().as_ref().map(Parameter::cell),
        (Holds::Real, Value::Number(number)) => number.as_f64().as_ref().map(Parameter::cell),
        _ => None,
    }
}

/// Checks that the database has no unknown tables. A table of a newer version would be missing in a dump, and would
/// keep its content when the rest is replaced.
///
/// # Errors
/// [`StoreError::Schema`] that names an unknown table.
pub(super) async fn all_known(engine: &Engine) -> Result<(), StoreError> {
    if engine.tables_version().await? <= engine.newest_step() {
        return Ok(());
    }
    let text = match engine.kind() {
        Kind::Sqlite => "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'",
        Kind::Postgres => {
            "SELECT table_name::text FROM information_schema.tables \
             WHERE table_schema::text = current_schema()::text AND table_type::text = 'BASE TABLE'"
        }
    };
    let is_known = |name: &str| TABLES.contains(&name) || PASSING.contains(&name) || name.starts_with("_sqlx");
    let names: Vec<String> = engine.rows(query(text, &[]), |cells| cells.next()).await?;
    match names.iter().find(|name| !is_known(name)) {
        None => Ok(()),
        Some(name) => Err(StoreError::Schema(format!(
            "a newer one has made the table {name}, which this one does not know; use the newer version for this"
        ))),
    }
}

/// Checks whether the store holds nothing but the deployment it belongs to.
pub(super) async fn all_empty(engine: &Engine) -> Result<bool, StoreError> {
    for table in TABLES.iter().filter(|table| **table != "service") {
        let row = sqlx::query(sql(format!("SELECT COUNT(*) FROM (SELECT 1 FROM {table} LIMIT 1) AS first")))
            .fetch_one(engine.pool())
            .await?;
        if row.try_get::<i64, _>(0)? > 0 {
            return Ok(false);
        }
    }
    Ok(true)
}
