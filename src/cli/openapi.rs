//! `causeway openapi`: the OpenAPI document, without a running gateway. May use: what `cli` may use.

use super::arguments::{Outcome, server};
use super::out::print_out;
use crate::app;
use crate::describe::openapi::{Document, Format};
use crate::settings::HttpAddress;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `openapi`.
#[derive(Debug, Args)]
pub struct OpenapiArgs {
    /// Form of the document
    #[arg(long, value_enum, default_value_t = OpenapiForm::Json)]
    format: OpenapiForm,
    /// Address of the gateway, as the document names it
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080", value_parser = server)]
    server: HttpAddress,
    /// Folder with mapping files that are laid over the built-in ones
    #[arg(long, value_name = "FOLDER")]
    mappings: Option<PathBuf>,
}

/// Forms of the OpenAPI document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum OpenapiForm {
    /// JSON
    Json,
    /// YAML 1.2
    Yaml,
}

pub(super) fn run(args: &OpenapiArgs) -> Outcome {
    let plan = app::compile_plan(args.mappings.as_deref()).map_err(|fault| fault.to_string())?;
    let format = match args.format {
        OpenapiForm::Json => Format::Json,
        OpenapiForm::Yaml => Format::Yaml,
    };
    print_out!("{}", Document::new(plan).text(format, args.server.as_str()));
    Ok(())
}
