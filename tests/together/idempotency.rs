//! The same POST sent again: carried out once, answered alike, kept apart from other callers' POSTs, and never
//! repeated while its outcome is unknown.

use crate::support::gateway::{Answer, Gateway, WEB, serve_sandbox};
use crate::support::losing::Losing;
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::task::spawn;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

const KEY: &str = "idempotency-key";

fn labels() -> String {
    format!("{WEB}/labels/")
}

pub(super) async fn post(gateway: &Gateway, who: &str, path: &str, body: &Value, key: &str) -> Answer {
    gateway.send_with(who, "POST", path, Some(body), &[(KEY, key)]).await
}

/// Returns how many labels, or work items, of this name v1 has.
pub(super) async fn rows(gateway: &Gateway, path: &str, name: &str) -> usize {
    let rows = gateway.get("ada", &format!("{path}?per_page=100")).await.expect(200);
    rows.data().iter().filter(|row| row["name"] == name).count()
}

pub(super) fn replayed(answer: &Answer) -> bool {
    answer.headers.get("idempotency-replayed").is_some_and(|value| value == "true")
}

/// Expects the answer to a write whose outcome is unknown.
#[track_caller]
pub(super) fn expect_lost(answer: &Answer) {
    assert!([502, 504].contains(&answer.status), "{}", answer.json);
}

/// Makes the next read of v1 fail.
pub(super) fn swallow_a_read(losing: &Losing) {
    // A read is tried twice.
    losing.swallow("GET");
    losing.swallow("GET");
}

#[track_caller]
pub(super) fn alike(one: &Answer, other: &Answer) {
    assert_eq!((one.status, &one.bytes), (other.status, &other.bytes));
    for name in ["etag", "content-type", "cache-control"] {
        assert_eq!(one.headers.get(name), other.headers.get(name), "{name}");
    }
}

/// A gateway with its store in a file, before a v1 that can lose answers.
pub(super) struct Stage {
    pub(super) gateway: Gateway,
    pub(super) losing: Losing,
    url: String,
    _folder: tempfile::TempDir,
}

impl Stage {
    pub(super) async fn new(settings: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let url = format!("sqlite:{}", folder.path().join("store.db").display());
        let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
        let losing = Losing::before(&serve_sandbox(&sandbox).await).await;
        let settings = [&[("store.url", url.as_str())], settings].concat();
        let gateway = Gateway::with(losing.base_url(), &settings).await;
        Self { gateway, losing, url, _folder: folder }
    }

