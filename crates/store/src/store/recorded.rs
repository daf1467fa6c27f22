//! The data that one write stores about a work item besides v1: its type and custom values. May use: nothing of this
//! crate.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashMap;
use uuid::Uuid;

/// Change of an item's type by a write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TypeChange {
    /// The type stays.
    #[default]
    Kept,
    /// The type becomes this one, or none.
    Set(Option<Uuid>),
}

/// One element of a custom value, as stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Element {
    /// A JSON scalar.
    pub value: Value,
    /// The option it points at.
    pub option: Option<Uuid>,
}

/// The data that one write stores about a work item besides v1.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OwnWrite {
    /// Change of the type.
    pub type_id: TypeChange,
    /// Properties with all their elements; an empty list removes the value. Other properties stay.
    pub values: Vec<(Uuid, Vec<Element>)>,
}

impl OwnWrite {
    /// Checks whether the write changes nothing.
    pub fn is_empty(&self) -> bool {
        self.type_id == TypeChange::Kept && self.values.is_empty()
    }
}

/// Values of one item by property.
pub type ItemValues = HashMap<Uuid, Vec<Element>>;
