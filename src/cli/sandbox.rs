//! `causeway sandbox`: the embedded v1 alone.

use super::{Outcome, SandboxArgs, SeedArg, block_on, stop_signal};
use crate::sandbox::{Config, Sandbox, Seed};
use tokio::net::TcpListener;

pub(super) fn run(args: &SandboxArgs) -> Outcome {
    let sandbox = Sandbox::new(Config {
        seed: args.seed.into(),
        quota_per_minute: (args.quota > 0).then_some(args.quota),
        work_items: args.work_items,
    });
    block_on(async move {
        let listener = TcpListener::bind(args.listen)
            .await
            .map_err(|fault| format!("cannot listen on {}: {fault}; choose another with --listen", args.listen))?;
        println!("v1 sandbox on http://{}/api/v1/", args.listen);
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
