//! `causeway store`: operators' commands for the gateway's own data. May use: what `cli` may use.

use super::arguments::{
    Outcome, SettingArgs, block_on, create_private_file, expect_current, expect_not_read_only, expect_writable,
    say, stop_signal, with_store, with_store_made_if_absent,
};
use super::restore;
use crate::amount::amount;
use crate::run::forget_project;
use crate::store::{
    DumpError, Intent, IntentKind, IntentState, Kind, Settled, Store, StoreError, Unfinished, expect_file,
    in_words, make_lasting,
};
use crate::units::{micros, now_micros};
use crate::v2::time;
use clap::{ArgGroup, Args, Subcommand};
use serde_json::json;
use std::io::{BufWriter, ErrorKind, stdout};
use std::path::{Path, PathBuf};
use std::time::Duration;
use uuid::Uuid;

/// Longest time that the request of a write may run.
const LONGEST: Duration = Duration::from_secs(15 * 60);

/// Arguments of `store`.
#[derive(Debug, Args)]
pub struct StoreArgs {
    #[command(subcommand)]
    command: StoreCommand,
}

#[derive(Debug, Subcommand)]
enum StoreCommand {
    /// Create the tables or update them to this version, as serving does
    Migrate {
        /// Print the steps that are needed, and take none
        #[arg(long)]
        plan: bool,
        #[command(flatten)]
        settings: SettingArgs,
    },
    /// Copy the store to a new file while the gateway runs: SQLite as a SQLite file, PostgreSQL as JSON lines
    Backup {
        /// New file for the copy; readable by its owner alone
        #[arg(long, value_name = "FILE")]
        to: PathBuf,
        #[command(flatten)]
        settings: SettingArgs,
    },
    /// Fill an empty store, of either engine, from a backup or an export; stop the gateways first
    Restore {
        /// File made by `backup` or `export`
        #[arg(long, value_name = "FILE")]
        from: PathBuf,
        /// Replace a store that already holds data; all or nothing
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        settings: SettingArgs,
    },
    /// Write every row, deleted ones too, as JSON lines
    Export {
        /// New file to write to instead of standard output; readable by its owner alone
        #[arg(long, value_name = "FILE")]
        to: Option<PathBuf>,
        #[command(flatten)]
        settings: SettingArgs,
    },
    /// Record the new address of the v1 deployment that the store belongs to; stop the gateways first
    Rebase {
        /// The new address, without /api/v1
        #[arg(long, value_name = "URL")]
        to: String,
        #[command(flatten)]
        settings: SettingArgs,
    },
    /// Print facts about the store: its deployment, version, bytes, rows of each table
    Stats {
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        settings: SettingArgs,
    },
    /// Look for damage, broken rules, gaps in the audit log and unsettled writes; exit code 1 if there are any
    Check(SettingArgs),
    /// Delete the definitions of a project that was deleted in v1 without the gateway, which the gateway cannot notice
    Forget {
        /// Id of the project
        #[arg(long, value_name = "ID")]
        project: Uuid,
        /// Do it; without this, only print what would be deleted
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        settings: SettingArgs,
    },
    /// Decide whether a write whose answer was lost took place, if the gateway cannot tell; `store check` lists them
    #[command(group(ArgGroup::new("outcome").required(true).args(["item", "drop"])))]
    Settle {
        /// Id of the write, as `store check` prints it
        #[arg(long, value_name = "ID")]
        write: Uuid,
        /// v1 has carried it out on this work item, which gets the type and values of the write
        #[arg(long, value_name = "ID")]
        item: Option<Uuid>,
        /// v1 has not carried it out; its type and values are dropped
        #[arg(long)]
        drop: bool,
        #[command(flatten)]
        settings: SettingArgs,
    },
    /// Delete the recorded data of work items that v1 has not shown for a long time
    Sweep {
        /// How long v1 must not have shown a work item, such as 30d or 12h
        #[arg(long, value_name = "AGE", value_parser = age)]
        purge_older_than: Duration,
        #[command(flatten)]
        settings: SettingArgs,
    },
}

pub(super) fn run(args: &StoreArgs) -> Outcome {
    let settings = match &args.command {
        StoreCommand::Check(settings) => settings,
        StoreCommand::Migrate { settings, .. }
        | StoreCommand::Backup { settings, .. }
        | StoreCommand::Restore { settings, .. }
        | StoreCommand::Export { settings, .. }
        | StoreCommand::Rebase { settings, .. }
        | StoreCommand::Stats { settings, .. }
        | StoreCommand::Forget { settings, .. }
        | StoreCommand::Settle { settings, .. }
        | StoreCommand::Sweep { settings, .. } => settings,
    };
    let url = settings.load()?.store.url;
    block_on(async {
        let work = async |store: &Store| carry_out(&args.command, store, &url).await;
        match &args.command {
            StoreCommand::Restore { from, force, .. } => unless_stopped(restore::run(from, &url, *force)).await,
            StoreCommand::Backup { .. } | StoreCommand::Export { to: Some(_), .. } => {
                unless_stopped(with_store(&url, work)).await
            }
            StoreCommand::Migrate { plan, .. } => {
                if *plan {
                    expect_file(&url)?;
                }
                with_store_made_if_absent(&url, work).await
            }
            _ => with_store(&url, work).await,
        }
    })
}

