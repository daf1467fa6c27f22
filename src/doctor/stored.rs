//! The store: whether it exists, can be used and belongs to this v1; and the secrets that seal the v1 keys in it.
//!
//! A missing store is not created. May use: `amount`, `oauth` (the keyring, kept keys), `settings`, `store`,
//! `rights` (who may read a file), `report`.

use super::report::Report;
use super::rights::{MOUNT, holds_read_only, is_private, is_read_only};
use crate::amount::amount;
use crate::oauth::{Keyring, unopened_keys};
use crate::settings::Settings;
use crate::store::{Store, StoreError, check_address_of_missing_file, file_of, folder_of, in_words, missing_file};
use rustix::fs::statvfs;
use std::path::Path;

const PART: &str = "store";
const SECRETS: &str = "secrets";
/// Free bytes on the disk of the store below which it is a fault, because writes will soon fail.
const TOO_LITTLE: u64 = 64 << 20;
/// Free bytes below which it is a warning.
const LITTLE: u64 = 1 << 30;

/// Checks the store that `settings` name.
pub async fn look(settings: &Settings, report: &mut Report) {
    let url = &settings.store.url;
    if let Some(file) = file_of(url) {
        room(&file, report);
        let is_missing = missing_file(url).and_then(|missing| match missing {
            Some(_) => check_address_of_missing_file(url).map(|()| true),
            None => Ok(false),
        });
        match is_missing {
            Err(fault) => return refused(&fault, report),
            Ok(true) => return not_there(&file, report),
            Ok(false) => {}
        }
        if file.is_file() {
            is_private(PART, &file, report);
        }
    }
    match Store::open_for_upkeep(url).await {
        Err(fault) => refused(&fault, report),
        Ok(store) => {
            let looked = opened(&store, settings, report).await;
            store.close().await;
            if let Err(fault) = looked {
                refused(&fault, report);
            }
        }
    }
}

fn refused(fault: &StoreError, report: &mut Report) {
    let remedy = match fault {
        StoreError::Damaged(_) => {
            "`causeway store restore --from BACKUP --store URL` makes a sound one from a backup"
        }
        _ => "correct the setting store.url, or what it names",
    };
    report.fault(PART, fault.to_string(), remedy);
}

fn room(file: &Path, report: &mut Report) {
    let folder = folder_of(file);
    let Ok(disk) = statvfs(folder) else { return };
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let found = format!("{} MiB are left on the disk of {}", free >> 20, folder.display());
    match free {
        _ if free < TOO_LITTLE => {
            report.fault(PART, found, "make room: without it every write that needs the store is refused")
        }
        _ if free < LITTLE => report.warn(PART, found, "make room before it runs out"),
        _ => {}
    }
}

fn not_there(file: &Path, report: &mut Report) {
    let folder = folder_of(file);
    if !folder.is_dir() {
        let found = format!("the store cannot be made: there is no folder {}", folder.display());
        return report.fault(PART, found, "make the folder, or name another file in the setting store.url");
    }
    if rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_err() {
        let found = format!("the store cannot be made: the folder {} cannot be written", folder.display());
        let remedy = if is_read_only(folder) { MOUNT } else { "give the folder to the user that runs the gateway" };
        return report.fault(PART, found, remedy);
    }
    report.fine(PART, format!("{} is not there yet; the first start makes it", file.display()));
}

/// Reports v1 keys in the store that the secrets do not open.
async fn unopened(store: &Store, settings: &Settings, report: &mut Report) -> Result<(), StoreError> {
    // Another check reports unreadable secrets.
    let Ok(keyring) = Keyring::open(&settings.secrets) else { return Ok(()) };
    let count = unopened_keys(&store.oauth(), keyring.as_ref()).await?;
    if count > 0 {
        let found = format!(
            "{} kept in the store cannot be opened with the secrets that are set: their holders get 401",
            amount(count, "v1 key")
        );
        report.warn(
            SECRETS,
            found,
            "put the secret back that sealed them, or have their owners allow their apps again",
        );
    }
    Ok(())
}

async fn opened(store: &Store, settings: &Settings, report: &mut Report) -> Result<(), StoreError> {
    let stats = store.stats(&settings.store.url).await?;
    let place = in_words(&settings.store.url);
    if let Some(unfit) = &stats.unfit {
        report.fault(PART, format!("{place}: {unfit}"), "use the newer version of this program, or another store");
        return Ok(());
    }
    let configured = settings.upstream.base_url.as_ref();
    match (configured, &stats.deployment) {
        (Some(configured), Some(recorded)) if !stats.may_belong_to(configured.as_str()) => report.fault(
            PART,
            format!("{place} belongs to the v1 deployment at {recorded}, not to {}", configured.as_str()),
            format!(
                "configure {recorded} or another store; if the same deployment has moved: `causeway store rebase --to {}`",
                configured.as_str()
            ),
        ),
        _ => {}
    }
    store.expect_privileges().await?;
    if store.is_read_only() {
        let found = format!("{place} can only be read: every write that needs it is refused");
        report.fault(PART, found, remedy_for_read_only(&settings.store.url));
    }
    store.expect_unicode().await?;
    if stats.steps_to_take > 0 {
        report.fine(
            PART,
            format!("{place}: {} behind; the next start brings it up to date", amount(stats.steps_to_take, "step")),
        );
        return Ok(());
    }
    unopened(store, settings, report).await?;
    let findings = store.findings().await?;
    match findings.first() {
        None => report.fine(PART, format!("{place}: {} bytes, sound", stats.bytes)),
        Some(first) => {
            let found = format!("{place}: {}, the first: {first}", amount(findings.len(), "finding"));
            report.warn(PART, found, "`causeway store check` tells all; docs/store.md says what each means");
        }
    }
    Ok(())
}

/// Returns the remedy for the store at `url`, which can only be read.
pub fn remedy_for_read_only(url: &str) -> &'static str {
    match file_of(url) {
        None => "make the server writable: it is a standby, or has default_transaction_read_only",
        Some(_) if url.contains("mode=ro") => "leave mode=ro out of the setting store.url",
        Some(file) if holds_read_only(&file) => MOUNT,
        Some(_) => "give the file, those beside it and its folder to the user that runs the gateway",
    }
}

/// Checks whether the secrets can be read, and who may read them.
pub(super) fn secrets(settings: &Settings, report: &mut Report) {
    match Keyring::open(&settings.secrets) {
        Err(fault) => return report.fault(SECRETS, fault.found(), fault.remedy()),
        Ok(None) => {
            return report.fine(
                SECRETS,
                "none is set: OAuth and gateway keys are switched off (settings secrets.key_file, secrets.key)",
            );
        }
        Ok(Some(_)) => {}
    }
    match settings.secrets.key_file.as_deref().filter(|_| settings.secrets.key.is_none()) {
        Some(file) if !is_private(SECRETS, file, report) => {}
        _ => report.fine(SECRETS, "can be read"),
    }
}
