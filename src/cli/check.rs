//! `causeway check` and `causeway doctor`: settings, mappings, what stands beside the program, and on request the backend,
//! before anything is served; and everything an installation stands on. May use: what `cli` may use.

use super::arguments::{Outcome, SettingArgs, block_on, say, server};
use crate::access::paths;
use crate::app;
use crate::context::Context;
use crate::doctor::{self, Report, State};
use crate::plan::Plan;
use crate::retirement::Retirement;
use crate::settings::{HttpAddress, Settings};
use crate::v1::{Client, ClientSettings, ConcurrencySettings, V1Key, V1Request};
use clap::Args;
use serde_json::json;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

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
    block_on(async {
        check_beside(&settings, plan.as_ref(), &mut faults).await;
        match &settings.upstream.base_url {
            None => say!("backend   not checked: no --upstream given"),
            Some(base) => {
                let checked = check_backend(&settings, base.as_str().to_owned(), args.key.as_deref()).await;
                faults.extend(checked.err());
            }
        }
        if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
    })
}

/// What the mappings mean, unless there is a fault in them.
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
    faults.extend(Retirement::new(settings, &plan).err());
    Some(plan)
}

/// Looks at what stands beside the program: the certificate, secrets, files, the store (opened when it is there, and
/// not made), Redis, and the deployment's own v2.
async fn check_beside(settings: &Settings, plan: Option<&Arc<Plan>>, faults: &mut Vec<String>) {
    let mut report = Report::default();
    doctor::certificate(settings, &mut report);
    doctor::secrets(settings, &mut report);
    doctor::files(settings, &mut report);
    doctor::store(settings, &mut report).await;
    doctor::shared(settings, &mut report).await;
    if let Some(plan) = plan {
        doctor::native(settings, plan, &mut report).await;
    }
    for check in &report.checks {
        let remedy = check.remedy.as_deref().unwrap_or_default();
        match check.state {
            State::Fine => say!("{:<9} fine: {}", check.part, check.found),
            State::Warning => say!("warning   {}; {remedy}", check.found),
            // A fault of `native` says itself what to do.
            State::Fault if check.part == "native" => faults.push(check.found.clone()),
            State::Fault => faults.push(format!("{}; {remedy}", check.found)),
        }
    }
}

async fn check_backend(settings: &Settings, base: String, key: Option<&str>) -> Outcome {
    let client = Client::new(ClientSettings {
        base_url: base.clone(),
        connect_timeout: settings.upstream.connect_timeout,
        response_cap: settings.upstream.max_response_size,
        pool_per_host: 1,
        retry_jitter: Duration::from_millis(50),
        concurrency: ConcurrencySettings::default(),
    })
    .map_err(|fault| format!("upstream.base_url: {fault}"))?;
    expect_refusal(&client, &base, settings.limits.deadline).await?;
    say!("backend   answers at {base} and refuses unknown keys as v1 does");
    match key {
        None => say!("key       not checked: give one with --key or CAUSEWAY_CHECK_KEY"),
        Some(key) => {
            say!("key       accepted: it belongs to {}", owner(&client, key, settings.limits.deadline).await?)
        }
    }
    Ok(())
}

/// v1 answers an unknown key with 403 and a text of its own (trap 1, `auth_wrong_key`).
async fn expect_refusal(client: &Client, base: &str, allowed: Duration) -> Outcome {
    let ctx = Context::new("check", allowed);
    let nobody = V1Key::new("causeway-check-no-such-key");
    let answer = client.call(&nobody, V1Request::get(paths::IDENTITY, ""), &ctx).await;
    let answer = answer.map_err(|fault| {
        format!("{base} cannot be reached: {fault}; check --upstream (scheme, host, port) and the network")
    })?;
    match (answer.status, answer.is_json) {
        (401 | 403, true) => Ok(()),
        (429, _) => Err(format!("{base} refuses to answer now (429); try again in a minute")),
        (status, _) => Err(format!(
            "{base} does not answer like v1: /api/v1/users/me/ gave {status} to an unknown key; check --upstream, \
             which is the address without /api/v1"
        )),
    }
}

async fn owner(client: &Client, key: &str, allowed: Duration) -> Result<String, String> {
    let ctx = Context::new("check", allowed);
    let answer = client.ask(&V1Key::new(key), V1Request::get(paths::IDENTITY, ""), &ctx).await;
    let answer = answer.map_err(|refusal| match refusal.status() {
        401 => "the key is not accepted by v1; check --key".to_owned(),
        _ => format!("the key could not be checked: v1 answered {}", refusal.code()),
    })?;
    let user: serde_json::Value = serde_json::from_slice(&answer.body).map_err(|fault| fault.to_string())?;
    Ok(user.get("email").and_then(serde_json::Value::as_str).unwrap_or("somebody without an address").to_owned())
}

/// Arguments of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    settings: SettingArgs,
    /// A v1 API key to ask v1 with; without it the setting upstream.service_key
    #[arg(long, value_name = "KEY", env = "CAUSEWAY_CHECK_KEY", hide_env_values = true)]
    key: Option<String>,
    /// Address that clients use, when it is not the setting public_url
    #[arg(long, value_name = "URL", value_parser = server)]
    through: Option<HttpAddress>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn examine(args: &DoctorArgs) -> Result<ExitCode, String> {
    let mut report = Report::default();
    match args.settings.load() {
        // Nothing else can be looked at without them.
        Err(faults) => report.fault("settings", faults, "each line above says what to write instead"),
        Ok(settings) => {
            let through = args.through.as_ref().map(|address| address.as_str().to_owned());
            let wanted = doctor::Wanted { key: args.key.clone(), through };
            report = block_on(async { Ok(doctor::examine(&settings, &wanted).await) })?;
        }
    }
    match args.json {
        true => say!("{:#}", json!(report)),
        false => say!("{report}"),
    }
    Ok(if report.count(State::Fault) == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
