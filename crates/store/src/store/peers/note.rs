//! Messages of processes to each other over the database: notes of changes, and confirmations of the notes.
//!
//! PostgreSQL accepts at most 8,000 bytes. A note that would be longer says that anything may have changed.
//!
//! May use: `fresh`.

use crate::fresh::Changed;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The channel of [`Note`]s.
pub(in crate::store) const NOTES: &str = "causeway";
/// The channel of [`ReceivedNotes`]s.
pub(super) const HEARD: &str = "causeway_heard";

/// The channel of passed-on [`Hint`]s. It is separate, so that processes of older versions never receive them.
pub(super) const HINTS: &str = "causeway_hints";

/// Maximum number of bytes of a note.
const MOST: usize = 7_900;
/// Maximum number of notes that one message confirms; a number has at most 20 digits.
const AT_ONCE: usize = 300;

/// A message of one process to the others.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Note {
    pub from: Uuid,
    /// Grows with every note of its process.
    pub number: u64,
    /// Empty for a note that only belongs to a renewal of the lease.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<Changed>,
}

/// A message of v1 that something in a project was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hint {
    /// Slug of the workspace whose webhook sent it.
    pub workspace: String,
    /// The project.
    pub project: Uuid,
}

/// A hint that one process passes on to the others.
#[derive(Serialize, Deserialize)]
pub(super) struct PassedOn {
    pub from: Uuid,
    #[serde(flatten)]
    pub hint: Hint,
}

/// Confirmation that notes of the process `of` were received. Each note is named, because a note gets its number before
/// its transaction ends: a note with a higher number may arrive before one with a lower number.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ReceivedNotes {
    pub by: Uuid,
    pub of: Uuid,
    /// The highest of the numbers; older versions send and read only this one.
    pub number: u64,
    #[serde(default)]
    pub numbers: Vec<u64>,
}

impl ReceivedNotes {
    /// Builds the confirmations of `by` for notes of `of`: one message, or several when it would be too long.
    pub fn messages(by: Uuid, of: Uuid, numbers: &[u64]) -> impl Iterator<Item = String> {
        numbers.chunks(AT_ONCE).map(move |numbers| {
            let number = numbers.iter().copied().max().unwrap_or_default();
            serde_json::to_string(&Self { by, of, number, numbers: numbers.to_vec() }).unwrap_or_default()
        })
    }

    /// Returns the numbers of the notes that were received.
    pub fn notes(&self) -> &[u64] {
        if self.numbers.is_empty() { std::slice::from_ref(&self.number) } else { &self.numbers }
    }
}

impl Note {
    /// Returns the text that is sent.
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

    #[test]
    fn a_message_that_notes_were_heard_is_never_too_long_and_may_be_of_an_older_version() {
        let (by, of) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let numbers: Vec<u64> = (0..1_000).map(|low| u64::MAX - low).collect();
        let messages: Vec<String> = ReceivedNotes::messages(by, of, &numbers).collect();
        assert!(messages.iter().all(|text| text.len() <= MOST), "{}", messages[0].len());
        let read = |text: &String| serde_json::from_str::<ReceivedNotes>(text).expect("a message");
        let heard: Vec<u64> = messages.iter().flat_map(|text| read(text).notes().to_vec()).collect();
        assert_eq!(heard, numbers);
        let older = format!("{{\"by\":\"{by}\",\"of\":\"{of}\",\"number\":7}}");
        assert_eq!(read(&older).notes(), [7]);
    }
}
