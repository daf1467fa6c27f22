//! Writer of the members of a JSON object, one after the other.
//!
//! May use: `v2`, this folder.

use crate::v2::time::{self, Micros};
use serde::Serialize;
use uuid::Uuid;
use uuid::fmt::Hyphenated;

/// Members of an object, one after the other. Each method takes the complete text before the value as `key`.
pub(super) struct Members<'o> {
    pub(super) out: &'o mut Vec<u8>,
}

impl Members<'_> {
    pub(super) fn json(&mut self, key: &str, value: &(impl Serialize + ?Sized)) {
        self.out.extend_from_slice(key.as_bytes());
        json(self.out, value);
    }

    /// Writes a text that needs no escaping.
    pub(super) fn plain(&mut self, key: &str, text: &str) {
        self.out.extend_from_slice(key.as_bytes());
        self.out.push(b'"');
        self.out.extend_from_slice(text.as_bytes());
        self.out.push(b'"');
    }

    pub(super) fn instant(&mut self, key: &str, micros: Micros) {
        self.out.extend_from_slice(key.as_bytes());
        self.out.push(b'"');
        time::write_to(self.out, micros);
        self.out.push(b'"');
    }

    pub(super) fn id(&mut self, key: &str, id: Uuid) {
        self.out.extend_from_slice(key.as_bytes());
        quoted_id(self.out, id);
    }

    pub(super) fn id_or_null(&mut self, key: &str, id: Option<Uuid>) {
        self.out.extend_from_slice(key.as_bytes());
        match id {
            Some(id) => quoted_id(self.out, id),
            None => self.out.extend_from_slice(b"null"),
        }
    }

    pub(super) fn ids(&mut self, key: &str, ids: &[Uuid]) {
        self.out.extend_from_slice(key.as_bytes());
        self.out.push(b'[');
        for (index, id) in ids.iter().enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            quoted_id(self.out, *id);
        }
        self.out.push(b']');
    }

    /// Writes the key that people use: `WEB-7`.
    pub(super) fn identifier(&mut self, key: &str, project: &str, number: i64) {
        self.json(key, project);
        // The closing quotation mark comes after the number.
        self.out.pop();
        self.out.push(b'-');
        json(self.out, &number);
        self.out.push(b'"');
    }
}

fn quoted_id(out: &mut Vec<u8>, id: Uuid) {
    let mut text = [b'"'; Hyphenated::LENGTH + 2];
    id.hyphenated().encode_lower(&mut text[1..=Hyphenated::LENGTH]);
    out.extend_from_slice(&text);
}

pub(super) fn json(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    // Writing to memory cannot fail, and every form of these values exists in JSON.
    let written = serde_json::to_writer(out, value);
    debug_assert!(written.is_ok(), "{written:?}");
}
