//! Representation of values in rows: ids, JSON, flags and instants are written and read the same way on both engines.
//! Also statements with such values.
//!
//! May use: `json`, this folder.

use super::error::StoreError;
use super::session::Session;
use crate::json::{self, SafeJson};
use futures_util::TryStreamExt;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use sqlx::any::{AnyArguments, AnyRow};
use sqlx::query::Query;
use sqlx::{Any, AssertSqlSafe, Decode, Executor, Row, SqlSafeStr, Type};
use uuid::Uuid;

/// One value of a row.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    /// Text, ids and JSON.
    Text(Option<String>),
    /// Whole numbers, instants and flags.
    Whole(Option<i64>),
    /// Places in an order.
    Real(Option<f64>),
    /// Content that the store does not interpret.
    Bytes(Vec<u8>),
}

/// A value that can be written to a column: a parameter of a statement.
pub(super) trait Parameter: Sync {
    /// Returns its representation in the row.
    fn cell(&self) -> Cell;

    /// Returns the representation of a missing value.
    fn none() -> Cell
    where
        Self: Sized,
    {
        Cell::Text(None)
    }
}

/// A value that can be read from a column.
pub(super) trait Column: Sized {
    /// Type of the value in the database.
    type Stored: for<'r> Decode<'r, Any> + Type<Any>;

    fn read(stored: Self::Stored) -> Result<Self, StoreError>;
}

/// Implements both traits for types that databases know.
macro_rules! known_to_databases {
    ($($kind:ty => $cell:ident),*) => {$(
        impl Parameter for $kind {
            fn cell(&self) -> Cell {
                Cell::$cell(Some(self.clone()))
            }

            fn none() -> Cell {
                Cell::$cell(None)
            }
        }

        impl Column for $kind {
            type Stored = Self;

            fn read(stored: Self) -> Result<Self, StoreError> {
                Ok(stored)
            }
        }
    )*};
}

/// Implements both traits for types kept as JSON; `$read` parses them.
macro_rules! kept_as_json {
    ($($kind:ty => $read:expr),* $(,)?) => {$(
        impl Parameter for $kind {
            fn cell(&self) -> Cell {
                Cell::Text(serde_json::to_string(self).ok())
            }
        }

        impl Column for $kind {
            type Stored = String;

            fn read(stored: String) -> Result<Self, StoreError> {
                let read: fn(&str) -> serde_json::Result<Self> = $read;
                read(&stored).map_err(|_| StoreError::unreadable("JSON", &stored))
            }
        }
    )*};
}

known_to_databases!(String => Text, i64 => Whole, f64 => Real);
kept_as_json!(
    Value => |text| serde_json::from_str(text).map(|SafeJson(value)| value),
    Map<String, Value> => |text| json::members(text.as_bytes()),
    Box<RawValue> => |text| serde_json::from_str(text),
    Vec<String> => |text| serde_json::from_str(text),
    Vec<Uuid> => |text| serde_json::from_str(text),
);

/// A list, for [`Kind::elements`](super::kind::Kind::elements).
impl Parameter for &[Uuid] {
    fn cell(&self) -> Cell {
        self.to_vec().cell()
    }
}

impl Parameter for &[&str] {
    fn cell(&self) -> Cell {
        Vec::from_iter(self.iter().map(ToString::to_string)).cell()
    }
}

impl Parameter for &str {
    fn cell(&self) -> Cell {
        Cell::Text(Some((*self).to_owned()))
    }
}

impl Parameter for &[u8] {
    fn cell(&self) -> Cell {
        Cell::Bytes(self.to_vec())
    }
}

impl Parameter for Uuid {
    fn cell(&self) -> Cell {
        Cell::Text(Some(self.to_string()))
    }
}

impl Column for Uuid {
    type Stored = String;

    fn read(stored: String) -> Result<Self, StoreError> {
        read_id(&stored)
    }
}

impl Parameter for bool {
    fn cell(&self) -> Cell {
        Cell::Whole(Some(i64::from(*self)))
    }

    fn none() -> Cell {
        Cell::Whole(None)
    }
}

impl Column for bool {
    type Stored = i64;

    fn read(stored: i64) -> Result<Self, StoreError> {
        Ok(stored != 0)
    }
}

impl<T: Parameter> Parameter for &T {
    fn cell(&self) -> Cell {
        (*self).cell()
    }

    fn none() -> Cell {
        T::none()
    }
}

impl<T: Parameter> Parameter for Option<T> {
    fn cell(&self) -> Cell {
        self.as_ref().map_or_else(T::none, T::cell)
    }
}

impl<T: Column> Column for Option<T> {
    type Stored = Option<T::Stored>;

    fn read(stored: Self::Stored) -> Result<Self, StoreError> {
        stored.map(T::read).transpose()
    }
}

/// Marks SQL that is built from constants of this folder as safe; values are always parameters.
pub(super) fn sql(text: String) -> AssertSqlSafe<String> {
    AssertSqlSafe(text)
}

