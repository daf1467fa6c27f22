//! Translation of v1 records to v2 records.
//!
//! A [`ReadShape`] is built once for each resource from the plan. A row is read once: wanted members are kept as slices
//! of v1's own text and copied into the v2 text, and converted only where the two differ. A member that v1 leaves out,
//! or gives in a form that cannot be true, is a [`Fault`] and never guessed.
//!
//! May use: `json`, `plan`, `v1` (objects), `v2`, overlay values of `store`.

use super::comments::PAIR;
use super::ids::each_once;
use super::{Held, html};
use crate::json::{self, SafeJson};
use crate::plan::{Field, Keep, Kind, Resource, Rows, ValueType};
use crate::store::{OverlayValue, overlay_wins};
use crate::v1::Object;
use crate::v2::record::{Cell, Record};
use crate::v2::time;
use bytes::Bytes;
use serde::Deserialize;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt;
use uuid::Uuid;

/// An answer of v1 that cannot be translated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("v1 answered something unexpected: {0}")]
pub struct Fault(pub String);

/// Description of how the records of one resource are read, in the order of its fields.
#[derive(Debug)]
pub struct ReadShape {
    keys: Vec<Box<str>>,
    fields: Vec<ReadField>,
    cells: usize,
}

/// Facts about a record whose read shape was written.
pub(super) struct Written {
    pub(super) id: Uuid,
    /// Values by which lists filter and order.
    pub(super) cells: Box<[Cell]>,
    /// Overlay values that do not count any more.
    outdated: Vec<OverlayValue>,
}

#[derive(Debug)]
struct ReadField {
    name: Box<str>,
    prefix: Box<str>,
    slot: usize,
    value: ValueType,
    nullable: bool,
    null_as: Option<Box<str>>,
    cell: Option<usize>,
    overlay: bool,
    hidden: bool,
    plain_text: bool,
}

impl ReadShape {
    /// Prepares the reading of `resource`. Fields that v1 does not have are left to the resource's own file.
    pub fn of(resource: &Resource) -> Self {
        let mut shape = Self { keys: Vec::new(), fields: Vec::new(), cells: resource.cells.len() };
        for (index, field) in resource.fields.iter().enumerate() {
            let Some(key) = &field.spec.v1 else { continue };
            let slot = shape.slot(key);
            let cell = resource.cells.iter().position(|&cell| cell == index);
            shape.fields.push(ReadField::new(field, slot, cell));
        }
        shape
    }

    fn slot(&mut self, key: &str) -> usize {
        self.keys.iter().position(|known| &**known == key).unwrap_or_else(|| {
            self.keys.push(key.into());
            self.keys.len() - 1
        })
    }

    /// Translates one v1 record. `overlay` are the values kept for it.
    ///
    /// # Errors
    /// A member is missing, of another type, or null where v2 allows no null.
    pub fn read(&self, row: &str, overlay: &[OverlayValue]) -> Result<Held, Fault> {
        self.read_over(row, overlay).map(|(held, _)| held)
    }

    /// Does the same, and also returns the outdated values of `overlay`: v1 shows another value than it showed when
    /// they were written, or another value for the other half of the pair.
    ///
    /// # Errors
    /// As [`ReadShape::read`].
    pub fn read_over(&self, row: &str, overlay: &[OverlayValue]) -> Result<(Held, Vec<OverlayValue>), Fault> {
        let mut slots = self.slots();
        let mut text = serde_json::Deserializer::from_str(row);
        let seed = Slots { shape: self, slots: &mut slots };
        seed.deserialize(&mut text).map_err(|fault| Fault(format!("a record is not an object: {fault}")))?;
        let mut json = Vec::with_capacity(row.len());
        let Written { id, cells, outdated } = self.write(&slots, overlay, &mut json)?;
        let record = Record { id, json: json.into(), cells, expansions: Box::default() };
        Ok((Held { record, v1: Bytes::copy_from_slice(row.as_bytes()) }, outdated))
    }

    /// Returns empty places for the wanted members of a record.
    pub(super) fn slots<'de>(&self) -> Vec<Option<&'de str>> {
        vec![None; self.keys.len()]
    }

