//! The names and ids in a path, and the pattern of a route that they are read with. Ids in paths must be written
//! in lower case with dashes. May use: `forms`, `records`.

use crate::forms::values::path_id;
use crate::records::table::Id;

/// The names and ids in a path.
#[derive(Debug, Clone, Default)]
pub(crate) struct Place {
    /// The workspace.
    pub(crate) slug: String,
    /// The project.
    pub(crate) project: Id,
    /// The record before the last one: work item, cycle or module.
    pub(crate) parent: Id,
    /// The last record.
    pub(crate) id: Id,
    /// The project part and the number part of a work item's key.
    pub(crate) key: (String, String),
}

impl Place {
    /// Reads the segments of a path by a pattern; none when they do not fit it. In a pattern `:name` stands for a name
    /// or an id, `one|other` for one of two words.
    pub(crate) fn read<'p>(mut pattern: impl Iterator<Item = &'p str>, path: &[&str]) -> Option<Self> {
        let mut place = Self::default();
        for segment in path {
            let part = pattern.next()?;
            match part.strip_prefix(':') {
                Some(name) => place.take(name, segment)?,
                None => part.split('|').find(|word| word == segment).map(drop)?,
            }
        }
        pattern.next().is_none().then_some(place)
    }

    fn take(&mut self, name: &str, segment: &str) -> Option<()> {
        match name {
            "slug" if !segment.is_empty() => segment.clone_into(&mut self.slug),
            "project" => self.project = path_id(segment)?,
            "parent" => self.parent = path_id(segment)?,
            "id" => self.id = path_id(segment)?,
            "key" => {
                // The last dash separates the two parts (`items_key_two_dashes`, `items_key_negative`).
                let (project, number) = segment.rsplit_once('-')?;
                if project.is_empty() || number.is_empty() {
                    return None;
                }
                self.key = (project.to_owned(), number.to_owned());
            }
            _ => return None,
        }
        Some(())
    }
}
