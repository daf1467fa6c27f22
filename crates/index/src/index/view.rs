//! Rows as list calls see them: any column as a cell, and the search over names.
//!
//! This is the plain meaning of each column; `filter` and `order` have faster ways for the common columns. May use:
//! `plan` (columns), `v2` (cells), `translate` (words), this folder.

use super::chunk::Chunk;
use super::lookups::{Lookups, Memberships};
use super::pool::Pools;
use super::row::Row;
use crate::plan::Column;
use crate::translate::work_items::GROUPS;
use crate::v2::record::Cell;
use std::borrow::Cow;
use uuid::Uuid;

/// Data needed to read the columns of rows.
#[derive(Clone, Copy)]
pub(super) struct View<'v> {
    pub pools: &'v Pools,
    pub lookups: &'v Lookups,
}

impl View<'_> {
    /// Returns the live labels of a set.
    pub fn live<'s>(&self, labels: &'s [Uuid]) -> Cow<'s, [Uuid]> {
        match &self.lookups.live_labels {
            Some(live) if labels.iter().any(|id| !live.contains(id)) => {
                labels.iter().copied().filter(|id| live.contains(id)).collect()
            }
            _ => Cow::Borrowed(labels),
        }
    }

    /// Position of the group of a state in [`GROUPS`].
    pub fn group(&self, state: Uuid) -> Option<u8> {
        self.lookups.group_of_state.get(&state).copied()
    }

    /// Returns a column of a row as filters and cursors see it.
    pub fn cell(&self, column: Column, chunk: &Chunk, row: &Row) -> Cell {
        let text = |text: Option<&str>| text.map_or(Cell::Null, |text| Cell::Text(text.into()));
        let id = |id: Option<Uuid>| id.map_or(Cell::Null, Cell::Id);
        match column {
            Column::Id => Cell::Id(row.id),
            Column::SequenceId => Cell::Number(row.sequence as f64),
            Column::Priority => text(Some(row.priority.as_str())),
            Column::StateId => Cell::Id(self.pools.id_at(row.state)),
            Column::StateGroup => {
                let group = self.group(self.pools.id_at(row.state));
                text(group.and_then(|group| GROUPS.get(usize::from(group))).copied())
            }
            Column::AssigneeId => Cell::Ids(self.pools.set_at(row.assignees).into()),
            Column::LabelId => Cell::Ids(self.live(self.pools.set_at(row.labels)).into()),
            Column::TypeId => id(self.lookups.type_of.get(&row.id).copied()),
            Column::ParentId => id(row.parent()),
            Column::CycleId => sets_of(&self.lookups.cycles, row.id),
            Column::ModuleId => sets_of(&self.lookups.modules, row.id),
            Column::IsDraft => Cell::Bool(row.is_draft()),
            Column::ExternalId => text(row.external_id()),
            Column::ExternalSource => text(row.external_source()),
            Column::CreatedAt => Cell::Instant(row.created),
            Column::UpdatedAt => Cell::Instant(row.updated),
            Column::StartDate => text(row.start_date().as_deref()),
            Column::TargetDate => text(row.target_date().as_deref()),
            Column::SortOrder => Cell::Number(row.sort_order),
            Column::Name => text(Some(chunk.name(row))),
        }
    }
}

fn sets_of(memberships: &Memberships, item: Uuid) -> Cell {
    let sets = memberships.named.iter().filter(|(_, items)| items.contains(&item));
    Cell::Ids(sets.map(|(set, _)| *set).collect())
}
