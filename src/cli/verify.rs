//! `causeway verify`: acceptance test of a running gateway. May use: what `cli` may use.

use super::arguments::{SettingArgs, block_on, id, say, server, slug, stop_signal};
use crate::amount::amount;
use crate::settings::HttpAddress;
use crate::task::spawn;
use crate::verify::{self, Gateway, Proof, Verdict, VerificationParameters};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use serde_json::json;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use uuid::Uuid;

/// Arguments of `verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Address of the running gateway
    #[arg(long, value_name = "URL", value_parser = server)]
    against: HttpAddress,
    /// A v1 key, or a key of the gateway, which needs --project and cannot --write
    #[arg(long, value_name = "KEY", env = "CAUSEWAY_KEY", hide_env_values = true,
          value_parser = NonEmptyStringValueParser::new())]
    key: String,
    /// Slug of the workspace; without it, only operations that need no workspace are verified
    #[arg(long, value_name = "SLUG", value_parser = slug)]
    workspace: Option<String>,
    /// Id of the project to read; without it, the first project that the key belongs to
    #[arg(long, value_name = "ID", requires = "workspace", conflicts_with = "write", value_parser = id)]
    project: Option<Uuid>,
    /// Carry out every operation: a project is created and deleted again, and for a moment the workspace is switched
    /// to manage its work item types itself
    #[arg(long, requires = "workspace")]
    write: bool,
    /// Print JSON instead of lines
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    settings: SettingArgs,
}

/// Exit code when nothing failed, but not everything could be verified.
const NOT_PROVEN: u8 = 2;

/// Ends the run at the first signal, after cleaning up. The second signal ends the program at once.
async fn put_back_at_a_signal(stop: Arc<AtomicBool>) {
    stop_signal().await;
    stop.store(true, Ordering::Relaxed);
    eprintln!("ending; the project is deleted and the mode of the workspace put back first");
    stop_signal().await;
    std::process::exit(1);
}

pub(super) fn run(args: VerifyArgs) -> Result<ExitCode, String> {
    let plan = args.settings.plan()?;
    let gateway = Gateway::new(args.against.as_str(), Some(args.key))?;
    let (project, stop) = (args.project.map(|id| id.to_string()), Arc::new(AtomicBool::new(false)));
    let wanted =
        VerificationParameters { workspace: args.workspace, project, write: args.write, stop: Arc::clone(&stop) };
    let report = block_on(async {
        if wanted.write {
            spawn(put_back_at_a_signal(Arc::clone(&stop)));
        }
        verify::verify(&plan, &gateway, &wanted).await
    })?;
    if stop.load(Ordering::Relaxed) {
        let put_back = report.lines.iter().filter(|line| line.operation.starts_with('('));
        let told: Vec<String> = put_back.map(|line| format!("{}: {}", line.operation, line.told)).collect();
        return Err(format!("ended by a signal; {}", told.join("; ")));
    }
    let proof = report.proof(&plan, wanted.write);
    if args.json {
        let [passed, failed, skipped] =
            [Verdict::Pass, Verdict::Fail, Verdict::Skipped].map(|verdict| report.count(&verdict));
        let summary = json!({
            "verdict": proof.word(), "passed": passed, "failed": failed, "skipped": skipped, "lines": report.lines,
        });
        say!("{summary:#}");
    } else {
        say!("{report}\n{proof}");
    }
    match proof {
        Proof::Broken => Err(format!("{} failed", amount(report.count(&Verdict::Fail), "check"))),
        Proof::Missing(_) => Ok(NOT_PROVEN.into()),
        Proof::Reads | Proof::All => Ok(ExitCode::SUCCESS),
    }
}
