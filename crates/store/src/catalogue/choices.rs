//! Options by what a value may call them: put together once, asked for each value, so that many values cost no more
//! for there being many options. May use: `v2`, this folder.

use super::model::PropertyOption;
use crate::v2::value::{read_uuid, small_letters, trimmed};
use std::collections::{HashMap, HashSet};
use uuid::Uuid;

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    Nothing,
    /// This option.
    One(Uuid),
    /// Several options, this one first.
    Several(Uuid),
}

/// Options that may be named.
#[derive(Debug, Default)]
pub(super) struct Choices {
    ids: HashSet<Uuid>,
    names: HashMap<String, Named>,
}

impl Choices {
    /// These options, in their order.
    pub(super) fn of<'o>(options: impl IntoIterator<Item = &'o PropertyOption>) -> Self {
        let mut choices = Self::default();
        for option in options {
            choices.ids.insert(option.id);
            let named = choices.names.entry(small_letters(trimmed(&option.name))).or_insert(Named::Nothing);
            *named = match *named {
                Named::Nothing => Named::One(option.id),
                Named::One(first) | Named::Several(first) => Named::Several(first),
            };
        }
        choices
    }

    /// Whether an option has this id.
    pub(super) fn has(&self, id: Uuid) -> bool {
        self.ids.contains(&id)
    }

    /// The options of this name, whatever its letter case.
    pub(super) fn named(&self, name: &str) -> Named {
        self.names.get(&small_letters(trimmed(name))).copied().unwrap_or(Named::Nothing)
    }

    /// The first option with this id or name.
    pub(super) fn first(&self, text: &str) -> Option<Uuid> {
        match (read_uuid(text).filter(|id| self.has(*id)), self.named(text)) {
            (Some(id), _) | (None, Named::One(id) | Named::Several(id)) => Some(id),
            (None, Named::Nothing) => None,
        }
    }
}
