//! Whether the file of a SQLite store can be written, and how it is opened then.
//!
//! May use: `kind`, `place`.

use super::kind::Kind;
use super::place::{file_of, in_memory, private};
use parking_lot::Mutex;
use rustix::fs::{Access, access};
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::Path;

/// Held by who makes the file that shows whether a folder can be written: all of this process have one name for it, and
/// one that is there already would say no.
static PROBING: Mutex<()> = Mutex::new(());

/// Whether it is found out here how a store can be opened, and not said in the settings.
pub(super) fn chosen_by_us(kind: Kind, url: &str) -> bool {
    kind == Kind::Sqlite && !in_memory(url) && !url.contains("mode=")
}

/// How a file that cannot be written is opened.
pub(super) const READ_ONLY: &str = "mode=ro";

/// The URL that creates a missing file, which is made for the owner's eyes only: SQLite gives its side files
/// the same rights. If that fails, opening the store fails too and says why.
pub(super) fn creating(url: &str) -> String {
    if !chosen_by_us(Kind::Sqlite, url) {
        return url.to_owned();
    }
    let Some(path) = file_of(url) else { return url.to_owned() };
    let _ = private().create_new(true).open(&path);
    let file = &path.display().to_string();
    let sign = if url.contains('?') { '&' } else { '?' };
    let mode = if writable(file) {
        "mode=rwc"
    } else if std::fs::metadata(format!("{file}-wal")).is_ok_and(|log| log.len() > 0) {
        // The content of the log counts, and the files beside it are there already.
        "mode=ro"
    } else {
        // The files a reader shares with writers cannot be made, and there is no writer to share them with.
        "mode=ro&immutable=true"
    };
    format!("{url}{sign}{mode}")
}

/// Whether the store at `url` is a file that can only be read now, where that is found out here. It is not made.
pub(super) fn is_only_read(kind: Kind, url: &str) -> bool {
    chosen_by_us(kind, url) && file_of(url).is_some_and(|file| !writable(&file.display().to_string()))
}

/// Whether the file and those beside it can be written; if not it is opened for reading, so that reads go on.
/// A file that cannot be opened at all counts as writable, so that opening it says why.
///
/// None of SQLite's own files is opened for that: closing it would end every lock that this process has on it, and
/// another process would take the file for one that nobody uses.
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

/// Whether the file system that `file` is on takes no more writes. After a fault of its disk (`errors=remount-ro`) a
/// file system says so to whoever opens a file for writing, and on newer kernels to nobody who asks for rights. What is
/// opened here is the file that gateways lock: SQLite has no locks on it, and those of gateways outlast that it is closed.
pub fn is_stopped(file: &Path) -> bool {
    let opened = OpenOptions::new().write(true).open(file.with_added_extension("lock"));
    opened.is_err_and(|fault| fault.kind() == ErrorKind::ReadOnlyFilesystem)
}
