//! Arguments in, exit code out. May use: `cli`.

use std::process::ExitCode;

/// Requests allocate much and briefly, on several threads; the system's allocator takes a third longer for that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    causeway::cli::Cli::from_arguments().run()
}
