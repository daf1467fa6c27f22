//! The command line: arguments in, exit code out.
//!
//! May use: `app`, `settings`, `mapping`, `oauth`, `plan`, `describe`, `explain`, `verify`, `store`, `sandbox`. The only place,
//! tests aside, that knows the sandbox.

mod check;
mod demo;
mod explain;
mod key;
mod oauth;
mod openapi;
mod operations;
mod sandbox;
mod secrets;
mod serve;
mod store;
mod verify;

use crate::settings::{HttpAddress, LoadArgs, Settings};
use clap::{Args, Parser, Subcommand};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

/// Causeway serves a work-tracking REST API v2 in front of a deployment that only speaks v1.
///
/// Point it at a v1 deployment with `causeway serve --upstream https://v1.example.com`, or try it without
/// one: `causeway demo`.
#[derive(Debug, Parser)]
#[command(name = "causeway", version, max_term_width = 100, after_help = AFTER_HELP)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "Every setting has a flag, an environment variable CAUSEWAY_… or a line in the settings \
file; flags win over the environment, the environment over the file. `config/causeway.toml` in the source tree \
lists all settings with their defaults.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve v2 in front of an existing v1 deployment
    Serve(SettingArgs),
    /// Try it out: an embedded v1 with sample data and the gateway in front of it
    Demo(DemoArgs),
    /// Serve only the embedded v1, as a stand-in of a deployment for tests
    Sandbox(SandboxArgs),
    /// Check settings and mappings, and with --upstream that the backend answers as expected
    Check(CheckArgs),
    /// Look after the gateway's own data: migrate, backup, restore, export, check, sweep
    Store(store::StoreArgs),
    /// List the operations: method, path, scopes, source, v1 calls, status
    Operations(OperationsArgs),
    /// Print the OpenAPI document that a gateway serves at /api/v2/schema/
    Openapi(OpenapiArgs),
    /// Tell what would happen to a request: operation, checks, v1 calls, cost; with --run send it as well
    Explain(explain::ExplainArgs),
    /// Prove a running gateway: every operation it serves, one line each
    Verify(verify::VerifyArgs),
    /// Register and manage the apps that people may allow to act for them
    #[command(name = "oauth")]
    OAuth(oauth::OAuthArgs),
    /// Make and revoke gateway keys, which open less than the v1 key behind them
    Key(key::KeyArgs),
    /// Make and rotate the secrets under which v1 keys are kept
    Secrets(secrets::SecretsArgs),
}

/// Flags that override settings.
#[derive(Debug, Clone, Default, Args)]
pub struct SettingArgs {
    /// Settings file (TOML); without it ./causeway.toml or ./config/causeway.toml is read when there
    #[arg(long, value_name = "FILE", env = "CAUSEWAY_CONFIG")]
    config: Option<PathBuf>,
    /// Address of the v1 deployment, without /api/v1 [setting: upstream.base_url]
    #[arg(long, value_name = "URL")]
    upstream: Option<String>,
    /// Address and port to listen on [setting: listen.address, default 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Where the gateway keeps what v1 cannot hold [setting: store.url, default sqlite:causeway.db]
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// Folder with mapping files to use instead of the built-in ones [setting: mappings]
    #[arg(long, value_name = "FOLDER")]
    mappings: Option<String>,
    /// Any other setting, such as --set limits.deadline=10s; may be repeated
    #[arg(long = "set", value_name = "SETTING=VALUE")]
    others: Vec<String>,
}

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Address and port of the gateway
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Extra generated work items in the sample project
    #[arg(long, value_name = "N", default_value_t = 0)]
    work_items: usize,
    /// Requests a minute that the embedded v1 allows each key; 0 for no limit
    #[arg(long, value_name = "N", default_value_t = 0)]
    quota: u32,
}

/// Arguments of `sandbox`.
#[derive(Debug, Args)]
pub struct SandboxArgs {
    /// Address and port to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8081")]
    listen: SocketAddr,
    /// What it holds at the start
    #[arg(long, value_enum, default_value_t = SeedArg::Demo)]
    seed: SeedArg,
    /// Extra generated work items in the first project
    #[arg(long, value_name = "N", default_value_t = 0)]
    work_items: usize,
    /// Requests a minute allowed to each key; 0 for no limit
    #[arg(long, value_name = "N", default_value_t = 60)]
    quota: u32,
}

