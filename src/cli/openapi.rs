//! `causeway openapi`: the OpenAPI document, without a running gateway.

use super::{OpenapiArgs, OpenapiForm, Outcome};
use crate::app;
use crate::describe::openapi::{Document, Format};

pub(super) fn run(args: &OpenapiArgs) -> Outcome {
    let plan = app::compile_plan(args.mappings.as_deref()).map_err(|fault| fault.to_string())?;
    let format = match args.format {
        OpenapiForm::Json => Format::Json,
        OpenapiForm::Yaml => Format::Yaml,
    };
    print!("{}", Document::new(plan).text(format, args.server.as_str()));
    Ok(())
}
