//! `causeway sandbox`: the embedded v1 alone. May use: what `cli` may use.

use super::arguments::{Outcome, block_on, one_of, stop_signal};
use super::out::say;
use crate::sandbox::{Config, Costs, Sandbox, Seed};
use clap::Args;
use std::net::SocketAddr;
use tokio::net::TcpListener;

/// Arguments of `sandbox`.
#[derive(Debug, Args)]
pub struct SandboxArgs {
    /// Address and port to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8081")]
    listen: SocketAddr,
    /// What it holds at the start
    #[arg(long, default_value = "demo", value_parser = one_of(&SEEDS))]
    seed: Seed,
    /// Extra generated work items in the first project
    #[arg(long, value_name = "N", default_value_t = 0)]
    work_items: usize,
    /// Requests a minute allowed to each key; 0 for no limit
    #[arg(long, value_name = "N", default_value_t = 60)]
    quota: u32,
    /// The time that calls take
    #[arg(long, default_value = "none", value_parser = one_of(&COSTS))]
    costs: Costs,
}

/// What calls of the embedded v1 may take.
pub(super) const COSTS: [(&str, &str, Costs); 2] = [
    ("none", "As little as possible", Costs::None),
    (
        "real",
        "As much as at a real v1 with two workers: lists of work items take seconds, other calls wait for them",
        Costs::Real,
    ),
];
/// What a sandbox may hold at the start.
const SEEDS: [(&str, &str, Seed); 3] = [
    ("demo", "A small pleasant sample", Seed::Demo),
    ("recorded", "The situation the recorded exchanges start from", Seed::Recorded),
    ("empty", "Nothing but one administrator, a workspace and a project", Seed::Empty),
];

pub(super) fn run(args: &SandboxArgs) -> Outcome {
    let sandbox = Sandbox::new(Config {
        seed: args.seed,
        quota_per_minute: (args.quota > 0).then_some(args.quota),
        work_items: args.work_items,
        costs: args.costs,
    });
    block_on(async move {
        let listener = TcpListener::bind(args.listen)
            .await
            .map_err(|fault| format!("cannot listen on {}: {fault}; choose another with --listen", args.listen))?;
        say!("v1 sandbox on http://{}/api/v1/", args.listen);
        sandbox.serve(listener, stop_signal()).await.map_err(|fault| format!("serving ended: {fault}"))
    })
}
