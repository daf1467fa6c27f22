//! The command line: arguments in, exit code out.
//!
//! May use: everything. It is the only place, tests aside, that knows the sandbox.

mod arguments;
mod check;
mod demo;
mod demo_app;
mod doctor;
mod explain;
mod key;
mod leave;
mod manual;
mod migration;
mod oauth;
mod openapi;
mod restore;
mod secret_file;
mod secrets;
mod serve;
mod shadow;
mod store;
mod systemd;
mod verify;

use crate::store::{Kind, last_step};
use arguments::SettingArgs;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::process::ExitCode;
use std::sync::LazyLock;

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
    Demo(demo::DemoArgs),
    /// Serve only the embedded v1, as a substitute for a deployment in tests
    Sandbox(demo::SandboxArgs),
    /// Check settings, mappings and store, and with --upstream that the backend answers as expected
    Check(check::CheckArgs),
    /// Check everything an installation depends on: settings, store, secrets, v1, proxy; say what to correct
    Doctor(doctor::DoctorArgs),
    /// Manage the gateway's own data: backup, restore, check and more
    Store(store::StoreArgs),
    /// List the operations: method, path, scopes, source, v1 calls, status
    Operations(openapi::OperationsArgs),
    /// Print the OpenAPI document that a gateway serves at /api/v2/schema/
    Openapi(openapi::OpenapiArgs),
    /// Explain how a request would be handled: operation, checks, v1 calls, cost; for a v1 call, what replaces it
    Explain(explain::ExplainArgs),
    /// Report who still calls v1, what replaces it, and what nobody calls any more
    Migration(migration::MigrationArgs),
    /// Report how answers differ from those of the deployment's own v2
    Shadow(shadow::ShadowArgs),
    /// Carry the data that only the store holds to the deployment's own v2, and check that both sides are equal
    Leave(Box<leave::LeaveArgs>),
    /// Verify a running gateway: every operation it serves, one line each
    Verify(verify::VerifyArgs),
    /// Register and manage the apps that people may allow to act for them
    #[command(name = "oauth")]
    OAuth(oauth::OAuthArgs),
    /// Create and revoke gateway keys, which open less than the v1 key behind them
    Key(key::KeyArgs),
    /// Create and rotate the secrets that seal the stored v1 keys
    Secrets(secrets::SecretsArgs),
    /// Print the completions for a shell
    Completions(manual::CompletionsArgs),
    /// Print the manual page, or write one for each command
    Man(manual::ManArgs),
}

impl Cli {
    /// Parses the arguments of the process. Ends the process after `--help`, `--version` and invalid arguments.
    pub fn from_arguments() -> Self {
        let matches = Self::described().get_matches();
        Self::from_arg_matches(&matches).unwrap_or_else(|fault| fault.exit())
    }

    /// Returns the description of all commands, with the version.
    fn described() -> clap::Command {
        Self::command().version(short_version()).long_version(long_version())
    }

    /// Runs the command.
    pub fn run(self) -> ExitCode {
        let outcome = match self.command {
            Command::Serve(args) => serve::run(&args),
            Command::Demo(args) => demo::run(&args),
            Command::Sandbox(args) => demo::sandbox(&args),
            Command::Check(args) => check::run(&args),
            Command::Store(args) => store::run(&args),
            Command::Operations(args) => openapi::operations(&args),
            Command::Openapi(args) => openapi::run(&args),
            Command::Explain(args) => explain::run(&args),
            Command::Migration(args) => migration::run(&args),
            Command::Shadow(args) => shadow::run(&args),
            Command::Leave(args) => return ended(leave::run(&args)),
            Command::Verify(args) => return ended(verify::run(args)),
            Command::Doctor(args) => return ended(doctor::run(&args)),
            Command::Completions(args) => manual::completions(&args, Self::described()),
            Command::Man(args) => manual::man(&args, Self::described()),
            Command::OAuth(args) => oauth::run(args),
            Command::Key(args) => key::run(args),
            Command::Secrets(args) => secrets::run(args),
        };
        ended(outcome.map(|()| ExitCode::SUCCESS))
    }
}

/// Returns the exit code of a command. Prints to standard error why the command failed.
fn ended(outcome: Result<ExitCode, String>) -> ExitCode {
    outcome.unwrap_or_else(|sentences| {
        eprintln!("causeway: {sentences}");
        ExitCode::FAILURE
    })
}

/// Returns the version, the commit it was built from, and the table version of its store, in one line.
fn short_version() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let (version, commit) = (env!("CARGO_PKG_VERSION"), env!("BUILT_FROM_COMMIT"));
        format!("{version} (commit {commit}, store schema {})", last_step(Kind::Sqlite))
    });
    &TEXT
}

/// Returns the short version and the platform it was built for.
fn long_version() -> &'static str {
    static TEXT: LazyLock<String> =
        LazyLock::new(|| format!("{}\ntarget: {}", short_version(), env!("BUILT_FOR_TARGET")));
    &TEXT
}

#[cfg(test)]
mod tests {
    use super::Cli;
    use crate::settings::{LoadArgs, Settings};
    use clap::{Command, CommandFactory};

    /// Returns the environment variables that a command and the commands below it read.
    fn variables(command: &Command) -> Vec<String> {
        let own = command.get_arguments().filter_map(|argument| argument.get_env()?.to_str().map(str::to_owned));
        own.chain(command.get_subcommands().flat_map(variables)).collect()
    }

    #[test]
    fn no_variable_of_a_command_is_taken_for_an_unknown_setting() {
        let variables = variables(&Cli::command());
        assert!(variables.contains(&"CAUSEWAY_V1_KEY".to_owned()), "{variables:?}");
        for variable in variables {
            let env = [(variable.clone(), "x".to_owned())];
            let loaded = Settings::load(LoadArgs { file: None, env, overrides: Vec::new() });
            assert!(include_str!("../../docs/configuration.md").contains(&format!("`{variable}`")), "{variable}");
            let faults = loaded.err().map(|error| error.faults).unwrap_or_default();
            assert!(
                faults.iter().all(|fault| fault.problem != "there is no such setting"),
                "{variable}: {faults:?}"
            );
        }
    }
}