    /// Appends the read shape of the record with the members `slots` to `json`. Returns the other facts about it.
    ///
    /// # Errors
    /// As [`ReadShape::read`].
    pub(super) fn write(
        &self,
        slots: &[Option<&str>],
        overlay: &[OverlayValue],
        json: &mut Vec<u8>,
    ) -> Result<Written, Fault> {
        let outdated = self.outdated(slots, overlay)?;
        let cells = vec![Cell::Null; self.cells].into();
        let mut writer = Writer { json, first: true, cells, id: None };
        writer.json.push(b'{');
        for field in &self.fields {
            let kept = overlay.iter().find(|kept| field.overlay && kept.field == *field.name);
            match kept.filter(|kept| !outdated.contains(kept)) {
                Some(kept) => writer.value(field, &kept.value.to_string())?,
                None => writer.value(field, self.shown(field, slots)?)?,
            }
        }
        writer.json.push(b'}');
        let id = writer.id.ok_or_else(|| Fault("a record lacks an id".into()))?;
        Ok(Written { id, cells: writer.cells, outdated: outdated.into_iter().cloned().collect() })
    }

    /// Returns the values of `overlay` that do not count while v1 shows `slots`. An external pair counts as a whole: a
    /// half of it beside v1's other half would be a pair that nobody wrote.
    fn outdated<'o>(
        &self,
        slots: &[Option<&str>],
        overlay: &'o [OverlayValue],
    ) -> Result<Vec<&'o OverlayValue>, Fault> {
        let mut outdated = Vec::new();
        for kept in overlay {
            let field = self.fields.iter().find(|field| field.overlay && kept.field == *field.name);
            if let Some(field) = field
                && !wins(field, self.shown(field, slots)?, kept)?
            {
                outdated.push(kept);
            }
        }
        let is_half = |kept: &OverlayValue| PAIR.contains(&kept.field.as_str());
        if outdated.iter().any(|kept| is_half(kept)) {
            outdated.retain(|kept| !is_half(kept));
            outdated.extend(overlay.iter().filter(|kept| is_half(kept)));
        }
        Ok(outdated)
    }

    /// Returns v1's text of a field.
    fn shown<'t>(&self, field: &ReadField, slots: &[Option<&'t str>]) -> Result<&'t str, Fault> {
        slots[field.slot].ok_or_else(|| Fault(format!("a record lacks `{}`", self.keys[field.slot])))
    }

    /// Translates members of a v1 record that were combined from several answers.
    ///
    /// # Errors
    /// As [`ReadShape::read`].
    pub fn read_members(&self, members: &Map<String, Value>, overlay: &[OverlayValue]) -> Result<Held, Fault> {
        let row = serde_json::to_string(members).map_err(|fault| Fault(fault.to_string()))?;
        self.read(&row, overlay)
    }
}

impl ReadField {
    fn new(field: &Field, slot: usize, cell: Option<usize>) -> Self {
        Self {
            name: field.name.as_str().into(),
            prefix: format!("\"{}\":", field.name).into(),
            slot,
            value: field.value,
            nullable: field.spec.nullable,
            null_as: field.spec.null_as.as_ref().map(|value| value.to_string().into()),
            cell,
            overlay: field.spec.keep != Keep::V1,
            hidden: field.spec.hidden,
            plain_text: field.spec.plain_text,
        }
    }
}

/// Returns an answer of v1 as text. UTF-8 is checked once for the whole answer, which is faster than piece by piece.
///
/// # Errors
/// The bytes are not UTF-8.
pub fn text(body: &[u8]) -> Result<&str, Fault> {
    simdutf8::compat::from_utf8(body).map_err(|fault| Fault(fault.to_string()))
}

/// Returns slices of one page of v1, one for each record.
///
/// # Errors
/// The page does not have the list form that the resource declares.
pub fn rows(form: Rows, body: &[u8]) -> Result<Vec<&RawValue>, Fault> {
    #[derive(Deserialize)]
    struct Page<'p> {
        #[serde(borrow)]
        results: Vec<&'p RawValue>,
    }
    let body = text(body).map_err(|fault| unreadable(fault.0))?;
    let rows = match form {
        Rows::Paged => serde_json::from_str::<Object<Page<'_>>>(body).map(|Object(page)| page.results),
        Rows::Array => serde_json::from_str(body),
    };
    rows.map_err(unreadable)
}

/// Reads the records of one page of v1, each as a `T`.
///
/// # Errors
/// The body is no page of objects, or an object is no `T`.
pub fn records<T: DeserializeOwned>(page: &[u8]) -> Result<Vec<T>, Fault> {
    #[derive(Deserialize)]
    struct Page<T> {
        results: Vec<Object<T>>,
    }
    let Object(page) = serde_json::from_slice::<Object<Page<T>>>(page).map_err(unreadable)?;
    Ok(page.results.into_iter().map(|Object(record)| record).collect())
}

