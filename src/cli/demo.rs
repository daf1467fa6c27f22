//! `causeway demo`: the embedded v1 with sample data, and the gateway in front of it; and `causeway sandbox`: the
//! embedded v1 alone. May use: what `cli` may use.

use super::arguments::{Outcome, block_on, one_of, print_out, say, stop_signal};
use super::demo_app::{DemoApp, STATE, redirect};
use crate::app::{self, App};
use crate::oauth::Keyring;
use crate::oauth::protocol::registration::Registrable;
use crate::plan::Method;
use crate::sandbox::{Config, Costs, DemoFacts, Sandbox, Seed};
use crate::settings::{LoadArgs, Settings};
use crate::task::spawn;
use crate::verify::Gateway;
use crate::{docs, telemetry};
use clap::Args;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpListener;

/// Pause between two calls of the small v1 client.
const PAUSE: Duration = Duration::from_secs(5);

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Address and port of the gateway
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Extra generated work items in the sample project
    #[arg(long, value_name = "N", default_value_t = 0)]
    work_items: usize,
    /// Requests per minute that the embedded v1 allows each key; 0 for no limit
    #[arg(long, value_name = "N", default_value_t = 0)]
    quota: u32,
    /// How long calls of the embedded v1 take
    #[arg(long, default_value = "none", value_parser = one_of(&COSTS))]
    costs: Costs,
}

pub(super) fn run(args: &DemoArgs) -> Outcome {
    let sandbox = Sandbox::new(Config {
        seed: Seed::Demo,
        quota_per_minute: (args.quota > 0).then_some(args.quota),
        work_items: args.work_items,
        costs: args.costs,
    });
    let (listen, quota) = (args.listen, args.quota);
    block_on(async move {
        let backend = at_any_port().await?;
        let behind = backend.local_addr().map_err(|fault| fault.to_string())?;
        let listener = listen_on(listen).await?;
        let listen = listener.local_addr().map_err(|fault| fault.to_string())?;
        let token = uuid::Uuid::new_v4().simple().to_string();
        let settings = settings(listen, behind, quota, &token)?;
        let _log = telemetry::start(&settings.log).map_err(|fault| fault.to_string())?;
        let app = App::build(&settings).await.map_err(|fault| fault.to_string())?;
        let callback = at_any_port().await?;
        let redirect = redirect(callback.local_addr().map_err(|fault| fault.to_string())?);
        // An app for trying the authorization server.
        let demo_app = Registrable {
            name: "Demo app".to_owned(),
            redirect_uris: vec![redirect.clone()],
            scopes: Vec::new(),
            public: false,
        };
        let (client, secret) = app.oauth().register(demo_app, false).await?;
        let (client, secret) = (client.id, secret.unwrap_or_default());
        let documentation = Registrable {
            name: "Documentation".to_owned(),
            redirect_uris: ["127.0.0.1", "localhost"].map(|host| format!("http://{host}{}", docs::REDIRECT)).into(),
            scopes: Vec::new(),
            public: true,
        };
        app.oauth().register(documentation, false).await?;
        let operators = app.admin_address().map(|address| format!("http://operator:{token}@{address}/"));
        let operators = operators.unwrap_or_default();
        let facts = sandbox.demo_facts();
        let demo_app = DemoApp { gateway: listen, redirect, client, secret };
        print_out!("{}", welcome(behind, &operators, &facts, &demo_app));
        spawn(demo_app.serve(callback));
        spawn(sandbox.serve(backend, stop_signal()));
        // With a quota, these calls would use up part of a person's quota.
        if quota == 0 {
            spawn(old_client(listen, facts));
        }
        app.serve(listener, stop_signal()).await.map_err(|fault| format!("serving ended: {fault}"))
    })
}

/// Builds the settings of the demo. They use no files and no environment, and nothing is kept. The operators' listener
/// is on 127.0.0.1 only.
fn settings(listen: SocketAddr, behind: SocketAddr, quota: u32, token: &str) -> Result<Settings, String> {
    let overrides = [
        ("listen.address", listen.to_string()),
        ("upstream.base_url", format!("http://{behind}")),
        ("store.url", "sqlite::memory:".to_owned()),
        ("upstream.quota", quota.to_string()),
        ("secrets.key", Keyring::new_secret()),
        ("admin.listen", "127.0.0.1:0".to_owned()),
    ];
    let overrides = overrides.map(|(name, value)| (name.to_owned(), value)).to_vec();
    let env = [("CAUSEWAY_ADMIN__TOKEN".to_owned(), token.to_owned())];
    Settings::load(LoadArgs { file: None, env, overrides }).map_err(|faults| faults.to_string())
}

async fn listen_on(address: SocketAddr) -> Result<TcpListener, String> {
    let listener = TcpListener::bind(address).await;
    listener.map_err(|fault| format!("cannot listen on {address}: {fault}; choose another with --listen"))
}

async fn at_any_port() -> Result<TcpListener, String> {
    TcpListener::bind("127.0.0.1:0").await.map_err(|fault| format!("no port is free: {fault}"))
}

