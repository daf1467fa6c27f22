//! Files and folders beside the store: the operators' token, the secrets of webhooks, and the folder of the indices.
//!
//! May use: `admin` (the token), `hints` (the secrets), `settings`, `report`, `rights`.

use super::report::Report;
use super::rights::{MOUNT, certificates_trouble, index_trouble, is_private, is_read_only, there};
use crate::admin::has_token;
use crate::hints::HintSecrets;
use crate::settings::Settings;

/// Checks the files and folders that `settings` name. Reports nothing about files that are not set.
pub(super) fn look(settings: &Settings, report: &mut Report) {
    token(settings, report);
    hints(settings, report);
    indices(settings, report);
    if let Some(trouble) = certificates_trouble() {
        let remedy = "name a file of certificates (PEM), or unset the variable to use those of the system";
        report.warn("certificates", trouble, remedy);
    }
}

fn token(settings: &Settings, report: &mut Report) {
    const PART: &str = "admin";
    // A token in the environment takes precedence over the file.
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

/// Checks the folder of the indices. Without it everything works, but each start builds the indices again.
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