    /// Changes the store past the gateway.
    pub(super) async fn execute(&self, statement: &'static str) {
        self.gateway.change_store(statement).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_twenty_at_once_one_is_carried_out() {
    let gateway = Arc::new(Gateway::sandboxed(Seed::Recorded).await);
    for path in [labels(), format!("{WEB}/work-items/"), format!("{WEB}/work-item-types/")] {
        let body = json!({"name": "only one"});
        let sent: Vec<_> = (0..20)
            .map(|_| {
                let (gateway, path, body) = (Arc::clone(&gateway), path.clone(), body.clone());
                spawn(async move { post(&gateway, "ada", &path, &body, "twenty").await })
            })
            .collect();
        let mut done = Vec::new();
        for sent in sent {
            let answer = sent.await.expect("an answer");
            match answer.status {
                409 => {
                    assert_eq!(answer.code(), "idempotency_in_progress");
                    assert_eq!(answer.headers["retry-after"], "1");
                }
                _ => done.push(answer.expect(201)),
            }
        }
        let again = post(&gateway, "ada", &path, &body, "twenty").await;
        assert!(replayed(&again));
        done.iter().for_each(|one| alike(one, &again));
        assert_eq!(done.iter().filter(|one| !replayed(one)).count(), 1);
        assert_eq!(rows(&gateway, &path, "only one").await, 1, "{path}");
    }
}

#[tokio::test]
async fn the_key_belongs_to_one_request_of_one_person() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let body = json!({"name": "mine"});
    let first = post(&gateway, "ada", &labels(), &body, "k").await.expect(201);
    alike(&post(&gateway, "ada", &labels(), &body, "\"k\"").await, &first);
    alike(&post(&gateway, "ada", &labels().replace("-c000-", "-C000-"), &body, "k").await, &first);
    let other = post(&gateway, "ada", &labels(), &json!({"name": "other"}), "k").await;
    other.expect_problem(422, "idempotency_key_reused");
    let other = post(&gateway, "ada", &format!("{}?x=1", labels()), &body, "k").await;
    other.expect_problem(422, "idempotency_key_reused");
    // The same key of another caller, or for another path, is a different key.
    let refused = post(&gateway, "bob", &labels(), &body, "k").await;
    assert!(!replayed(&refused));
    refused.expect_problem(409, "conflict");
    post(&gateway, "bob", &labels(), &json!({"name": "bob's"}), "k").await.expect(201);
    post(&gateway, "ada", &format!("{WEB}/modules/"), &body, "k").await.expect(201);
    for key in ["", "a b", &"x".repeat(256)] {
        let refused = post(&gateway, "ada", &labels(), &json!({"name": "x"}), key).await;
        assert_eq!(refused.expect_problem(400, "validation_error").error_fields(), ["Idempotency-Key"]);
    }
    // A missing record or a missing right is reported whatever the header says (O2).
    let nothing = format!("{WEB}/work-items/deadbeef-0000-4000-8000-00000000dead/comments/");
    let types = format!("{WEB}/work-item-types/");
    for (who, path, status) in [("ada", &nothing, 404), ("bob", &types, 403)] {
        for headers in [&[][..], &[(KEY, "a b")]] {
            let body = json!({"comment_html": "<p>x</p>", "name": "x"});
            gateway.send_with(who, "POST", path, Some(&body), headers).await.expect(status);
        }
    }
    let archive = format!("{WEB}/work-items/00000000-0000-4000-e000-000000000001/archive/");
    let refused = post(&gateway, "ada", &archive, &json!({}), "a b").await;
    assert_eq!(refused.expect_problem(400, "validation_error").error_fields(), ["Idempotency-Key"]);
    // Only POST uses the header.
    let path = format!("{}{}/", labels(), first.text("id"));
    for name in ["two", "three"] {
        let body = json!({ "name": name });
        let done = gateway.send_with("ada", "PATCH", &path, Some(&body), &[(KEY, "k")]).await.expect(200);
        assert_eq!(done.text("name"), name);
    }
}

#[tokio::test]
async fn a_refusal_before_anything_was_written_frees_the_key() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    gateway.post("ada", &labels(), json!({"name": "taken"})).await.expect(201);
    post(&gateway, "ada", &labels(), &json!({}), "k").await.expect_problem(400, "validation_error");
    post(&gateway, "ada", &labels(), &json!({"name": "taken"}), "k").await.expect_problem(409, "conflict");
    let nowhere = labels().replace("c000-000000000001", "c000-00000000dead");
    post(&gateway, "ada", &nowhere, &json!({"name": "x"}), "k").await.expect(404);
    let done = post(&gateway, "ada", &labels(), &json!({"name": "free"}), "k").await.expect(201);
    assert!(!replayed(&done));
}

