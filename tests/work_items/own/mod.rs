//! Types and custom values on work items: the data that v1 does not have.
//!
//! Definitions are written into the gateway's store past the gateway, as another process would.

mod archived_values;
mod custom_fields;
mod deleted_projects;
mod intents;
mod one_moment;
mod rich_text;
mod types;

use crate::support::gateway::{Gateway, serve_sandbox};
use crate::support::losing::Losing;
use crate::work_items::world::id;
use causeway::catalogue::Edit;
use causeway::refusal::Refusal;
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::store::Store;
use serde_json::{Map, Value};
use tempfile::TempDir;
use uuid::Uuid;

/// A gateway with a store on disk, in front of the recorded situation, with a wire between that loses answers.
struct Place {
    gateway: Gateway,
    sandbox: Sandbox,
    wire: Losing,
    store: Store,
    url: String,
    settings: Vec<(&'static str, &'static str)>,
    _directory: TempDir,
}

impl Place {
    async fn new() -> Self {
        Self::with(&[]).await
    }

    async fn with(settings: &[(&'static str, &'static str)]) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let url = format!("sqlite:{}", directory.path().join("store.db").display());
        let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
        let wire = Losing::before(&serve_sandbox(&sandbox).await).await;
        let gateway = serve(&wire, &url, settings).await;
        let store = Store::open(&url, wire.base_url()).await.expect("the store");
        Self { gateway, sandbox, wire, store, url, settings: settings.to_vec(), _directory: directory }
    }

    /// Ends the gateway and starts another one on the same store.
    async fn restart(&mut self) {
        self.gateway.end().await;
        self.gateway = serve(&self.wire, &self.url, &self.settings).await;
    }

    /// Changes the definitions of the workspace.
    async fn edit<T: Send>(
        &self,
        mut change: impl FnMut(&mut Edit) -> Result<T, Refusal> + Send,
    ) -> Result<T, Refusal> {
        let edited = self.store.edit(workspace(), |edit| Ok((change(edit)?, Vec::new()))).await;
        edited.map(|(made, _)| made)
    }

    /// Creates a type of `WEB`.
    async fn new_type(&self, name: &str) -> Uuid {
        let given = members(serde_json::json!({"name": name}));
        self.edit(|edit| edit.create_type(Some(web()), &given)).await.expect("a type")
    }

    /// Switches types on in `WEB` and returns the default one.
    async fn enabled(&self) -> Uuid {
        self.edit(|edit| edit.enable(web())).await.expect("a type")
    }

    /// Creates a property of `WEB` on a type.
    async fn new_property(&self, on: Uuid, given: Value) -> Uuid {
        let given = members(given);
        let made = self.edit(|edit| {
            let property = edit.create_property(Some(web()), &given)?;
            edit.attach(on, &[property])?;
            Ok(property)
        });
        made.await.expect("a property")
    }

    /// Id of an option by its name.
    async fn option(&self, name: &str) -> Uuid {
        let catalogue = self.store.catalogue(workspace()).await.expect("a catalogue");
        catalogue.options.values().find(|option| option.name == name).expect("an option").id
    }
}

async fn serve(wire: &Losing, url: &str, settings: &[(&str, &str)]) -> Gateway {
    let mut all = vec![("store.url", url)];
    all.extend_from_slice(settings);
    Gateway::with(wire.base_url(), &all).await
}

fn workspace() -> Uuid {
    id('b', 1).parse().expect("an id")
}

fn web() -> Uuid {
    id('c', 1).parse().expect("an id")
}

fn members(value: Value) -> Map<String, Value> {
    value.as_object().expect("an object").clone()
}