/// Carries out `work`, which writes a file. A signal ends it in order, so that no unfinished file is left.
async fn unless_stopped(work: impl Future<Output = Outcome>) -> Outcome {
    tokio::select! {
        // In this order signals are caught before the work begins.
        biased;
        () = stop_signal() => Err("stopped by a signal; nothing unfinished is left".to_owned()),
        outcome = work => outcome,
    }
}

async fn carry_out(command: &StoreCommand, store: &Store, url: &str) -> Outcome {
    let fits = match command {
        StoreCommand::Check(_) => expect_current(store).await,
        StoreCommand::Export { .. } | StoreCommand::Backup { .. } | StoreCommand::Stats { .. } => {
            store.check_readable().await.map_err(String::from)
        }
        StoreCommand::Forget { .. } | StoreCommand::Settle { .. } | StoreCommand::Sweep { .. } => {
            expect_writable(store).await
        }
        StoreCommand::Migrate { .. } | StoreCommand::Rebase { .. } => {
            store.check_writable().await.map_err(String::from)
        }
        StoreCommand::Restore { .. } => Ok(()),
    };
    fits.map_err(|fault| format!("{}: {fault}", in_words(url)))?;
    if writes(command, store).await? {
        expect_not_read_only(store, url)?;
    }
    match command {
        StoreCommand::Migrate { plan: true, .. } => steps("would migrate", store.steps_to_take().await),
        StoreCommand::Migrate { .. } => steps("migrated", store.migrate().await),
        StoreCommand::Backup { to, .. } => backup(store, to).await,
        StoreCommand::Restore { .. } => Err("a restore opens the store by itself".to_owned()),
        StoreCommand::Export { to: Some(file), .. } => export(store, file).await,
        StoreCommand::Export { to: None, .. } => {
            store.export(&mut BufWriter::new(stdout())).await.map(drop).map_err(|fault| fault.to_string())
        }
        StoreCommand::Check(_) => check(store).await,
        StoreCommand::Rebase { to, .. } => rebase(store, to).await,
        StoreCommand::Stats { json, .. } => stats(store, url, *json).await,
        StoreCommand::Forget { project, yes, .. } => forget(store, *project, *yes).await,
        StoreCommand::Settle { write, item, .. } => settle(store, *write, *item).await,
        StoreCommand::Sweep { purge_older_than, .. } => {
            let swept = store.sweep(*purge_older_than).await?;
            say!("purged {} with {}", amount(swept.work_items, "work item"), amount(swept.values, "value"));
            Ok(())
        }
    }
}

/// Checks whether the command is going to write to the store.
async fn writes(command: &StoreCommand, store: &Store) -> Result<bool, StoreError> {
    match command {
        StoreCommand::Migrate { plan: false, .. } => Ok(!store.steps_to_take().await?.is_empty()),
        StoreCommand::Rebase { .. } | StoreCommand::Settle { .. } | StoreCommand::Sweep { .. } => Ok(true),
        StoreCommand::Forget { yes, .. } => Ok(*yes),
        _ => Ok(false),
    }
}

async fn rebase(store: &Store, to: &str) -> Outcome {
    let (before, now) = store.rebase(to).await?;
    say!("the store belonged to the deployment at {before} and belongs to {now} now");
    say!("Set upstream.base_url to {now}. This is right only when the same deployment has moved, with its data.");
    Ok(())
}

async fn forget(store: &Store, project: Uuid, yes: bool) -> Outcome {
    let (mut types, mut properties, mut imports, mut contexts) = (0, 0, 0, 0);
    for workspace in store.workspaces_naming(project).await? {
        let defined = store.catalogue(workspace).await?;
        types += defined.types_of(Some(project)).len();
        properties += defined.properties_of(Some(project)).len();
        imports += defined.imports_of(project).count();
        contexts += defined.contexts.values().filter(|context| context.projects.contains(&project)).count();
    }
    let what = format!(
        "types: {types}, properties: {properties}, imported types: {imports}, contexts that list it: {contexts}"
    );
    if !yes {
        say!("would forget  {what}");
        say!("Give --yes to do it, when v1 has deleted the project: one that it still has would lose them.");
        return Ok(());
    }
    forget_project(store, project).await.map_err(|refusal| format!("{refusal:?}"))?;
    say!("forgot  {what}");
    say!("`causeway store sweep` takes what is kept of its work items.");
    Ok(())
}

/// Describes a write that waits to be settled, for the operator who decides about it.
fn told(intent: &Intent) -> String {
    let what = match (intent.kind, intent.item) {
        (IntentKind::Create, _) => format!("create of a work item named {}", intent.sent["name"]),
        (IntentKind::Update, Some(item)) => format!("change of the work item {item}"),
        (kind, item) => format!("{kind:?} of the work item {item:?}"),
    };
    let (id, state, project) = (intent.id, intent.state.word(), intent.project);
    let (user, at) = (intent.user, time::write(intent.began_at));
    format!(
        "{id} ({state}): {what} in project {project} by user {user} at {at}; see `causeway store settle --help`"
    )
}

