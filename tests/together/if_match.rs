//! Writers that each read, change and write back under `If-Match`: every success counts, none is lost.

use crate::support::gateway::{Gateway, WEB};
use causeway::sandbox::Seed;
use causeway::task::spawn;
use serde_json::{Value, json};
use std::sync::Arc;

const WRITERS: usize = 8;
const STEPS: usize = 4;

/// Increments `member` of the record; repeats until the write does not conflict with another.
async fn count_up(gateway: &Arc<Gateway>, path: &str, member: &'static str) {
    let written = |number: usize| Value::String(format!("count {number}"));
    gateway.patch("ada", path, json!({ member: written(0) })).await.expect(200);
    let writers: Vec<_> = (0..WRITERS)
        .map(|_| {
            let (gateway, path) = (Arc::clone(gateway), path.to_owned());
            spawn(async move {
                let mut refused = 0;
                for _ in 0..STEPS {
                    loop {
                        let seen = gateway.get("ada", &path).await.expect(200);
                        let count: usize = seen.text(member)["count ".len()..].parse().expect("a count");
                        let body = json!({ member: written(count + 1) });
                        let tag = seen.headers["etag"].as_str();
                        let done =
                            gateway.send_with("ada", "PATCH", &path, Some(&body), &[("if-match", tag)]).await;
                        match done.status {
                            200 => break,
                            412 => refused += 1,
                            _ => panic!("{}", done.json),
                        }
                    }
                }
                refused
            })
        })
        .collect();
    let mut refused = 0;
    for writer in writers {
        refused += writer.await.expect("no writer panics");
    }
    let last = gateway.get("ada", path).await.expect(200);
    assert_eq!(last.json[member], written(WRITERS * STEPS), "{path}: {refused} writes were refused");
    println!("{path}: {} writes, {refused} refused", WRITERS * STEPS);
}

async fn gateway() -> Arc<Gateway> {
    Arc::new(Gateway::sandboxed(Seed::Recorded).await)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_count_of_a_property_is_lost() {
    let gateway = gateway().await;
    let body = json!({"display_name": "count", "property_type": "TEXT"});
    let made = gateway.post("ada", &format!("{WEB}/work-item-properties/"), body).await.expect(201);
    let path = format!("{WEB}/work-item-properties/{}/", made.text("id"));
    count_up(&gateway, &path, "description").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_count_of_a_state_is_lost() {
    let gateway = gateway().await;
    let made = gateway.post("ada", &format!("{WEB}/states/"), json!({"name": "count", "color": "#112233"})).await;
    let path = format!("{WEB}/states/{}/", made.expect(201).text("id"));
    count_up(&gateway, &path, "description").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_count_of_a_work_item_is_lost() {
    let gateway = gateway().await;
    let made = gateway.post("ada", &format!("{WEB}/work-items/"), json!({"name": "count 0"})).await.expect(201);
    let path = format!("{WEB}/work-items/{}/", made.text("id"));
    count_up(&gateway, &path, "name").await;
}

/// Members of a work item that v2 does not show are part of its version too, whoever changed them.
#[tokio::test]
async fn a_change_that_v2_does_not_show_makes_another_version() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let made = gateway.post("ada", &format!("{WEB}/work-items/"), json!({"name": "one"})).await.expect(201);
    let path = format!("{WEB}/work-items/{}/", made.text("id"));
    let before = made.headers["etag"].clone();
    let described = gateway.patch("ada", &path, json!({"description_html": "<p>new</p>"})).await.expect(200);
    assert_eq!(described.json, gateway.get("ada", &path).await.json);
    assert_ne!(described.headers["etag"], before);
    let past = path.replace("/v2/", "/v1/");
    gateway.patch("ada", &past, json!({"point": 3})).await.expect(200);
    let pointed = gateway.get("ada", &path).await.expect(200);
    assert_ne!(pointed.headers["etag"], described.headers["etag"], "points that v1 alone knows");
    let described = gateway.patch("ada", &path, json!({"description_html": "<p>newer</p>"})).await.expect(200);
    assert_eq!(described.headers["etag"], gateway.get("ada", &path).await.headers["etag"]);
    let expanded = gateway.get("ada", &format!("{path}?expand=state,assignees")).await.expect(200);
    assert_eq!(expanded.headers["etag"], described.headers["etag"], "expansions do not count");
    for (tag, status) in [(&*before, 412), ("\"a\"", 412), (&*described.headers["etag"], 200), ("*", 200)] {
        let body = json!({"name": format!("two {status}")});
        let done = gateway.send_with("ada", "PATCH", &path, Some(&body), &[("if-match", tag)]).await;
        assert_eq!(done.status, status, "{tag}: {}", done.json);
    }
}

/// A write that excludes one version is carried out on any other.
#[tokio::test]
async fn a_version_that_is_excluded_is_not_changed() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let body = json!({"display_name": "count", "property_type": "TEXT"});
    let made = [
        gateway.post("ada", &format!("{WEB}/work-items/"), json!({"name": "one"})).await.expect(201),
        gateway
            .post("ada", &format!("{WEB}/states/"), json!({"name": "one", "color": "#112233"}))
            .await
            .expect(201),
        gateway.post("ada", &format!("{WEB}/work-item-properties/"), body).await.expect(201),
    ];
    for (made, (place, member)) in
        made.iter().zip([("work-items", "name"), ("states", "name"), ("work-item-properties", "description")])
    {
        let path = format!("{WEB}/{place}/{}/", made.text("id"));
        let tag = made.headers["etag"].as_str();
        let body = json!({ member: "two" });
        let send =
            async |headers: &[(&str, &str)]| gateway.send_with("ada", "PATCH", &path, Some(&body), headers).await;
        for excluded in ["*", tag, &format!("W/{tag}"), &format!("\"a\", {tag}")] {
            send(&[("if-none-match", excluded)]).await.expect_problem(412, "precondition_failed");
            send(&[("if-match", tag), ("if-none-match", excluded)])
                .await
                .expect_problem(412, "precondition_failed");
        }
        assert_eq!(gateway.get("ada", &path).await.headers["etag"], tag, "{place} was not changed");
        send(&[("if-match", tag), ("if-none-match", "\"a\"")]).await.expect(200);
        gateway
            .send_with("ada", "DELETE", &path, None, &[("if-none-match", "*")])
            .await
            .expect_problem(412, "precondition_failed");
        gateway.send_with("ada", "DELETE", &path, None, &[("if-none-match", tag)]).await.expect(204);
    }
}

/// A condition costs one read, and requests without it cost as much as before.
#[tokio::test]
async fn a_demand_costs_one_call() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let made = gateway.post("ada", &format!("{WEB}/states/"), json!({"name": "one", "color": "#112233"})).await;
    let made = made.expect(201);
    let path = format!("{WEB}/states/{}/", made.text("id"));
    gateway.patch("ada", &path, json!({"description": "warm"})).await.expect(200);
    let plain = gateway.patch("ada", &path, json!({"description": "a"})).await.expect(200);
    let tag = plain.headers["etag"].as_str();
    let body = json!({"description": "b"});
    let held = gateway.send_with("ada", "PATCH", &path, Some(&body), &[("if-match", tag)]).await.expect(200);
    assert_eq!(held.calls(), plain.calls() + 1);
    let refused = gateway.send_with("ada", "PATCH", &path, Some(&body), &[("if-match", tag)]).await;
    assert_eq!(refused.expect_problem(412, "precondition_failed").calls(), 1);
}
