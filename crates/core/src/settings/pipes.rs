//! Files that can be read once only.
//!
//! May use: `settings::error`.

use super::error::{SettingFault, SettingsError};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Refuses a pipe at `path`, which `setting` names. Whoever reads it again waits until somebody writes to it.
pub(super) fn refuse(setting: &str, path: &Path) -> Result<(), SettingsError> {
    match std::fs::metadata(path) {
        Ok(there) if there.file_type().is_fifo() => {
            let problem = format!("{} is a pipe, which cannot be read again", path.display());
            Err(SettingFault::new(setting, problem, "name a file, or restart the gateway").into())
        }
        _ => Ok(()),
    }
}
