//! An index on disk, so that a restart costs a delta and not a rebuild.
//!
//! One file per deployment, list and audience. A file that is damaged, of another version or of another list is put
//! aside with a line in the log, and the index is built anew.
//!
//! May use: `v2`, this folder.

use super::chunk::Chunk;
use super::pool::Pools;
use super::refresh::Verified;
use super::row::Row;
use super::rows::Rows;
use super::whole_file::{DIGEST, WholeFile, checksum, decode, encode};
use crate::v2::time::Micros;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::io;
use std::path::Path;
use std::sync::Arc;
use uuid::Uuid;

/// Kind and version of the file; to be raised when the form of a row changes.
const MARK: &[u8; 8] = b"CWINDEX2";

/// Values that rows name, and the rows in their chunks, each with the text of its names.
type KeptRows = (Vec<Uuid>, Vec<Vec<Uuid>>, Vec<(Vec<Row>, String)>);

impl<'de> Deserialize<'de> for Rows {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let (ids, sets, chunks) = KeptRows::deserialize(from)?;
        let chunk = |(rows, text): (Vec<Row>, String)| Arc::new(Chunk::of(rows.into(), text.into()));
        let chunks = chunks.into_iter().filter(|(rows, _)| !rows.is_empty()).map(chunk).collect();
        Ok(Self::of(chunks, Pools::of(ids, sets)))
    }
}

impl Serialize for Rows {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let sets: Vec<&[Uuid]> = self.pools().sets().iter().map(|set| &**set).collect();
        let chunks: Vec<(&[Row], &str)> = self.chunks().iter().map(|chunk| (&*chunk.rows, &*chunk.text)).collect();
        (self.pools().ids(), sets, chunks).serialize(to)
    }
}

/// An index as bytes, for a place that is not on disk.
///
/// # Errors
/// When it cannot be put into bytes.
pub(super) fn to_bytes(identity: &str, verified: &Verified) -> io::Result<Vec<u8>> {
    encode(MARK, identity, &(verified.watermark, &verified.rows))
}

/// The index that these bytes hold, when it is that of `identity` and undamaged.
pub(super) fn of_bytes(identity: &str, bytes: &[u8]) -> Result<Verified, &'static str> {
    decode(MARK, identity, bytes).map(|(watermark, rows): (Micros, Rows)| Verified::new(rows, watermark))
}

/// The checksum of an index as bytes, by which it is told from others.
pub(super) fn checksum_of(bytes: &[u8]) -> Option<[u8; DIGEST]> {
    checksum(MARK, bytes)
}

/// The place of one index on disk.
#[derive(Debug, Clone)]
pub(super) struct Snapshot(WholeFile);

impl Snapshot {
    /// The file in `directory` for what `identity` names.
    pub fn of(directory: &Path, identity: String) -> Self {
        Self(WholeFile::of(directory, identity, "index", MARK))
    }

    /// Where the file is.
    #[cfg(test)]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Whether there is a file, of whatever content.
    pub fn exists(&self) -> bool {
        self.0.exists()
    }

    /// The kept rows, if there are any that can be trusted.
    pub fn load(&self) -> Option<Verified> {
        self.0.load().map(|(watermark, rows): (Micros, Rows)| Verified::new(rows, watermark))
    }

    /// Writes the rows; a failure is logged, for nothing but time depends on the file.
    pub fn save(&self, verified: &Verified) {
        if let Err(cause) = self.0.save(&(verified.watermark, &verified.rows)) {
            tracing::warn!(file = %self.0.path().display(), %cause, "an index could not be kept");
        }
    }
}
