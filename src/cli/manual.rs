//! `causeway completions` and `causeway man`: shell completions and manual pages of the commands. May use: what `cli`
//! may use.

use super::arguments::{Outcome, print_out};
use clap::{Args, Command};
use clap_complete::Shell;
use std::io;
use std::path::PathBuf;

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Arguments of `man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Folder to write one page for each command to, instead of printing the first page
    #[arg(long, value_name = "FOLDER")]
    to: Option<PathBuf>,
}

pub(super) fn completions(args: &CompletionsArgs, mut all: Command) -> Outcome {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut all, "causeway", &mut text);
    print_out!("{}", String::from_utf8_lossy(&text));
    Ok(())
}

pub(super) fn man(args: &ManArgs, all: Command) -> Outcome {
    let Some(folder) = &args.to else {
        let mut text = Vec::new();
        clap_mangen::Man::new(all).render(&mut text).map_err(|fault| fault.to_string())?;
        print_out!("{}", String::from_utf8_lossy(&text));
        return Ok(());
    };
    let fault = |fault: io::Error| format!("{}: {fault}", folder.display());
    std::fs::create_dir_all(folder).map_err(fault)?;
    clap_mangen::generate_to(all, folder).map_err(fault)
}
