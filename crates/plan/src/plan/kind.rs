//! Words every part of the plan is described with: kinds of values, and the resources that the program knows by name,
//! because it does more with them than their mappings say. May use: nothing of this crate.

use strum::{EnumIter, EnumString, IntoEnumIterator, IntoStaticStr};

/// What kind of value a field, parameter or body member holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EnumString)]
#[strum(serialize_all = "kebab-case")]
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

/// A resource with oddities of its own. Everything else of the program treats all resources alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Known {
    /// Group work items; which ones, v1 tells of each cycle alone.
    Cycles,
    /// On work items, which carry ids of deleted ones for a while.
    Labels,
    /// Group work items as cycles do.
    Modules,
    /// Who can be named in a project.
    ProjectMembers,
    /// In which work items are.
    States,
    /// The work items themselves: index, human keys, types and values of their own.
    WorkItems,
}

impl Known {
    /// Last part of the v1 path of the work items in one of its records, for those that group work items.
    pub fn items(self) -> Option<&'static str> {
        match self {
            Self::Cycles => Some("cycle-issues/"),
            Self::Modules => Some("module-issues/"),
            _ => None,
        }
    }

    /// Each of them.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::iter()
    }

    /// Its name in the mappings.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
