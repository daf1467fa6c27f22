//! What processes send each other over the database: notes of what has changed, and that they were heard.
//!
//! PostgreSQL takes at most 8,000 bytes. A note that would be longer says that anything may have changed.
//!
//! May use: `fresh`.

use crate::fresh::Changed;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The channel of [`Note`]s.
pub(in crate::store) const NOTES: &str = "causeway";
/// The channel of [`Heard`]s.
pub(super) const HEARD: &str = "causeway_heard";

/// Most bytes of a note.
const MOST: usize = 7_900;

/// What one process tells the others.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Note {
    pub from: Uuid,
    /// Grows with every note of its process.
    pub number: u64,
    /// Empty for one that only goes with a renewal of the lease.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<Changed>,
}

/// That the notes of `of` were heard up to `number`.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Heard {
    pub by: Uuid,
    pub of: Uuid,
    pub number: u64,
}

impl Note {
    /// As it is sent.
    pub fn text(mut self) -> String {
        let text = serde_json::to_string(&self).unwrap_or_default();
        if !text.is_empty() && text.len() <= MOST {
            return text;
        }
        self.changed = vec![Changed::AnyStored, Changed::Credentials, Changed::AnyProjectAccess];
        serde_json::to_string(&self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_that_is_too_long_says_that_anything_may_have_changed() {
        let note = |changed| Note { from: Uuid::from_u128(1), number: 7, changed };
        let read = |text: &str| serde_json::from_str::<Note>(text).expect("a note");
        let few = vec![Changed::Stored(Uuid::from_u128(2)), Changed::Workspace("acme".into())];
        assert_eq!(read(&note(few.clone()).text()).changed, few);
        let many = (0..1_000).map(|id| Changed::Stored(Uuid::from_u128(id))).collect();
        let text = note(many).text();
        assert!(text.len() <= MOST);
        assert!(read(&text).changed.contains(&Changed::AnyStored));
        assert_eq!(read(&note(Vec::new()).text()).changed, Vec::new());
    }
}
