//! Why a file or folder cannot be written: its rights, or a file system that takes no writes from anybody.
//!
//! May use: nothing of this crate.

use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};
use rustix::io::Errno;
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::Path;

/// What lets a gateway write on a file system that takes no writes.
pub(super) const MOUNT: &str = "make the file system writable, or name a place on another one: it is mounted read-only, as \
    that of a container often is, or was stopped after a fault of its disk, which the log of the kernel tells";

/// Whether the file system that `folder` is on takes no writes.
pub(super) fn is_read_only(folder: &Path) -> bool {
    let is_mounted_so = statvfs(folder).is_ok_and(|disk| disk.f_flag.contains(StatVfsMountFlags::RDONLY));
    is_mounted_so || access(folder, Access::WRITE_OK) == Err(Errno::ROFS)
}

/// The same of the file system that `file` is on. After a fault of its disk some kernels tell nobody but who opens a
/// file for writing; what is opened is the file beside it that gateways lock, for to close `file` ends SQLite's locks.
pub(super) fn holds_read_only(file: &Path) -> bool {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut beside = file.as_os_str().to_owned();
    beside.push(".lock");
    let opened = OpenOptions::new().write(true).open(beside);
    is_read_only(folder) || opened.is_err_and(|fault| fault.kind() == ErrorKind::ReadOnlyFilesystem)
}
