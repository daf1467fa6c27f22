//! Impossible settings are refused at the start and at each reload, with advice.

use crate::cutover::stage::Stage;
use crate::support::furnished::PLAN;
use crate::support::gateway::{Gateway, reserved, serve_sandbox};
use crate::support::planting::Planting;
use crate::support::scripted::{Exchange, ScriptedV1};
use causeway::app::App;
use causeway::doctor;
use causeway::native::is_kept;
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::settings::{LoadArgs, Settings};
use serde_json::json;
use std::collections::BTreeSet;

const NATIVE: &str = "http://127.0.0.1:9";

fn load(settings: &[(&str, &str)]) -> Result<Settings, String> {
    let all = [("upstream.base_url", "http://127.0.0.1:1"), ("store.url", "sqlite::memory:")];
    let all = all.iter().chain(settings).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let args = LoadArgs { file: None, env: std::iter::empty(), overrides: all.collect() };
    Settings::load(args).map_err(|fault| fault.to_string())
}

async fn refused(settings: &[(&str, &str)]) -> String {
    let settings = load(settings).expect("readable");
    App::build(&settings).await.err().expect("refused").to_string()
}

#[test]
fn an_address_that_cannot_be_is_refused_before_anything_is_asked() {
    let told = |address: &str| load(&[("native.base_url", address)]).expect_err(address);
    assert!(told("http://v2.example.com").contains("would show credentials to everybody on the way"));
    assert!(told("http://127.0.0.1:8080").contains("http://127.0.0.1:8080 is this gateway itself"));
    assert!(told("https://v2.example.com/api/v2/").contains("without /api/v2"));
    let public = [("public_url", "https://gw.example.com"), ("native.base_url", "https://gw.example.com/")];
    assert!(load(&public).expect_err("refused").contains("is this gateway itself"));
    for address in ["https://v2.example.com", "http://127.0.0.1:8090", "http://[::1]:8090/v2"] {
        assert!(load(&[("native.base_url", address)]).is_ok(), "{address}");
    }
    let serve = ("native.serve", "[{ operations = [\"states\"], mode = \"shadow\" }]");
    let fault = load(&[serve]).expect_err("refused");
    assert!(fault.contains("states cannot be shadow without a v2 to ask"), "{fault}");
    assert!(fault.contains("set native.base_url"), "{fault}");
    for (name, value) in [("native.shadow.share", "0"), ("native.shadow.rate", "0"), ("native.shadow.keep", "many")]
    {
        assert!(load(&[(name, value)]).expect_err(name).contains("write a whole number from 1 to"), "{name}");
    }
}

#[tokio::test]
async fn names_that_are_none_and_tables_that_contradict_each_other_are_refused() {
    let serve = |tables: &str| format!("[{tables}]");
    for (tables, told) in [
        (
            "{ operations = [\"sattes\"], mode = \"shadow\" }",
            "native.serve: there is no operation or resource sattes; did you mean states?",
        ),
        (
            "{ operations = [\"quux\"], mode = \"shadow\" }",
            "native.serve: there is no operation or resource quux; `causeway operations` lists all, and \"all\" stands \
             for each",
        ),
        (
            "{ operations = [\"states\"], mode = \"shadow\" }, { operations = [\"states\"], mode = \"native\" }",
            "native.serve: states_list is both shadow and native; say it once",
        ),
        (
            "{ operations = [\"states_list\"], mode = \"shadow\", workspaces = [\"acme\"] }, \
             { operations = [\"states_list\"], mode = \"translated\", workspaces = [\"acme\"] }",
            "native.serve: states_list in workspace acme is both shadow and translated; say it once",
        ),
        (
            "{ operations = [\"users_me_retrieve\"], mode = \"shadow\", workspaces = [\"acme\"] }",
            "native.serve: users_me_retrieve is of no workspace; leave `workspaces` out for it",
        ),
        (
            "{ operations = [\"users\"], mode = \"native\", workspaces = [\"acme\"] }",
            "native.serve: users is of no workspace; leave `workspaces` out for it",
        ),
    ] {
        let settings = [("native.base_url", NATIVE), ("native.serve", &*serve(tables))];
        assert_eq!(refused(&settings).await, told);
    }
}

#[tokio::test]
async fn operations_of_the_store_become_native_together_and_only_after_leaving() {
    let stage = Stage::serving("[{ operations = [\"all\"], mode = \"native\", workspaces = [\"acme\"] }]").await;
    let address = stage.native.base_url();
    let table = |names: &str, more: &str| format!("[{{ operations = {names}, mode = \"native\"{more} }}]");
    let told = async |serve: &str| {
        let outcome = stage.gateway.reload(&[("native.serve", serve)]).await;
        outcome.expect_err("refused").to_string()
    };
    assert_eq!(
        told(&table("[\"all\"]", "")).await,
        format!(
            "nothing was changed: native.serve: workspace_features_retrieve shows or changes what only this gateway's store \
             holds, so it is native only in workspaces that have been left; carry their records over with `causeway leave \
             --to {address} --workspace NAME`, and name them in `workspaces`"
        )
        .replace("workspace_features_retrieve", first_kept())
    );
    assert_eq!(
        told(&table("[\"all\"]", ", workspaces = [\"globex\"]")).await,
        format!(
            "nothing was changed: native.serve: {} shows or changes what only this gateway's store holds, and workspace \
             globex has not been left; run `causeway leave --to {address} --workspace globex` first",
            first_kept()
        )
    );
    let part = told(&table("[\"work_items\"]", ", workspaces = [\"acme\"]")).await;
    assert!(part.contains("in workspace acme work_items_list is native and "), "{part}");
    assert!(part.ends_with("switches together: name [\"all\"], or all of it"), "{part}");
    stage.store.mark_left("acme", "https://elsewhere.example").await.expect("noted");
    let other = told(&table("[\"all\"]", ", workspaces = [\"acme\"]")).await;
    assert!(other.contains("workspace acme has been left to another address than"), "{other}");
    // The gateway still serves as before.
    stage.gateway.get("ada", "/api/v2/workspaces/acme/features/").await.expect(200);
    assert_eq!(stage.native.asked().len(), 1);
}

