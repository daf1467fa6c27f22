//! Other versions of v1 than the recorded one: a missing or different call is reported, and never becomes an answer.
//!
//! May use: the public interface of the crate and `tests/support`.

mod newer;
mod older;

use crate::support::gateway::{Gateway, serve_sandbox};
use crate::support::planting::{Asked, Planting};
use causeway::sandbox::{Config, Sandbox, Seed};
use serde_json::{Value, json};

/// Its work items at v2.
const ITEMS: &str = "/api/v2/workspaces/acme/projects/00000000-0000-4000-c000-000000000001/work-items/";

/// The recorded situation behind a v1 that answers differently, and a gateway before it.
struct Scene {
    gateway: Gateway,
    sandbox: Sandbox,
    wire: Planting,
}

impl Scene {
    async fn before(
        sandbox: Sandbox,
        edit: impl Fn(&Sandbox, &Asked, &mut u16, &mut Value) + Send + Sync + 'static,
    ) -> Self {
        let (behind, same) = (serve_sandbox(&sandbox).await, sandbox.clone());
        let wire = Planting::before(&behind, move |asked, _, status, body| edit(&same, asked, status, body)).await;
        Self { gateway: Gateway::before(wire.base_url()).await, sandbox, wire }
    }

    /// A v1 without paths that contain `part`: its router answers, for every caller (`errors_unknown_path`).
    async fn without(part: &'static str) -> Self {
        let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
        let lack = move |_: &Sandbox, asked: &Asked, status: &mut u16, body: &mut Value| {
            if asked.path.contains(part) {
                (*status, *body) = (404, json!({"error": "Page not found."}));
            }
        };
        Self::before(sandbox, lack).await
    }
}
