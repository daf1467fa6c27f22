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
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io;
use std::path::Path;
use std::sync::Arc;
use uuid::Uuid;

/// Kind and version of the file; to be raised when the form of a row changes.
const MARK: &[u8; 8] = b"CWINDEX2";

/// Rows as they are read from a file.
#[derive(Deserialize)]
pub(super) struct KeptRows {
    ids: Vec<Uuid>,
    sets: Vec<Vec<Uuid>>,
    chunks: Vec<(Vec<Row>, String)>,
}

impl From<KeptRows> for Rows {
    fn from(kept: KeptRows) -> Self {
        let chunk = |(rows, text): (Vec<Row>, String)| Arc::new(Chunk::of(rows.into(), text.into()));
        let chunks = kept.chunks.into_iter().filter(|(rows, _)| !rows.is_empty()).map(chunk).collect();
        Self::of(chunks, Pools::of(kept.ids, kept.sets))
    }
}

/// Rows as they are written to a file.
#[derive(Serialize)]
pub(super) struct KeepingRows<'k> {
    ids: &'k [Uuid],
    sets: Vec<&'k [Uuid]>,
    chunks: Vec<(&'k [Row], &'k str)>,
}

impl<'k> From<&'k Rows> for KeepingRows<'k> {
    fn from(rows: &'k Rows) -> Self {
        let pools = rows.pools();
        Self {
            ids: pools.ids(),
            sets: pools.sets().iter().map(|set| &**set).collect(),
            chunks: rows.chunks().iter().map(|chunk| (&*chunk.rows, &*chunk.text)).collect(),
        }
    }
}

#[derive(Deserialize)]
struct Kept {
    identity: String,
    watermark: Micros,
    rows: KeptRows,
}

#[derive(Serialize)]
struct Keeping<'k> {
    identity: &'k str,
    watermark: Micros,
    rows: KeepingRows<'k>,
}

/// The name of the file for what `identity` names, without its ending.
pub(super) fn file_name(identity: &str) -> String {
    hex::encode(&Sha256::digest(identity.as_bytes())[..16])
}

/// An index as bytes, for a place that is not on disk.
///
/// # Errors
/// When it cannot be put into bytes.
pub(super) fn to_bytes(identity: &str, verified: &Verified) -> io::Result<Vec<u8>> {
    let (watermark, rows) = (verified.watermark(), KeepingRows::from(&verified.rows));
    encode(MARK, &Keeping { identity, watermark, rows })
}

/// The index that these bytes hold, when it is that of `identity` and undamaged.
///
/// # Errors
/// What is wrong with them.
pub(super) fn of_bytes(identity: &str, bytes: &[u8]) -> Result<Verified, &'static str> {
    let kept: Kept = decode(MARK, bytes)?;
    if kept.identity != identity {
        return Err("it belongs to another list");
    }
    Ok(Verified::new(kept.rows.into(), kept.watermark))
}

/// The checksum of an index as bytes, by which it is told from others.
pub(super) fn checksum_of(bytes: &[u8]) -> Option<[u8; DIGEST]> {
    checksum(MARK, bytes)
}

/// The place of one index on disk.
#[derive(Debug, Clone)]
pub(super) struct Snapshot {
    file: WholeFile,
    identity: String,
}

impl Snapshot {
    /// The file in `directory` for what `identity` names.
    pub fn of(directory: &Path, identity: String) -> Self {
        let file = WholeFile::at(directory.join(format!("{}.index", file_name(&identity))), MARK);
        Self { file, identity }
    }

    /// Where the file is.
    #[cfg(test)]
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Whether there is a file, of whatever content.
    pub fn exists(&self) -> bool {
        self.file.exists()
    }

    /// The kept rows, if there are any that can be trusted.
    pub fn load(&self) -> Option<Verified> {
        let kept: Kept = self.file.load(|kept: &Kept| match kept.identity == self.identity {
            true => Ok(()),
            false => Err("it belongs to another list"),
        })?;
        Some(Verified::new(kept.rows.into(), kept.watermark))
    }

    /// Writes the rows; a failure is logged, for nothing but time depends on the file.
    pub fn save(&self, verified: &Verified) {
        if let Err(cause) = self.try_save(verified) {
            tracing::warn!(file = %self.file.path().display(), %cause, "an index could not be kept");
        }
    }

    fn try_save(&self, verified: &Verified) -> io::Result<()> {
        let (identity, watermark) = (&*self.identity, verified.watermark());
        self.file.save(&Keeping { identity, watermark, rows: KeepingRows::from(&verified.rows) })
    }
}
