//! `causeway migration`: reports who still calls v1, and what replaces it. May use: what `cli` may use.

use super::arguments::{Outcome, SettingArgs, block_on, print_out, say, with_current_store};
use crate::app;
use crate::migration::{self, CountSelection, Counts, Report};
use crate::plan::Plan;
use crate::settings::most_similar;
use crate::store::Store;
use crate::usage::today;
use clap::{Args, Subcommand};
use serde_json::json;
use std::sync::Arc;

/// Arguments of `migration`.
#[derive(Debug, Args)]
pub struct MigrationArgs {
    #[command(subcommand)]
    command: Option<MigrationCommand>,
    #[command(flatten)]
    shape: Shape,
    /// Only calls of this client; use its name from the report
    #[arg(long, value_name = "NAME")]
    client: Option<String>,
    /// Only calls of this person, or with the credential that has this fingerprint
    #[arg(long, value_name = "NAME")]
    caller: Option<String>,
    /// Only calls of this operation of v1 or v2
    #[arg(long, value_name = "ID")]
    operation: Option<String>,
    /// Days without any call after which a v1 operation counts as ready to be switched off; 14 if absent
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(i64).range(1..=3660))]
    quiet: Option<i64>,
    #[command(flatten)]
    settings: SettingArgs,
}

/// Format and period of the report.
#[derive(Debug, Args)]
struct Shape {
    /// Print JSON instead of tables
    #[arg(long, global = true)]
    json: bool,
    /// Print every count as a CSV line for spreadsheets
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Only the last N days, today included
    #[arg(long, value_name = "DAYS", global = true, value_parser = clap::value_parser!(i64).range(1..=3660))]
    days: Option<i64>,
}

#[derive(Debug, Subcommand)]
enum MigrationCommand {
    /// List the v1 calls that one client still makes, each with the v2 request that replaces it
    Client {
        /// Name of the client as in the report, such as plane-sdk/1.2.0
        name: String,
    },
}

pub(super) fn run(args: &MigrationArgs) -> Outcome {
    match &args.command {
        Some(MigrationCommand::Client { name }) => of_client(args, name),
        None => of_all(args),
    }
}

fn of_client(args: &MigrationArgs, name: &str) -> Outcome {
    let given = [
        ("--csv", args.shape.csv),
        ("--client", args.client.is_some()),
        ("--caller", args.caller.is_some()),
        ("--operation", args.operation.is_some()),
        ("--quiet", args.quiet.is_some()),
    ];
    if let Some((switch, _)) = given.iter().find(|(_, is_given)| *is_given) {
        return Err(format!("{switch} is for the report of all; `migration client` takes --days and --json"));
    }
    let wanted =
        CountSelection { days: args.shape.days, client: Some(name.to_owned()), ..CountSelection::default() };
    let (plan, counts) = counted(&args.settings, &wanted, today().into())?;
    if counts.rows.is_empty() {
        return Err(format!("no call of a client {name} was counted; `causeway migration` lists all"));
    }
    let left = migration::left(&plan, &counts);
    match args.shape.json {
        true => say!("{:#}", json!(left)),
        false => print_out!("{}", migration::client_text(name, &left)),
    }
    Ok(())
}

fn of_all(args: &MigrationArgs) -> Outcome {
    let (client, caller, operation) = (args.client.clone(), args.caller.clone(), args.operation.clone());
    let is_part = client.is_some() || caller.is_some() || operation.is_some();
    let (wanted, today) = (CountSelection { days: args.shape.days, client, caller, operation }, today().into());
    let (plan, counts) = counted(&args.settings, &wanted, today)?;
    if is_part && counts.rows.is_empty() {
        return Err("no call that fits was counted; `causeway migration` lists all".to_owned());
    }
    if args.shape.csv {
        print_out!("{}", migration::csv(&counts));
        return Ok(());
    }
    let report = Report::of(&plan, &counts, today, args.quiet.unwrap_or(migration::QUIET));
    match args.shape.json {
        true => say!("{:#}", json!(report)),
        false => print_out!("{}", migration::text(&report)),
    }
    Ok(())
}

/// Reads the wanted counts, and the plan that describes their operations.
fn counted(settings: &SettingArgs, wanted: &CountSelection, today: i64) -> Result<(Arc<Plan>, Counts), String> {
    let settings = settings.load()?;
    let plan = app::compile_plan(settings.mappings.as_deref()).map_err(|fault| fault.to_string())?;
    let is_unknown = |id: &&str| plan.operation(id).is_none() && plan.v1.by_id(id).is_none();
    if let Some(id) = wanted.operation.as_deref().filter(is_unknown) {
        let names = plan.operations.iter().map(|operation| operation.id.as_str());
        let names = names.chain(plan.v1.all().iter().map(|row| row.id.as_str()));
        let near = most_similar(id, names).map(|near| format!("did you mean {near}? ")).unwrap_or_default();
        return Err(format!(
            "--operation {id}: there is none of this name; {near}`causeway operations` names those of v2, and \
             mappings/v1/operations.toml of the source those of v1"
        ));
    }
    let read = async |store: &Store| Ok(Counts::read(store, &plan, wanted, today).await?);
    let counts = block_on(with_current_store(&settings.store.url, read))?;
    Ok((plan, counts))
}
