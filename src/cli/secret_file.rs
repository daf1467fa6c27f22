//! Puts a new secret at the top of a file of secrets. May use: what `cli` may use.

use super::arguments::create_private_file;
use crate::oauth::Keyring;
use crate::store::{folder_of, with_ending};
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};

/// Writes a new file beside the file that `path` leads to, and renames it. So there is always a complete file, and its
/// owner stays the same. Returns false and changes nothing when the file holds anything other than secrets.
pub(super) fn put(path: &Path, secret: &str) -> io::Result<bool> {
    let old = there(path)?;
    let path = old.as_ref().map_or(path, |(file, _)| file);
    let before = if old.is_some() { std::fs::read(path)? } else { Vec::new() };
    let Some(before) = std::str::from_utf8(&before).ok().filter(|text| Keyring::are_secrets(text)) else {
        return Ok(false);
    };
    let beside = with_ending(path, &format!(".{}", uuid::Uuid::new_v4()));
    let mut file =
        create_private_file(&beside).map_err(|cause| told("a new file cannot be made beside it", &cause))?;
    let put = match &old {
        Some((_, old)) => belong_as(&file, old),
        None => Ok(()),
    };
    let put = put.and_then(|()| file.write_all(format!("{secret}\n{before}").as_bytes()));
    let put = put.and_then(|()| file.sync_all()).and_then(|()| std::fs::rename(&beside, path));
    if put.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    put?;
    // Keys are sealed with the new secret soon, so its name must be on the disk.
    File::open(folder_of(path))?.sync_all()?;
    Ok(true)
}

/// Follows all links from `path`. Returns the file and its metadata, or `None` when there is no file yet.
fn there(path: &Path) -> io::Result<Option<(PathBuf, Metadata)>> {
    match path.symlink_metadata() {
        Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let file = path.canonicalize().map_err(|cause| told("it is a link that leads to no file", &cause))?;
    let known = file.metadata()?;
    if !known.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    Ok(Some((file, known)))
}

/// Gives `file` the owner, the group and the permissions of `old`.
fn belong_as(file: &File, old: &Metadata) -> io::Result<()> {
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        fchown(file, Some(old.uid()), Some(old.gid())).map_err(|cause| {
            told("its owner and group cannot be kept; run this as its owner or as root", &cause)
        })?;
    }
    file.set_permissions(old.permissions())
}

fn told(what: &str, cause: &io::Error) -> io::Error {
    io::Error::new(cause.kind(), format!("{what}: {cause}"))
}
