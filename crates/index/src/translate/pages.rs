//! Translation of a page of v1 to v2 records in one pass: each byte is read once, and the shown records are written
//! into one buffer.
//!
//! May use: `plan`, `v2`, `translate::incoming`.

use super::Held;
use super::incoming::{Ends, Fault, ReadShape, Slots, Written, text, unreadable};
use crate::plan::Rows;
use crate::v2::record::{Cell, Record};
use bytes::Bytes;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::ops::Range;
use uuid::Uuid;

impl ReadShape {
    /// Translates the records of one page of v1, without overlay values. The caller reads records that have overlay
    /// values again.
    ///
    /// # Errors
    /// The page does not have the list form that the resource declares, or [`ReadShape::read`] rejects a record.
    pub fn read_page(&self, form: Rows, page: &[u8]) -> Result<Vec<Held>, Fault> {
        let text = text(page).map_err(|fault| unreadable(fault.0))?;
        let shown = Vec::with_capacity(page.len());
        let mut reading =
            Reading { shape: self, text, slots: self.slots(), json: shown, rows: Vec::new(), fault: None };
        let mut json = serde_json::Deserializer::from_str(text);
        let read = match form {
            Rows::Paged => json.deserialize_map(Page(&mut reading)),
            Rows::Array => Records(&mut reading).deserialize(&mut json),
        };
        let outcome = read.and_then(|()| json.end());
        match (reading.fault.take(), outcome) {
            (Some(fault), _) => Err(fault),
            (None, Err(fault)) => Err(unreadable(fault)),
            (None, Ok(())) => Ok(reading.held()),
        }
    }
}

/// A page that is being read.
struct Reading<'r, 'de> {
    shape: &'r ReadShape,
    /// The page.
    text: &'de str,
    /// The wanted members of the present record.
    slots: Vec<Option<&'de str>>,
    /// The v2 text of all records, one after the other.
    json: Vec<u8>,
    rows: Vec<Row>,
    /// The reason why a record cannot be translated.
    fault: Option<Fault>,
}

struct Row {
    id: Uuid,
    cells: Box<[Cell]>,
    /// Its place in the v2 text.
    json: Range<usize>,
    /// Its place in the page.
    v1: Range<usize>,
}

impl<'de> Reading<'_, 'de> {
    /// Adds the record whose members were just read; `ends` are the values of its first and last member.
    fn take(&mut self, ends: Ends<'de>) -> Result<(), Fault> {
        let begun = self.json.len();
        let Written { id, cells, .. } = self.shape.write(&self.slots, &[], &mut self.json)?;
        let v1 = ends.and_then(|ends| self.extent(ends)).ok_or_else(|| Fault("a record has no extent".into()))?;
        self.rows.push(Row { id, cells, json: begun..self.json.len(), v1 });
        Ok(())
    }

    /// Place of the record with these members in the page: from the brace before the first to the one after the last.
    /// None when the name of its first member has a brace or begins with a colon, which no name of v1 does.
    fn extent(&self, (first, last): (&'de str, &'de str)) -> Option<Range<usize>> {
        let at = |part: &str| part.as_ptr().addr() - self.text.as_ptr().addr();
        let (before, behind) = (self.text.get(..at(first))?, self.text.get(at(last) + last.len()..)?);
        let begin = before.rfind('{')?;
        let name = before[begin + 1..].trim_start().strip_prefix('"')?;
        let end = self.text.len() - behind.trim_start().strip_prefix('}')?.len();
        // When the name has a brace, the part after the brace is the end of the name.
        (!name.trim_start().starts_with(':')).then_some(begin..end)
    }

    /// Returns the records, which share one copy of the page and one of the v2 text. The page is copied, because an
    /// answer of v1 counts as in flight as long as any part of it is held.
    fn held(self) -> Vec<Held> {
        let (v1, json) = (Bytes::copy_from_slice(self.text.as_bytes()), Bytes::from(self.json));
        let held = |row: Row| {
            let record =
                Record { id: row.id, json: json.slice(row.json), cells: row.cells, expansions: Box::default() };
            Held { record, v1: v1.slice(row.v1) }
        };
        self.rows.into_iter().map(held).collect()
    }
}

/// The envelope of a page.
struct Page<'p, 'r, 'de>(&'p mut Reading<'r, 'de>);

impl<'de> Visitor<'de> for Page<'_, '_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a page")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut found = false;
        while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            if key != "results" {
                map.next_value::<IgnoredAny>()?;
            } else if std::mem::replace(&mut found, true) {
                return Err(A::Error::duplicate_field("results"));
            } else {
                map.next_value_seed(Records(self.0))?;
            }
        }
        if found { Ok(()) } else { Err(A::Error::missing_field("results")) }
    }
}

/// The records of a page.
struct Records<'p, 'r, 'de>(&'p mut Reading<'r, 'de>);

impl<'de> DeserializeSeed<'de> for Records<'_, '_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Records<'_, '_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of records")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let reading = self.0;
        loop {
            reading.slots.fill(None);
            let record = Slots { shape: reading.shape, slots: &mut reading.slots };
            let Some(ends) = list.next_element_seed(record)? else { return Ok(()) };
            if let Err(fault) = reading.take(ends) {
                reading.fault = Some(fault);
                return Err(A::Error::custom("a record cannot be translated"));
            }
        }
    }
}
