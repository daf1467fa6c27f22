//! Deletes of many rows, a few at a time. May use: this folder.

use super::engine::Engine;
use super::error::StoreError;
use super::rows::query;

/// Most rows that one statement deletes: a SQLite file has one writer, and all others wait for its end.
const AT_ONCE: i64 = 200;

impl Engine {
    /// Repeats `text` until nothing is left that it deletes; how many rows went. Its `$1` is `bound`, and `$2` the most
    /// rows it may delete.
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
