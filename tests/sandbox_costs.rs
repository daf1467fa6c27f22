//! The sandbox as slow as a real v1: how long calls take, how many run at once, which call waits for which. The clock
//! of the tests is paused and jumps to the next timer, so that nothing here waits or depends on the machine.

use bytes::Bytes;
use causeway::sandbox::{Config, Costs, Sandbox, Seed};
use causeway::task::spawn;
use http::{Request, Response};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Duration, Instant};

/// A sandbox with that many work items.
fn sandbox(costs: Costs, work_items: usize) -> Sandbox {
    let in_the_seed = 30;
    Sandbox::new(Config { seed: Seed::Demo, work_items: work_items - in_the_seed, costs, ..Config::default() })
}

fn project(sandbox: &Sandbox) -> String {
    let facts = sandbox.demo_facts();
    format!("/api/v1/workspaces/{}/projects/{}", facts.workspace, facts.project_id)
}

fn request(method: &str, path: &str, body: &Value) -> Request<Bytes> {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let request = Request::builder().method(method).uri(path).header("X-Api-Key", "demo-admin-key");
    request.header("content-type", "application/json").body(Bytes::from(body)).expect("a request")
}

/// Answers a request in a task of its own; returns the time from `start` to the answer with the answer.
fn begin(sandbox: &Sandbox, start: Instant, request: Request<Bytes>) -> JoinHandle<(Duration, Response<Bytes>)> {
    let sandbox = sandbox.clone();
    spawn(async move {
        let response = sandbox.handle_in_time(request).await;
        (start.elapsed(), response)
    })
}

async fn time_of(sandbox: &Sandbox, method: &str, path: &str, body: &Value) -> u128 {
    let (time, response) = begin(sandbox, Instant::now(), request(method, path, body)).await.expect("an answer");
    assert!(response.status().is_success(), "{method} {path}: {response:?}");
    time.as_millis()
}

const GATEWAY: &str = "id,name,priority,state,parent,assignees,labels,start_date,target_date,updated_at,created_at,\
    created_by,sequence_id,sort_order,external_id,external_source,type_id,estimate_point,completed_at";
const PLAIN: &str = "id,name,priority,start_date,target_date,updated_at,created_at,sequence_id,sort_order,point";

/// Milliseconds that a real v1 was measured to take for a project of 10,000 work items.
#[tokio::test(start_paused = true)]
async fn calls_take_what_they_were_measured_to_take() {
    let sandbox = sandbox(Costs::Real, 10_000);
    let base = project(&sandbox);
    let item = format!("{base}/work-items/00000000-0000-4000-e000-000000000003");
    let workspace = "/api/v1/workspaces/acme";
    let list = |query: &str| format!("{base}/work-items/?{query}");
    let page = |fields: &str| list(&format!("per_page=1000&fields={fields}"));
    let nothing = Value::Null;
    let name = json!({ "name": "new" });
    for (method, path, body, measured) in [
        ("GET", "/api/v1/users/me/".to_owned(), &nothing, 46),
        ("GET", format!("{base}/"), &nothing, 84),
        ("GET", format!("{base}/states/"), &nothing, 70),
        ("GET", format!("{base}/labels/"), &nothing, 80),
        ("GET", format!("{base}/members/"), &nothing, 50),
        ("GET", format!("{workspace}/members/"), &nothing, 45),
        ("GET", format!("{workspace}/projects/"), &nothing, 85),
        ("GET", format!("{item}/"), &nothing, 70),
        ("GET", format!("{item}/comments/"), &nothing, 76),
        ("GET", list("per_page=1&fields=id"), &nothing, 925),
        ("GET", list(&format!("per_page=100&order_by=-updated_at&fields={GATEWAY}")), &nothing, 1_230),
        ("GET", page("id"), &nothing, 1_370),
        ("GET", page(PLAIN), &nothing, 1_345),
        ("GET", page("id,assignees"), &nothing, 2_450),
        ("GET", page("id,labels"), &nothing, 2_700),
        ("GET", page("id,assignees,labels"), &nothing, 3_620),
        ("GET", page(GATEWAY), &nothing, 3_810),
        ("GET", list("per_page=1000"), &nothing, 4_500),
        ("PATCH", format!("{item}/"), &name, 92),
        ("POST", format!("{item}/comments/"), &json!({ "comment_html": "<p>new</p>" }), 83),
        ("POST", format!("{base}/labels/"), &name, 65),
        ("POST", format!("{base}/work-items/"), &name, 102),
    ] {
        let time = time_of(&sandbox, method, &path, body).await;
        let share = time as f64 / f64::from(measured);
        assert!((0.95..1.05).contains(&share), "{method} {path}: {time} ms, measured {measured}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_takes_longer_the_more_it_has_to_count() {
    let mut times = Vec::new();
    for work_items in [100, 2_000, 4_000] {
        let sandbox = sandbox(Costs::Real, work_items);
        let path = format!("{}/work-items/?per_page=1&fields=id", project(&sandbox));
        times.push(time_of(&sandbox, "GET", &path, &Value::Null).await);
    }
    assert!(times.is_sorted() && times[2] > 4 * times[0], "{times:?}");
}

#[tokio::test(start_paused = true)]
async fn two_calls_run_at_once_and_the_others_wait_in_order() {
    let sandbox = sandbox(Costs::Real, 30);
    let start = Instant::now();
    let me = || request("GET", "/api/v1/users/me/", &Value::Null);
    let calls: Vec<_> = (0..5).map(|_| begin(&sandbox, start, me())).collect();
    let mut times = Vec::new();
    for call in calls {
        times.push(call.await.expect("an answer").0.as_millis());
    }
    assert_eq!(times, [46, 46, 92, 92, 138]);
}

#[tokio::test(start_paused = true)]
async fn a_call_keeps_its_worker_when_nobody_waits_for_the_answer_any_more() {
    let sandbox = sandbox(Costs::Real, 30);
    let labels = format!("{}/labels/", project(&sandbox));
    let start = Instant::now();
    let given_up: Vec<_> = ["one", "two"]
        .into_iter()
        .map(|name| begin(&sandbox, start, request("POST", &labels, &json!({ "name": name }))))
        .collect();
    tokio::time::sleep(Duration::from_millis(1)).await;
    for call in given_up {
        call.abort();
        assert!(call.await.expect_err("no answer").is_cancelled());
    }
    assert!(sandbox.journal().is_empty());
    let me = request("GET", "/api/v1/users/me/", &Value::Null);
    let (time, _) = begin(&sandbox, start, me).await.expect("an answer");
    assert_eq!(time.as_millis(), 65 + 46);
    let statuses: Vec<u16> = sandbox.journal().iter().map(|entry| entry.status).collect();
    assert_eq!(statuses, [201, 201, 200]);
}

#[tokio::test(start_paused = true)]
async fn nothing_takes_time_unless_it_is_told_to() {
    let sandbox = sandbox(Costs::None, 2_000);
    let path = format!("{}/work-items/?per_page=1000", project(&sandbox));
    let calls: Vec<_> =
        (0..4).map(|_| begin(&sandbox, Instant::now(), request("GET", &path, &Value::Null))).collect();
    for call in calls {
        assert_eq!(call.await.expect("an answer").0, Duration::ZERO);
    }
}
