//! `causeway demo`: the embedded v1 with sample data, and the gateway in front of it.

use super::{DemoArgs, Outcome, block_on, stop_signal};
use crate::app::App;
use crate::sandbox::{Config, DemoFacts, Sandbox, Seed};
use crate::settings::{LoadArgs, Settings};
use std::net::SocketAddr;
use tokio::net::TcpListener;

pub(super) fn run(args: &DemoArgs) -> Outcome {
    let sandbox = Sandbox::new(Config {
        seed: Seed::Demo,
        quota_per_minute: (args.quota > 0).then_some(args.quota),
        work_items: args.work_items,
    });
    let listen = args.listen;
    block_on(async move {
        let backend =
            TcpListener::bind("127.0.0.1:0").await.map_err(|fault| format!("no port is free: {fault}"))?;
        let behind = backend.local_addr().map_err(|fault| fault.to_string())?;
        let listener = TcpListener::bind(listen)
            .await
            .map_err(|fault| format!("cannot listen on {listen}: {fault}; choose another with --listen"))?;
        let app = App::build(&settings(listen, behind)?).await.map_err(|fault| fault.to_string())?;
        print!("{}", welcome(listen, behind, &sandbox.demo_facts()));
        tokio::spawn(sandbox.serve(backend, stop_signal()));
        app.serve(listener, stop_signal()).await.map_err(|fault| format!("serving ended: {fault}"))
    })
}

/// The demo takes nothing from files or the environment, and keeps nothing.
fn settings(listen: SocketAddr, behind: SocketAddr) -> Result<Settings, String> {
    let overrides = [
        ("listen.address", listen.to_string()),
        ("upstream.base_url", format!("http://{behind}")),
        ("store.url", "sqlite::memory:".to_owned()),
    ];
    let overrides = overrides.map(|(name, value)| (name.to_owned(), value)).to_vec();
    let nothing = std::iter::empty::<(String, String)>();
    Settings::load(LoadArgs { file: None, env: nothing, overrides }).map_err(|faults| faults.to_string())
}

fn welcome(listen: SocketAddr, behind: SocketAddr, facts: &DemoFacts) -> String {
    let mut text = format!(
        "Causeway demo\n\n  v2 gateway   http://{listen}/api/v2/\n  v1 sandbox   http://{behind}/api/v1/ (also through the gateway)\n\n  workspace    {}\n  project      {} ({})\n",
        facts.workspace, facts.project_identifier, facts.project_id
    );
    for key in &facts.keys {
        text.push_str(&format!("  key          {:<18} {}, {}\n", key.key, key.person, key.role));
    }
    let admin = facts.keys.first().map_or("", |key| key.key.as_str());
    let base = format!("http://{listen}/api/v2");
    let project = format!("{base}/workspaces/{}/projects/{}", facts.workspace, facts.project_id);
    text.push_str("\nTry it:\n\n");
    text.push_str(&format!("  curl -H 'X-Api-Key: {admin}' {base}/users/me/\n"));
    text.push_str(&format!("  curl -H 'X-Api-Key: {admin}' '{project}/states/?group=started'\n"));
    text.push_str(&format!(
        "  curl -H 'X-Api-Key: {admin}' -H 'Content-Type: application/json' -d '{{\"name\": \"from the demo\", \"color\": \"#3f76ff\"}}' {project}/labels/\n"
    ));
    text.push_str("\nEverything is in memory and gone when you stop it (Ctrl-C).\n");
    text
}
