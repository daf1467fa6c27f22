//! Small file systems, for full and read-only disks.
//!
//! May use: nothing of the crate.

use std::path::Path;
use std::process::Command;

/// A small file system of its own, on machines that allow one, until this is dropped.
pub struct Mounted<'p>(&'p Path);

impl<'p> Mounted<'p> {
    /// Mounts an empty one of this size on the folder.
    pub fn at(folder: &'p Path, size: &str) -> Option<Self> {
        let options = format!("size={size}");
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(folder).output();
        mount.is_ok_and(|output| output.status.success()).then_some(Self(folder))
    }

    /// Mounts the folder itself once more as read-only, for all files opened from now on.
    pub fn read_only(folder: &'p Path) -> Option<Self> {
        let bound = Command::new("mount").arg("--bind").args([folder, folder]).output();
        let mounted = bound.is_ok_and(|output| output.status.success()).then_some(Self(folder))?;
        mounted.remount("bind,ro");
        Some(mounted)
    }

    /// Changes its options.
    pub fn remount(&self, how: &str) {
        let options = format!("remount,{how}");
        let done = Command::new("mount").args(["-o", &options]).arg(self.0).status().expect("mount");
        assert!(done.success());
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}
