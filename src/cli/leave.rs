//! `causeway leave`: carries what only the store holds to a v2 of the deployment's own. May use: what `cli` may use.

use super::arguments::{Outcome, SettingArgs, block_on, expect_writable, print_out, say, server, with_store};
use crate::app;
use crate::leave::{self, Place, RunMode, RunParameters};
use crate::plan::Plan;
use crate::settings::{HttpAddress, Settings};
use crate::store::{LeavingLock, Store, in_words};
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Arguments of `leave`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct LeaveArgs {
    /// Address of the deployment's own v2, without /api/v2; https unless it is this machine
    #[arg(long, value_name = "URL", value_parser = server)]
    to: HttpAddress,
    /// Slug of a workspace to carry; may be repeated
    #[arg(long, value_name = "SLUG", required = true)]
    workspace: Vec<String>,
    /// Print what would be carried, what conflicts and what is impossible; write nothing
    #[arg(long, conflicts_with = "check")]
    dry_run: bool,
    /// Only compare both sides again
    #[arg(long)]
    check: bool,
    /// Overwrite records of the target that have the same name but differ, instead of stopping before anything is
    /// written
    #[arg(long)]
    update: bool,
    /// Accept records that only the target has; without this the two sides then count as different
    #[arg(long)]
    keep_extra: bool,
    /// File with the key of the target; without it, the variable CAUSEWAY_TARGET_KEY is used
    #[arg(long, value_name = "FILE")]
    target_key_file: Option<PathBuf>,
    /// File with a v1 key of our own deployment; without it, the variable CAUSEWAY_KEY or the setting
    /// upstream.service_key is used
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    settings: SettingArgs,
}

const AFTER_HELP: &str = "Exit code 0: all is carried and both sides are alike (with --dry-run: nothing is in the \
way); 2: something is not; 1: the command failed, and the next run goes on where it stopped. Both keys must be those \
of an administrator of the workspace who is in all its projects. Nobody should change definitions or values meanwhile.";

/// Exit code when the two sides are not equal.
const UNLIKE: u8 = 2;

/// Environment variable with the key of the target.
const TARGET_KEY: &str = "CAUSEWAY_TARGET_KEY";
/// Environment variable with a v1 key of our own deployment.
const OWN_KEY: &str = "CAUSEWAY_KEY";

pub(super) fn run(args: &LeaveArgs) -> Result<ExitCode, String> {
    let settings = args.settings.load()?;
    let plan = app::compile_plan(settings.mappings.as_deref()).map_err(|fault| fault.to_string())?;
    let own = settings.upstream.service_key.as_ref().map(|key| key.expose().to_owned());
    let target_key = key(args.target_key_file.as_deref(), TARGET_KEY)?.ok_or_else(|| {
        format!(
            "the key of the target is missing; put it into the variable {TARGET_KEY} or a file (--target-key-file)"
        )
    })?;
    let own_key = key(args.key_file.as_deref(), OWN_KEY)?.or(own).ok_or_else(|| {
        format!("a v1 key of our own is missing; put it into the variable {OWN_KEY} or a file (--key-file)")
    })?;
    let v1 = settings.upstream.needed_base_url().map_err(|faults| faults.to_string())?.clone();
    let run_mode = match (args.dry_run, args.check) {
        (true, _) => RunMode::DryRun,
        (_, true) => RunMode::Check,
        _ => RunMode::Carry,
    };
    let wanted = RunParameters {
        run_mode,
        workspaces: args.workspace.clone(),
        update: args.update,
        keep_extra: args.keep_extra,
        own_addresses: own_addresses(&settings),
    };
    let (v1, target) = (Place { address: v1, key: own_key }, Place { address: args.to.clone(), key: target_key });
    let url = &settings.store.url;
    let is_clean = block_on(with_store(url, async |store| {
        let _alone = only_one(store, url, wanted.run_mode).await?;
        carried(&plan, store, &v1, &target, &wanted, args.json).await
    }))?;
    Ok(if is_clean { ExitCode::SUCCESS } else { UNLIKE.into() })
}

/// Takes a lock that keeps other runs out while it is held. A dry run writes nothing and needs no lock.
async fn only_one(store: &Store, url: &str, run_mode: RunMode) -> Result<Option<LeavingLock>, String> {
    if run_mode == RunMode::DryRun {
        return Ok(None);
    }
    match store.lock_for_leaving(url).await? {
        Some(alone) => Ok(Some(alone)),
        None => Err(format!(
            "another `causeway leave` works on the store {}; wait until it has ended, or end it, and run this one again. \
             Name all workspaces in one run to carry several; `--dry-run` may run beside it",
            in_words(url)
        )),
    }
}

/// Runs the command and prints its report. Returns whether all workspaces have the wanted result.
async fn carried(
    plan: &Plan,
    store: &Store,
    v1: &Place,
    target: &Place,
    wanted: &RunParameters,
    json: bool,
) -> Result<bool, String> {
    expect_its_deployment(store, v1.address.as_str()).await?;
    let tell = |words: &str| eprintln!("{words}");
    let report = leave::leave(plan, store, v1, target, wanted, &tell).await?;
    match json {
        true => say!("{:#}", report.json()),
        false => print_out!("{}", leave::text(&report)),
    }
    match report.fault {
        Some(fault) => Err(fault),
        None => Ok(report.is_clean()),
    }
}

/// Checks that this version may write to the store, and that the store belongs to this v1.
async fn expect_its_deployment(store: &Store, v1: &str) -> Outcome {
    expect_writable(store).await?;
    let known = store.deployment().await?;
    let is_its = |known: &String| HttpAddress::parse(known) == HttpAddress::parse(v1);
    match known {
        Some(known) if !is_its(&known) => Err(format!(
            "the store belongs to the deployment at {known}, and upstream.base_url is {v1}; when it has moved, run \
             `causeway store rebase`"
        )),
        _ => Ok(()),
    }
}

/// Reads the key from a file, or else from an environment variable.
fn key(file: Option<&Path>, variable: &str) -> Result<Option<String>, String> {
    let text = match file {
        Some(file) => Some(std::fs::read_to_string(file).map_err(|fault| format!("{}: {fault}", file.display()))?),
        None => std::env::var(variable).ok(),
    };
    let text = text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    match (&text, file) {
        (None, Some(file)) => Err(format!("{} is empty; it should hold the key and nothing else", file.display())),
        (Some(key), _) if !key.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Err("a key holds characters that no header can carry; look for line breaks and blanks in it".to_owned())
        }
        _ => Ok(text),
    }
}

/// Returns the addresses of this gateway.
fn own_addresses(settings: &Settings) -> Vec<String> {
    let public = settings.public.url.iter().map(|address| address.as_str().to_owned());
    let listen = settings.listen.address;
    let scheme = if settings.listen.tls.is_some() { "https" } else { "http" };
    let places = ["127.0.0.1", "localhost", "[::1]"].map(|host| format!("{host}:{}", listen.port()));
    let local = places.into_iter().chain([listen.to_string()]).map(|place| format!("{scheme}://{place}"));
    public.chain(local).filter_map(|text| Some(HttpAddress::parse(&text)?.as_str().to_owned())).collect()
}
