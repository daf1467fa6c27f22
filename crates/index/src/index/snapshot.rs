//! An index on disk, so that a restart costs a delta and not a rebuild.
//!
//! One file per deployment, list and audience: a mark of its kind and version, a checksum, then the rows. It
//! is written beside its place and moved there, so that it is whole or absent. A file that is damaged, of
//! another version or of another list is put aside with a line in the log, and the index is built anew.
//!
//! May use: `v2`, this folder.

use super::chunk::Chunk;
use super::pool::Pools;
use super::refresh::Verified;
use super::row::Row;
use super::rows::Rows;
use crate::v2::time::Micros;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use uuid::Uuid;

/// Kind and version of the file; to be raised when the form of a row changes.
const MARK: &[u8; 8] = b"CWINDEX1";
const DIGEST: usize = 32;

#[derive(Deserialize)]
struct Kept {
    identity: String,
    watermark: Micros,
    ids: Vec<Uuid>,
    sets: Vec<Vec<Uuid>>,
    chunks: Vec<(Vec<Row>, String)>,
}

#[derive(Serialize)]
struct Keeping<'k> {
    identity: &'k str,
    watermark: Micros,
    ids: &'k [Uuid],
    sets: Vec<&'k [Uuid]>,
    chunks: Vec<(&'k [Row], &'k str)>,
}

/// The place of one index on disk.
#[derive(Debug, Clone)]
pub(super) struct Snapshot {
    path: PathBuf,
    identity: String,
}

impl Snapshot {
    /// The file in `directory` for what `identity` names.
    pub fn of(directory: &Path, identity: String) -> Self {
        let name: String =
            Sha256::digest(identity.as_bytes())[..16].iter().map(|byte| format!("{byte:02x}")).collect();
        Self { path: directory.join(format!("{name}.index")), identity }
    }

    /// Where the file is.
    #[cfg(test)]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether there is a file, of whatever content.
    pub fn exists(&self) -> bool {
        self.path.is_file()
    }

    /// The kept rows, if there are any that can be trusted.
    pub fn load(&self) -> Option<Verified> {
        let bytes = match std::fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return None,
            Err(cause) => return self.put_aside(&cause.to_string()),
        };
        match self.decode(&bytes) {
            Ok(verified) => Some(verified),
            Err(fault) => self.put_aside(fault),
        }
    }

    fn put_aside(&self, fault: &str) -> Option<Verified> {
        tracing::warn!(file = %self.path.display(), fault, "a kept index cannot be used; it is built anew");
        let _ = std::fs::remove_file(&self.path);
        None
    }

    fn decode(&self, bytes: &[u8]) -> Result<Verified, &'static str> {
        let rest = bytes.strip_prefix(MARK).ok_or("it is of another kind or version")?;
        let (digest, body) = rest.split_at_checked(DIGEST).ok_or("it is too short")?;
        if Sha256::digest(body)[..] != *digest {
            return Err("its checksum is wrong");
        }
        let kept: Kept = postcard::from_bytes(body).map_err(|_| "its form is wrong")?;
        if kept.identity != self.identity {
            return Err("it belongs to another list");
        }
        let chunk = |(rows, text): (Vec<Row>, String)| Arc::new(Chunk::of(rows.into(), text.into()));
        let chunks = kept.chunks.into_iter().filter(|(rows, _)| !rows.is_empty()).map(chunk).collect();
        let rows = Rows::of(chunks, Pools::of(kept.ids, kept.sets));
        Ok(Verified::new(rows, kept.watermark))
    }

    /// Writes the rows; a failure is logged, for nothing but time depends on the file.
    pub fn save(&self, verified: &Verified) {
        if let Err(cause) = self.try_save(verified) {
            tracing::warn!(file = %self.path.display(), %cause, "an index could not be kept");
        }
    }

    fn try_save(&self, verified: &Verified) -> io::Result<()> {
        let (rows, pools) = (&verified.rows, verified.rows.pools());
        let keeping = Keeping {
            identity: &self.identity,
            watermark: verified.watermark(),
            ids: pools.ids(),
            sets: pools.sets().iter().map(|set| &**set).collect(),
            chunks: rows.chunks().iter().map(|chunk| (&*chunk.rows, &*chunk.text)).collect(),
        };
        let body = postcard::to_stdvec(&keeping).map_err(io::Error::other)?;
        let mut bytes = Vec::with_capacity(MARK.len() + DIGEST + body.len());
        bytes.extend_from_slice(MARK);
        bytes.extend_from_slice(&Sha256::digest(&body));
        bytes.extend_from_slice(&body);
        self.replace(&bytes)
    }

    fn replace(&self, bytes: &[u8]) -> io::Result<()> {
        if let Some(directory) = self.path.parent() {
            private_folder(directory)?;
        }
        let beside = self.path.with_extension(format!("{}.part", Uuid::new_v4().simple()));
        let written = write_private(&beside, bytes).and_then(|()| std::fs::rename(&beside, &self.path));
        if written.is_err() {
            let _ = std::fs::remove_file(&beside);
        }
        written
    }
}

/// The folder, for the owner's eyes only: an index holds the names of work items.
fn private_folder(directory: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

/// A new file, for the owner's eyes only like the store's.
fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
