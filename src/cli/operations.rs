//! `causeway operations`: what the gateway serves, read off the plan. May use: what `cli` may use.

use super::arguments::Outcome;
use super::out::print_out;
use crate::app;
use crate::describe::operations;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `operations`.
#[derive(Debug, Args)]
pub struct OperationsArgs {
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Folder with mapping files that are laid over the built-in ones
    #[arg(long, value_name = "FOLDER")]
    mappings: Option<PathBuf>,
}

pub(super) fn run(args: &OperationsArgs) -> Outcome {
    let plan = app::compile_plan(args.mappings.as_deref()).map_err(|fault| fault.to_string())?;
    let text = if args.json { operations::json(&plan) } else { operations::table(&plan) };
    print_out!("{text}");
    Ok(())
}