async fn settle(store: &Store, write: Uuid, item: Option<Uuid>) -> Outcome {
    let open = store.unsettled().await?;
    let Some(intent) = open.into_iter().find(|intent| intent.id == write) else {
        return Err(format!("no write {write} waits to be settled; `causeway store check` lists those that do"));
    };
    if intent.state == IntentState::Open && now_micros() - intent.began_at < micros(LONGEST) {
        return Err(format!("its request may still run; wait until {LONGEST:?} after it began"));
    }
    if let (Some(asked), Some(of)) = (item, intent.item.filter(|of| item != Some(*of))) {
        return Err(format!("the write is about the work item {of}, not {asked}"));
    }
    let settled = match (item, intent.kind) {
        (None, _) => Settled::Dropped,
        (Some(item), IntentKind::Delete) => Settled::Purged(item),
        (Some(item), IntentKind::Create | IntentKind::Update) => Settled::Done(item),
    };
    match store.settle_left(&intent, settled).await? {
        true => say!("settled"),
        false => return Err("it was settled meanwhile, or the work item has a record of its own".into()),
    }
    Ok(())
}

async fn stats(store: &Store, url: &str, as_json: bool) -> Outcome {
    let stats = store.stats(url).await?;
    let engine = if store.engine().kind() == Kind::Sqlite { "SQLite" } else { "PostgreSQL" };
    if as_json {
        let rows: serde_json::Map<String, serde_json::Value> =
            stats.rows.iter().map(|(name, rows)| ((*name).to_owned(), (*rows).into())).collect();
        let told = json!({
            "place": in_words(url), "engine": engine, "deployment": stats.deployment,
            "tables_version": stats.tables_version, "steps_to_take": stats.steps_to_take,
            "bytes": stats.bytes, "rows": rows,
        });
        say!("{told:#}");
        return Ok(());
    }
    say!("place       {}\nengine      {engine}", in_words(url));
    say!("deployment  {}", stats.deployment.as_deref().unwrap_or("none yet"));
    let steps = match stats.steps_to_take {
        0 => "up to date".to_owned(),
        steps => format!("{} to take: `causeway store migrate`", amount(steps, "step")),
    };
    say!("tables      version {}, {steps}\nbytes       {}\n", stats.tables_version, stats.bytes);
    for (name, rows) in &stats.rows {
        say!("{rows:>10}  {name}");
    }
    Ok(())
}

fn steps(word: &str, steps: Result<Vec<String>, StoreError>) -> Outcome {
    let steps = steps?;
    if steps.is_empty() {
        say!("the tables are up to date");
    }
    for step in steps {
        say!("{word}  {step}");
    }
    Ok(())
}

async fn backup(store: &Store, to: &Path) -> Outcome {
    // It holds nothing yet, and a restore would refuse its copy.
    store.deployment().await?.ok_or(StoreError::Unclaimed)?;
    match store.engine().kind() {
        Kind::Sqlite => store.copy_to(to).await?,
        Kind::Postgres => return export(store, to).await,
    }
    say!("copied to {}", to.display());
    Ok(())
}

async fn export(store: &Store, to: &Path) -> Outcome {
    let no_copy = |cause: std::io::Error| {
        StoreError::NoCopy { file: to.display().to_string(), cause: cause.to_string() }.to_string()
    };
    let file = create_private_file(to).map_err(|fault| match fault.kind() {
        ErrorKind::AlreadyExists => StoreError::Occupied(to.display().to_string()).to_string(),
        _ => no_copy(fault),
    })?;
    let unfinished = Unfinished::copy(to);
    let mut writer = BufWriter::new(file);
    let written = store.export(&mut writer).await.map_err(|fault| match fault {
        DumpError::File(cause) => no_copy(cause),
        other => other.to_string(),
    });
    let rows = written?;
    make_lasting(to).map_err(no_copy)?;
    unfinished.complete();
    say!("{} written to {}", amount(rows, "row"), to.display());
    Ok(())
}

async fn check(store: &Store) -> Outcome {
    let findings = store.findings().await?;
    let missing = store.missing_items().await?;
    say!("work items that v1 does not show at present: {missing}");
    for finding in &findings {
        say!("found: {finding}");
    }
    let open = store.unsettled().await?;
    for intent in &open {
        say!("write {}", told(intent));
    }
    match findings.len() {
        0 => {
            say!("the store is sound");
            Ok(())
        }
        found => Err(format!("the store has {}", amount(found, "finding"))),
    }
}

/// Parses an age such as `30d`, `12h`, `90m` or `45s`.
fn age(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no age; write it as 30d, 12h, 90m or 45s");
    let unit = text.chars().next_back().ok_or_else(wrong)?;
    let seconds = match unit {
        'd' => 86_400,
        'h' => 3_600,
        'm' => 60,
        's' => 1,
        _ => return Err(wrong()),
    };
    let number: u64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(wrong)
}
