//! Why a file or folder cannot be written: its rights, or a file system that takes no writes from anybody.
//!
//! May use: `store` (where files lie, and whether they can be written).

use crate::store::{folder_of, is_stopped};
use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};
use rustix::io::Errno;
use std::path::Path;

/// What lets a gateway write on a file system that takes no writes.
pub(super) const MOUNT: &str = "make the file system writable, or name a place on another one: it is mounted read-only, as \
    that of a container often is, or was stopped after a fault of its disk, which the log of the kernel tells";

/// Whether the file system that `folder` is on takes no writes.
pub(super) fn is_read_only(folder: &Path) -> bool {
    let is_mounted_so = statvfs(folder).is_ok_and(|disk| disk.f_flag.contains(StatVfsMountFlags::RDONLY));
    is_mounted_so || access(folder, Access::WRITE_OK) == Err(Errno::ROFS)
}

/// The same of the file system that the store `file` is on.
pub(super) fn holds_read_only(file: &Path) -> bool {
    is_read_only(folder_of(file)) || is_stopped(file)
}
