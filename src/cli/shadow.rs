//! `causeway shadow`: reports how answers compare with those of the deployment's own v2. May use: what `cli`
//! may use.

use super::arguments::{
    Outcome, SettingArgs, block_on, expect_not_read_only, expect_writable, print_out, say, with_current_store,
};
use crate::shadow::{Report, text};
use clap::{Args, Subcommand};
use serde_json::json;

/// Arguments of `shadow`.
#[derive(Debug, Args)]
pub struct ShadowArgs {
    #[command(subcommand)]
    command: ShadowCommand,
}

#[derive(Debug, Subcommand)]
enum ShadowCommand {
    /// Print how many answers were compared, by operation, and how the two sides differ
    Report {
        /// Print JSON instead of tables
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        settings: Box<SettingArgs>,
    },
    /// Delete all counts and differences, to start again after a correction
    Clear {
        #[command(flatten)]
        settings: Box<SettingArgs>,
    },
}

pub(super) fn run(args: &ShadowArgs) -> Outcome {
    let (ShadowCommand::Report { settings, .. } | ShadowCommand::Clear { settings }) = &args.command;
    let url = settings.load()?.store.url;
    block_on(with_current_store(&url, async |store| {
        match args.command {
            ShadowCommand::Report { json: true, .. } => say!("{:#}", json!(Report::read(store).await?)),
            ShadowCommand::Report { .. } => print_out!("{}", text(&Report::read(store).await?)),
            ShadowCommand::Clear { .. } => {
                expect_writable(store).await?;
                expect_not_read_only(store, &url)?;
                store.clear_shadow().await?;
                say!("All counts and differences are forgotten.");
            }
        }
        Ok(())
    }))
}
