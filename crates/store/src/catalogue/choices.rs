//! Index of options by id and name. It is built once and read for each value, so that the cost of a value does not
//! grow with the number of options. May use: `v2`, this folder.

use super::model::{Catalogue, Context, PropertyOption};
use crate::v2::value::{read_uuid, small_letters, trimmed};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use uuid::Uuid;

/// Options that have a given name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    Nothing,
    /// One option, with this id.
    One(Uuid),
    /// Several options; the id is that of the first.
    Several(Uuid),
}

impl Named {
    fn add(&mut self, option: Uuid) {
        *self = match *self {
            Self::Nothing => Self::One(option),
            Self::One(first) | Self::Several(first) => Self::Several(first),
        };
    }
}

/// Options that a value may name.
#[derive(Debug, Default)]
pub(super) struct Choices {
    ids: HashSet<Uuid>,
    /// By the name in the form in which names are compared.
    names: HashMap<String, Named>,
    /// By the name as it is.
    exact_names: HashMap<String, Named>,
}

impl Choices {
    /// Builds the index of `options`, in their order.
    pub(super) fn of<'o>(options: impl IntoIterator<Item = &'o PropertyOption>) -> Self {
        let mut choices = Self::default();
        for option in options {
            choices.ids.insert(option.id);
            choices.names.entry(plain(&option.name)).or_insert(Named::Nothing).add(option.id);
            choices.exact_names.entry(trimmed(&option.name).to_owned()).or_insert(Named::Nothing).add(option.id);
        }
        choices
    }

    /// Checks whether an option has this id.
    pub(super) fn has(&self, id: Uuid) -> bool {
        self.ids.contains(&id)
    }

    /// Returns the options with exactly this name; if there are none, the options with this name ignoring letter case.
    /// So the name that a read shows can be sent back, also beside an option whose name differs only in letter case.
    pub(super) fn named(&self, name: &str) -> Named {
        let exactly = self.exact_names.get(trimmed(name));
        exactly.or_else(|| self.names.get(&plain(name))).copied().unwrap_or(Named::Nothing)
    }

    /// Returns the first option with this id or name.
    pub(super) fn first(&self, text: &str) -> Option<Uuid> {
        match (read_uuid(text).filter(|id| self.has(*id)), self.named(text)) {
            (Some(id), _) | (None, Named::One(id) | Named::Several(id)) => Some(id),
            (None, Named::Nothing) => None,
        }
    }
}

/// Returns a name in the form in which names are compared.
pub(super) fn plain(name: &str) -> String {
    small_letters(trimmed(name))
}

impl Catalogue {
    /// Returns the index of all options of the property.
    pub(super) fn choices_of(&self, property: Uuid) -> Choices {
        Choices::of(self.options_of(property).into_iter().map(Arc::as_ref))
    }

    /// Returns the index of the options that the context offers.
    pub(super) fn choices_in(&self, context: &Context) -> Choices {
        Choices::of(self.offered(context).iter().map(|offered| &*offered.option))
    }
}
