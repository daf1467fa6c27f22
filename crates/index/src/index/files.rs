//! The files on disk for one list of a deployment and one audience: the index and the pages of an unfinished build.
//! With the index, a restart costs a delta instead of a rebuild. With the pages, a build continues after a restart or a
//! failure.
//!
//! A file that is damaged, of another version or of another list is removed with a line in the log, and the index is
//! built again. The pages are written during the build and removed when it has ended. Their rows may be outdated: the
//! proof of the build (`walk`) also covers the time in which nothing was read. Old pages are ignored, because too much
//! may have changed.
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

/// Kind and version of an index. Raise it when the form of a row changes.
const MARK: &[u8; 8] = b"CWINDEX2";
/// Kind and version of the pages of a build. Raise it when the form of a row or of the trail changes.
const PAGES: &[u8; 8] = b"CWPAGES2";
/// Age from which a build does not continue with kept pages.
const TOO_OLD: Micros = 3_600_000_000;

/// Pooled values that rows refer to, and the rows in their chunks, each chunk with the text of its names.
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

/// Encodes an index, for a place that is not on disk.
///
/// # Errors
/// When it cannot be encoded.
pub(super) fn to_bytes(identity: &str, verified: &Verified) -> io::Result<Vec<u8>> {
    encode(MARK, identity, &(verified.watermark, &verified.rows))
}

/// Decodes an index. Fails when the bytes are damaged or not of the list that `identity` names.
pub(super) fn of_bytes(identity: &str, bytes: &[u8]) -> Result<Verified, &'static str> {
    decode(MARK, identity, bytes).map(|(watermark, rows): (Micros, Rows)| Verified::new(rows, watermark))
}

/// Returns the checksum of an encoded index, which identifies it.
pub(super) fn checksum_of(bytes: &[u8]) -> Option<[u8; DIGEST]> {
    checksum(MARK, bytes)
}

/// The two files of a list.
#[derive(Debug, Clone)]
pub(super) struct Files {
    pub index: WholeFile,
    pub pages: WholeFile,
}

impl Files {
    /// Returns the files in `directory` for the list that `identity` names.
    pub fn of(directory: &Path, identity: String) -> Self {
        let index = WholeFile::of(directory, identity.clone(), "index", MARK);
        Self { index, pages: WholeFile::of(directory, identity, "pages", PAGES) }
    }

    /// Loads the kept rows, if there are any that can be trusted.
    pub fn load_index(&self) -> Option<Verified> {
        self.index.load().map(|(watermark, rows): (Micros, Rows)| Verified::new(rows, watermark))
    }

    /// Writes the rows. A failure is only logged, because a missing file costs only time.
    pub fn save_index(&self, verified: &Verified) {
        if let Err(cause) = self.index.save(&(verified.watermark, &verified.rows)) {
            tracing::warn!(file = %self.index.path().display(), %cause, "an index could not be kept");
        }
    }

    /// Loads the pages, if there are any that a build can continue with.
    pub fn load_pages(&self, size: usize, now: Micros) -> Option<Walk> {
        let (trail, rows) = self.pages.load()?;
        Some(Walk { rows, trail }).filter(|walk| can_continue(walk, size, now))
    }

    /// Writes the pages. A failure is only logged, as in [`Self::save_index`].
    pub fn save_pages(&self, walk: &Walk) {
        if let Err(cause) = self.pages.save(&(&walk.trail, &walk.rows)) {
            tracing::warn!(file = %self.pages.path().display(), %cause, "the pages of a build could not be kept");
        }
    }
}

/// Checks whether a build with pages of `size` rows can continue with `walk` at `now`.
pub(super) fn can_continue(walk: &Walk, size: usize, now: Micros) -> bool {
    walk.trail.can_continue(size, walk.rows.len()) && !is_too_old(walk, now)
}

/// Checks whether too much may have changed since `walk` began for a build to continue with it.
pub(super) fn is_too_old(walk: &Walk, now: Micros) -> bool {
    now.saturating_sub(walk.trail.since) >= TOO_OLD
}
