//! `causeway check`: checks settings, mappings, the files and services beside the program, and on request the backend,
//! without serving. May use: what `cli` may use.

use super::arguments::{Outcome, SettingArgs, block_on, say};
use crate::app;
use crate::doctor::{self, Report, State};
use crate::plan::Plan;
use crate::settings::Settings;
use clap::Args;
use std::sync::Arc;

/// Arguments of `check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    #[command(flatten)]
    settings: SettingArgs,
    /// A v1 API key, to prove with --upstream that the backend accepts keys as expected
    #[arg(long, value_name = "KEY", env = "CAUSEWAY_CHECK_KEY", hide_env_values = true)]
    key: Option<String>,
}

pub(super) fn run(args: &CheckArgs) -> Outcome {
    let settings = args.settings.load()?;
    settings.upstream.expect_another(settings.listen.address).map_err(|fault| fault.to_string())?;
    say!("settings  fine");
    for warning in settings.warnings() {
        say!("warning   {warning}");
    }
    let mut faults = Vec::new();
    let plan = check_mappings(&settings, &mut faults);
    let wanted = doctor::CheckInputs { key: args.key.clone().filter(|key| !key.is_empty()), through: None };
    block_on(async {
        faults.extend(look(&settings, plan.as_ref(), &wanted).await);
        if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
    })
}

/// Compiles the mappings. On an error, adds it to `faults` and returns `None`.
fn check_mappings(settings: &Settings, faults: &mut Vec<String>) -> Option<Arc<Plan>> {
    let plan = match app::compile_plan(settings.mappings.as_deref()) {
        Ok(plan) => plan,
        Err(fault) => {
            faults.push(fault.to_string());
            return None;
        }
    };
    let working = plan.operations.iter().filter(|operation| operation.works()).count();
    say!("mappings  fine: {} operations, {working} of them work in this version", plan.operations.len());
    Some(plan)
}

/// Checks the certificate, the parts beside the program, and v1. Prints the results and returns the faults.
async fn look(settings: &Settings, plan: Option<&Arc<Plan>>, wanted: &doctor::CheckInputs) -> Vec<String> {
    let (mut report, mut faults) = (Report::default(), Vec::new());
    doctor::certificate(settings, &mut report);
    doctor::beside(settings, plan, &mut report).await;
    if settings.upstream.base_url.is_some() {
        doctor::upstream(settings, plan.map(AsRef::as_ref), wanted, &mut report).await;
    }
    for check in &report.checks {
        let remedy = check.remedy.as_deref().unwrap_or_default();
        match check.state {
            State::Fine => say!("{:<9} fine: {}", check.part, check.found),
            State::Warning => say!("warning   {}; {remedy}", check.found),
            // The text of these two parts already contains the remedy.
            State::Fault if ["native", "retirement"].contains(&check.part) => faults.push(check.found.clone()),
            State::Fault | State::Unknown => faults.push(format!("{}; {remedy}", check.found)),
        }
    }
    if settings.upstream.base_url.is_none() {
        say!("backend   not checked: no --upstream given");
    }
    faults
}
