//! `causeway serve`: the gateway in front of an existing deployment.

use super::arguments::{Outcome, SettingArgs, block_on, stop_signal};
use crate::app::App;
use crate::telemetry;
use tokio::net::TcpListener;

pub(super) fn run(args: &SettingArgs) -> Outcome {
    let settings = args.load()?;
    settings.upstream.needed_base_url().map_err(|fault| fault.to_string())?;
    let _log = telemetry::start(&settings.log).map_err(|fault| fault.to_string())?;
    for warning in settings.warnings() {
        tracing::warn!("{warning}");
    }
    block_on(async move {
        let app = App::build(&settings).await.map_err(|fault| fault.to_string())?;
        let address = settings.listen.address;
        let listener = TcpListener::bind(address).await.map_err(|fault| {
            format!(
                "cannot listen on {address}: {fault}; choose another with --listen or the setting listen.address"
            )
        })?;
        // With port 0 the system chooses one.
        let address = listener.local_addr().unwrap_or(address);
        tracing::info!(%address, upstream = %app.upstream(), "serving v2");
        app.serve(listener, stop_signal()).await.map_err(|fault| format!("serving ended: {fault}"))
    })
}
