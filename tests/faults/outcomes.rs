//! Answers to a write when v1's answer is wrong or missing: never permission to repeat the request blindly, and
//! success only when v1 shows the requested record.

use crate::scene::{ADA, BOB, CARD, PROJECT, SECRET, Scene, THROUGH, V1, card, id, list, list_target, record, web};
use crate::support::gateway::{Answer, Gateway};
use crate::support::scripted::{Exchange, Gate, ScriptedV1};
use crate::support::switch::until;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// Answers that a proxy, or a v1 in trouble, gives to a write although v1 has carried it out.
fn answers_that_prove_nothing(write: impl Fn() -> Exchange) -> Vec<(&'static str, Exchange)> {
    vec![
        ("503 of a proxy", write().html(503, "<h1>Service Unavailable</h1>")),
        ("503 in JSON", write().reply(503, json!({"error": "busy"})).header("retry-after", "1")),
        ("502", write().html(502, "<h1>Bad Gateway</h1>")),
        ("504", write().html(504, "<h1>Gateway Time-out</h1>")),
        ("500 of v1", write().recorded("errors", "errors_500_order_by")),
        ("500 in HTML", write().recorded("errors", "errors_null_byte_in_query")),
        ("429 of a proxy", write().html(429, "slow down").header("retry-after", "1")),
        ("429 in JSON", write().reply(429, json!({"detail": "slow down"})).header("retry-after", "1")),
        ("HTML with 200", write().html(200, "<h1>Sign in</h1>")),
        ("204", write().raw(204, "")),
        ("202", write().reply(202, json!({"queued": true}))),
        ("gzip that nobody asked for", write().header("content-encoding", "gzip")),
        ("null", write().raw(200, "null")),
        ("a list", write().raw(200, "[]")),
        ("an empty object", write().raw(200, "{}")),
        ("a text", write().raw(201, "\"ok\"")),
        ("nothing", write().raw(201, "")),
        ("half a record", write().raw(201, "{\"id\": \"0000")),
        ("not UTF-8", write().raw(201, b"{\"id\": \"\xff\"}".to_vec())),
        ("a redirect", write().html(302, "").header("location", "/elsewhere/")),
        ("a time-out of a proxy", write().html(408, "too slow")),
        ("a refusal in HTML", write().html(404, "<h1>nginx</h1>")),
        ("a refusal without words", write().reply(409, json!({}))),
        ("a key that v1 misses", write().reply(400, json!({"error": "The required key does not exist."}))),
        ("no answer", write().drop_after_reading()),
        ("half an answer", write().reply(201, json!({"id": "x"})).wrong_length(7)),
    ]
}

#[track_caller]
fn told(what: &str, answer: &Answer) {
    assert!(matches!(answer.status, 502 | 504), "{what}: {} {}", answer.status, answer.json);
    assert!(matches!(answer.code(), "upstream_error" | "upstream_timeout"), "{what}: {}", answer.json);
    let detail = answer.text("detail");
    assert!(
        detail.contains("may have been carried out") && detail.contains("Look the record up"),
        "{what}: {detail}"
    );
    assert!(!answer.headers.contains_key("retry-after"), "{what}: {:?}", answer.headers);
}

fn label(changes: Value) -> Value {
    record("labels", "labels_create_minimal", changes)
}

fn one(label: &Value) -> String {
    format!("{V1}labels/{}/", id(label))
}

#[tokio::test]
async fn a_create_that_may_have_happened_is_told_and_never_repeated() {
    for (what, answer) in answers_that_prove_nothing(|| Exchange::post(&format!("{V1}labels/"))) {
        let scene = Scene::new().await;
        scene.expect(answer);
        // The search for the record finds nothing: v1 may still be at work.
        scene.expect(list("labels", &[]).repeated());
        told(what, &scene.post("labels/", json!({"name": "bug"})).await);
        let posts = scene.v1.seen().iter().filter(|seen| seen.method == "POST").count();
        assert_eq!(posts, 1, "{what}");
        scene.v1.finish();
    }
}