/// Runs a small v1 client, so that the migration page has data to show. It reads the sample project through v1, one
/// operation after the other, as long as the demo runs.
async fn old_client(gateway: SocketAddr, facts: DemoFacts) {
    let Ok(plan) = app::compile_plan(None) else { return };
    let Some(key) = facts.keys.get(1).or(facts.keys.first()) else { return };
    let Ok(client) = Gateway::new(&format!("http://{gateway}"), Some(key.key.clone())) else { return };
    let known = |name: &str| match name {
        "slug" => Some(facts.workspace.as_str()),
        "project_id" => Some(facts.project_id.as_str()),
        _ => None,
    };
    let reads = plan.v1.all().iter().filter(|row| row.served && row.method == Method::Get);
    let paths: Vec<String> = reads.filter_map(|row| row.path.fill(known)).collect();
    for path in paths.iter().cycle() {
        // The client ignores the results of its calls.
        let _ = client.send("GET", &format!("/api/v1/{path}"), None).await;
        tokio::time::sleep(PAUSE).await;
    }
}

fn welcome(behind: SocketAddr, operators: &str, facts: &DemoFacts, demo_app: &DemoApp) -> String {
    let DemoApp { gateway: listen, redirect, client, secret } = demo_app;
    let mut text = format!(
        "Causeway demo\n\n  start here   http://{listen}/\n  v2 gateway   http://{listen}/api/v2/\n  v1 sandbox   http://{behind}/api/v1/ (also through the gateway)\n  operators    {operators}migration/ (who still calls v1; a small old client runs)\n\n  workspace    {}\n  project      {} ({})\n",
        facts.workspace, facts.project_identifier, facts.project_id
    );
    for key in &facts.keys {
        text.push_str(&format!("  key          {:<18} {}, {}\n", key.key, key.person, key.role));
    }
    text.push_str(&format!("  OAuth app    {client}, secret {secret}\n"));
    let admin = facts.keys.first().map_or("", |key| key.key.as_str());
    let base = format!("http://{listen}/api/v2");
    let project = format!("{base}/workspaces/{}/projects/{}", facts.workspace, facts.project_id);
    text.push_str("\nTry it:\n\n");
    text.push_str(&format!("  curl -H 'X-Api-Key: {admin}' {base}/users/me/\n"));
    text.push_str(&format!("  curl -H 'X-Api-Key: {admin}' '{project}/states/?group=started'\n"));
    text.push_str(&format!(
        "  curl -H 'X-Api-Key: {admin}' -H 'Content-Type: application/json' -d '{{\"name\": \"from the demo\", \"color\": \"#3f76ff\"}}' {project}/labels/\n"
    ));
    let redirect: String = form_urlencoded::byte_serialize(redirect.as_bytes()).collect();
    text.push_str(&format!(
        "\nAllow an app in the browser, with the key {admin}:\n\n  http://{listen}/auth/o/authorize/?response_type=code&client_id={client}&redirect_uri={redirect}&scope=read+write&state={STATE}\n"
    ));
    text.push_str("\nEverything is in memory and gone when you stop it (Ctrl-C).\n");
    text
}

/// Arguments of `sandbox`.
#[derive(Debug, Args)]
pub struct SandboxArgs {
    /// Address and port to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8081")]
    listen: SocketAddr,
    /// Data it holds at the start
    #[arg(long, default_value = "demo", value_parser = one_of(&SEEDS))]
    seed: Seed,
    /// Extra generated work items in the first project
    #[arg(long, value_name = "N", default_value_t = 0)]
    work_items: usize,
    /// Requests per minute allowed to each key; 0 for no limit
    #[arg(long, value_name = "N", default_value_t = 60)]
    quota: u32,
    /// How long calls take
    #[arg(long, default_value = "none", value_parser = one_of(&COSTS))]
    costs: Costs,
}

/// Choices for the time that calls of the embedded v1 take.
const COSTS: [(&str, &str, Costs); 2] = [
    ("none", "As little as possible", Costs::None),
    (
        "real",
        "As much as at a real v1 with two workers: lists of work items take seconds, other calls wait for them",
        Costs::Real,
    ),
];
/// Choices for the data of a sandbox at the start.
const SEEDS: [(&str, &str, Seed); 3] = [
    ("demo", "A small pleasant sample", Seed::Demo),
    ("recorded", "The situation the recorded exchanges start from", Seed::Recorded),
    ("empty", "Nothing but one administrator, a workspace and a project", Seed::Empty),
];

pub(super) fn sandbox(args: &SandboxArgs) -> Outcome {
    let sandbox = Sandbox::new(Config {
        seed: args.seed,
        quota_per_minute: (args.quota > 0).then_some(args.quota),
        work_items: args.work_items,
        costs: args.costs,
    });
    block_on(async move {
        let listener = listen_on(args.listen).await?;
        let listen = listener.local_addr().map_err(|fault| fault.to_string())?;
        say!("v1 sandbox on http://{listen}/api/v1/");
        sandbox.serve(listener, stop_signal()).await.map_err(|fault| format!("serving ended: {fault}"))
    })
}
