//! How values lie in rows: ids, JSON, flags and instants, written and read the same way on both engines.
//!
//! May use: this folder.

use super::error::StoreError;
use serde_json::Value;
use sqlx::any::{AnyArguments, AnyRow};
use sqlx::query::Query;
use sqlx::{Any, Row};
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
}

impl Cell {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(Some(text.into()))
    }

    pub(super) fn id(id: Uuid) -> Self {
        Self::text(id.to_string())
    }

    pub(super) fn json(value: &Value) -> Self {
        Self::text(value.to_string())
    }

    pub(super) fn flag(flag: bool) -> Self {
        Self::Whole(Some(i64::from(flag)))
    }

    pub(super) fn whole(number: i64) -> Self {
        Self::Whole(Some(number))
    }

    pub(super) fn real(number: f64) -> Self {
        Self::Real(Some(number))
    }

    /// As the next parameter of `query`.
    pub(super) fn bind<'q>(self, query: Query<'q, Any, AnyArguments>) -> Query<'q, Any, AnyArguments> {
        match self {
            Self::Text(text) => query.bind(text),
            Self::Whole(number) => query.bind(number),
            Self::Real(number) => query.bind(number),
        }
    }
}

/// A row read from left to right.
pub(super) struct Cells<'r> {
    row: &'r AnyRow,
    at: usize,
}

impl<'r> Cells<'r> {
    pub(super) fn of(row: &'r AnyRow) -> Self {
        Self { row, at: 0 }
    }

    fn next(&mut self) -> usize {
        self.at += 1;
        self.at - 1
    }

    pub(super) fn text(&mut self) -> Result<String, StoreError> {
        let at = self.next();
        Ok(self.row.try_get(at)?)
    }

    pub(super) fn text_or_null(&mut self) -> Result<Option<String>, StoreError> {
        let at = self.next();
        Ok(self.row.try_get(at)?)
    }

    pub(super) fn whole(&mut self) -> Result<i64, StoreError> {
        let at = self.next();
        Ok(self.row.try_get(at)?)
    }

    pub(super) fn real(&mut self) -> Result<f64, StoreError> {
        let at = self.next();
        Ok(self.row.try_get(at)?)
    }

    pub(super) fn flag(&mut self) -> Result<bool, StoreError> {
        Ok(self.whole()? != 0)
    }

    pub(super) fn id(&mut self) -> Result<Uuid, StoreError> {
        read_id(&self.text()?)
    }

    pub(super) fn id_or_null(&mut self) -> Result<Option<Uuid>, StoreError> {
        self.text_or_null()?.map(|text| read_id(&text)).transpose()
    }

    pub(super) fn json<T: serde::de::DeserializeOwned>(&mut self) -> Result<T, StoreError> {
        let text = self.text()?;
        serde_json::from_str(&text).map_err(|_| StoreError::unreadable("JSON", &text))
    }
}

/// Reads an id.
pub(super) fn read_id(text: &str) -> Result<Uuid, StoreError> {
    Uuid::parse_str(text).map_err(|_| StoreError::unreadable("the id", text))
}

/// Rows that one statement inserts at once, when there are so many; the rest go one by one, so that there are two
/// texts of a statement and not as many as there are lengths.
const ROWS: usize = 50;

/// The rows as statements insert them.
pub(super) fn at_once<T>(rows: &[T]) -> impl Iterator<Item = &[T]> {
    let full = rows.chunks_exact(ROWS);
    let rest = full.remainder();
    full.chain(rest.chunks(1))
}

/// `($1, $2), ($3, $4)` and so on.
pub(super) fn rows_of_places(rows: usize, columns: usize) -> String {
    let row = |row: usize| {
        let places: Vec<_> = (1..=columns).map(|column| format!("${}", row * columns + column)).collect();
        format!("({})", places.join(", "))
    };
    (0..rows).map(row).collect::<Vec<_>>().join(", ")
}
