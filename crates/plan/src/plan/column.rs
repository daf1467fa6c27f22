//! The columns of work items: the fields that their lists filter, order or search by.
//!
//! The mapping of work items declares each column with its names, its kind, its filters, its order and its cursor. This
//! file names the columns for the program, where every use is a `match` over all of them. If such a list uses a field
//! that is no column, or that holds another kind of value, the gateway does not start. May use: this folder.

use super::kind::{Kind, ValueType};
use strum::{EnumIter, EnumString, IntoEnumIterator, IntoStaticStr};

/// A value of a work item that lists filter, order or search by; named like its field in the mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Column {
    /// Id.
    Id,
    /// Number within the project.
    SequenceId,
    /// Priority. Filters compare the word; orders sort by its meaning.
    Priority,
    /// State.
    StateId,
    /// Group of the state. Filters compare the word; orders sort by its meaning.
    StateGroup,
    /// Assigned people.
    AssigneeId,
    /// Applied labels, without deleted labels.
    LabelId,
    /// Type.
    TypeId,
    /// Parent.
    ParentId,
    /// Cycles the item is in.
    CycleId,
    /// Modules the item is in.
    ModuleId,
    /// Draft or not.
    IsDraft,
    /// Correlation value.
    ExternalId,
    /// Origin of the correlation value.
    ExternalSource,
    /// Creation.
    CreatedAt,
    /// Last change.
    UpdatedAt,
    /// Planned start.
    StartDate,
    /// Planned end.
    TargetDate,
    /// Ordering weight.
    SortOrder,
    /// Title.
    Name,
}

impl Column {
    /// Returns all columns.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::iter()
    }

    /// Returns the name of the field in the mapping.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the type of the field's value.
    pub fn value(self) -> ValueType {
        ValueType::One(match self {
            Self::AssigneeId | Self::LabelId => return ValueType::Array(Some(Kind::Uuid)),
            Self::Id | Self::StateId | Self::TypeId | Self::ParentId | Self::CycleId | Self::ModuleId => Kind::Uuid,
            Self::Priority | Self::StateGroup | Self::ExternalId | Self::ExternalSource | Self::Name => {
                Kind::String
            }
            Self::SequenceId => Kind::Integer,
            Self::SortOrder => Kind::Number,
            Self::IsDraft => Kind::Boolean,
            Self::CreatedAt | Self::UpdatedAt => Kind::DateTime,
            Self::StartDate | Self::TargetDate => Kind::Date,
        })
    }

    /// Checks whether lists can be ordered by this column.
    pub fn is_ordered(self) -> bool {
        self.is_resumed() || matches!(self, Self::Priority | Self::StateGroup)
    }

    /// Checks whether a cursor can keep a position in the order by this column.
    pub fn is_resumed(self) -> bool {
        matches!(self, Self::Id | Self::SequenceId | Self::CreatedAt | Self::UpdatedAt | Self::SortOrder)
    }
}