/// The answer of a create is lost: with a unique name the gateway finds the record at once, and where nothing proves
/// it the repetition finds it; no second record is created.
#[tokio::test]
async fn after_a_lost_answer_the_record_is_found() {
    let stage = Stage::new(&[]).await;
    let gateway = &stage.gateway;
    for (path, body, statuses) in [
        (labels(), json!({"name": "lost", "color": "#112233"}), [201, 201]),
        (format!("{WEB}/states/"), json!({"name": "lost", "color": "#112233"}), [201, 201]),
        (format!("{WEB}/modules/"), json!({"name": "lost"}), [201, 201]),
        (format!("{WEB}/work-items/"), json!({"name": "lost", "priority": "high"}), [502, 504]),
    ] {
        stage.losing.lose("POST");
        let lost = post(gateway, "ada", &path, &body, "k").await;
        assert!(statuses.contains(&lost.status), "{path}: {}", lost.json);
        assert!(!replayed(&lost), "{path}");
        assert!(!lost.headers.contains_key("retry-after"));
        let found = post(gateway, "ada", &path, &body, "k").await.expect(201);
        assert!(replayed(&found), "{path}");
        let one = gateway.get("ada", &format!("{path}{}/", found.text("id"))).await.expect(200);
        assert_eq!((&one.json, &one.headers["etag"]), (&found.json, &found.headers["etag"]));
        alike(&post(gateway, "ada", &path, &body, "k").await, &found);
        assert_eq!(rows(gateway, &path, "lost").await, 1, "{path}");
    }
}

/// Sends a POST with these further headers, whose client hangs up while v1's answer is delayed.
pub(super) async fn leave_during(stage: &Stage, path: &str, body: &Value, headers: &str) {
    stage.losing.hold("POST");
    let (text, address) = (body.to_string(), stage.gateway.base().trim_start_matches("http://"));
    let mut client = TcpStream::connect(address).await.expect("a connection");
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nx-api-key: ada\r\ncontent-type: application/json\r\n{headers}\
         content-length: {}\r\n\r\n{text}",
        text.len()
    );
    client.write_all(request.as_bytes()).await.expect("a request");
    stage.losing.held().await;
    drop(client);
    tokio::time::sleep(Duration::from_millis(50)).await;
}

/// The write goes on, and its answer is stored for a repetition.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_hangs_up_during_a_write_finds_its_answer_later() {
    let stage = Stage::new(&[]).await;
    let gateway = &stage.gateway;
    for path in [labels(), format!("{WEB}/modules/"), format!("{WEB}/work-items/")] {
        let body = json!({"name": "hung up"});
        leave_during(&stage, &path, &body, &format!("{KEY}: k\r\n")).await;
        post(gateway, "ada", &path, &body, "k").await.expect_problem(409, "idempotency_in_progress");
        stage.losing.let_go();
        let again = loop {
            let again = post(gateway, "ada", &path, &body, "k").await;
            if again.status != 409 {
                break again.expect(201);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        };
        assert!(replayed(&again), "{path}");
        assert_eq!(rows(gateway, &path, "hung up").await, 1, "{path}");
    }
}

/// A create that v1 never saw is repeated only when v1 cannot carry it out any more.
#[tokio::test]
async fn a_create_that_v1_never_saw_is_repeated_once_that_is_certain() {
    for (late, status) in [("1h", 502), ("0s", 201)] {
        let stage = Stage::new(&[("store.late_write", late)]).await;
        let (gateway, path, body) = (&stage.gateway, format!("{WEB}/work-items/"), json!({"name": "swallowed"}));
        stage.losing.swallow("POST");
        let lost = post(gateway, "ada", &path, &body, "k").await;
        expect_lost(&lost);
        for _ in 0..2 {
            let again = post(gateway, "ada", &path, &body, "k").await;
            assert_eq!(again.status, status, "{}", again.json);
            assert!(!again.headers.contains_key("retry-after"));
        }
        assert_eq!(rows(gateway, &path, "swallowed").await, usize::from(status == 201));
    }
}

/// Two records that could both be the result prove nothing.
#[tokio::test]
async fn an_ambiguous_search_result_causes_no_repetition() {
    let stage = Stage::new(&[("store.late_write", "0s")]).await;
    let (gateway, path, body) = (&stage.gateway, format!("{WEB}/work-items/"), json!({"name": "twin"}));
    stage.losing.lose("POST");
    let lost = post(gateway, "ada", &path, &body, "k").await;
    expect_lost(&lost);
    // If this gateway had made it on v2 without a key, it would know that it is another record.
    gateway.post("ada", &path.replacen("/v2/", "/v1/", 1), body.clone()).await.expect(201);
    for _ in 0..2 {
        post(gateway, "ada", &path, &body, "k").await.expect_problem(502, "upstream_error");
    }
    assert_eq!(rows(gateway, &path, "twin").await, 2);
}

