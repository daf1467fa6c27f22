//! Secrets: nothing in the store is enough to act for a person, and secrets can be changed while the gateway serves.

use crate::oauth::stage::{ME, SECRET, Stage, expect_dead, expect_error};
use crate::support::gateway::{Gateway, serve_sandbox};
use causeway::app::open_oauth;
use causeway::doctor;
use causeway::oauth::{AdminError, Keyring, Minting, Rotation};
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::settings::{LoadArgs, Settings};
use causeway::store::Store;
use std::time::Duration;

const V1_KEY: &str = "demo-admin-key";

struct Kept {
    folder: tempfile::TempDir,
    behind: String,
}

impl Kept {
    async fn new() -> Self {
        let sandbox = Sandbox::new(Config { seed: Seed::Demo, ..Config::default() });
        Self { folder: tempfile::tempdir().expect("a folder"), behind: serve_sandbox(&sandbox).await }
    }

    fn store(&self) -> String {
        format!("sqlite:{}", self.folder.path().join("store.db").display())
    }

    fn secrets(&self) -> std::path::PathBuf {
        self.folder.path().join("secrets")
    }

    fn settings(&self) -> [(&'static str, String); 3] {
        [
            ("store.url", self.store()),
            ("secrets.key_file", self.secrets().display().to_string()),
            ("upstream.base_url", self.behind.clone()),
        ]
    }

    async fn gateway(&self) -> Stage {
        let settings = self.settings();
        let settings: Vec<_> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
        Stage::over(Gateway::with(&self.behind, &settings).await).await
    }

    fn loaded(&self) -> Settings {
        let overrides = self.settings().map(|(name, value)| (name.to_owned(), value)).to_vec();
        let nothing = std::iter::empty::<(String, String)>();
        Settings::load(LoadArgs { file: None, env: nothing, overrides }).expect("settings")
    }
}

#[tokio::test]
async fn the_store_holds_no_secret_in_the_clear() {
    let kept = Kept::new().await;
    std::fs::write(kept.secrets(), SECRET).unwrap();
    let stage = kept.gateway().await;
    let tokens = stage.tokens_of("read", V1_KEY).await;
    let code = stage.code(&stage.request(), V1_KEY).await;
    let secret = stage.app.secret.clone().unwrap();
    stage.gateway.stop().await;
    let mut bytes = Vec::new();
    for entry in std::fs::read_dir(kept.folder.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() && path != kept.secrets() {
            bytes.extend(std::fs::read(path).unwrap());
        }
    }
    let held = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(held("Planner"), "the store was looked at");
    for text in [V1_KEY, &tokens.access, &tokens.refresh, &code, &secret, SECRET] {
        assert!(!held(text), "a secret is in the store");
    }
}

#[tokio::test]
async fn secrets_are_rotated_while_the_gateway_serves() {
    let kept = Kept::new().await;
    std::fs::write(kept.secrets(), SECRET).unwrap();
    let stage = kept.gateway().await;
    let tokens = stage.tokens_of("read", V1_KEY).await;
    let wanted = Minting { title: "t".into(), scopes: "read".into(), ..Minting::default() };
    let (_, key) = stage.gateway.mint(V1_KEY, wanted).await.unwrap();
    let new = Keyring::new_secret();
    std::fs::write(kept.secrets(), format!("{new}\n{SECRET}\n")).unwrap();
    let file = std::fs::File::options().write(true).open(kept.secrets()).unwrap();
    file.set_modified(std::time::SystemTime::now() + Duration::from_secs(7)).unwrap();
    let (oauth, _store) = open_oauth(&kept.loaded(), Store::open_existing).await.unwrap();
    assert_eq!(oauth.rotate_secrets().await.unwrap(), Rotation { sealed_anew: 2, lost: 0 });
    assert_eq!(oauth.rotate_secrets().await.unwrap(), Rotation::default());
    // The gateway reads the file again; the next gateway, without the old secret, accepts both as well.
    std::fs::write(kept.secrets(), &new).unwrap();
    stage.call(&tokens.access, ME).await.expect(200);
    stage.gateway.get(&key, ME).await.expect(200);
    stage.gateway.stop().await;
    let stage = kept.gateway().await;
    stage.call(&tokens.access, ME).await.expect(200);
    stage.gateway.get(&key, ME).await.expect(200);
}

#[tokio::test]
async fn a_lost_secret_ends_its_grants_and_is_reported() {
    let kept = Kept::new().await;
    std::fs::write(kept.secrets(), SECRET).unwrap();
    let stage = kept.gateway().await;
    let tokens = stage.tokens_of("read", V1_KEY).await;
    stage.gateway.stop().await;
    let told = async || {
        let mut report = doctor::Report::default();
        doctor::store(&kept.loaded(), &mut report).await;
        report
            .checks
            .into_iter()
            .filter(|check| check.part == "secrets")
            .map(|check| check.found)
            .collect::<Vec<_>>()
    };
    assert_eq!(told().await, Vec::<String>::new());
    std::fs::write(kept.secrets(), Keyring::new_secret()).unwrap();
    let words = "1 v1 key kept in the store cannot be opened with the secrets that are set: their holders get 401";
    assert_eq!(told().await, [words]);
    let (app, native) = (stage.app, stage.native);
    let stage = Stage { gateway: kept.gateway().await.gateway, app, native };
    expect_dead(stage.call(&tokens.access, ME).await);
    // The app gets a clear answer: it has to ask the person again.
    for token in [&tokens.access, &tokens.refresh] {
        assert_eq!(stage.about("/auth/o/introspect/", token).await.expect(200).json["active"], false);
    }
    expect_error(stage.token(&stage.refreshing(&tokens.refresh)).await, 400, "invalid_grant");
    let (oauth, _store) = open_oauth(&kept.loaded(), Store::open_existing).await.unwrap();
    assert_eq!(oauth.rotate_secrets().await.unwrap(), Rotation { sealed_anew: 0, lost: 1 });
}

#[tokio::test]
async fn without_a_secret_no_key_is_made() {
    let stage = Stage::over(Gateway::sandboxed(Seed::Recorded).await).await;
    let wanted = Minting { scopes: "read".into(), ..Minting::default() };
    let refused = stage.gateway.mint("ada", wanted).await;
    assert!(matches!(refused, Err(AdminError::NotSetUp)));
    assert!(matches!(stage.gateway.oauth().rotate_secrets().await, Err(AdminError::NotSetUp)));
}

#[tokio::test]
async fn secrets_that_cannot_be_read_stop_the_start() {
    let kept = Kept::new().await;
    let error = open_oauth(&kept.loaded(), Store::open_existing).await.err().expect("no start").to_string();
    assert!(error.contains("secrets.key_file") && error.contains("causeway secrets new"), "{error}");
    std::fs::write(kept.secrets(), "too short").unwrap();
    let error = open_oauth(&kept.loaded(), Store::open_existing).await.err().expect("no start").to_string();
    assert!(error.contains("32 bytes") && !error.contains("too short"), "{error}");
}
