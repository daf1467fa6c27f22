//! A store belongs to one deployment.

use crate::support::gateway::{Gateway, serve_sandbox};
use causeway::app::App;
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::settings::{LoadArgs, Settings};

#[tokio::test]
async fn a_store_of_another_deployment_is_refused_before_anything_is_served() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = format!("sqlite:{}", folder.path().join("store.db").display());
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let (first, second) = (serve_sandbox(&sandbox).await, serve_sandbox(&sandbox).await);
    let gateway = Gateway::with(&first, &[("store.url", &store)]).await;
    gateway.get("ada", "/api/v2/users/me/").await.expect(200);
    gateway.stop().await;
    let overrides = [("upstream.base_url", second.as_str()), ("store.url", store.as_str())];
    let overrides = overrides.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let nothing = std::iter::empty::<(String, String)>();
    let settings = Settings::load(LoadArgs { file: None, env: nothing, overrides }).expect("settings");
    let refused = App::build(&settings).await.err().expect("a refusal").to_string();
    for part in ["store.url", first.as_str(), second.as_str()] {
        assert!(refused.contains(part), "{part} is not in: {refused}");
    }
    Gateway::with(&first, &[("store.url", &store)]).await.stop().await;
}
