//! `causeway operations`: what the gateway serves, read off the plan.

use super::{OperationsArgs, Outcome};
use crate::app;
use crate::describe::operations;

pub(super) fn run(args: &OperationsArgs) -> Outcome {
    let plan = app::compile_plan(args.mappings.as_deref()).map_err(|fault| fault.to_string())?;
    let text = if args.json { operations::json(&plan) } else { operations::table(&plan) };
    print!("{text}");
    Ok(())
}
