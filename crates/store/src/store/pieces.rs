//! Deletes of many rows, a few at a time. May use: this folder.

use super::engine::Engine;
use super::error::StoreError;
use super::rows::query;

/// Maximum number of rows that one statement deletes: a SQLite file has one writer, and all others wait for its end.
const AT_ONCE: i64 = 200;

impl Engine {
    /// Repeats the statement `text` until it deletes no more rows; returns the number of deleted rows. Its `$1` is
    /// `bound`, and its `$2` is the maximum number of rows that it may delete.
    pub(super) async fn delete_in_pieces(&self, text: &'static str, bound: i64) -> Result<u64, StoreError> {
        let mut gone = 0;
        loop {
            match self.write(query(text, &[&bound, &AT_ONCE])).await? {
                0 => return Ok(gone),
                piece => gone += piece,
            }
        }
    }
}
