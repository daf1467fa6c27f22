//! Two gateways that do not know each other: one to leave, and one whose v2 stands for the deployment's own, with other
//! ids for everything.

use crate::support::furnished::PLAN;
use crate::support::gateway::{Answer, Gateway, serve_sandbox};
use causeway::leave::{Place, Report, RunMode, RunParameters, leave};
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::settings::HttpAddress;
use causeway::store::Store;
use serde_json::{Value, json};
use std::time::Duration;
use tempfile::TempDir;
use uuid::Uuid;

/// The workspace on both sides.
pub const ACME: &str = "/api/v2/workspaces/acme";
/// Projects `WEB` and `TYP` on this side.
pub const HERE: [&str; 2] = ["00000000-0000-4000-c000-000000000001", "00000000-0000-4000-c000-000000000004"];
/// The same projects on the target's side.
pub const THERE: [&str; 2] = ["00000000-0000-4000-c000-000000000051", "00000000-0000-4000-c000-000000000054"];
/// The key of the caller.
pub const KEY: &str = "ada";

/// Both gateways.
pub struct Two {
    /// The gateway that is left.
    pub here: Gateway,
    /// The gateway whose v2 is the target.
    pub there: Gateway,
    /// Another handle on the store that is left.
    pub store: Store,
    /// The target's projects `WEB` and `TYP`.
    pub projects: [&'static str; 2],
    v1: String,
    _folder: TempDir,
}

impl Two {
    /// Both gateways, each before a deployment of its own, so that all ids differ.
    pub async fn new() -> Self {
        let (folder, here) = Self::begun().await;
        let there = Gateway::sandboxed_with(Seed::Elsewhere, &[("store.url", &url(&folder, "there.db"))]).await;
        Self::of(folder, here, there, THERE).await
    }

    /// Both before one deployment, as when it gets a v2 of its own: v1's records have the same ids.
    pub async fn upgraded() -> Self {
        let (folder, here) = Self::begun().await;
        let v1 = here.store().await.deployment().await.expect("a store").expect("its deployment");
        let there = Gateway::with(&v1, &[("store.url", &url(&folder, "there.db"))]).await;
        Self::of(folder, here, there, HERE).await
    }

    /// Both before deployments of their own that began as one, so that ids are the same and later records are missing
    /// at the target.
    pub async fn copied() -> Self {
        let (folder, here) = Self::begun().await;
        let there = Gateway::sandboxed_with(Seed::Recorded, &[("store.url", &url(&folder, "there.db"))]).await;
        Self::of(folder, here, there, HERE).await
    }

    /// Both before deployments of their own with that many further work items in their projects `WEB`; the store that
    /// is left is in a file unless `store` gives a place.
    pub async fn large(work_items: usize, store: Option<&str>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut gateways = Vec::new();
        for (seed, name) in [(Seed::Recorded, "here.db"), (Seed::Elsewhere, "there.db")] {
            let sandbox = Sandbox::new(Config { seed, work_items, ..Config::default() });
            let url = match store {
                Some(store) if seed == Seed::Recorded => store.to_owned(),
                _ => url(&folder, name),
            };
            gateways.push(Gateway::with(&serve_sandbox(&sandbox).await, &[("store.url", &url)]).await);
        }
        let (there, here) = (gateways.pop().expect("two"), gateways.pop().expect("two"));
        Self::of(folder, here, there, THERE).await
    }

    /// Returns the place of the store that is left, and the address of our own v1.
    pub fn places(&self) -> (String, String) {
        (self.here.store_url().to_owned(), self.v1.clone())
    }

    async fn begun() -> (TempDir, Gateway) {
        let folder = tempfile::tempdir().expect("a folder");
        let here = Gateway::sandboxed_with(Seed::Recorded, &[("store.url", &url(&folder, "here.db"))]).await;
        (folder, here)
    }

