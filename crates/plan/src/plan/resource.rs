//! One resource: its fields, and where v1 keeps its records. May use: `mapping`, this folder.

use super::column::Column;
use super::kind::ValueType;
use super::known::Known;
use super::path::PathTemplate;
use super::rules::{CollectionRule, Required};
use crate::mapping::{FieldSpec, Keep, OwnRecords, ReadOneBy, Rows, Source, Step, V1Refusal};
use std::sync::Arc;

impl OwnRecords {
    /// Checks whether the own store carries out this step for these records.
    pub fn has(self, step: Step) -> bool {
        match (self, step) {
            (Self::Features, Step::ReadOne | Step::Update) => true,
            (Self::Features, _) | (Self::Attachments, Step::Update) => false,
            (_, step) => !matches!(step, Step::Special(_) | Step::Pending),
        }
    }
}

/// A resource as its mapping file declares it.
#[derive(Debug)]
pub struct Resource {
    /// Name; the file is named after it.
    pub name: String,
    /// The special resource that this is, when the program knows it by name.
    pub known: Option<Known>,
    /// Mapping file it was declared in.
    pub file: String,
    /// One sentence for people.
    pub about: String,
    /// Where its records live.
    pub source: Source,
    /// Kind of records in the own store. None for resources behind v1, and where named functions do everything.
    pub records: Option<OwnRecords>,
    /// Name of the read shape.
    pub shape: String,
    /// Values and functions that v1 cannot give, for the list of known gaps.
    pub gaps: Vec<String>,
    /// Where and how v1 keeps the records; none for own resources.
    pub v1: Option<V1Source>,
    /// Fields of the read shape in order, hidden ones (for order, filter and search only) last.
    pub fields: Vec<Field>,
    /// Indices of the fields that lists filter, order and search by, in cell order.
    pub cells: Vec<usize>,
    /// Field whose value is unique among the records of a collection.
    pub unique: Option<CollectionRule>,
    /// Flag that only one record of a collection has.
    pub exclusive: Option<CollectionRule>,
    /// Record that must exist for every operation.
    pub requires: Option<Required>,
    /// The column of each cell; empty for resources whose lists do not come from the index.
    pub columns: Arc<[Column]>,
}

impl Resource {
    /// Returns the index of the field called `name`.
    pub fn field_index(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }

    /// Returns the field called `name`.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Returns the field that v1 calls `key`.
    pub fn field_of_v1(&self, key: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.spec.v1.as_deref() == Some(key))
    }

    /// Checks whether this is the resource `known`.
    pub fn is(&self, known: Known) -> bool {
        self.known == Some(known)
    }

    /// Checks whether a single record is read at its own path instead of from the list.
    pub fn reads_alone(&self) -> bool {
        self.v1.as_ref().is_some_and(|v1| v1.one == ReadOneBy::Record)
    }

    /// Checks whether the overlay holds values of any field.
    pub fn keeps_values(&self) -> bool {
        self.fields.iter().any(|field| field.spec.keep != Keep::V1)
    }

    /// Returns the position of the field called `name` among the cells.
    pub fn cell_index(&self, name: &str) -> Option<usize> {
        let field = self.field_index(name)?;
        self.cells.iter().position(|&cell| cell == field)
    }
}

/// Where and how v1 keeps the records of a resource.
#[derive(Debug)]
pub struct V1Source {
    /// Path of the list.
    pub collection: Option<PathTemplate>,
    /// Path of one record.
    pub record: Option<PathTemplate>,
    /// Form of the list's answer.
    pub rows: Rows,
    /// Query that asks the list for the needed fields only, such as `fields=id,name`; empty when v1
    /// ignores it there.
    pub list_query: String,
    /// Way to read one record.
    pub one: ReadOneBy,
    /// Path of a second list, for a record that the first list lacks.
    pub also_in: Option<PathTemplate>,
    /// Meanings of v1's refusals of writes.
    pub refusals: Vec<V1Refusal>,
}

/// One field of a read shape.
#[derive(Debug)]
pub struct Field {
    /// v2 name.
    pub name: String,
    /// Kind of value.
    pub value: ValueType,
    /// Declaration in the mapping files.
    pub spec: FieldSpec,
}