/// A record that was made by another keyed request is not taken for the result of this one.
#[tokio::test]
async fn a_record_of_another_key_is_not_taken() {
    let stage = Stage::new(&[("store.late_write", "0s")]).await;
    let (gateway, path, body) = (&stage.gateway, format!("{WEB}/work-items/"), json!({"name": "twin"}));
    stage.losing.swallow("POST");
    let lost = post(gateway, "ada", &path, &body, "one").await;
    expect_lost(&lost);
    let other = post(gateway, "ada", &path, &body, "two").await.expect(201);
    let again = post(gateway, "ada", &path, &body, "one").await.expect(201);
    assert_ne!(again.text("id"), other.text("id"));
    assert_eq!(rows(gateway, &path, "twin").await, 2);
}

/// A killed process leaves a row with `running`: the key waits until the attempt must be over, and then the gateway
/// looks for the record first.
#[tokio::test]
async fn a_killed_attempt_is_looked_for_when_its_time_is_over() {
    let stage = Stage::new(&[("store.late_write", "0s")]).await;
    let (gateway, body) = (&stage.gateway, json!({"name": "killed"}));
    let made = post(gateway, "ada", &labels(), &body, "k").await.expect(201);
    stage.execute("UPDATE repeatable_request SET state = 'running', answer = '', record_id = NULL").await;
    let waiting = post(gateway, "ada", &labels(), &body, "k").await;
    waiting.expect_problem(409, "idempotency_in_progress");
    stage.execute("UPDATE repeatable_request SET ends_at = began_at + 1").await;
    let found = post(gateway, "ada", &labels(), &body, "k").await;
    alike(&found, &made);
    assert!(replayed(&found));
    // The same without a result: the label is gone, so it is created.
    gateway.delete("ada", &format!("{}{}/", labels(), made.text("id"))).await.expect(204);
    stage
        .execute("UPDATE repeatable_request SET state = 'running', ends_at = began_at + 1, record_id = NULL")
        .await;
    let anew = post(gateway, "ada", &labels(), &body, "k").await.expect(201);
    assert!(!replayed(&anew));
    assert_ne!(anew.text("id"), made.text("id"));
}

/// The shape of an option has no time of creation.
#[tokio::test]
async fn an_option_of_a_killed_attempt_is_found() {
    let stage = Stage::new(&[("store.late_write", "0s")]).await;
    let gateway = &stage.gateway;
    let properties = format!("{WEB}/work-item-properties/");
    let property = json!({"display_name": "choice", "property_type": "OPTION"});
    let property = gateway.post("ada", &properties, property).await.expect(201).text("id");
    let options = format!("{properties}{property}/options/");
    let body = json!({"name": "killed"});
    let made = post(gateway, "ada", &options, &body, "k").await.expect(201);
    stage
        .execute("UPDATE repeatable_request SET state = 'running', ends_at = began_at + 1, record_id = NULL")
        .await;
    let found = post(gateway, "ada", &options, &body, "k").await;
    alike(&found, &made);
    assert!(replayed(&found));
}

#[tokio::test]
async fn stored_answers_expire_and_are_limited_for_each_person() {
    let stage = Stage::new(&[("idempotency.per_person", "3")]).await;
    let gateway = &stage.gateway;
    let label = |number: usize| json!({ "name": format!("label {number}") });
    for number in 0..3 {
        post(gateway, "ada", &labels(), &label(number), &format!("k{number}")).await.expect(201);
    }
    let full = post(gateway, "ada", &labels(), &label(3), "k3").await;
    let full = full.expect_problem(429, "rate_limited");
    assert!(full.headers["retry-after"].parse::<u64>().expect("seconds") > 3600);
    assert_eq!(rows(gateway, &labels(), "label 3").await, 0, "nothing was done");
    assert!(replayed(&post(gateway, "ada", &labels(), &label(0), "k0").await.expect(201)));
    gateway.post("ada", &labels(), label(4)).await.expect(201);
    post(gateway, "bob", &labels(), &label(5), "k5").await.expect(201);
    stage.execute("UPDATE repeatable_request SET expires_at = 1").await;
    post(gateway, "ada", &labels(), &label(6), "k0").await.expect(201);
    let store = gateway.store().await;
    let left: Vec<(String,)> = sqlx::query_as("SELECT user_id FROM repeatable_request")
        .fetch_all(store.engine().pool())
        .await
        .expect("rows");
    assert_eq!(left.len(), 2, "ada's new one, and bob's until he comes or the sweep does");
    assert_eq!(store.sweep_repeatable().await.expect("a sweep"), 1);
}