pub(super) fn unreadable(fault: impl fmt::Display) -> Fault {
    Fault(format!("a list is not readable: {fault}"))
}

/// Reader of one record: stores the wanted members as v1's text of their values.
pub(super) struct Slots<'s, 'de> {
    pub(super) shape: &'s ReadShape,
    pub(super) slots: &'s mut [Option<&'de str>],
}

/// The values of the first and last member of a record; none in a record without members.
pub(super) type Ends<'de> = Option<(&'de str, &'de str)>;

impl<'de> DeserializeSeed<'de> for Slots<'_, 'de> {
    type Value = Ends<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Ends<'de>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Slots<'_, 'de> {
    type Value = Ends<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a record")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Ends<'de>, A::Error> {
        // v1 sends members in a fixed order, so the next wanted key is usually the one after the last wanted key.
        let (mut next, mut ends): (usize, Ends<'de>) = (0, None);
        while let Some(Name(key)) = map.next_key::<Name<'de>>()? {
            let slot = find(&self.shape.keys, &key, next);
            if slot.is_some_and(|slot| self.slots[slot].is_some()) {
                return Err(A::Error::custom("a member stands twice"));
            }
            let value = map.next_value::<&'de RawValue>()?.get();
            ends = Some((ends.map_or(value, |(first, _)| first), value));
            if let Some(slot) = slot {
                self.slots[slot] = Some(value);
                next = slot + 1;
            }
        }
        Ok(ends)
    }
}

fn find(keys: &[Box<str>], key: &str, next: usize) -> Option<usize> {
    if keys.get(next).is_some_and(|candidate| &**candidate == key) {
        return Some(next);
    }
    keys.iter().position(|candidate| &**candidate == key)
}

/// A member name, borrowed where its text has no escapes.
#[derive(Deserialize)]
struct Name<'n>(#[serde(borrow)] Cow<'n, str>);

struct Writer<'w> {
    json: &'w mut Vec<u8>,
    /// Whether no member has been written yet.
    first: bool,
    cells: Box<[Cell]>,
    id: Option<Uuid>,
}

impl Writer<'_> {
    fn value(&mut self, field: &ReadField, raw: &str) -> Result<(), Fault> {
        if !field.hidden {
            if !std::mem::take(&mut self.first) {
                self.json.push(b',');
            }
            self.json.extend_from_slice(field.prefix.as_bytes());
        }
        if raw != "null" {
            return self.text(field, raw);
        }
        if field.nullable || field.value == ValueType::One(Kind::Any) {
            self.push(field, raw);
            return Ok(());
        }
        self.text(field, field.null_as.as_deref().ok_or_else(|| wrong(field, "is null"))?)
    }

    fn text(&mut self, field: &ReadField, raw: &str) -> Result<(), Fault> {
        match field.value {
            ValueType::One(Kind::DateTime) => self.instant(field, raw),
            ValueType::Array(Some(Kind::Uuid)) => self.ids(field, raw),
            ValueType::One(kind @ (Kind::Object | Kind::Any)) => {
                self.plain(field, kind, &as_writes_show(field, raw)?)
            }
            ValueType::One(kind) => self.plain(field, kind, raw),
            ValueType::Array(_) | ValueType::Csv(_) => {
                self.push(field, &as_writes_show(field, raw)?);
                Ok(())
            }
        }
    }

    fn plain(&mut self, field: &ReadField, kind: Kind, raw: &str) -> Result<(), Fault> {
        check_form(field, kind, raw)?;
        let plain = field.plain_text.then(|| plain_text(field, raw)).transpose()?;
        let raw = plain.as_deref().unwrap_or(raw);
        self.push(field, raw);
        if &*field.name == "id" {
            let id = unquote(raw).and_then(|text| Uuid::try_parse(&text).ok());
            self.id = Some(id.ok_or_else(|| wrong(field, "is not a UUID"))?);
        }
        if let Some(cell) = field.cell {
            self.cells[cell] = cell_of(kind, raw).ok_or_else(|| wrong(field, "is not of its kind"))?;
        }
        Ok(())
    }

    /// Writes an instant in UTC. v1 gives instants in the caller's own zone with its offset (trap 42, `tz_list_kim`).
    fn instant(&mut self, field: &ReadField, raw: &str) -> Result<(), Fault> {
        let text = raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let text = text.ok_or_else(|| wrong(field, "is not an instant"))?;
        let as_is = text.len() == 27 && text.as_bytes()[26] == b'Z' && text.as_bytes()[19] == b'.';
        let micros = time::read_instant(text).ok_or_else(|| wrong(field, "is not an instant"))?;
        if as_is {
            self.push(field, raw);
        } else {
            self.push(field, &format!("\"{}\"", time::write(micros)));
        }
        if let Some(cell) = field.cell {
            self.cells[cell] = Cell::Instant(micros);
        }
        Ok(())
    }

    /// Writes a set of ids, each once: v1 repeats people who left and came back (trap 51,
    /// `modules_get_after_members_again`).
    fn ids(&mut self, field: &ReadField, raw: &str) -> Result<(), Fault> {
        let ids: Vec<Uuid> = serde_json::from_str(raw).map_err(|_| wrong(field, "is not a list of ids"))?;
        let once = each_once(ids);
        let text = serde_json::to_string(&once).map_err(|fault| wrong(field, &fault.to_string()))?;
        self.push(field, &text);
        if let Some(cell) = field.cell {
            self.cells[cell] = Cell::Ids(once.into());
        }
        Ok(())
    }

    fn push(&mut self, field: &ReadField, raw: &str) {
        if !field.hidden {
            self.json.extend_from_slice(raw.as_bytes());
        }
    }
}

