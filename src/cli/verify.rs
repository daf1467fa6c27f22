//! `causeway verify`: acceptance of a running gateway.

use super::arguments::{Outcome, block_on, server};
use crate::app;
use crate::settings::HttpAddress;
use crate::verify::{self, Gateway, Verdict, Wanted};
use clap::Args;
use serde_json::json;
use std::path::PathBuf;
use uuid::Uuid;

/// Arguments of `verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Address of the running gateway
    #[arg(long, value_name = "URL", value_parser = server)]
    against: HttpAddress,
    /// A v1 key, or a key of the gateway
    #[arg(long, value_name = "KEY", env = "CAUSEWAY_KEY", hide_env_values = true)]
    key: String,
    /// Slug of the workspace; without it only what needs none is verified
    #[arg(long, value_name = "SLUG")]
    workspace: Option<String>,
    /// Id of the project to read; without it the first one the key belongs to
    #[arg(long, value_name = "ID", requires = "workspace", conflicts_with = "write")]
    project: Option<Uuid>,
    /// Carry out every operation: a project is made and deleted again, and the workspace switched for a moment
    /// to managing its work item types itself, then back
    #[arg(long, requires = "workspace")]
    write: bool,
    /// Print JSON instead of lines
    #[arg(long)]
    json: bool,
    /// Folder with mapping files to use instead of the built-in ones
    #[arg(long, value_name = "FOLDER")]
    mappings: Option<PathBuf>,
}

pub(super) fn run(args: VerifyArgs) -> Outcome {
    let plan = app::compile_plan(args.mappings.as_deref()).map_err(|fault| fault.to_string())?;
    let gateway = Gateway::new(args.against.as_str(), Some(args.key))?;
    let wanted =
        Wanted { workspace: args.workspace, project: args.project.map(|id| id.to_string()), write: args.write };
    block_on(async move {
        let report = verify::verify(&plan, &gateway, &wanted).await?;
        if args.json {
            let [passed, failed, skipped] =
                [Verdict::Pass, Verdict::Fail, Verdict::Skipped].map(|verdict| report.count(&verdict));
            let summary = json!({ "passed": passed, "failed": failed, "skipped": skipped, "lines": report.lines });
            println!("{summary:#}");
        } else {
            println!("{report}");
        }
        match report.count(&Verdict::Fail) {
            0 => Ok(()),
            failed => Err(format!("{failed} checks failed")),
        }
    })
}
