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

/// The channel of [`Hint`]s that are passed on. It is apart, so that processes of older versions never hear of them.
pub(super) const HINTS: &str = "causeway_hints";

/// Most bytes of a note.
const MOST: usize = 7_900;
/// Most notes that one message confirms; a number has at most 20 digits.
const AT_ONCE: usize = 300;

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

/// v1 has said that something in a project was touched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hint {
    /// Slug of the workspace whose webhook has said so.
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

/// That notes of `of` were heard. Each is named: a note takes its number before its transaction ends, so that one with
/// a higher number may come before one with a lower.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Heard {
    pub by: Uuid,
    pub of: Uuid,
    /// The highest of them, and all that older versions send and read.
    pub number: u64,
    #[serde(default)]
    pub numbers: Vec<u64>,
}

impl Heard {
    /// What `by` has to say of the notes of `of`: one message, or several when it would be too long.
    pub fn messages(by: Uuid, of: Uuid, numbers: &[u64]) -> impl Iterator<Item = String> {
        numbers.chunks(AT_ONCE).map(move |numbers| {
            let number = numbers.iter().copied().max().unwrap_or_default();
            serde_json::to_string(&Self { by, of, number, numbers: numbers.to_vec() }).unwrap_or_default()
        })
    }

    /// The notes that were heard.
    pub fn notes(&self) -> &[u64] {
        if self.numbers.is_empty() { std::slice::from_ref(&self.number) } else { &self.numbers }
    }
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

    #[test]
    fn a_message_that_notes_were_heard_is_never_too_long_and_may_be_of_an_older_version() {
        let (by, of) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let numbers: Vec<u64> = (0..1_000).map(|low| u64::MAX - low).collect();
        let messages: Vec<String> = Heard::messages(by, of, &numbers).collect();
        assert!(messages.iter().all(|text| text.len() <= MOST), "{}", messages[0].len());
        let read = |text: &String| serde_json::from_str::<Heard>(text).expect("a message");
        let heard: Vec<u64> = messages.iter().flat_map(|text| read(text).notes().to_vec()).collect();
        assert_eq!(heard, numbers);
        let older = format!("{{\"by\":\"{by}\",\"of\":\"{of}\",\"number\":7}}");
        assert_eq!(read(&older).notes(), [7]);
    }
}
