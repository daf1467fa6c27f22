//! `causeway sandbox`: the embedded v1 alone. May use: what `cli` may use.

use super::arguments::{Outcome, block_on, stop_signal};
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
    #[arg(long, value_enum, default_value_t = SeedArg::Demo)]
    seed: SeedArg,
    /// Extra generated work items in the first project
    #[arg(long, value_name = "N", default_value_t = 0)]
    work_items: usize,
    /// Requests a minute allowed to each key; 0 for no limit
    #[arg(long, value_name = "N", default_value_t = 60)]
    quota: u32,
    /// The time that calls take
    #[arg(long, value_enum, default_value_t = CostsArg::None)]
    costs: CostsArg,
}

/// The time that calls of the embedded v1 take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum CostsArg {
    /// As little as possible
    None,
    /// As much as at a real v1 with two workers: lists of work items take seconds, other calls wait for them
    Real,
}

/// What a sandbox holds at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum SeedArg {
    /// A small pleasant sample
    Demo,
    /// The situation the recorded exchanges start from
    Recorded,
    /// Nothing but one administrator, a workspace and a project
    Empty,
}

pub(super) fn run(args: &SandboxArgs) -> Outcome {
    let sandbox = Sandbox::new(Config {
        seed: args.seed.into(),
        quota_per_minute: (args.quota > 0).then_some(args.quota),
        work_items: args.work_items,
        costs: args.costs.into(),
    });
    block_on(async move {
        let listener = TcpListener::bind(args.listen)
            .await
            .map_err(|fault| format!("cannot listen on {}: {fault}; choose another with --listen", args.listen))?;
        say!("v1 sandbox on http://{}/api/v1/", args.listen);
        sandbox.serve(listener, stop_signal()).await.map_err(|fault| format!("serving ended: {fault}"))
    })
}

impl From<SeedArg> for Seed {
    fn from(seed: SeedArg) -> Self {
        match seed {
            SeedArg::Demo => Self::Demo,
            SeedArg::Recorded => Self::Recorded,
            SeedArg::Empty => Self::Empty,
        }
    }
}

impl From<CostsArg> for Costs {
    fn from(costs: CostsArg) -> Self {
        match costs {
            CostsArg::None => Self::None,
            CostsArg::Real => Self::Real,
        }
    }
}