/// Builds a statement with its parameters, in the order of their numbers.
pub(super) fn query(text: impl SqlSafeStr, parameters: &[&dyn Parameter]) -> Statement {
    with_cells(text, parameters.iter().map(|parameter| parameter.cell()))
}

/// Does the same with parameters whose count is known only at run time.
pub(super) fn with_cells(text: impl SqlSafeStr, cells: impl IntoIterator<Item = Cell>) -> Statement {
    cells.into_iter().fold(sqlx::query(text), |query, cell| match cell {
        Cell::Text(text) => query.bind(text),
        Cell::Whole(number) => query.bind(number),
        Cell::Real(number) => query.bind(number),
        Cell::Bytes(bytes) => query.bind(bytes),
    })
}

/// A statement that is ready to be sent.
pub(super) type Statement = Query<'static, Any, AnyArguments>;

impl Session {
    /// Runs a statement that writes; returns the number of changed rows.
    pub(super) async fn run(&mut self, statement: Statement) -> Result<u64, StoreError> {
        Ok(statement.execute(self).await?.rows_affected())
    }
}

/// Columns of a new row with their values.
pub(super) type NewRow<'r> = &'r [(&'r str, &'r dyn Parameter)];

/// Builds the statement that adds a row to a table.
pub(super) fn insert(table: &str, row: NewRow<'_>) -> Statement {
    let columns: Vec<_> = row.iter().map(|(column, _)| *column).collect();
    let text = format!("INSERT INTO {table} ({}) VALUES {}", columns.join(", "), placeholder_rows(1, row.len()));
    with_cells(sql(text), row.iter().map(|(_, value)| value.cell()))
}

/// Converts parameters of a statement, or some of them, to cells.
pub(super) fn cells<const N: usize>(parameters: [&dyn Parameter; N]) -> [Cell; N] {
    parameters.map(|parameter| parameter.cell())
}

/// Reads each row of a statement's result with `one`. Each row is dropped once read, because the driver's form of a row
/// takes several times the memory of the value read from it.
pub(super) async fn all<'w, T, C: FromIterator<T>>(
    way: impl Executor<'w, Database = Any>,
    statement: Statement,
    one: impl Fn(&mut Cells<'_>) -> Result<T, StoreError>,
) -> Result<C, StoreError> {
    let (mut rows, mut made) = (statement.fetch(way), Vec::new());
    while let Some(row) = rows.try_next().await? {
        made.push(one(&mut Cells::of(&row))?);
    }
    Ok(made.into_iter().collect())
}

/// Returns the first column of the only row of a statement's result, if there is a row.
pub(super) async fn value<'w, T: Column>(
    way: impl Executor<'w, Database = Any>,
    statement: Statement,
) -> Result<Option<T>, StoreError> {
    let row = statement.fetch_optional(way).await?;
    row.map(|row| Cells::of(&row).next()).transpose()
}

/// Declares that a type is read from columns with the names of its fields, in this order.
macro_rules! read_from_its_columns {
    ($kind:ident: $first:ident $(, $rest:ident)* $(,)?) => {
        impl $kind {
            pub(in crate::store) const COLUMNS: &'static str = concat!(stringify!($first) $(, ", ", stringify!($rest))*);

            pub(in crate::store) fn read(
                cells: &mut $crate::store::rows::Cells<'_>,
            ) -> Result<Self, $crate::store::error::StoreError> {
                Ok(Self { $first: cells.next()? $(, $rest: cells.next()?)* })
            }
        }
    };
}
pub(super) use read_from_its_columns;

/// A row read from left to right.
pub(super) struct Cells<'r> {
    row: &'r AnyRow,
    at: usize,
}

impl<'r> Cells<'r> {
    pub(super) fn of(row: &'r AnyRow) -> Self {
        Self { row, at: 0 }
    }

    pub(super) fn next<T: Column>(&mut self) -> Result<T, StoreError> {
        self.at += 1;
        T::read(self.row.try_get(self.at - 1)?)
    }
}

pub(super) fn read_id(text: &str) -> Result<Uuid, StoreError> {
    Uuid::parse_str(text).map_err(|_| StoreError::unreadable("the id", text))
}

/// Number of rows that one statement inserts when there are enough. The rest are inserted one by one, so that there are
/// two texts of a statement, and not one for each count of rows.
const ROWS: usize = 50;

/// Splits rows into the groups that statements insert.
pub(super) fn at_once<T>(rows: &[T]) -> impl Iterator<Item = &[T]> {
    let full = rows.chunks_exact(ROWS);
    let rest = full.remainder();
    full.chain(rest.chunks(1))
}

/// Builds `($1, $2), ($3, $4)` and so on.
pub(super) fn placeholder_rows(rows: usize, columns: usize) -> String {
    let row = |row: usize| {
        let places: Vec<_> = (1..=columns).map(|column| format!("${}", row * columns + column)).collect();
        format!("({})", places.join(", "))
    };
    (0..rows).map(row).collect::<Vec<_>>().join(", ")
}
