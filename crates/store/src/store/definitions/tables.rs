//! The definitions as rows: which columns each kind has, and how a record is written to and read from them.
//!
//! May use: `catalogue`, this folder.

use super::super::error::StoreError;
use super::super::rows::{Cell, Cells};
use crate::catalogue::{Context, Property, PropertyOption, PropertyType, RelationType, WorkItemType};
use serde::Serialize;
use serde::de::DeserializeOwned;
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

    /// Whether the record takes a place that only one may have; the record that gives it up is saved before.
    fn takes_a_place(&self) -> bool {
        false
    }
}

impl Definition for WorkItemType {
    const TABLE: &'static str = "work_item_type";
    const COLUMNS: &'static [&'static str] = &[
        "project_id",
        "name",
        "description",
        "is_active",
        "is_default",
        "is_epic",
        "level",
        "logo_props",
        "external_id",
        "external_source",
        "created_at",
    ];

    fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::Text(self.project.map(|id| id.to_string())),
            Cell::text(&self.name),
            Cell::text(&self.description),
            Cell::flag(self.is_active),
            Cell::flag(self.is_default),
            Cell::flag(self.is_epic),
            Cell::whole(self.level),
            Cell::json(&self.logo_props),
            Cell::Text(self.external_id.clone()),
            Cell::Text(self.external_source.clone()),
            Cell::whole(self.created_at),
        ]
    }

    fn read(id: Uuid, cells: &mut Cells<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            id,
            project: cells.id_or_null()?,
            name: cells.text()?,
            description: cells.text()?,
            is_active: cells.flag()?,
            is_default: cells.flag()?,
            is_epic: cells.flag()?,
            level: cells.whole()?,
            logo_props: cells.json()?,
            external_id: cells.text_or_null()?,
            external_source: cells.text_or_null()?,
            created_at: cells.whole()?,
        })
    }

    fn takes_a_place(&self) -> bool {
        self.is_default
    }
}

impl Definition for Property {
    const TABLE: &'static str = "property";
    const COLUMNS: &'static [&'static str] = &[
        "project_id",
        "name",
        "display_name",
        "description",
        "property_type",
        "relation_type",
        "is_required",
        "is_multi",
        "is_active",
        "default_value",
        "settings",
        "validation_rules",
        "logo_props",
        "sort_order",
        "external_id",
        "external_source",
        "created_at",
    ];

    fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::Text(self.project.map(|id| id.to_string())),
            Cell::text(&self.name),
            Cell::text(&self.display_name),
            Cell::Text(self.description.clone()),
            word(Some(self.property_type)),
            word(self.relation_type),
            Cell::flag(self.is_required),
            Cell::flag(self.is_multi),
            Cell::flag(self.is_active),
            strings(self.default_value.iter().cloned()),
            Cell::json(&self.settings),
            Cell::json(&self.validation_rules),
            Cell::json(&self.logo_props),
            Cell::real(self.sort_order),
            Cell::Text(self.external_id.clone()),
            Cell::Text(self.external_source.clone()),
            Cell::whole(self.created_at),
        ]
    }

    fn read(id: Uuid, cells: &mut Cells<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            id,
            project: cells.id_or_null()?,
            name: cells.text()?,
            display_name: cells.text()?,
            description: cells.text_or_null()?,
            property_type: read_word::<PropertyType>(cells.text()?)?,
            relation_type: cells.text_or_null()?.map(read_word::<RelationType>).transpose()?,
            is_required: cells.flag()?,
            is_multi: cells.flag()?,
            is_active: cells.flag()?,
            default_value: cells.json()?,
            settings: cells.json()?,
            validation_rules: cells.json()?,
            logo_props: cells.json()?,
            sort_order: cells.real()?,
            external_id: cells.text_or_null()?,
            external_source: cells.text_or_null()?,
            created_at: cells.whole()?,
        })
    }
}

impl Definition for PropertyOption {
    const TABLE: &'static str = "property_option";
    const COLUMNS: &'static [&'static str] = &[
        "property_id",
        "name",
        "description",
        "is_default",
        "sort_order",
        "logo_props",
        "external_id",
        "external_source",
        "created_at",
    ];

    fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::id(self.property),
            Cell::text(&self.name),
            Cell::text(&self.description),
            Cell::flag(self.is_default),
            Cell::real(self.sort_order),
            Cell::json(&self.logo_props),
            Cell::Text(self.external_id.clone()),
            Cell::Text(self.external_source.clone()),
            Cell::whole(self.created_at),
        ]
    }

    fn read(id: Uuid, cells: &mut Cells<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            id,
            property: cells.id()?,
            name: cells.text()?,
            description: cells.text()?,
            is_default: cells.flag()?,
            sort_order: cells.real()?,
            logo_props: cells.json()?,
            external_id: cells.text_or_null()?,
            external_source: cells.text_or_null()?,
            created_at: cells.whole()?,
        })
    }
}

/// Its choices lie in a table of their own and are read beside it.
impl Definition for Context {
    const TABLE: &'static str = "property_context";
    const COLUMNS: &'static [&'static str] = &[
        "property_id",
        "name",
        "all_projects",
        "all_types",
        "projects",
        "types",
        "is_required",
        "is_multi",
        "is_default",
        "default_value",
        "settings",
        "sort_order",
        "external_id",
        "external_source",
        "created_at",
    ];

    fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::id(self.property),
            Cell::text(&self.name),
            Cell::flag(self.all_projects),
            Cell::flag(self.all_types),
            strings(self.projects.iter().map(Uuid::to_string)),
            strings(self.types.iter().map(Uuid::to_string)),
            Cell::flag(self.is_required),
            Cell::flag(self.is_multi),
            Cell::flag(self.is_default),
            strings(self.default_value.iter().cloned()),
            Cell::json(&self.settings),
            Cell::real(self.sort_order),
            Cell::Text(self.external_id.clone()),
            Cell::Text(self.external_source.clone()),
            Cell::whole(self.created_at),
        ]
    }

    fn read(id: Uuid, cells: &mut Cells<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            id,
            property: cells.id()?,
            name: cells.text()?,
            all_projects: cells.flag()?,
            all_types: cells.flag()?,
            projects: cells.json()?,
            types: cells.json()?,
            is_required: cells.flag()?,
            is_multi: cells.flag()?,
            is_default: cells.flag()?,
            default_value: cells.json()?,
            settings: cells.json()?,
            options: Vec::new(),
            sort_order: cells.real()?,
            external_id: cells.text_or_null()?,
            external_source: cells.text_or_null()?,
            created_at: cells.whole()?,
        })
    }

    fn takes_a_place(&self) -> bool {
        self.all_projects
    }
}

fn strings(items: impl Iterator<Item = String>) -> Cell {
    Cell::json(&Value::from_iter(items))
}

/// An enumeration by the word of its serialised form.
fn word<T: Serialize>(value: Option<T>) -> Cell {
    let value = value.and_then(|value| serde_json::to_value(value).ok());
    Cell::Text(value.and_then(|value| value.as_str().map(str::to_owned)))
}

fn read_word<T: DeserializeOwned>(text: String) -> Result<T, StoreError> {
    serde_json::from_value(Value::String(text.clone())).map_err(|_| StoreError::unreadable("the kind", &text))
}
