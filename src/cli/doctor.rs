//! `causeway doctor`: checks everything that an installation depends on. May use: what `cli` may use.

use super::arguments::{SettingArgs, block_on, say, server};
use crate::doctor::{self, Report, State};
use crate::settings::HttpAddress;
use clap::Args;
use serde_json::json;
use std::process::ExitCode;

/// Arguments of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    settings: SettingArgs,
    /// A v1 API key for questions to v1; without it, the setting upstream.service_key is used
    #[arg(long, value_name = "KEY", env = "CAUSEWAY_CHECK_KEY", hide_env_values = true)]
    key: Option<String>,
    /// Address that clients use, if it differs from the setting public_url
    #[arg(long, value_name = "URL", value_parser = server)]
    through: Option<HttpAddress>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &DoctorArgs) -> Result<ExitCode, String> {
    let mut report = Report::default();
    match args.settings.load() {
        // Without settings nothing else can be checked.
        Err(faults) => report.fault("settings", faults, "each line above says what to write instead"),
        Ok(settings) => {
            let through = args.through.as_ref().map(|address| address.as_str().to_owned());
            let key = args.key.clone().filter(|key| !key.is_empty());
            let wanted = doctor::CheckInputs { key, through };
            report = block_on(async { Ok(doctor::examine(&settings, &wanted).await) })?;
        }
    }
    match args.json {
        true => say!("{:#}", json!(report)),
        false => say!("{report}"),
    }
    Ok(if report.count(State::Fault) == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
