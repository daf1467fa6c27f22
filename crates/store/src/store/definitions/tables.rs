//! The definitions as rows: the columns of each kind, and how a record is written to and read from them.
//!
//! May use: `catalogue`, this folder.

use super::super::error::StoreError;
use super::super::rows::{Cell, Cells, Column, Parameter};
use crate::catalogue::{Context, Property, PropertyOption, PropertyType, RelationType, WorkItemType};
use serde_json::Value;
use uuid::Uuid;

/// A kind of record with a table of its own, whose first columns are `id` and `workspace_id`.
pub(super) trait Definition: Sized + PartialEq {
    /// Name of the table.
    const TABLE: &'static str;
    /// The other columns, in the order of [`Definition::cells`] and [`Definition::read`].
    const COLUMNS: &'static [&'static str];

    fn cells(&self) -> Vec<Cell>;

    fn read(id: Uuid, cells: &mut Cells<'_>) -> Result<Self, StoreError>;

    /// Checks whether the record takes a place that only one may have. The record that gives it up is saved first.
    fn takes_a_place(&self) -> bool {
        false
    }
}

/// Declares the table of a kind of record, and the column of each field. `as` gives the column of a field with another
/// name; fields after `beside` are stored elsewhere.
macro_rules! definition {
    (
        $kind:ident in $table:literal $(, takes a place when $place:ident)?:
        $($field:ident $(as $column:ident)?),*
        $(; beside $other:ident)?
    ) => {
        impl Definition for $kind {
            const TABLE: &'static str = $table;
            const COLUMNS: &'static [&'static str] = &[$(column!($field $($column)?)),*];

            fn cells(&self) -> Vec<Cell> {
                vec![$(self.$field.cell()),*]
            }

            fn read(id: Uuid, cells: &mut Cells<'_>) -> Result<Self, StoreError> {
                Ok(Self { id, $($field: cells.next()?,)* $($other: Default::default())? })
            }

            $(fn takes_a_place(&self) -> bool {
                self.$place
            })?
        }
    };
}

macro_rules! column {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $column:ident) => {
        stringify!($column)
    };
}

definition! {
    WorkItemType in "work_item_type", takes a place when is_default:
    project as project_id, name, description, is_active, is_default, is_epic, level, logo_props, external_id,
    external_source, created_at
}

definition! {
    Property in "property":
    project as project_id, name, display_name, description, property_type, relation_type, is_required, is_multi,
    is_active, default_value, settings, validation_rules, logo_props, sort_order, external_id, external_source,
    created_at
}

definition! {
    PropertyOption in "property_option":
    property as property_id, name, description, is_default, sort_order, logo_props, external_id, external_source,
    created_at
}

definition! {
    Context in "property_context", takes a place when all_projects:
    property as property_id, name, all_projects, all_types, projects, types, is_required, is_multi, is_default,
    default_value, settings, sort_order, external_id, external_source, created_at;
    beside options
}

/// Implements both traits for enumerations, stored as the word of their serialised form.
macro_rules! words {
    ($($kind:ident),*) => {$(
        impl Parameter for $kind {
            fn cell(&self) -> Cell {
                let word = serde_json::to_value(self).ok();
                Cell::Text(word.and_then(|word| word.as_str().map(str::to_owned)))
            }
        }

        impl Column for $kind {
            type Stored = String;

            fn read(stored: String) -> Result<Self, StoreError> {
                let read = serde_json::from_value(Value::String(stored.clone()));
                read.map_err(|_| StoreError::unreadable("the kind", &stored))
            }
        }
    )*};
}

words!(PropertyType, RelationType);
