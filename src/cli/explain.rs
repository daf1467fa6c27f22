//! `causeway explain`: tells how a request would be handled, and with `--run` also sends it. May use: what `cli` may
//! use.

use super::arguments::{Outcome, SettingArgs, block_on, print_out, say, server};
use crate::outgoing::Answer;
use crate::settings::HttpAddress;
use crate::verify::Gateway;
use crate::{app, docs, edge, explain, front, hints, oauth, request};
use clap::Args;
use serde_json::{Value, json};
use std::path::Path;

/// Response headers that say how the answer was made.
const TOLD: [&str; 9] = [
    "Causeway-V1-Calls",
    "Causeway-Ignored",
    "Server-Timing",
    "Age",
    "X-Request-Id",
    "X-RateLimit-Remaining",
    "Retry-After",
    "Allow",
    "ETag",
];

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Method, such as GET
    #[arg(value_name = "METHOD")]
    method: String,
    /// Path with its query, such as '/api/v2/users/me/'; for a v1 path, the v2 replacement is explained
    #[arg(value_name = "PATH")]
    target: String,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
    /// Also send the request, and print its status, timings and v1 calls; a write is carried out
    #[arg(long, requires = "against")]
    run: bool,
    /// Address of the running gateway that gets the request
    #[arg(long, value_name = "URL", value_parser = server)]
    against: Option<HttpAddress>,
    /// Key for the request
    #[arg(long, value_name = "KEY", env = "CAUSEWAY_KEY", hide_env_values = true)]
    key: Option<String>,
    /// JSON body: checked as the gateway checks it before it reads anything, and sent with --run; the body of a v1 call
    /// is translated to v2
    #[arg(long, value_name = "JSON")]
    body: Option<String>,
    #[command(flatten)]
    settings: SettingArgs,
}

pub(super) fn run(args: &ExplainArgs) -> Outcome {
    let settings = args.settings.load()?;
    let plan = app::compile_plan(settings.mappings.as_deref()).map_err(|fault| fault.to_string())?;
    let body: Option<Value> = match &args.body {
        Some(text) => match serde_json::from_str(text) {
            Ok(body) => Some(body),
            // For a call of v2, the error is explained in the gateway's own words.
            Err(_) if explain::path_of(&args.target).starts_with("/api/v2/") && !args.run => None,
            Err(fault) => return Err(format!("--body is no JSON: {fault}")),
        },
        None => None,
    };
    let before = explain::replacement(&plan, &args.method, &args.target, body.as_ref())?;
    let (document, text) = match &before {
        Some(told) => (json!(told), explain::before_text(told)),
        None if is_page(&args.target) => {
            let path = explain::path_of(&args.target);
            return Err(format!(
                "{path} is a page of the gateway and no operation, so there is nothing to explain"
            ));
        }
        None => {
            let sent = args.body.as_deref().map(str::as_bytes);
            let mut told = explain::explain(&plan, settings.strict_query, &args.method, &args.target, sent)?;
            if let Some(folder) = &settings.mappings {
                told.mapping = read_from(folder, told.mapping);
            }
            (json!(told), explain::text(&told))
        }
    };
    let Some(against) = args.against.as_ref().filter(|_| args.run) else {
        print(args, document, &text, None);
        return Ok(());
    };
    let gateway = Gateway::new(against.as_str(), args.key.clone().filter(|key| !key.is_empty()))?;
    block_on(async move {
        let answer = gateway.send(&args.method, explain::path_of(&args.target), body.as_ref()).await?;
        print(args, document, &text, Some(&answer));
        Ok(())
    })
}

/// Checks whether the gateway itself answers a target, without any operation.
fn is_page(target: &str) -> bool {
    let path = explain::path_of(target);
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    let pages = [edge::is_examination, docs::is_page, front::is_page, hints::is_page, oauth::is_page];
    path == request::SCHEMA || pages.iter().any(|is_page| is_page(path))
}

/// Returns file and line of a mapping: in `folder` when the file is there, else the built-in mapping.
fn read_from(folder: &Path, built_in: String) -> String {
    let place = built_in.strip_prefix("mappings/").unwrap_or(&built_in);
    let file = place.split(':').next().unwrap_or(place);
    if folder.join(file).is_file() { folder.join(place).display().to_string() } else { built_in }
}

fn print(args: &ExplainArgs, mut document: Value, text: &str, answer: Option<&Answer>) {
    if args.json {
        if let Some(answer) = answer {
            let told = TOLD.into_iter().filter_map(|name| Some((name.to_owned(), answer.header(name)?.into())));
            let headers: serde_json::Map<String, Value> = told.collect();
            document["answer"] = json!({
                "status": answer.status,
                "milliseconds": answer.took.as_secs_f64() * 1000.0,
                "headers": headers,
                "body": answer.json,
            });
        }
        say!("{document:#}");
        return;
    }
    print_out!("{text}");
    if let Some(answer) = answer {
        let headers = TOLD.map(|name| (name, answer.header(name)));
        let problem = (answer.status >= 400).then(|| answer.json.to_string());
        print_out!("{}", explain::run_text(answer.status, &headers, answer.took, problem.as_deref()));
    }
}