    async fn of(folder: TempDir, here: Gateway, there: Gateway, projects: [&'static str; 2]) -> Self {
        let store = here.store().await;
        let v1 = store.deployment().await.expect("a store").expect("its deployment");
        Self { here, there, store, projects, v1, _folder: folder }
    }

    /// Checks whether both are before one deployment.
    pub fn is_upgraded(&self) -> bool {
        self.projects == HERE
    }

    /// Runs the command.
    pub async fn run(&self, run_mode: RunMode) -> Result<Report, String> {
        self.run_to(run_mode, self.there.base(), |_| {}).await
    }

    /// Runs the command with other options.
    pub async fn run_with(&self, run_mode: RunMode, change: impl FnOnce(&mut RunParameters)) -> Report {
        self.run_to(run_mode, self.there.base(), change).await.expect("a run")
    }

    /// Runs the command for another target.
    pub async fn run_to(
        &self,
        run_mode: RunMode,
        to: &str,
        change: impl FnOnce(&mut RunParameters),
    ) -> Result<Report, String> {
        self.run_as(KEY, run_mode, to, change).await
    }

    /// Runs the command with the given key.
    pub async fn run_as(
        &self,
        key: &str,
        run_mode: RunMode,
        to: &str,
        change: impl FnOnce(&mut RunParameters),
    ) -> Result<Report, String> {
        let place =
            |address: &str| Place { address: HttpAddress::parse(address).expect("an address"), key: key.into() };
        let mut wanted = RunParameters {
            run_mode,
            workspaces: vec!["acme".into()],
            update: false,
            keep_extra: false,
            own_addresses: vec![self.here.base().into()],
        };
        change(&mut wanted);
        leave(&PLAN, &self.store, &place(&self.v1), &place(to), &wanted, &|_| {}).await
    }
}

/// One of the gateways with the ids of its projects.
#[derive(Clone, Copy)]
pub struct Side<'g> {
    /// The gateway.
    pub gateway: &'g Gateway,
    /// Its projects `WEB` and `TYP`.
    pub projects: [&'g str; 2],
}

impl<'g> Side<'g> {
    /// The one that is left.
    pub fn here(two: &'g Two) -> Self {
        Self { gateway: &two.here, projects: HERE }
    }

    /// The target.
    pub fn there(two: &'g Two) -> Self {
        Self { gateway: &two.there, projects: two.projects }
    }

    /// A path below `WEB`.
    pub fn web(self, path: &str) -> String {
        format!("{ACME}/projects/{}/{path}", self.projects[0])
    }

    /// Sends a request. On a machine that also compiles, PostgreSQL may not answer for a second; then the request is
    /// repeated, as a client would, and nothing is carried out twice.
    async fn sent(self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let once = Uuid::new_v4().to_string();
        let headers = [("idempotency-key", once.as_str())];
        let headers = if method == "POST" { &headers[..] } else { &[] };
        let send = || self.gateway.send_with(KEY, method, path, body, headers);
        let mut answer = send().await;
        for _ in 0..10 {
            if answer.code() != "store_unavailable" {
                break;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
            answer = send().await;
        }
        answer
    }

    /// Makes a record.
    pub async fn made(self, path: &str, body: Value) -> Value {
        let answer = self.sent("POST", path, Some(&body)).await;
        assert!(matches!(answer.status, 200 | 201), "POST {path}: {} {}", answer.status, answer.json);
        answer.json
    }

    /// Changes a record.
    pub async fn changed(self, path: &str, body: Value) -> Value {
        self.sent("PATCH", path, Some(&body)).await.expect(200).json
    }

    /// Deletes a record.
    pub async fn removed(self, path: &str) {
        self.sent("DELETE", path, None).await.expect(204);
    }

    /// Sends a read.
    pub async fn read(self, path: &str) -> Answer {
        self.sent("GET", path, None).await.expect(200)
    }

    /// Switches the management of types to the workspace or back.
    pub async fn mode(self, workspace: bool) {
        self.changed(&format!("{ACME}/features/"), json!({"is_work_item_types_enabled": workspace})).await;
    }

    /// Creates a work item past the gateway, as v1's users do; both sides get the same items in the same order.
    pub async fn item(self, project: usize, name: &str) -> String {
        let path = format!("/api/v1/workspaces/acme/projects/{}/work-items/", self.projects[project]);
        let made = self.gateway.post(KEY, &path, json!({"name": name})).await;
        assert_eq!(made.status, 201, "{}", made.json);
        id(&made.json)
    }
}

/// Id of a record.
pub fn id(record: &Value) -> String {
    record["id"].as_str().unwrap_or_else(|| panic!("no id in {record}")).to_owned()
}

fn url(folder: &TempDir, name: &str) -> String {
    format!("sqlite:{}", folder.path().join(name).display())
}
