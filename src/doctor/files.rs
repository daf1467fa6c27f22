//! Files and folders beside the store: the operators' token, the secrets of webhooks, and where indices are kept; who
//! may read a file, and why one cannot be written.
//!
//! No folder is made. May use: `admin` (the token), `hints` (the secrets), `settings`, `store` (where files lie, and
//! whether they can be written), `report`.

use super::report::Report;
use crate::admin::has_token;
use crate::hints::HintSecrets;
use crate::settings::Settings;
use crate::store::{folder_of, is_stopped};
use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};
use rustix::io::Errno;
use std::path::Path;

/// Looks at the files and folders that `settings` name; nothing is said of those they do not name.
pub(super) fn look(settings: &Settings, report: &mut Report) {
    token(settings, report);
    hints(settings, report);
    indices(settings, report);
}

fn token(settings: &Settings, report: &mut Report) {
    const PART: &str = "admin";
    // A token of the environment goes before the file.
    let named = settings.admin.token_file.as_deref().filter(|_| settings.admin.token.is_none());
    let Some(file) = named else { return };
    match has_token(&settings.admin) {
        Err(fault) => {
            report.fault(PART, fault.to_string(), "correct the setting admin.token_file, or what it names")
        }
        Ok(_) if is_private(PART, file, report) => report.fine(PART, "the operators' token can be read"),
        Ok(_) => {}
    }
}

fn hints(settings: &Settings, report: &mut Report) {
    const PART: &str = "hints";
    let Some(file) = settings.hints.secrets_file.as_deref() else { return };
    match HintSecrets::read(file) {
        Err(fault) => {
            return report.fault(
                PART,
                fault.to_string(),
                "correct the setting hints.secrets_file, or what it names",
            );
        }
        Ok(_) if is_private(PART, file, report) => report.fine(PART, "the secrets of webhooks can be read"),
        Ok(_) => {}
    }
    if settings.upstream.service_key.is_none() {
        let found = "hints.secrets_file does nothing without upstream.service_key: there is no key to look with";
        report.warn(PART, found, "set upstream.service_key, or leave out hints.secrets_file");
    }
}

/// Without the folder everything works, and each start builds the indices again.
fn indices(settings: &Settings, report: &mut Report) {
    const PART: &str = "index";
    let Some(folder) = settings.index.directory.as_deref() else { return };
    match index_trouble(folder) {
        None if folder.exists() => report.fine(PART, format!("indices can be kept in {}", folder.display())),
        None => {
            let found = format!("{} is not there yet; it is made when the first index is kept", folder.display());
            report.fine(PART, found);
        }
        Some(trouble) => {
            let found = format!("indices cannot be kept, and each start builds them again: {trouble}");
            let remedy = match there(folder) {
                there if is_read_only(there) => MOUNT,
                _ => {
                    "give the folder to the user that runs the gateway, or name another one in the setting index.directory"
                }
            };
            report.warn(PART, found, remedy);
        }
    }
}

/// The folder itself, or the one above it that is there.
fn there(folder: &Path) -> &Path {
    let there = folder.ancestors().find(|above| above.exists()).filter(|above| !above.as_os_str().is_empty());
    there.unwrap_or(Path::new("."))
}

/// Why indices cannot be kept in this folder; none when they can, also when it has to be made first.
pub fn index_trouble(folder: &Path) -> Option<String> {
    let there = there(folder);
    match (there.is_dir(), access(there, Access::WRITE_OK | Access::EXEC_OK)) {
        (false, _) => Some(format!("{} is no folder", there.display())),
        (true, Err(_)) => Some(format!("the folder {} cannot be written", there.display())),
        (true, Ok(())) => None,
    }
}

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

/// Whether a file is its owner's and group's; one that others may read is told as a fault.
pub(super) fn is_private(part: &'static str, file: &Path, report: &mut Report) -> bool {
    let open = is_open_to_others(file);
    if open {
        let found = format!("{} can be read by other users of this machine", file.display());
        report.fault(part, found, format!("chmod 600 {}", file.display()));
    }
    !open
}

/// Whether anybody but the owner and the group may read a file, or anybody but the owner write it.
fn is_open_to_others(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file).is_ok_and(|file| file.permissions().mode() & 0o027 != 0)
}