/// What a sandbox holds at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum SeedArg {
    /// A small pleasant sample
    Demo,
    /// The situation the recorded exchanges start from
    Recorded,
    /// Nothing but one administrator and a workspace
    Empty,
}

/// Arguments of `check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    #[command(flatten)]
    settings: SettingArgs,
    /// A v1 API key, to prove with --upstream that the backend accepts keys as expected
    #[arg(long, value_name = "KEY", env = "CAUSEWAY_CHECK_KEY", hide_env_values = true)]
    key: Option<String>,
}

/// Arguments of `operations`.
#[derive(Debug, Args)]
pub struct OperationsArgs {
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Folder with mapping files to use instead of the built-in ones
    #[arg(long, value_name = "FOLDER")]
    mappings: Option<PathBuf>,
}

/// Arguments of `openapi`.
#[derive(Debug, Args)]
pub struct OpenapiArgs {
    /// Form of the document
    #[arg(long, value_enum, default_value_t = OpenapiForm::Json)]
    format: OpenapiForm,
    /// Address of the gateway, as the document names it
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080", value_parser = server)]
    server: HttpAddress,
    /// Folder with mapping files to use instead of the built-in ones
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

fn server(text: &str) -> Result<HttpAddress, String> {
    HttpAddress::parse(text).ok_or_else(|| "write it as http://host:port or https://host".to_owned())
}

/// What a command ends with: success, or the sentences for standard error.
type Outcome = Result<(), String>;

impl Cli {
    /// Carries the command out.
    pub fn run(self) -> ExitCode {
        let outcome = match self.command {
            Command::Serve(args) => serve::run(&args),
            Command::Demo(args) => demo::run(&args),
            Command::Sandbox(args) => sandbox::run(&args),
            Command::Check(args) => check::run(&args),
            Command::Store(args) => store::run(&args),
            Command::Operations(args) => operations::run(&args),
            Command::Openapi(args) => openapi::run(&args),
            Command::Explain(args) => explain::run(&args),
            Command::Verify(args) => verify::run(args),
            Command::OAuth(args) => oauth::run(args),
            Command::Key(args) => key::run(args),
            Command::Secrets(args) => secrets::run(args),
        };
        match outcome {
            Ok(()) => ExitCode::SUCCESS,
            Err(sentences) => {
                eprintln!("causeway: {sentences}");
                ExitCode::FAILURE
            }
        }
    }
}

impl SettingArgs {
    /// Settings with these flags on top.
    fn load(&self) -> Result<Settings, String> {
        let flags = [
            ("upstream.base_url", &self.upstream),
            ("listen.address", &self.listen),
            ("store.url", &self.store),
            ("mappings", &self.mappings),
        ];
        let mut overrides: Vec<(String, String)> =
            flags.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?))).collect();
        for other in &self.others {
            let Some((name, value)) = other.split_once('=') else {
                return Err(format!(
                    "--set {other}: write it as SETTING=VALUE, for example --set limits.deadline=10s"
                ));
            };
            overrides.push((name.trim().to_owned(), value.to_owned()));
        }
        let args = LoadArgs { file: self.config.clone(), env: std::env::vars(), overrides };
        Settings::load(args).map_err(|faults| faults.to_string())
    }
}

/// Runs `work` on a multi-threaded runtime.
fn block_on<F: Future<Output = Outcome>>(work: F) -> Outcome {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(|fault| format!("the runtime could not start: {fault}"))?.block_on(work)
}

/// Resolves at the first SIGINT or SIGTERM.
async fn stop_signal() {
    let interrupt = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        let terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate());
        match terminate {
            Ok(mut terminate) => {
                tokio::select! { _ = interrupt => {}, _ = terminate.recv() => {} }
            }
            Err(_) => {
                let _ = interrupt.await;
            }
        }
    }
    #[cfg(not(unix))]
    {
        let _ = interrupt.await;
    }
}
