//! Checks whether the file of a SQLite store can be written, and chooses the mode for opening it.
//!
//! May use: `kind`, `place`.

use super::kind::Kind;
use super::place::{file_of, in_memory, private};
use parking_lot::Mutex;
use rustix::fs::{Access, access};
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::Path;

/// Lock for creating the probe file that shows whether a folder can be written. All threads of this process use the
/// same file name, and an existing probe file would look like a read-only folder.
static PROBING: Mutex<()> = Mutex::new(());

/// Checks whether this module chooses the mode, and not the settings.
pub(super) fn mode_is_automatic(kind: Kind, url: &str) -> bool {
    kind == Kind::Sqlite && !in_memory(url) && !url.contains("mode=")
}

/// URL parameter for opening a file that cannot be written.
pub(super) const READ_ONLY: &str = "mode=ro";

/// Returns the URL with its mode and creates a missing file, which only its owner can read: SQLite gives its side files
/// the same rights. If creating fails, opening the store fails too and gives the cause.
pub(super) fn creating(url: &str) -> String {
    if !mode_is_automatic(Kind::Sqlite, url) {
        return url.to_owned();
    }
    let Some(path) = file_of(url) else { return url.to_owned() };
    let _ = private().create_new(true).open(&path);
    let file = &path.display().to_string();
    let sign = if url.contains('?') { '&' } else { '?' };
    let mode = if writable(file) {
        "mode=rwc"
    } else if std::fs::metadata(format!("{file}-wal")).is_ok_and(|log| log.len() > 0) {
        // The log has content that counts, and the files beside it exist already.
        "mode=ro"
    } else {
        // The files that a reader shares with writers cannot be created, and there is no writer to share them with.
        "mode=ro&immutable=true"
    };
    format!("{url}{sign}{mode}")
}

/// Checks whether the store at `url` is a read-only file, if this module chooses its mode. Does not create the file.
pub(super) fn is_only_read(kind: Kind, url: &str) -> bool {
    mode_is_automatic(kind, url) && file_of(url).is_some_and(|file| !writable(&file.display().to_string()))
}

/// Checks whether the file and its side files can be written. If not, the file is opened for reading, so that reads go
/// on. A file that cannot be opened at all counts as writable, so that opening it gives the cause.
///
/// This opens none of SQLite's own files: closing one would end all locks that this process has on it, and another
/// process would think that the file is not in use.
fn writable(file: &str) -> bool {
    let may = |file: &str, wanted: Access| access(file, wanted).is_ok();
    if !may(file, Access::READ_OK) {
        return true;
    }
    if is_stopped(Path::new(file)) {
        return false;
    }
    let probe = || {
        let _alone = PROBING.lock();
        let probe = format!("{file}.{}", std::process::id());
        let made = OpenOptions::new().write(true).create_new(true).open(&probe).is_ok();
        let _ = std::fs::remove_file(probe);
        made
    };
    let beside = format!("{file}-shm");
    may(file, Access::WRITE_OK) && (Path::new(&beside).is_file() && may(&beside, Access::WRITE_OK) || probe())
}

/// Checks whether the file system of `file` rejects writes. After a disk fault (`errors=remount-ro`) a file system
/// rejects opening a file for writing; on newer kernels a check of access rights does not show it. This opens the file
/// that gateways lock: SQLite has no locks on it, and the locks of gateways survive closing it.
pub fn is_stopped(file: &Path) -> bool {
    let opened = OpenOptions::new().write(true).open(file.with_added_extension("lock"));
    opened.is_err_and(|fault| fault.kind() == ErrorKind::ReadOnlyFilesystem)
}