#[tokio::test]
async fn answers_outlive_the_process_and_cannot_be_read_from_the_store() {
    let secret = causeway::oauth::Keyring::new_secret();
    let with: [&[(&str, &str)]; 2] = [&[], &[("secrets.key", &secret)]];
    for settings in with {
        let mut stage = Stage::new(settings).await;
        let body = json!({"name": "private matter"});
        let first = post(&stage.gateway, "ada", &labels(), &body, "k").await.expect(201);
        let store = stage.gateway.store().await;
        let kept: Vec<(String, String)> = sqlx::query_as("SELECT id, answer FROM repeatable_request")
            .fetch_all(store.engine().pool())
            .await
            .expect("rows");
        assert!(kept.len() == 1 && !kept[0].1.is_empty());
        assert!(!format!("{kept:?}").contains("private"));
        let settings = [&[("store.url", stage.url.as_str())], settings].concat();
        stage.gateway.end().await;
        let another = Gateway::with(stage.losing.base_url(), &settings).await;
        let again = post(&another, "ada", &labels(), &body, "k").await;
        alike(&again, &first);
        assert!(replayed(&again));
    }
}

/// A caller without access to the place causes no search, and stored answers do not outlive access.
#[tokio::test]
async fn an_invalid_key_gets_no_stored_answer() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let body = json!({"name": "seen"});
    post(&gateway, "ada", &labels(), &body, "k").await.expect(201);
    let wrong = gateway.send_with("nobody", "POST", &labels(), Some(&body), &[(KEY, "k")]).await;
    wrong.expect_problem(401, "unauthorized");
    let statuses: BTreeSet<u16> = [post(&gateway, "ada", &labels(), &body, "k").await.status].into_iter().collect();
    assert_eq!(statuses, [201].into());
}

#[tokio::test]
async fn a_caller_who_lost_the_right_to_write_gets_no_stored_answer() {
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &[("cache.card", "1s")]).await;
    let made = json!({"name": "Kim", "identifier": "KIM"});
    let project = gateway.post("bob", "/api/v1/workspaces/acme/projects/", made).await.expect(201).text("id");
    let members = format!("/api/v1/workspaces/acme/projects/{project}/members/");
    let kim = json!({"member": "00000000-0000-4000-a000-000000000005", "role": 20});
    let membership = gateway.post("bob", &members, kim).await.expect(201).text("id");
    let types = format!("/api/v2/workspaces/acme/projects/{project}/work-item-types/");
    let body = json!({"name": "Task of Kim"});
    let first = post(&gateway, "kim", &types, &body, "k1").await.expect(201);
    assert!(replayed(&post(&gateway, "kim", &types, &body, "k1").await.expect(201)), "{}", first.json);
    gateway.patch("bob", &format!("{members}{membership}/"), json!({"role": 15})).await.expect(200);
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    post(&gateway, "kim", &types, &body, "k1").await.expect_problem(403, "forbidden");
    post(&gateway, "kim", &types, &json!({"name": "Other"}), "k1").await.expect_problem(403, "forbidden");
}