#[tokio::test]
async fn an_update_that_may_have_happened_is_told_and_never_repeated() {
    let before = label(json!({"name": "bug"}));
    for (what, answer) in answers_that_prove_nothing(|| Exchange::patch(&one(&before))) {
        let scene = Scene::new().await;
        scene.expect(list("labels", std::slice::from_ref(&before)).repeated());
        scene.expect(answer);
        scene.expect(Exchange::get(&one(&before)).reply(200, before.clone()).repeated());
        let path = format!("labels/{}/", id(&before));
        told(what, &scene.patch(&path, json!({"name": "bugs"})).await);
        assert_eq!(scene.v1.seen().iter().filter(|seen| seen.method == "PATCH").count(), 1, "{what}");
        scene.v1.finish();
    }
}

#[tokio::test]
async fn a_delete_that_may_have_happened_is_told_and_never_repeated() {
    let state = record("states", "states_get", json!({}));
    let path = format!("{V1}states/{}/", id(&state));
    for (what, answer) in answers_that_prove_nothing(|| Exchange::delete(&path)) {
        if ["204", "gzip that nobody asked for"].contains(&what) {
            continue;
        }
        let scene = Scene::new().await;
        scene.expect(answer);
        scene.expect(Exchange::get(&path).reply(200, state.clone()).repeated());
        told(what, &scene.delete(&format!("states/{}/", id(&state))).await);
        assert_eq!(scene.v1.seen().iter().filter(|seen| seen.method == "DELETE").count(), 1, "{what}");
        scene.v1.finish();
    }
}

/// A `created_at` of just now, as v1 writes it.
fn now() -> String {
    jiff::Timestamp::now().to_string()
}

#[tokio::test]
async fn a_create_whose_answer_is_lost_is_found_by_its_name() {
    for (what, answer) in answers_that_prove_nothing(|| Exchange::post(&format!("{V1}labels/"))) {
        let scene = Scene::new().await;
        scene.expect(answer);
        let made = label(json!({"name": "bug", "color": "#123456", "created_by": ADA, "created_at": now()}));
        scene.expect(list("labels", std::slice::from_ref(&made)));
        scene.expect(Exchange::get(&one(&made)).reply(200, made.clone()).repeated());
        let found = scene.post("labels/", json!({"name": "bug", "color": "#123456"})).await;
        assert_eq!((found.status, &found.json["id"]), (201, &made["id"]), "{what}: {}", found.json);
        scene.v1.finish();
    }
}

#[tokio::test]
async fn a_record_that_somebody_else_made_is_not_taken_for_the_lost_create() {
    for (what, changes) in [
        ("of another person", json!({"created_by": BOB, "created_at": now()})),
        ("of last year", json!({"created_by": ADA, "created_at": "2025-01-01T00:00:00Z"})),
        ("with other values", json!({"created_by": ADA, "created_at": now(), "color": "#ffffff"})),
    ] {
        let scene = Scene::new().await;
        scene.expect(Exchange::post(&format!("{V1}labels/")).html(503, ""));
        let mut other = label(json!({"name": "bug", "color": "#123456"}));
        other.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        scene.expect(list("labels", std::slice::from_ref(&other)).repeated());
        scene.expect(Exchange::get(&one(&other)).reply(200, other.clone()).repeated());
        told(what, &scene.post("labels/", json!({"name": "bug", "color": "#123456"})).await);
        scene.v1.finish();
    }
}

#[tokio::test]
async fn an_update_whose_answer_is_lost_is_done_when_v1_shows_all_of_it() {
    let before = label(json!({"name": "bug"}));
    let after = label(json!({"name": "bugs"}));
    for (what, answer) in answers_that_prove_nothing(|| Exchange::patch(&one(&before))) {
        let scene = Scene::new().await;
        scene.expect(list("labels", std::slice::from_ref(&before)).repeated());
        scene.expect(answer);
        scene.expect(Exchange::get(&one(&before)).reply(200, after.clone()));
        let path = format!("labels/{}/", id(&before));
        let done = scene.patch(&path, json!({"name": "bugs"})).await;
        assert_eq!((done.status, done.json["name"].as_str()), (200, Some("bugs")), "{what}: {}", done.json);
        let read = scene.get(&path).await.expect(200);
        assert_eq!(read.text("name"), "bugs", "{what}: what is kept is the new value");
        scene.v1.finish();
    }
}

