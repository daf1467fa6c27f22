//! What is kept on disk of one list of a deployment and one audience: the index, so that a restart costs a delta and not
//! a rebuild, and the pages of a build that has not ended yet, so that it is gone on with after a restart or a failure.
//!
//! A file that is damaged, of another version or of another list is put aside with a line in the log, and the index is
//! built anew. The pages are written while the build goes on and removed when it has ended. They do not have to know
//! whether their rows are still true: the proof of the build (`walk`) covers the time in which nobody read. Old ones are
//! ignored, because too much may have changed.
//!
//! May use: `v2`, this folder.

use super::chunk::Chunk;
use super::file_form::{DIGEST, checksum, decode, encode};
use super::pool::Pools;
use super::row::Row;
use super::rows::Rows;
use super::verified::Verified;
use super::walk::Walk;
use super::whole_file::WholeFile;
use crate::v2::time::Micros;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::io;
use std::path::Path;
use std::sync::Arc;
use uuid::Uuid;

/// Kind and version of an index; to be raised when the form of a row changes.
const MARK: &[u8; 8] = b"CWINDEX2";
/// Kind and version of the pages of a build; to be raised when the form of a row or of the trail changes.
const PAGES: &[u8; 8] = b"CWPAGES2";
/// Age from which on the pages of a build are not gone on with.
const TOO_OLD: Micros = 3_600_000_000;

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

/// The places on disk.
#[derive(Debug, Clone)]
pub(super) struct Files {
    pub index: WholeFile,
    pub pages: WholeFile,
}

impl Files {
    /// The files in `directory` for what `identity` names.
    pub fn of(directory: &Path, identity: String) -> Self {
        let index = WholeFile::of(directory, identity.clone(), "index", MARK);
        Self { index, pages: WholeFile::of(directory, identity, "pages", PAGES) }
    }

    /// The kept rows, if there are any that can be trusted.
    pub fn load_index(&self) -> Option<Verified> {
        self.index.load().map(|(watermark, rows): (Micros, Rows)| Verified::new(rows, watermark))
    }

    /// Writes the rows; a failure is logged, for nothing but time depends on the file.
    pub fn save_index(&self, verified: &Verified) {
        if let Err(cause) = self.index.save(&(verified.watermark, &verified.rows)) {
            tracing::warn!(file = %self.index.path().display(), %cause, "an index could not be kept");
        }
    }

    /// The pages, if there are any that a build can go on with.
    pub fn load_pages(&self, size: usize, now: Micros) -> Option<Walk> {
        let (trail, rows) = self.pages.load()?;
        Some(Walk { rows, trail }).filter(|walk| can_go_on(walk, size, now))
    }

    /// Writes the pages; a failure is logged as above.
    pub fn save_pages(&self, walk: &Walk) {
        if let Err(cause) = self.pages.save(&(&walk.trail, &walk.rows)) {
            tracing::warn!(file = %self.pages.path().display(), %cause, "the pages of a build could not be kept");
        }
    }
}

/// Whether a build with pages of `size` can go on with `walk` at `now`.
pub(super) fn can_go_on(walk: &Walk, size: usize, now: Micros) -> bool {
    walk.trail.can_go_on(size, walk.rows.len()) && now.saturating_sub(walk.trail.since) < TOO_OLD
}