/// A record of the same name is not taken for the lost one when it differs in another member, or when another request
/// has made it.
#[tokio::test]
async fn a_record_of_somebody_elses_request_is_no_answer() {
    let stage = Stage::new(&[("store.late_write", "1h")]).await;
    let (gateway, path) = (&stage.gateway, format!("{WEB}/work-items/"));
    let v1 = path.replacen("/v2/", "/v1/", 1);
    let pair = |id: &str| json!({"name": "pair", "external_id": id, "external_source": "s"});
    for (sent, other, place) in [
        (json!({"name": "plain"}), json!({"name": "plain"}), &path),
        (json!({"name": "shown", "priority": "urgent"}), json!({"name": "shown", "priority": "low"}), &v1),
        (pair("1"), pair("2"), &v1),
    ] {
        let key = sent.to_string().replace('"', "'");
        stage.losing.swallow("POST");
        let lost = post(gateway, "ada", &path, &sent, &key).await;
        expect_lost(&lost);
        gateway.post("ada", place, other.clone()).await.expect(201);
        gateway.reload(&[]).await.expect("a reload");
        let again = post(gateway, "ada", &path, &sent, &key).await;
        again.expect_problem(502, "upstream_error");
        assert_eq!(rows(gateway, &path, sent["name"].as_str().expect("a name")).await, 1);
    }
}

/// Records of requests without a key stay known when a reload makes `idempotency.keep` longer.
#[tokio::test]
async fn a_record_of_somebody_elses_request_is_no_answer_after_the_time_before_a_reload() {
    let stage = Stage::new(&[("store.late_write", "1h"), ("idempotency.keep", "1s")]).await;
    let (gateway, body) = (&stage.gateway, json!({"name": "plain"}));
    let path = format!("{WEB}/work-items/");
    gateway.reload(&[("idempotency.keep", "24h")]).await.expect("a reload");
    stage.losing.swallow("POST");
    let lost = post(gateway, "ada", &path, &body, "k").await;
    expect_lost(&lost);
    gateway.post("ada", &path, body.clone()).await.expect(201);
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    post(gateway, "ada", &path, &body, "k").await.expect_problem(502, "upstream_error");
    assert_eq!(rows(gateway, &path, "plain").await, 1);
}

/// A create of a new default was interrupted while the old default still had the flag: the repetition clears the old
/// flag before it calls the create done.
#[tokio::test]
async fn a_default_is_the_only_one_before_a_create_counts_as_done() {
    let stage = Stage::new(&[]).await;
    let (gateway, path) = (&stage.gateway, format!("{WEB}/states/"));
    let body = json!({"name": "first of all", "color": "#112233", "is_default": true});
    // v1 carries the first PATCH out, which sets the flag, and never sees the second, which clears it on the old one.
    stage.losing.lose("PATCH");
    stage.losing.swallow("PATCH");
    let half = post(gateway, "ada", &path, &body, "k").await;
    expect_lost(&half);
    let defaults = format!("{path}?is_default=true");
    let names = |answer: Answer| -> Vec<String> {
        let rows = answer.json["data"].as_array().expect("rows").iter();
        rows.map(|row| row["name"].as_str().expect("a name").to_owned()).collect()
    };
    let now = || async { names(gateway.get("ada", &defaults).await.expect(200)) };
    let at_v1 = gateway.get("ada", &path.replace("/api/v2/", "/api/v1/")).await.expect(200);
    let flagged = at_v1.json["results"].as_array().expect("rows").iter().filter(|row| row["default"] == true);
    assert_eq!(flagged.count(), 2, "or the scene is another one");
    assert_eq!(now().await.len(), 1, "v2 promises one");
    // What the repetition did itself is told, too.
    stage.losing.lose_unfound("PATCH");
    let told = post(gateway, "ada", &path, &body, "k").await;
    expect_lost(&told);
    assert!(!told.text("detail").contains("nothing was done"), "{}", told.json);
    let done = post(gateway, "ada", &path, &body, "k").await.expect(201);
    assert!(replayed(&done) && done.json["is_default"] == true, "{}", done.json);
    assert_eq!(now().await, ["first of all"]);
    alike(&post(gateway, "ada", &path, &body, "k").await, &done);
}