/// A v1 that reads from a replica of its database shows a new record only after a moment.
#[tokio::test]
async fn a_new_record_that_v1_does_not_show_yet_is_read_again() {
    let fields = causeway::translate::work_items::WHOLE;
    let gone = || json!({"error": "The requested resource does not exist."});
    let not_there = |path: &str| Exchange::get(path).reply(404, gone());
    for hidden_reads in [1, 3] {
        let (scene, made) = (Scene::new().await, label(json!({"name": "bug"})));
        scene.expect(Exchange::post(&format!("{V1}labels/")).reply(201, made.clone()));
        scene.expect(not_there(&one(&made)).times(hidden_reads));
        scene.expect(Exchange::get(&one(&made)).reply(200, made.clone()));
        assert_eq!(scene.post("labels/", json!({"name": "bug"})).await.expect(201).json["id"], made["id"]);
        scene.v1.finish();

        let (scene, made) = (Scene::new().await, record("work_items", "items_get_minimal", json!({})));
        let path = format!("{V1}work-items/{}/?{fields}", id(&made));
        scene.expect(Exchange::post(&format!("{V1}work-items/")).reply(201, made.clone()));
        scene.expect(not_there(&path).times(hidden_reads));
        scene.expect(Exchange::get(&path).reply(200, made.clone()));
        let answer = scene.post("work-items/", json!({"name": made["name"]})).await.expect(201);
        assert_eq!(answer.json["id"], made["id"]);
        scene.v1.finish();
    }
}

#[tokio::test]
async fn a_new_record_that_v1_never_shows_is_told_after_four_reads() {
    let (scene, made) = (Scene::new().await, label(json!({"name": "bug"})));
    scene.expect(Exchange::post(&format!("{V1}labels/")).reply(201, made.clone()));
    let gone = json!({"error": "The requested resource does not exist."});
    scene.expect(Exchange::get(&one(&made)).reply(404, gone).times(4));
    let answer = scene.post("labels/", json!({"name": "bug"})).await.expect_problem(502, "upstream_error");
    let detail = answer.text("detail");
    assert!(detail.contains("was created with the id") && detail.contains("read back"), "{detail}");
    assert!(detail.contains("it is not certain that everything was stored"), "{detail}");
    scene.v1.finish();
}

#[tokio::test]
async fn a_refusal_in_v1s_own_words_is_no_doubt() {
    let scene = Scene::new().await;
    scene.expect(Exchange::post(&format!("{V1}labels/")).recorded("labels", "labels_create_duplicate_name"));
    scene.post("labels/", json!({"name": "bug"})).await.expect_problem(409, "conflict");
    scene.expect(Exchange::post(&format!("{V1}labels/")).recorded("throttle", "throttle_limited_write"));
    let limited = scene.post("labels/", json!({"name": "bug"})).await.expect_problem(429, "rate_limited");
    assert_eq!(limited.headers["retry-after"], "60");
    scene.v1.finish();
}

