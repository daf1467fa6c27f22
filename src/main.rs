//! Arguments in, exit code out.

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    causeway::cli::Cli::parse().run()
}