/// Returns a value as the answer to a write shows it, where v1's whole answer is read: too deep nesting becomes null.
fn as_writes_show<'t>(field: &ReadField, raw: &'t str) -> Result<Cow<'t, str>, Fault> {
    let without = json::cut_to_max_depth(raw).map_err(|fault| wrong(field, &fault.to_string()))?;
    Ok(without.map_or(Cow::Borrowed(raw), Cow::Owned))
}

/// Checks whether an overlay value counts while v1 shows `raw`.
fn wins(field: &ReadField, raw: &str, kept: &OverlayValue) -> Result<bool, Fault> {
    let shown = as_writes_show(field, raw)?;
    let SafeJson(current) = serde_json::from_str(&shown).map_err(|fault| wrong(field, &fault.to_string()))?;
    Ok(match (field.value, &kept.seen, &current) {
        // v1 shows instants in the caller's own zone (trap 42, `tz_list_kim`).
        (ValueType::One(Kind::DateTime), Value::String(seen), Value::String(current)) => {
            time::is_same_instant(seen, current)
        }
        (_, seen, current) => overlay_wins(seen, current),
    })
}

fn check_form(field: &ReadField, kind: Kind, raw: &str) -> Result<(), Fault> {
    let first = raw.as_bytes().first().copied().unwrap_or(b' ');
    let fits = match kind {
        Kind::Uuid => raw.len() == 38 && raw.get(1..37).is_some_and(|text| Uuid::try_parse(text).is_ok()),
        Kind::Date => raw.get(1..raw.len() - 1).is_some_and(|text| time::read_date(text).is_some()),
        Kind::String | Kind::Email | Kind::DateTime => first == b'"',
        Kind::Integer | Kind::Number => first == b'-' || first.is_ascii_digit(),
        Kind::Boolean => first == b't' || first == b'f',
        Kind::Object => first == b'{',
        Kind::Any => true,
    };
    if fits { Ok(()) } else { Err(wrong(field, "is of another type")) }
}

fn cell_of(kind: Kind, raw: &str) -> Option<Cell> {
    match kind {
        Kind::Boolean => Some(Cell::Bool(raw == "true")),
        Kind::Integer | Kind::Number => {
            raw.parse().ok().filter(|number: &f64| number.is_finite()).map(Cell::Number)
        }
        Kind::Uuid => Uuid::try_parse(&unquote(raw)?).ok().map(Cell::Id),
        _ => unquote(raw).map(|text| Cell::Text(text.into())),
    }
}

/// Returns the text of a JSON string that serde has checked before, borrowed where it has no escapes.
fn unquote(raw: &str) -> Option<Cow<'_, str>> {
    let text = raw.strip_prefix('"')?.strip_suffix('"')?;
    if text.contains('\\') { serde_json::from_str(raw).ok().map(Cow::Owned) } else { Some(Cow::Borrowed(text)) }
}

/// Returns, as JSON, the text that a reader of the HTML sees.
fn plain_text(field: &ReadField, raw: &str) -> Result<String, Fault> {
    let html = unquote(raw).ok_or_else(|| wrong(field, "is not of its kind"))?;
    Ok(Value::String(html::strip(&html)).to_string())
}

fn wrong(field: &ReadField, what: &str) -> Fault {
    Fault(format!("`{}` {what}", field.name))
}