/// v1 has moved the flag of the default state since the gateway read the list, and refuses the delete because of it.
/// The gateway then reads the list again.
#[tokio::test]
async fn a_write_that_v1_refused_is_not_told_as_perhaps_done_when_a_read_after_it_hangs() {
    let state = |id: &str, name: &str, default: bool| {
        record("states", "states_create_minimal", json!({"id": id, "name": name, "default": default}))
    };
    let first = state("00000000-0000-4000-8000-00000000000a", "first", true);
    let second = state("00000000-0000-4000-8000-00000000000b", "second", false);
    let (path, gate) = (format!("states/{}/", id(&second)), Gate::default());
    let states = || list("states", &[first.clone(), second.clone()]);
    let v1 = ScriptedV1::start().await;
    let gateway = Gateway::with(v1.base_url(), &[("limits.deadline", "2s")]).await;
    v1.expect(Exchange::get("users/me/").recorded("users", "users_me_admin").repeated());
    v1.expect(Exchange::get(&format!("{V1}{CARD}")).reply(200, card(Some(20))).repeated());
    v1.expect(states());
    gateway.get("ada", &web("states/")).await.expect(200);
    v1.expect(Exchange::delete(&format!("{V1}{path}")).recorded("states", "states_delete_default"));
    v1.expect(states().held(&gate));
    let told = gateway.delete("ada", &web(&path)).await.expect_problem(504, "deadline_exceeded");
    assert!(!told.text("detail").contains("may have been carried out"), "{}", told.json);
    gate.open();
    v1.finish();
}

#[tokio::test]
async fn only_v1s_own_throttle_is_waited_for_and_sent_again() {
    for (exchange, resent) in [
        (
            Exchange::post("x/").reply(429, json!({"error_code": 5900, "error_message": "RATE_LIMIT_EXCEEDED"})),
            true,
        ),
        (Exchange::post("x/").reply(429, json!({"detail": "slow down"})), false),
        (Exchange::post("x/").html(429, "slow down"), false),
    ] {
        let v1 = ScriptedV1::start().await;
        let gateway = Gateway::with(v1.base_url(), &[("upstream.quota", "60")]).await;
        v1.expect(Exchange::get("users/me/").recorded("users", "users_me_admin").repeated());
        v1.expect(Exchange::get(&format!("{V1}{}", CARD)).reply(200, card(Some(20))));
        v1.expect(exchange.at(&format!("{V1}labels/")).header("retry-after", "1"));
        v1.expect(list("labels", &[]).repeated());
        let made = label(json!({"name": "bug"}));
        if resent {
            v1.expect(Exchange::post(&format!("{V1}labels/")).reply(201, made.clone()));
            v1.expect(Exchange::get(&one(&made)).reply(200, made.clone()));
        }
        let answer = gateway.post("ada", &web("labels/"), json!({"name": "bug"})).await;
        let posts = v1.seen().iter().filter(|seen| seen.method == "POST").count();
        assert_eq!((posts, answer.status == 201), (1 + usize::from(resent), resent), "{}", answer.json);
        v1.finish();
    }
}

#[tokio::test]
async fn an_update_that_v1_answers_without_what_was_sent_is_looked_at() {
    let before = label(json!({"name": "bug"}));
    let path = format!("labels/{}/", id(&before));
    for answer in [json!({}), json!({"id": before["id"]}), label(json!({"name": null}))] {
        let scene = Scene::new().await;
        scene.expect(list("labels", std::slice::from_ref(&before)).repeated());
        scene.expect(Exchange::patch(&one(&before)).reply(200, answer));
        scene.expect(Exchange::get(&one(&before)).reply(200, label(json!({"name": "bugs"}))));
        let done = scene.patch(&path, json!({"name": "bugs"})).await.expect(200);
        assert_eq!(done.text("name"), "bugs");
        assert_eq!(scene.get(&path).await.expect(200).text("name"), "bugs");
        scene.v1.finish();
    }
}

#[tokio::test]
async fn an_update_that_v1_did_not_store_is_neither_answered_nor_kept() {
    let before = label(json!({"name": "bug"}));
    let path = format!("labels/{}/", id(&before));
    let scene = Scene::new().await;
    scene.expect(list("labels", std::slice::from_ref(&before)).times(2));
    scene.expect(Exchange::patch(&one(&before)).reply(200, json!({})));
    scene.expect(Exchange::get(&one(&before)).reply(200, before.clone()).repeated());
    told("not stored", &scene.patch(&path, json!({"name": "bugs"})).await);
    // Read from v1 again, not from the cache.
    scene.get(&path).await.expect(200);
    scene.v1.finish();
}

