//! One resource: its fields, and where v1 keeps its records. May use: `mapping`, this folder.

use super::column::Column;
use super::kind::ValueType;
use super::known::Known;
use super::path::PathTemplate;
use super::rules::{OneOfAll, Required};
use crate::mapping::{FieldSpec, Keep, OwnRecords, ReadOneBy, Rows, Source, Step, V1Refusal};
use std::sync::Arc;

impl OwnRecords {
    /// Whether the own store carries this step out for such records.
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
    /// Name, equal to the file's.
    pub name: String,
    /// Which one it is of those that the program knows by name.
    pub known: Option<Known>,
    /// Mapping file it was declared in.
    pub file: String,
    /// One sentence for people.
    pub about: String,
    /// Where its records live.
    pub source: Source,
    /// Which records of the own store they are; none for resources behind v1, and where named functions do everything.
    pub records: Option<OwnRecords>,
    /// Name of the read shape.
    pub shape: String,
    /// What v1 cannot give, for the list of known gaps.
    pub gaps: Vec<String>,
    /// How v1 keeps it; none for own resources.
    pub v1: Option<V1Source>,
    /// Fields of the read shape in order, hidden ones (for order, filter and search only) last.
    pub fields: Vec<Field>,
    /// Indices of the fields that filters, orders and searches look at, in cell order.
    pub cells: Vec<usize>,
    /// No two records of a collection have the same value of this field.
    pub unique: Option<OneOfAll>,
    /// One record of a collection has this flag.
    pub exclusive: Option<OneOfAll>,
    /// A record that must be there for every operation.
    pub requires: Option<Required>,
    /// The column of each cell; empty for resources whose lists do not come from the index.
    pub columns: Arc<[Column]>,
}

impl Resource {
    /// Index of the field called `name`.
    pub fn field_index(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }

    /// The field called `name`.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The field that v1 calls `key`.
    pub fn field_of_v1(&self, key: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.spec.v1.as_deref() == Some(key))
    }

    /// Whether it is this one.
    pub fn is(&self, known: Known) -> bool {
        self.known == Some(known)
    }

    /// Whether one record is read at its own path, past the list.
    pub fn reads_alone(&self) -> bool {
        self.v1.as_ref().is_some_and(|v1| v1.one == ReadOneBy::Record)
    }

    /// Whether the overlay holds values of some fields.
    pub fn keeps_values(&self) -> bool {
        self.fields.iter().any(|field| field.spec.keep != Keep::V1)
    }

    /// Position among the cells of the field called `name`.
    pub fn cell_index(&self, name: &str) -> Option<usize> {
        let field = self.field_index(name)?;
        self.cells.iter().position(|&cell| cell == field)
    }
}

/// Where and how v1 keeps the records of a resource.
#[derive(Debug)]
pub struct V1Source {
    /// The list.
    pub collection: Option<PathTemplate>,
    /// One record.
    pub record: Option<PathTemplate>,
    /// Form of the list's answer.
    pub rows: Rows,
    /// Query that asks the list for the needed fields only, such as `fields=id,name`; empty when v1
    /// ignores it there.
    pub list_query: String,
    /// How one record is read.
    pub one: ReadOneBy,
    /// A second list, for a record that the first one lacks.
    pub also_in: Option<PathTemplate>,
    /// What v1's refusals of writes mean.
    pub refusals: Vec<V1Refusal>,
}

/// One field of a read shape.
#[derive(Debug)]
pub struct Field {
    /// v2 name.
    pub name: String,
    /// Kind of value.
    pub value: ValueType,
    /// What the files say about it.
    pub spec: FieldSpec,
}
