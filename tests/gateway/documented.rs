//! The problems that the OpenAPI document shows are those that clients get.

use crate::support::furnished::{Furnished, WORKSPACE};
use crate::support::gateway::{Answer, Gateway, WEB};
use crate::support::scripted::{Exchange, ScriptedV1};
use causeway::plan::TypeMode;
use causeway::sandbox::Seed;
use serde_json::{Value, json};

#[track_caller]
fn expect_as_documented(answer: &Answer) {
    let examples: Value = serde_json::from_str(include_str!("../../fixtures/examples/problems.json")).unwrap();
    let example = &examples[answer.code()];
    for member in ["title", "detail", "errors"] {
        assert_eq!(answer.json[member], example[member], "{member} of {}", answer.code());
    }
}

#[tokio::test]
async fn documented_problems_are_real() {
    let rules = format!("[{{ project = \"{}\", initial = [\"Backlog\"] }}]", WEB.rsplit('/').next().unwrap());
    let furnished = Furnished::with(&[("workflow", &rules)]).await;
    let gateway = &furnished.gateway;
    let (labels, items) = (format!("{WEB}/labels/"), format!("{WEB}/work-items/"));
    let label = format!("{labels}{}/", furnished.record("labels").unwrap());
    let types = |base: &str| format!("{base}/work-item-types/");
    let mut answers = vec![
        gateway.post("ada", &labels, json!({})).await,
        gateway.get("ada", &format!("{items}?paginate=cursor&order_by=sort_order")).await,
        gateway.send_bare("GET", "/api/v2/users/me/", &[]).await,
        gateway.post("gil", &labels, json!({"name": "x"})).await,
        gateway.post("ada", &items, json!({"name": "x", "state": "Done"})).await,
        gateway.get("ada", &format!("{labels}00000000-0000-4000-8000-000000000000/")).await,
        gateway.delete("ada", "/api/v2/users/me/").await,
        gateway.post("ada", &labels, json!({"name": "one"})).await,
        gateway.post("ada", &types(WORKSPACE), json!({"name": "x"})).await,
        gateway.send_with("ada", "PATCH", &label, Some(&json!({"name": "y"})), &[("If-Match", "\"other\"")]).await,
    ];
    furnished.set_mode(TypeMode::Workspace).await;
    answers.push(gateway.post("ada", &types(WEB), json!({"name": "x"})).await);
    let codes: Vec<&str> = answers.iter().map(Answer::code).collect();
    let expected = [
        "validation_error",
        "ordering_not_cursor_eligible",
        "unauthorized",
        "forbidden",
        "workflow_transition_denied",
        "resource_not_found",
        "method_not_allowed",
        "conflict",
        "work_item_types_managed_at_project",
        "precondition_failed",
        "work_item_types_managed_at_workspace",
    ];
    assert_eq!(codes, expected);
    answers.iter().for_each(expect_as_documented);
}

#[tokio::test]
async fn documented_problems_of_limits_and_of_the_service_behind_are_real() {
    let limited = Gateway::sandboxed_with(Seed::Recorded, &[("limits.rate.api_key", "60")]).await;
    let mut answers = Vec::new();
    while answers.last().is_none_or(|answer: &Answer| answer.status == 200) {
        answers.push(limited.get("ada", "/api/v2/users/me/").await);
    }
    expect_as_documented(&answers.pop().unwrap().expect_problem(429, "rate_limited"));
    for (status, code) in [(500, "upstream_error"), (504, "upstream_timeout")] {
        let v1 = ScriptedV1::start().await;
        v1.expect(Exchange::get("users/me/").reply(status, json!({})).repeated());
        let gateway = Gateway::before(v1.base_url()).await;
        let answer = gateway.get("ada", "/api/v2/users/me/").await;
        assert_eq!(answer.code(), code);
        expect_as_documented(&answer);
    }
}
