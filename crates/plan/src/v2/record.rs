//! One record in its v2 read shape, ready to send, with the values that lists filter, order and search by.
//!
//! May use: nothing of this crate.

use super::time::Micros;
use bytes::Bytes;
use std::cmp::Ordering;
use uuid::Uuid;

/// A value that lists filter, order or search by.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Unset.
    Null,
    /// A flag.
    Bool(bool),
    /// A number.
    Number(f64),
    /// An instant.
    Instant(Micros),
    /// An id.
    Id(Uuid),
    /// Text. Dates too, because their text sorts like the dates.
    Text(Box<str>),
    /// A set of ids.
    Ids(Box<[Uuid]>),
}

impl Cell {
    /// Compares two values of one field. Unset comes last.
    pub fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Null, Self::Null) => Ordering::Equal,
            (Self::Null, _) => Ordering::Greater,
            (_, Self::Null) => Ordering::Less,
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            // Adding 0.0 turns a negative zero into a positive one, so that both are equal.
            (Self::Number(a), Self::Number(b)) => (a + 0.0).total_cmp(&(b + 0.0)),
            (Self::Instant(a), Self::Instant(b)) => a.cmp(b),
            (Self::Id(a), Self::Id(b)) => a.cmp(b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            _ => Ordering::Equal,
        }
    }

    /// Checks whether the cell holds `wanted`, or has it among its ids.
    pub fn holds(&self, wanted: &Self) -> bool {
        match (self, wanted) {
            (Self::Ids(ids), Self::Id(id)) => ids.contains(id),
            (Self::Number(a), Self::Number(b)) => a == b,
            (a, b) => a == b,
        }
    }

    /// Checks whether the cell has no value.
    pub fn is_unset(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Ids(ids) => ids.is_empty(),
            _ => false,
        }
    }
}

/// A record as v2 shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Its id.
    pub id: Uuid,
    /// The read shape as JSON text.
    pub json: Bytes,
    /// Values of the fields that lists use, in the order of the resource's cells.
    pub cells: Box<[Cell]>,
    /// JSON of each value that the list's `expand` knows, in its order. It is added beside the id on request.
    pub expansions: Box<[(Box<str>, Bytes)]>,
}

impl Record {
    /// Appends the read shape, with the requested expansions, to `out`.
    pub fn write(&self, expand: &[usize], out: &mut Vec<u8>) {
        out.extend_from_slice(&self.json);
        for &wanted in expand {
            let Some((name, json)) = self.expansions.get(wanted) else { continue };
            out.pop();
            out.extend_from_slice(b",\"");
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b"\":");
            out.extend_from_slice(json);
            out.push(b'}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zero_is_no_less_for_its_sign() {
        let number = Cell::Number;
        assert_eq!(number(-0.0).order(&number(0.0)), Ordering::Equal);
        assert_eq!(number(-1.5).order(&number(-0.0)), Ordering::Less);
    }
}
