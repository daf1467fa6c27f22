//! Rejected fields of a request, in bounded memory: an answer never grows with the number of faults in a body.
//!
//! May use: nothing of this crate.

use serde::Serialize;

/// Maximum number of entries in `errors`; all further errors are only counted.
pub const MOST: usize = 100;
/// Longest message, in characters; a message that is cut ends with an ellipsis.
const LONGEST_MESSAGE: usize = 1000;
/// Longest name of a field, in characters: names of custom properties have up to 255, and an index.
const LONGEST_NAME: usize = 300;

/// One rejected field of a request, in v2 names (`errors[]` of a `validation_error`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FieldError {
    /// v2 name of the field or parameter; nested fields are dotted with an index (`options.1.name`).
    pub field: String,
    /// Description of the fault, a sentence for people.
    pub message: String,
}

impl FieldError {
    /// Creates an entry for `field`. Very long texts are cut.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: cut(field.into(), LONGEST_NAME), message: cut(message.into(), LONGEST_MESSAGE) }
    }
}

fn cut(mut text: String, longest: usize) -> String {
    if text.len() > longest
        && let Some((end, _)) = text.char_indices().nth(longest)
    {
        text.truncate(end);
        text.push('…');
        text.shrink_to_fit();
    }
    text
}

/// Rejected fields: the first 100 are kept, the others counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldErrors {
    kept: Vec<FieldError>,
    more: usize,
}

impl FieldErrors {
    /// Adds a rejected field.
    pub fn push(&mut self, error: FieldError) {
        if self.kept.len() < MOST { self.kept.push(error) } else { self.more += 1 }
    }

    /// Adds a [`FieldError::new`] of the two texts; does not build it when it would only be counted.
    pub fn add(&mut self, field: impl Into<String>, message: impl Into<String>) {
        if self.is_full() { self.more += 1 } else { self.push(FieldError::new(field, message)) }
    }

    /// Adds all errors of `others`.
    pub fn append(&mut self, others: Self) {
        others.kept.into_iter().for_each(|error| self.push(error));
        self.more += others.more;
    }

    /// Checks whether no field was rejected.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Checks whether further errors are only counted.
    pub fn is_full(&self) -> bool {
        self.kept.len() >= MOST
    }

    /// Returns the errors that are kept.
    pub fn iter(&self) -> impl Iterator<Item = &FieldError> {
        self.kept.iter()
    }

    /// Returns the first fault in words, and the number of others.
    pub(super) fn in_words(&self) -> String {
        let Some(first) = self.kept.first() else { return "The request is not valid.".to_owned() };
        let others = match (self.kept.len() - 1, self.more) {
            (0, _) => String::new(),
            (listed, 0) => format!("; {listed} more in errors"),
            (listed, more) => format!("; {listed} more in errors, and {more} more"),
        };
        format!("{}: {}{others}", first.field, first.message)
    }

    pub(super) fn into_kept(self) -> Vec<FieldError> {
        self.kept
    }
}

impl From<Vec<FieldError>> for FieldErrors {
    fn from(errors: Vec<FieldError>) -> Self {
        let mut collected = Self::default();
        errors.into_iter().for_each(|error| collected.push(error));
        collected
    }
}

impl Extend<FieldError> for FieldErrors {
    fn extend<T: IntoIterator<Item = FieldError>>(&mut self, errors: T) {
        errors.into_iter().for_each(|error| self.push(error));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal::Refusal;

    fn refused(count: usize) -> (String, usize) {
        let mut errors = FieldErrors::default();
        (0..count).for_each(|index| errors.add(format!("assignees.{index}"), "must be an e-mail address"));
        let Err(Refusal::Validation { detail, errors }) = errors.or(()) else { panic!("not refused") };
        (detail, errors.len())
    }

    #[test]
    fn a_hundred_are_told_and_the_others_counted() {
        assert_eq!(refused(1), ("assignees.0: must be an e-mail address".into(), 1));
        assert_eq!(refused(3), ("assignees.0: must be an e-mail address; 2 more in errors".into(), 3));
        let many = "assignees.0: must be an e-mail address; 99 more in errors, and 199900 more";
        assert_eq!(refused(200_000), (many.into(), 100));
        assert_eq!(FieldErrors::default().or(1), Ok(1));
    }

    #[test]
    fn long_field_errors_are_cut() {
        let error = FieldError::new("é".repeat(400), "x".repeat(100_000));
        assert_eq!((error.field.chars().count(), error.message.chars().count()), (301, 1001));
        assert!(error.message.ends_with('…'));
        assert_eq!(FieldError::new("é".repeat(300), "x").field, "é".repeat(300));
    }
}