fn first_kept() -> &'static str {
    let kept = PLAN.operations.iter().find(|operation| is_kept(&PLAN, operation));
    kept.expect("there are some").id.as_str()
}

/// Derived from the mappings; written out here, so that a change of them is looked at.
#[test]
fn the_mappings_tell_which_operations_the_store_holds() {
    let kept = |kept: bool| -> BTreeSet<&str> {
        let all = PLAN.operations.iter().filter(|operation| is_kept(&PLAN, operation) == kept);
        all.map(|operation| PLAN.resource_of(operation).name.as_str()).collect()
    };
    assert_eq!(kept(false), BTreeSet::from(["labels", "project_members", "states", "users", "workspace_members"]));
    for resource in ["work_items", "cycles", "modules", "work_item_comments", "audit_logs", "workspace_features"] {
        assert!(kept(true).contains(resource), "{resource}");
    }
    assert!(kept(true).is_disjoint(&kept(false)));
}

#[tokio::test]
async fn no_v2_is_refused_and_silence_is_not() {
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let v1 = serve_sandbox(&sandbox).await;
    let fault = refused(&[("native.base_url", &v1)]).await;
    assert_eq!(
        fault,
        format!(
            "native.base_url: {v1} has no v2: GET /api/v2/users/me/ without a credential was answered 404, and v2 answers \
             401 `unauthorized`; name the address of the deployment's own v2, without /api/v2"
        )
    );
    // A v2 that does not answer, and one that fails: they may come back.
    let gateway = Gateway::with(&v1, &[("native.base_url", NATIVE)]).await;
    gateway.get("ada", "/api/v2/users/me/").await.expect(200);
    let failing = ScriptedV1::start().await;
    failing.expect(Exchange::get("../v2/users/me/").reply(503, json!({})).repeated());
    let told = gateway.reload(&[("native.base_url", &v1)]).await.expect_err("refused").to_string();
    assert!(told.starts_with("nothing was changed: native.base_url: "), "{told}");
}

#[tokio::test]
async fn a_gateway_is_not_its_own_v2() {
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let v1 = serve_sandbox(&sandbox).await;
    let gateway = Gateway::before(&v1).await;
    // Behind a wire, so that the address does not give it away.
    let wire = Planting::plain(gateway.base()).await;
    let told = gateway.reload(&[("native.base_url", wire.base_url())]).await.expect_err("refused").to_string();
    assert!(told.contains(&format!("{} is this gateway itself", wire.base_url())), "{told}");
}

#[tokio::test]
async fn a_loop_that_nobody_could_see_ends_at_its_first_turn() {
    let (socket, address) = reserved();
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let v1 = serve_sandbox(&sandbox).await;
    // When the gateway starts, nothing answers at that address.
    let listen = format!("http://{address}");
    let serve = "[{ operations = [\"users_me_retrieve\"], mode = \"native\" }]";
    let gateway = Gateway::at(socket, &v1, &[("native.base_url", &listen), ("native.serve", serve)]).await;
    let answer = gateway.get("ada", "/api/v2/users/me/").await.expect_problem(502, "upstream_error");
    assert!(answer.text("detail").contains("native.base_url"), "{}", answer.json);
}

#[tokio::test]
async fn the_doctor_looks_at_it() {
    let told = async |settings: &[(&str, &str)]| {
        let settings = load(settings).expect("readable");
        let report = doctor::examine(&settings, &doctor::CheckInputs::default()).await;
        let native = report.checks.into_iter().find(|check| check.part == "native");
        native.map(|check| (check.state, check.found))
    };
    assert_eq!(told(&[]).await, None);
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let v1 = serve_sandbox(&sandbox).await;
    let behind = Gateway::before(&v1).await;
    let base = behind.base();
    assert_eq!(told(&[("native.base_url", base)]).await, Some((doctor::State::Fine, format!("{base} is a v2"))));
    let (state, found) = told(&[("native.base_url", NATIVE)]).await.expect("looked at");
    assert!(state == doctor::State::Warning && found.contains("does not answer"), "{found}");
    let (state, found) = told(&[("native.base_url", &v1)]).await.expect("looked at");
    assert!(state == doctor::State::Fault && found.contains("has no v2"), "{found}");
    let serve = ("native.serve", "[{ operations = [\"work_items\"], mode = \"native\", workspaces = [\"acme\"] }]");
    let (state, found) = told(&[("native.base_url", base), serve]).await.expect("looked at");
    assert!(state == doctor::State::Fault && found.contains("has not been left"), "{found}");
}
