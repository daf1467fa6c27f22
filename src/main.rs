//! Passes the arguments to `cli` and returns its exit code. May use: `cli`.

use std::process::ExitCode;

/// Requests make many short-lived allocations on several threads; the system's allocator takes a third longer for them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    causeway::cli::Cli::from_arguments().run()
}
