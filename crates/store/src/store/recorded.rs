//! What one write leaves on a work item beside v1: its type and its custom values. May use: nothing of this crate.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashMap;
use uuid::Uuid;

/// What a write makes of an item's type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TypeChange {
    /// It stays.
    #[default]
    Kept,
    /// It becomes this, or none.
    Set(Option<Uuid>),
}

/// One element of a custom value, as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Element {
    /// A JSON scalar.
    pub value: Value,
    /// The option it points at.
    pub option: Option<Uuid>,
}

/// What one write leaves on a work item beside v1.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OwnWrite {
    /// Its type.
    pub type_id: TypeChange,
    /// Properties with all their elements; without any the value goes. Other properties stay.
    pub values: Vec<(Uuid, Vec<Element>)>,
}

impl OwnWrite {
    /// Whether it leaves everything as it is.
    pub fn is_empty(&self) -> bool {
        self.type_id == TypeChange::Kept && self.values.is_empty()
    }
}

/// Values of one item by property.
pub type ItemValues = HashMap<Uuid, Vec<Element>>;