#[tokio::test]
async fn another_record_than_the_one_written_is_no_answer() {
    let before = label(json!({"name": "bug"}));
    let path = format!("labels/{}/", id(&before));
    let other = label(json!({"id": "00000000-0000-4000-8000-00000000abcd", "name": "bugs"}));
    let scene = Scene::new().await;
    scene.expect(list("labels", std::slice::from_ref(&before)).repeated());
    scene.expect(Exchange::patch(&one(&before)).reply(200, other.clone()));
    scene.expect(Exchange::get(&one(&before)).reply(200, other).repeated());
    told("another record", &scene.patch(&path, json!({"name": "bugs"})).await);
    scene.v1.finish();
}

#[tokio::test]
async fn another_record_than_the_one_asked_for_is_502_and_not_kept() {
    // The project card.
    let scene = Scene::unknown().await;
    scene.v1.expect(Exchange::get("users/me/").recorded("users", "users_me_admin").repeated());
    let mut card = card(Some(20));
    card["id"] = json!(SECRET);
    scene.expect(Exchange::get(&format!("{V1}{}", CARD)).reply(200, card).times(2));
    scene.get("states/").await.expect_problem(502, "upstream_error");
    scene.get("states/").await.expect_problem(502, "upstream_error");
    scene.v1.finish();
    // A work item, and one looked up by its number.
    let scene = Scene::new().await;
    let item = record("work_items", "items_get_minimal", json!({}));
    let asked = "00000000-0000-4000-8000-00000000abcd";
    let fields = causeway::translate::work_items::WHOLE;
    scene.expect(Exchange::get(&format!("{V1}work-items/{asked}/?{fields}")).reply(200, item.clone()).times(2));
    scene.get(&format!("work-items/{asked}/")).await.expect_problem(502, "upstream_error");
    scene.get(&format!("work-items/{asked}/")).await.expect_problem(502, "upstream_error");
    let key = "workspaces/acme/work-items/WEB-4711/";
    let mut named = item.clone();
    named["project"] = json!(PROJECT);
    scene.expect(Exchange::get(&format!("{key}?{fields},project")).reply(200, named).times(2));
    scene.gateway.get("ada", &format!("/api/v2/{key}")).await.expect_problem(502, "upstream_error");
    scene.get("work-items/?sequence_id=4711").await.expect_problem(502, "upstream_error");
    // A comment.
    let comment = record("comments", "comments_get", json!({}));
    scene.expect(Exchange::get(&format!("{V1}work-items/{}/?{fields}", id(&item))).reply(200, item.clone()));
    let place = format!("work-items/{}/comments/{asked}/", id(&item));
    scene.expect(Exchange::get(&format!("{V1}{place}")).reply(200, comment));
    scene.get(&place).await.expect_problem(502, "upstream_error");
    scene.v1.finish();
}

#[tokio::test]
async fn the_problem_of_a_read_says_nothing_of_writes() {
    for (what, answer) in answers_that_prove_nothing(|| Exchange::get(&list_target("labels"))) {
        let scene = Scene::new().await;
        scene.expect(answer.repeated());
        let read = scene.get("labels/").await;
        assert!(read.status >= 400, "{what}");
        let detail = read.text("detail").to_lowercase();
        assert!(!detail.contains("write") && !detail.contains("carried out"), "{what}: {detail}");
        scene.v1.finish();
    }
}

