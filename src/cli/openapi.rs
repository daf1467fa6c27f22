//! `causeway openapi` and `causeway operations`: describe the API of a gateway, without a running one. May use: what
//! `cli` may use.

use super::arguments::{Outcome, SettingArgs, one_of, print_out, server};
use crate::describe::openapi::{Document, Format};
use crate::describe::operations;
use crate::settings::HttpAddress;
use clap::Args;

/// Arguments of `openapi`.
#[derive(Debug, Args)]
pub struct OpenapiArgs {
    /// Format of the document
    #[arg(long, default_value = "json", value_parser = one_of(&FORMS))]
    format: Format,
    /// Address of the gateway that the document names
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080", value_parser = server)]
    server: HttpAddress,
    #[command(flatten)]
    settings: SettingArgs,
}

const FORMS: [(&str, &str, Format); 2] = [("json", "JSON", Format::Json), ("yaml", "YAML 1.2", Format::Yaml)];

pub(super) fn run(args: &OpenapiArgs) -> Outcome {
    let plan = args.settings.plan()?;
    print_out!("{}", Document::new(plan).text(args.format, args.server.as_str()));
    Ok(())
}

/// Arguments of `operations`.
#[derive(Debug, Args)]
pub struct OperationsArgs {
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    settings: SettingArgs,
}

pub(super) fn operations(args: &OperationsArgs) -> Outcome {
    let plan = args.settings.plan()?;
    let text = if args.json { operations::json(&plan) } else { operations::table(&plan) };
    print_out!("{text}");
    Ok(())
}
