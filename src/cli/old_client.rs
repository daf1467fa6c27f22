//! A small client of v1 that the demo runs, so that the page about the move has something to show. May use: what `cli`
//! may use.

use crate::app;
use crate::plan::Method;
use crate::sandbox::DemoFacts;
use crate::verify::Gateway;
use std::net::SocketAddr;
use std::time::Duration;

/// Time from one call to the next.
const PAUSE: Duration = Duration::from_secs(5);

/// Reads what v1 has of the sample project, one operation after the other, for as long as the demo runs.
pub(super) async fn run(gateway: SocketAddr, facts: DemoFacts) {
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
        // The outcome of a call does not matter to it.
        let _ = client.send("GET", &format!("/api/v1/{path}"), None).await;
        tokio::time::sleep(PAUSE).await;
    }
}
