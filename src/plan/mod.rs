//! What the mapping files mean: the compiled, checked, immutable plan everything else works from.
//!
//! Purpose: routes, scopes, parameters, renames, filters, documentation and costs are all read off a
//! [`Plan`]. It is compiled once at start; a faulty set of mappings never becomes a plan.
//!
//! May use: `mapping`. May not use: any folder that serves requests.

pub mod codes;
mod compile;
mod operation;
mod path;
mod resource;
pub mod routes;
pub mod scopes;
mod shape;
mod turn;

pub use compile::{Functions, compile};
pub use operation::{
    Answer, BodyRule, Calls, ErrorCase, Filter, FilterTest, Input, Operation, Order, Param, ParamRole, PlannedCall,
    Step, Surface, TypeMode,
};
pub use path::{PathTemplate, Segment};
pub use resource::{Field, Keep, OnCreate, Resource, Rows, Source, V1Refusal, V1Source, WriteKind};
pub use shape::Shape;
pub use turn::{Turn, TurnOf};

use indexmap::IndexMap;
use serde_json::Value;
use std::fmt;

/// The methods operations use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Method {
    /// Reads.
    Get,
    /// Creates or acts.
    Post,
    /// Updates partially.
    Patch,
    /// Deletes.
    Delete,
}

impl Method {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// Whether the operation changes something.
    pub fn writes(self) -> bool {
        self != Self::Get
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What kind of value a field, parameter or body member holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Text.
    String,
    /// A UUID in text.
    Uuid,
    /// An e-mail address in text.
    Email,
    /// `YYYY-MM-DD`.
    Date,
    /// ISO 8601 date and time.
    DateTime,
    /// A whole number.
    Integer,
    /// A finite number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A JSON object.
    Object,
    /// Any JSON.
    Any,
}

impl Kind {
    /// `type` in the contract's tables.
    pub fn contract_type(self) -> &'static str {
        match self {
            Self::String | Self::Uuid | Self::Email | Self::Date | Self::DateTime => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Object => "object",
            Self::Any => "any",
        }
    }

    /// `format` in the contract's tables.
    pub fn contract_format(self) -> Option<&'static str> {
        match self {
            Self::Uuid => Some("uuid"),
            Self::Email => Some("email"),
            Self::Date => Some("date"),
            Self::DateTime => Some("date-time"),
            _ => None,
        }
    }
}

/// One value or several of a [`Kind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// A single value.
    One(Kind),
    /// A JSON array (body members, fields); `None` for elements of no stated kind.
    Array(Option<Kind>),
    /// One query parameter holding comma-separated elements.
    Csv(Kind),
}

/// The whole service as the mappings declare it.
#[derive(Debug)]
pub struct Plan {
    /// Resources in file order.
    pub resources: Vec<Resource>,
    /// Operations in file order.
    pub operations: Vec<Operation>,
    /// Read shapes and what they are made of, by name.
    pub shapes: IndexMap<String, Shape>,
}

impl Plan {
    /// The operation with `id`.
    pub fn operation(&self, id: &str) -> Option<&Operation> {
        self.operations.iter().find(|operation| operation.id == id)
    }

    /// The resource an operation belongs to.
    pub fn resource_of(&self, operation: &Operation) -> &Resource {
        &self.resources[operation.resource]
    }

    /// Index of the operation that shows the record which `operation` writes to; none when it is addressed to no
    /// single record.
    pub fn showing(&self, operation: &Operation) -> Option<usize> {
        let path = operation.path.as_str();
        let shown = match operation.method {
            Method::Get => return None,
            Method::Patch | Method::Delete => path,
            // A verb stands behind the path of its record.
            Method::Post => {
                let record = path.trim_end_matches('/').rsplit_once('/')?.0;
                record.ends_with('}').then(|| &path[..=record.len()])?
            }
        };
        let shows = |known: &Operation| {
            known.method == Method::Get && known.answer == Answer::Record && known.path.as_str() == shown
        };
        self.operations.iter().position(shows)
    }

    /// The resource called `name`.
    pub fn resource(&self, name: &str) -> Option<&Resource> {
        self.resources.iter().find(|resource| resource.name == name)
    }
}

/// A constant of a mapping (defaults, `null_as`).
pub type Constant = Value;
