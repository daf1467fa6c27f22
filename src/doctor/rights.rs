//! Permissions of files and folders: what a gateway may do with them, and who else may read them. Also whether the
//! certificates of others can be read.
//!
//! No folder is made. May use: `store` (where files lie, and whether they can be written), `report`.

use super::report::Report;
use crate::store::{folder_of, is_stopped};
use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};
use rustix::io::Errno;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::env::var_os;
use std::path::{Path, PathBuf};

/// Returns the folder itself, or its nearest existing parent.
pub(super) fn there(folder: &Path) -> &Path {
    let there = folder.ancestors().find(|above| above.exists()).filter(|above| !above.as_os_str().is_empty());
    there.unwrap_or(Path::new("."))
}

/// Returns the reason why indices cannot be kept in this folder. Returns `None` when they can, also when the folder
/// must be created first.
pub fn index_trouble(folder: &Path) -> Option<String> {
    let there = there(folder);
    match (there.is_dir(), access(there, Access::WRITE_OK | Access::EXEC_OK)) {
        (false, _) => Some(format!("{} is no folder", there.display())),
        (true, Err(_)) => Some(format!("the folder {} cannot be written", there.display())),
        (true, Ok(())) => None,
    }
}

/// Returns the reason why no other server's certificate is trusted: `SSL_CERT_FILE`, which is read in place of the
/// certificates of the system, leads to none. `SSL_CERT_DIR` may name others.
pub fn certificates_trouble() -> Option<String> {
    let file = PathBuf::from(var_os("SSL_CERT_FILE")?);
    if var_os("SSL_CERT_DIR").is_some_and(|folders| !folders.is_empty()) {
        return None;
    }
    let cause = match std::fs::read(&file) {
        Err(fault) => fault.to_string(),
        Ok(bytes) if CertificateDer::pem_slice_iter(&bytes).flatten().next().is_none() => "it holds none".into(),
        Ok(_) => return None,
    };
    Some(format!("no certificates are read from {file:?} (SSL_CERT_FILE), so none is trusted: {cause}"))
}

/// Remedy for a file system that accepts no writes.
pub(super) const MOUNT: &str = "make the file system writable, or name a place on another one: it is mounted read-only, as \
    that of a container often is, or was stopped after a fault of its disk, which the log of the kernel tells";

/// Checks whether the file system of `folder` accepts no writes.
pub(super) fn is_read_only(folder: &Path) -> bool {
    let is_mounted_so = statvfs(folder).is_ok_and(|disk| disk.f_flag.contains(StatVfsMountFlags::RDONLY));
    is_mounted_so || access(folder, Access::WRITE_OK) == Err(Errno::ROFS)
}

/// Checks the same for the file system of the store `file`.
pub(super) fn holds_read_only(file: &Path) -> bool {
    is_read_only(folder_of(file)) || is_stopped(file)
}

/// Checks whether only a file's owner and group may read it, and only its owner may change it. Reports a fault when
/// others may.
pub(super) fn is_private(part: &'static str, file: &Path, report: &mut Report) -> bool {
    let open = is_open_to_others(file);
    if open {
        let found = format!("{} can be read or changed by other users of this machine", file.display());
        report.fault(part, found, format!("chmod 600 {}", file.display()));
    }
    !open
}

/// Checks whether users other than the owner and the group may read a file, or users other than the owner change it.
fn is_open_to_others(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file).is_ok_and(|file| file.permissions().mode() & 0o027 != 0)
}
