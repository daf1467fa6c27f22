//! One work item in compact form: ids as numbers of the pools, days as numbers, rare values in a box.
//!
//! A row knows where its name is in the text of its chunk; the chunk keeps the names. May use: `v2`, `translate`
//! (the typed item), this folder.

use super::pool::Pools;
use crate::translate::work_items::{Item, Priority};
use crate::v2::time::Micros;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Means "none" in a field that holds a number.
pub(super) const NONE: u32 = u32::MAX;
/// Means a day that is not of the form `YYYY-MM-DD`; its text is among the rare values.
const ODD_DAY: u32 = u32::MAX - 1;
const DRAFT: u8 = 1;
const PARENT: u8 = 2;

/// A work item without its name.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Row {
    pub id: Uuid,
    parent: Uuid,
    pub sequence: i64,
    pub created: Micros,
    pub updated: Micros,
    pub sort_order: f64,
    rare: Option<Box<RareValues>>,
    /// Start of the name in the text of the chunk.
    pub name_at: u32,
    pub name_len: u32,
    /// Length of the lower-case name, which follows the name; [`NONE`] when the name is lower-case already.
    pub lower_len: u32,
    pub state: u32,
    pub creator: u32,
    pub assignees: u32,
    pub labels: u32,
    start: u32,
    target: u32,
    pub priority: Priority,
    flags: u8,
}

/// Values that few work items have.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct RareValues {
    external_id: Option<Box<str>>,
    external_source: Option<Box<str>>,
    archived_at: Option<Box<str>>,
    start: Option<Box<str>>,
    target: Option<Box<str>>,
}

impl RareValues {
    fn bytes(&self) -> usize {
        let texts = [&self.external_id, &self.external_source, &self.archived_at, &self.start, &self.target];
        size_of::<Self>()
            + texts.iter().filter_map(|text| text.as_deref()).map(|text| text.len() + 16).sum::<usize>()
    }
}

impl Row {
    /// Builds the row of `item` without its name; ids and sets go into `pools`.
    pub fn of(item: &Item, pools: &mut Pools) -> Self {
        let (start, odd_start) = day_number(item.start_date.as_deref());
        let (target, odd_target) = day_number(item.target_date.as_deref());
        let boxed = |text: &Option<String>| text.as_deref().map(Box::from);
        let rare = RareValues {
            external_id: boxed(&item.external_id),
            external_source: boxed(&item.external_source),
            archived_at: boxed(&item.archived_at),
            start: odd_start,
            target: odd_target,
        };
        let draft = if item.is_draft { DRAFT } else { 0 };
        let parent = if item.parent.is_some() { PARENT } else { 0 };
        Self {
            id: item.id,
            parent: item.parent.unwrap_or_default(),
            sequence: item.sequence_id,
            created: item.created_at,
            updated: item.updated_at,
            sort_order: item.sort_order,
            rare: (rare != RareValues::default()).then(|| Box::new(rare)),
            name_at: 0,
            name_len: 0,
            lower_len: NONE,
            state: pools.id(item.state),
            creator: item.created_by.map_or(NONE, |id| pools.id(id)),
            assignees: pools.set(&item.assignees),
            labels: pools.set(&item.labels),
            start,
            target,
            priority: item.priority,
            flags: draft | parent,
        }
    }

    /// Builds the item from the row.
    pub fn item(&self, name: &str, pools: &Pools) -> Item {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Item {
            id: self.id,
            name: name.to_owned(),
            sequence_id: self.sequence,
            priority: self.priority,
            state: pools.id_at(self.state),
            parent: self.parent(),
            assignees: pools.set_at(self.assignees).to_vec(),
            labels: pools.set_at(self.labels).to_vec(),
            start_date: self.start_date(),
            target_date: self.target_date(),
            is_draft: self.is_draft(),
            archived_at: owned(self.rare().and_then(|rare| rare.archived_at.as_deref())),
            created_at: self.created,
            updated_at: self.updated,
            created_by: (self.creator != NONE).then(|| pools.id_at(self.creator)),
            sort_order: self.sort_order,
            external_id: owned(self.external_id()),
            external_source: owned(self.external_source()),
            description: None,
            estimate_point: None,
            point: None,
        }
    }

    fn rare(&self) -> Option<&RareValues> {
        self.rare.as_deref()
    }

    pub fn parent(&self) -> Option<Uuid> {
        (self.flags & PARENT != 0).then_some(self.parent)
    }

    pub fn is_draft(&self) -> bool {
        self.flags & DRAFT != 0
    }

    pub fn external_id(&self) -> Option<&str> {
        self.rare()?.external_id.as_deref()
    }

    pub fn external_source(&self) -> Option<&str> {
        self.rare()?.external_source.as_deref()
    }

    pub fn start_date(&self) -> Option<String> {
        day_text(self.start, || self.rare()?.start.as_deref())
    }

    pub fn target_date(&self) -> Option<String> {
        day_text(self.target, || self.rare()?.target.as_deref())
    }

    /// Returns the start date as a number that sorts as days do; `None` for a text that is no day.
    pub fn start_number(&self) -> Option<u32> {
        (self.start != ODD_DAY).then_some(self.start)
    }

    /// Returns the target date as a number that sorts as days do; `None` for a text that is no day.
    pub fn target_number(&self) -> Option<u32> {
        (self.target != ODD_DAY).then_some(self.target)
    }

    /// Bytes outside of the row itself and the text.
    pub fn boxed_bytes(&self) -> usize {
        self.rare().map_or(0, RareValues::bytes)
    }
}

/// Returns `YYYY-MM-DD` as the number with these digits, or the text itself when it has another form.
fn day_number(text: Option<&str>) -> (u32, Option<Box<str>>) {
    let Some(text) = text else { return (NONE, None) };
    match read_day(text) {
        Some(number) => (number, None),
        None => (ODD_DAY, Some(text.into())),
    }
}

/// Returns the number of a day of the form `YYYY-MM-DD`; sorts as the text does.
pub(super) fn read_day(text: &str) -> Option<u32> {
    let bytes = text.as_bytes();
    let digits = |range: std::ops::Range<usize>| {
        bytes[range]
            .iter()
            .try_fold(0, |number, byte| byte.is_ascii_digit().then(|| number * 10 + u32::from(byte - b'0')))
    };
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    Some(digits(0..4)? * 10_000 + digits(5..7)? * 100 + digits(8..10)?)
}

fn day_text<'t>(number: u32, odd: impl FnOnce() -> Option<&'t str>) -> Option<String> {
    match number {
        NONE => None,
        ODD_DAY => odd().map(str::to_owned),
        day => Some(format!("{:04}-{:02}-{:02}", day / 10_000, day / 100 % 100, day % 100)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_come_back_as_they_were() {
        for text in ["2026-01-05", "0001-12-31", "9999-99-99", "10000-01-01", "soon", "", "2026-1-05", "２０２６"]
        {
            let (number, odd) = day_number(Some(text));
            assert_eq!(day_text(number, || odd.as_deref()).as_deref(), Some(text));
        }
        assert_eq!(day_number(None), (NONE, None));
        assert!(read_day("2026-01-05") < read_day("2026-01-06"));
    }

    #[test]
    fn a_row_is_small() {
        assert!(size_of::<Row>() <= 120, "{}", size_of::<Row>());
    }
}