/// Writes on the pass-through that v1 never carried out: v1 refuses what has no key, or a wrong one, and a server
/// before it refuses what it cannot read.
#[tokio::test]
async fn a_pass_through_write_that_v1_cannot_have_carried_out_keeps_what_is_kept() {
    let (path, through) = (format!("{V1}labels/"), format!("{THROUGH}labels/"));
    let (bad_gateway, too_large) = ((502, "<h1>Bad Gateway</h1>"), (400, "<h1>Header Too Large</h1>"));
    for (headers, (status, page), kept) in [
        (vec![], bad_gateway, true),
        (vec![("x-api-key", "")], bad_gateway, true),
        (vec![("authorization", "Bearer ada")], bad_gateway, true),
        (vec![("x-api-key", "ada")], too_large, true),
        (vec![("x-api-key", "ada")], (414, ""), true),
        (vec![("x-api-key", "nobody")], bad_gateway, true),
        (vec![("x-api-key", "ada")], bad_gateway, false),
    ] {
        let scene = Scene::new().await;
        let read = list("labels", &[label(json!({"name": "bug"}))]);
        scene.expect(read.times(if kept { 1 } else { 2 }));
        scene.expect(Exchange::post(&path).html(status, page));
        scene.get("labels/").await.expect(200);
        scene.gateway.send_bare("POST", &through, &headers).await.expect(status);
        let calls = scene.get("labels/").await.expect(200).calls();
        assert_eq!(calls == 0, kept, "{headers:?} {status}: {calls} calls");
        scene.v1.finish();
    }
}

/// Sends the head of a write on the pass-through with a body of `length` bytes, on a connection of its own.
async fn posting(scene: &Scene, key: &str, length: usize) -> TcpStream {
    let address = scene.gateway.base().trim_start_matches("http://");
    let mut client = TcpStream::connect(address).await.expect("a connection");
    let head = format!("POST {THROUGH}labels/ HTTP/1.1\r\nHost: x\r\nX-Api-Key: {key}");
    client.write_all(format!("{head}\r\nContent-Length: {length}\r\n\r\n").as_bytes()).await.expect("sent");
    client
}

/// Checks whether the labels are read from v1 again.
async fn check_labels(scene: &Scene, are_kept: bool, what: &str) {
    let are_read_anew = async || scene.get("labels/").await.expect(200).calls() > 0;
    if are_kept {
        // Time to drop them wrongly.
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(!are_read_anew().await, "{what}");
    } else {
        until(what, are_read_anew).await;
    }
}

#[tokio::test]
async fn an_upload_that_is_broken_off_drops_what_is_kept_only_with_a_known_key() {
    for (key, kept) in [("nobody", true), ("ada", false)] {
        let scene = Scene::new().await;
        scene.expect(list("labels", &[label(json!({"name": "bug"}))]).times(if kept { 1 } else { 2 }));
        scene.get("labels/").await.expect(200);
        let called = scene.v1.calls();
        let mut client = posting(&scene, key, 1_000_000).await;
        client.write_all(&vec![b'a'; 16_400]).await.expect("sent");
        scene.v1.until_begun(called + 1).await;
        drop(client);
        scene.v1.until_broken_off(1).await;
        check_labels(&scene, kept, key).await;
        scene.v1.finish();
    }
}

#[tokio::test]
async fn a_pass_through_write_whose_client_leaves_counts_as_v1_answers_it() {
    let path = format!("{V1}labels/");
    let (wrong, made) = (("auth", "auth_wrong_key_write"), ("labels", "labels_create_minimal"));
    // While it is unknown whether v1 carries the write out, only one with a known key counts.
    let cases = [("k", wrong, [true, true]), ("k", made, [true, false]), ("ada", made, [false, false])];
    for (key, (file, name), [before, after]) in cases {
        let (scene, gate) = (Scene::new().await, Gate::default());
        scene.expect(list("labels", &[label(json!({"name": "bug"}))]).repeated());
        scene.expect(Exchange::post(&path).recorded(file, name).held(&gate));
        scene.get("labels/").await.expect(200);
        let called = scene.v1.calls();
        let client = posting(&scene, key, 0).await;
        scene.v1.until_called(called + 1).await;
        drop(client);
        check_labels(&scene, before, &format!("{key} {name}, no answer yet")).await;
        gate.open();
        check_labels(&scene, after, &format!("{key} {name}")).await;
        scene.v1.finish();
    }
}
