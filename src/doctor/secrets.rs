//! The secrets under which v1 keys are kept.
//!
//! May use: `oauth` (the keyring), `settings`, `report`.

use super::report::Report;
use crate::oauth::Keyring;
use crate::settings::Settings;
use std::path::Path;

/// Looks whether the secrets can be read, and by whom.
pub fn look(settings: &Settings, report: &mut Report) {
    const PART: &str = "secrets";
    match Keyring::open(&settings.secrets) {
        Err(fault) => return report.fault(PART, fault.found(), fault.remedy()),
        Ok(None) => {
            return report.fine(
                PART,
                "none is set: OAuth and gateway keys are switched off (settings secrets.key_file, secrets.key)",
            );
        }
        Ok(Some(_)) => {}
    }
    match settings.secrets.key_file.as_deref().filter(|_| settings.secrets.key.is_none()) {
        Some(file) if !is_private(PART, file, report) => {}
        _ => report.fine(PART, "can be read"),
    }
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
