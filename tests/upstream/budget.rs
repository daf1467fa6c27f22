//! v1's quota as a budget: pacing by v1's own headers, priorities, and older data for reads.

use crate::support::captured::Captured;
use crate::support::gateway::{Answer, Gateway, WEB, serve_sandbox};
use crate::support::mixed::Reader;
use crate::support::past_gateway::ask_v1;
use crate::support::proofs::{card, get_card};
use crate::support::scripted::{Exchange, ScriptedV1};
use crate::upstream::{access_by, access_in_outages, caller, client_of, context, project_id};
use causeway::context::{Context, Priority};
use causeway::refusal::Refusal;
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::task::spawn;
use causeway::v1::{
    Budget, BudgetSettings, Client, Method, NotDone, Outcome, Quota, V1Error, V1Key, V1Request, V1Response,
};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn paced(base_url: &str, quota: usize, write_reserve: usize) -> Client {
    paced_in(Duration::from_secs(60), base_url, quota, write_reserve)
}

fn paced_in(window: Duration, base_url: &str, quota: usize, write_reserve: usize) -> Client {
    let service = Some(V1Key::new("own").id());
    let (quota, service_quota) = (Quota::Fixed(quota), Quota::Fixed(300));
    let settings = BudgetSettings { window, quota, service_quota, total: Quota::Unlimited, write_reserve, service };
    client_of(base_url).paced_by(Budget::new(settings))
}

fn me() -> Exchange {
    Exchange::get("users/me/").reply(200, json!({}))
}

async fn ask(client: &Client, key: &str, ctx: &Context) -> Result<V1Response, V1Error> {
    client.call(&V1Key::new(key), V1Request::get("users/me/", ""), ctx).await
}

fn wait_of(outcome: Result<V1Response, V1Error>) -> u64 {
    let Err(V1Error::Limited(shortage)) = outcome else { panic!("{outcome:?}") };
    shortage.wait.as_secs()
}

/// A reload may name another key of the gateway's own.
#[tokio::test]
async fn the_quota_of_the_own_key_goes_over_to_another_key_and_what_was_used_stays_used() {
    let v1 = ScriptedV1::start().await;
    v1.expect(me().repeated());
    let client = paced(v1.base_url(), 5, 0);
    for key in ["own", "other"] {
        for _ in 0..5 {
            ask(&client, key, &context()).await.expect("within the quota");
        }
    }
    client.budget.serve(Some(V1Key::new("other").id()));
    ask(&client, "other", &context()).await.expect("it is the gateway's own now");
    assert!(wait_of(ask(&client, "own", &context()).await) > 50);
    v1.finish();
}

#[tokio::test]
async fn no_more_calls_are_sent_than_the_quota_allows_each_key() {
    let v1 = ScriptedV1::start().await;
    v1.expect(me().repeated());
    let (client, begun) = (paced(v1.base_url(), 5, 0), Instant::now());
    for _ in 0..5 {
        ask(&client, "ada", &context()).await.expect("within the quota");
    }
    let wait = wait_of(ask(&client, "ada", &context()).await);
    assert!(wait < 60 && wait + begun.elapsed().as_secs() + 2 >= 60, "{wait}");
    ask(&client, "bob", &context()).await.expect("a quota of his own");
    for _ in 0..20 {
        ask(&client, "own", &context()).await.expect("the gateway's own key has another quota");
    }
    assert_eq!(v1.seen().iter().filter(|call| call.key.as_deref() == Some("ada")).count(), 5);
    v1.finish();
}

#[tokio::test]
async fn a_proof_that_waits_for_the_quota_is_not_replaced_by_an_older_one() {
    let v1 = ScriptedV1::start().await;
    v1.expect(get_card().reply(200, card(Some(20))));
    v1.expect(get_card().recorded("projects", "projects_get_private_by_non_member"));
    let client = paced_in(Duration::from_secs(3), v1.base_url(), 1, 0);
    let (access, clock) = access_in_outages(client, Duration::from_secs(300));
    let bob = caller("bob", 2);
    // A third of this deadline is shorter than the wait.
    let ctx = || Context::new("r", Duration::from_secs(6)).with_stale_allowed(true);
    access.project(&bob, "acme", project_id(), &ctx()).await.expect("a card");
    clock.advance(Duration::from_secs(31));
    let lost = access.project(&bob, "acme", project_id(), &ctx()).await.expect_err("bob has left meanwhile");
    assert_eq!(lost.code(), "resource_not_found");
    v1.finish();
}

/// Calls are counted where they arrive, in each window that begins with one of them, while more callers than the
/// quota allows send calls without a pause. Only the window is shorter than v1's minute.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_window_wherever_it_begins_sees_more_calls_than_the_quota() {
    const WINDOW: Duration = Duration::from_secs(3);
    const QUOTA: usize = 20;
    let v1 = ScriptedV1::start().await;
    v1.expect(me().repeated());
    let client = paced_in(WINDOW, v1.base_url(), QUOTA, 2);
    let until = Instant::now() + WINDOW * 4;
    let callers = [Priority::Index, Priority::Read, Priority::Read, Priority::Write].map(|priority| {
        let client = client.clone();
        spawn(async move {
            while Instant::now() < until {
                let _ = ask(&client, "ada", &context().with_priority(priority)).await;
                // Out of step with the other callers.
                tokio::time::sleep(Duration::from_millis(7)).await;
            }
        })
    });
    for caller in callers {
        caller.await.expect("a caller");
    }
    let arrived: Vec<Instant> = v1.seen().iter().map(|call| call.at).collect();
    let most = (0..arrived.len()).map(|first| {
        let window = arrived[first..].iter().take_while(|at| at.duration_since(arrived[first]) < WINDOW);
        window.count()
    });
    assert_eq!(most.max(), Some(QUOTA), "the quota is kept, and used: {} calls", arrived.len());
    assert!(arrived.len() > 2 * QUOTA, "{} calls", arrived.len());
    v1.finish();
}

#[tokio::test]
async fn the_remaining_quota_reported_by_v1_is_believed() {
    let v1 = ScriptedV1::start().await;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock").as_secs();
    let says = |left: u32, reset: u64| {
        me().header("x-ratelimit-remaining", &left.to_string())
            .header("x-ratelimit-reset", &(now + reset).to_string())
    };
    v1.expect(says(1, 45));
    let client = paced(v1.base_url(), 60, 0);
    ask(&client, "ada", &context()).await.expect("the first");
    v1.expect(says(0, 45));
    ask(&client, "ada", &context()).await.expect("the one that is left");
    assert!((30..=45).contains(&wait_of(ask(&client, "ada", &context()).await)), "until the reset v1 names");
    v1.finish();
}

#[tokio::test]
async fn a_429_is_waited_for_and_sent_again_writes_included() {
    let limited = |seconds: &str| {
        let body = json!({"error_code": 5900, "error_message": "RATE_LIMIT_EXCEEDED"});
        Exchange::post("labels/").reply(429, body).header("retry-after", seconds)
    };
    let v1 = ScriptedV1::start().await.in_order();
    v1.expect(limited("1"));
    v1.expect(Exchange::post("labels/").reply(201, json!({})));
    v1.expect(limited("45"));
    let client = paced(v1.base_url(), 60, 0);
    let write = || V1Request::write(Method::POST, "labels/", "{}");
    let (key, begun) = (V1Key::new("ada"), Instant::now());
    let done = client.write(&key, write(), &context(), None).await;
    assert!(matches!(done, Outcome::Done(answer) if answer.status == 201));
    assert!(begun.elapsed() >= Duration::from_secs(1));
    let begun = Instant::now();
    let Outcome::NotDone(NotDone::Refused(Refusal::RateLimited { retry_after, .. })) =
        client.write(&key, write(), &context(), None).await
    else {
        panic!("not limited")
    };
    assert!((44..=45).contains(&retry_after));
    assert!(begun.elapsed() < Duration::from_secs(20), "nobody waits in vain");
    v1.finish();
}

/// A call that many requests need is made once for all, with a deadline of its own; it waits for the quota longer
/// than some of the requests can.
#[tokio::test]
async fn a_caller_with_a_short_deadline_learns_when_the_quota_has_room() {
    let v1 = ScriptedV1::start().await;
    v1.expect(me().repeated());
    let client = paced_in(Duration::from_secs(8), v1.base_url(), 1, 0);
    let (access, _) = access_by(client.clone());
    ask(&client, "ada", &context()).await.expect("the only call for eight seconds");
    let (key, begun) = (V1Key::new("ada"), Instant::now());
    let hurried = Context::new("req-2", Duration::from_secs(4)).with_priority(Priority::Write);
    let outcome = access.owner_of(&key, &hurried).await;
    let Err(Refusal::RateLimited { retry_after, .. }) = outcome else { panic!("{outcome:?}") };
    // The time for the waiting call and for one more behind it.
    assert!((1..=16).contains(&retry_after), "{retry_after}");
    assert!(begun.elapsed() < Duration::from_millis(3900), "told before its deadline: {:?}", begun.elapsed());
    let patient = access.owner_of(&key, &context()).await;
    assert!(
        matches!(patient, Err(Refusal::UpstreamError { .. })),
        "what was asked for both was answered: {patient:?}"
    );
    assert_eq!(v1.seen().len(), 2, "asked once for both");
    v1.finish();
}

/// Otherwise a proof that waited half a minute would be too old on arrival, and would be requested again.
#[tokio::test]
async fn a_proof_that_waits_for_the_quota_counts_from_when_v1_is_asked() {
    let v1 = ScriptedV1::start().await;
    v1.expect(Exchange::get("users/me/").recorded("users", "users_me_admin").repeated());
    let client = paced_in(Duration::from_secs(6), v1.base_url(), 1, 0);
    let (access, clock) = access_by(client.clone());
    ask(&client, "ada", &context()).await.expect("the only call for six seconds");
    let (key, ctx) = (V1Key::new("ada"), context());
    assert!(access.owner_of(&key, &ctx).await.is_ok());
    assert_eq!(v1.calls(), 2);
    clock.advance(Duration::from_secs(61));
    assert!(access.owner_of(&key, &ctx).await.is_ok());
    assert_eq!(v1.calls(), 2, "asked some seconds after it was wanted");
    clock.advance(Duration::from_secs(30));
    assert!(access.owner_of(&key, &ctx).await.is_ok());
    assert_eq!(v1.calls(), 3);
    v1.finish();
}

#[tokio::test]
async fn the_reserve_is_for_writes_and_reads_are_not_held_up_by_the_index() {
    let v1 = ScriptedV1::start().await;
    v1.expect(me().repeated());
    let client = paced(v1.base_url(), 12, 4);
    let with = |priority| context().with_priority(priority);
    let mut made = Vec::new();
    for priority in [Priority::Index, Priority::Read, Priority::Write] {
        let mut calls = 0;
        while ask(&client, "ada", &with(priority)).await.is_ok() {
            calls += 1;
        }
        made.push(calls);
    }
    assert_eq!(made, [6, 2, 4]);
    assert_eq!(v1.calls(), 12);
    v1.finish();
}

/// A gateway before a sandbox, both with the same quota.
async fn gateway(quota: u32, work_items: usize, settings: &[(&str, &str)]) -> (Sandbox, Gateway) {
    let sandbox = Sandbox::new(Config {
        seed: Seed::Recorded,
        quota_per_minute: Some(quota),
        work_items,
        ..Config::default()
    });
    let base = serve_sandbox(&sandbox).await;
    let text = quota.to_string();
    let mut all = vec![("upstream.quota", text.as_str())];
    all.extend_from_slice(settings);
    let gateway = Gateway::with(&base, &all).await;
    (sandbox, gateway)
}

/// An operator who has raised v1's limit need not tell the gateway: an empty setting counts as none.
#[tokio::test]
async fn without_a_setting_v1s_own_figures_say_how_much_it_takes() {
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let base = serve_sandbox(&sandbox).await;
    let labels = format!("{WEB}/labels/");
    let unset = Gateway::with(&base, &[("upstream.quota", "")]).await;
    for number in 0..70 {
        unset.post("ada", &labels, json!({"name": format!("Label {number}")})).await.expect(201);
    }
    let set = Gateway::with(&base, &[("upstream.quota", "60"), ("limits.deadline", "2s")]).await;
    let mut made = 0;
    while set.post("ada", &labels, json!({"name": format!("Another {made}")})).await.status == 201 {
        made += 1;
    }
    assert!((10..60).contains(&made), "what was set is kept: {made}");
}

/// A v1 that was set to 5 calls a minute (`throttle_ok_1`) looks like one whose other 55 calls somebody else has made.
#[tokio::test]
async fn without_a_setting_reads_and_writes_share_what_a_v1_of_few_calls_leaves() {
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, quota_per_minute: Some(5), ..Config::default() });
    let base = serve_sandbox(&sandbox).await;
    let gateway = Gateway::with(&base, &[("upstream.quota", ""), ("limits.deadline", "10s")]).await;
    let states = gateway.get("ada", &format!("{WEB}/states/")).await.expect(200);
    assert_eq!(states.calls(), 3);
    let labels = format!("{WEB}/labels/");
    gateway.get("ada", &labels).await.expect_problem(429, "rate_limited");
    let made = gateway.post("ada", &labels, json!({"name": "Label"})).await.expect(201);
    assert_eq!(made.calls(), 2, "the rest is for writes");
    gateway.post("ada", &labels, json!({"name": "Another"})).await.expect_problem(429, "rate_limited");
    assert_eq!(sandbox.journal().iter().filter(|call| call.key.as_deref() == Some("ada")).count(), 5);
}

#[tokio::test]
async fn the_quota_of_all_keys_is_named_when_it_is_used_up() {
    let settings = [("upstream.total_quota", "9"), ("limits.deadline", "10s")];
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &settings).await;
    let mut answer = gateway.get("ada", &format!("{WEB}/labels/")).await;
    let mut number = 0;
    while answer.status < 400 && number < 9 {
        number += 1;
        answer = gateway.post("ada", &format!("{WEB}/labels/"), json!({"name": format!("Label {number}")})).await;
    }
    let refused = answer.expect_problem(429, "rate_limited");
    assert!(refused.text("detail").contains("that all keys share"), "{}", refused.json);
}

/// Body of a create that takes several calls.
fn several_calls(kind: &str, number: usize) -> serde_json::Value {
    let name = format!("{kind} {number}");
    match kind {
        "states" => json!({"name": name, "color": "#112233", "group": "started", "is_default": true}),
        "labels" => json!({"name": name, "sort_order": 7}),
        "cycles" => {
            json!({"name": name, "start_date": "2030-01-01T10:00:00Z", "end_date": "2030-01-09T10:00:00Z"})
        }
        _ => json!({"name": name}),
    }
}

/// Writes of several calls each, one after the other until the budget ends: v1 never has more records than were
/// answered with success, and no answer says that half of a write is done.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_of_several_calls_is_begun_only_when_it_can_be_ended() {
    for kind in ["states", "labels", "cycles", "work-items"] {
        for quota in 20..25 {
            let (sandbox, gateway) = gateway(quota, 0, &[("limits.deadline", "10s")]).await;
            let path = format!("{WEB}/{kind}/");
            let mut made = 0;
            let last = loop {
                let answer = gateway.post("ada", &path, several_calls(kind, made)).await;
                if answer.status != 201 {
                    break answer;
                }
                made += 1;
            };
            assert_eq!(last.status, 429, "{kind} {quota}: {}", last.json);
            assert!(made > 0, "{kind} {quota}");
            let posted = sandbox.journal().iter().filter(|call| call.method == "POST").count();
            assert_eq!(posted, made, "{kind} {quota}");
        }
    }
}

/// A write waits for its key's quota before its turn comes: a writer to the same collection with another key does not
/// wait for that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_without_quota_holds_up_no_write_with_another_key() {
    let (sandbox, gateway) = gateway(20, 0, &[("limits.deadline", "100s")]).await;
    let gateway = Arc::new(gateway);
    let path = format!("{WEB}/labels/");
    let ada = spawn({
        let (gateway, path) = (Arc::clone(&gateway), path.clone());
        async move {
            for number in 0.. {
                gateway.post("ada", &path, several_calls("labels", number)).await.expect(201);
            }
        }
    });
    let calls = || sandbox.journal().len();
    // Until she waits for the next minute.
    let mut before = 0;
    while before == 0 || before != calls() {
        before = calls();
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let others = gateway.post("bob", &path, json!({"name": "Another key"}));
    let made = tokio::time::timeout(Duration::from_secs(20), others).await.expect("no wait for another key");
    made.expect(201);
    assert!(!ada.is_finished(), "she waits still");
    ada.abort();
}

/// Ten calls a minute cannot build an index of seven pages for its reader; the gateway's own key does it, and the
/// reader's key only proves the access of its owner.
#[tokio::test]
async fn the_service_key_builds_the_index_for_readers_who_could_not() {
    let service = [("upstream.service_key", "service"), ("upstream.service_quota", "60")];
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, work_items: 6_000, ..Config::default() });
    let base = serve_sandbox(&sandbox).await;
    // A busy machine needs long for seven pages.
    let settings = [("upstream.quota", "5"), service[0], service[1], ("limits.deadline", "120s")];
    let gateway = Gateway::with(&base, &settings).await;
    let list = format!("{WEB}/work-items/?priority=high");
    gateway.get("bob", &list).await.expect(200);
    let by = |key: &str| {
        let calls = sandbox.journal().into_iter().filter(|call| call.key.as_deref() == Some(key));
        calls.map(|call| call.path.split('?').next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    let pages = |calls: &[String]| calls.iter().filter(|path| path.ends_with("/work-items/")).count();
    assert!(pages(&by("service")) >= 7, "{:?}", by("service"));
    assert_eq!(pages(&by("bob")), 0, "{:?}", by("bob"));
    assert!(by("bob").iter().any(|path| path.ends_with("/users/me/")), "bob's own key is proved: {:?}", by("bob"));
    // A caller without access to the project gets nothing from an existing index.
    gateway.get("eve", &list).await.expect_problem(404, "resource_not_found");
}

/// A build leaves some quota to others, but not when its own caller needs it: a small project is one page.
#[tokio::test]
async fn a_list_with_a_condition_takes_the_last_calls_as_one_without_does() {
    let (sandbox, gateway) = gateway(60, 3, &[]).await;
    for _ in 0..46 {
        ask_v1(&sandbox, "ada", "GET", "/api/v1/users/me/", &Value::Null);
    }
    let list = format!("{WEB}/work-items/?priority=none");
    let asked = gateway.get("ada", &list);
    let answer = tokio::time::timeout(Duration::from_secs(25), asked).await.expect("no wait for more quota");
    answer.expect(200);
}

#[tokio::test]
async fn a_write_goes_through_while_an_index_waits_to_be_built() {
    let (sandbox, gateway) = gateway(10, 6_000, &[]).await;
    gateway.get("ada", &format!("{WEB}/labels/")).await.expect(200);
    let path = format!("{WEB}/work-items/?priority=high");
    let list = gateway.get("ada", &path);
    let write = async {
        tokio::time::sleep(Duration::from_millis(700)).await;
        let made = gateway.post("ada", &format!("{WEB}/labels/"), json!({"name": "urgent"})).await;
        made.expect(201);
        assert!(sandbox.journal().len() <= 10);
    };
    // Seven pages cannot be read in time, and the waiting caller is refused at once.
    let (answer, ()) = tokio::join!(list, write);
    assert!(answer.headers.contains_key("retry-after"));
    answer.expect_problem(503, "index_building");
}

/// Uses up the quota for reads, as a pass-through client with the same key would.
async fn spend(gateway: &Gateway, calls: u32) {
    for _ in 0..calls {
        gateway.get("ada", "/api/v1/users/me/").await.expect(200);
    }
}

fn says_its_age(answer: &Answer) -> Option<u64> {
    let stale = answer.headers["server-timing"].contains("stale;desc=\"the v1 budget is short\"");
    let age = answer.headers.get("age").map(|age| age.parse().expect("whole seconds"));
    assert_eq!(stale, age.is_some(), "both or neither: {:?}", answer.headers);
    age
}

#[tokio::test]
async fn reads_make_do_with_older_data_and_say_so_while_the_quota_is_short() {
    let (_, gateway) = gateway(40, 0, &[("cache.collection", "100ms"), ("index.freshness", "100ms")]).await;
    let (states, list) =
        (format!("{WEB}/states/"), format!("{WEB}/work-items/?priority__in=urgent,high,medium,low,none"));
    let begun = Instant::now();
    gateway.get("ada", &states).await.expect(200);
    let rows = gateway.get("ada", &list).await.expect(200);
    let item = rows.data()[0]["id"].as_str().expect("an id").to_owned();
    tokio::time::sleep(Duration::from_millis(150)).await;
    let fresh = gateway.get("ada", &states).await.expect(200);
    assert_eq!((says_its_age(&fresh), fresh.calls()), (None, 1), "nothing changes while there is enough");
    spend(&gateway, 22).await;
    tokio::time::sleep(Duration::from_millis(1100)).await;
    for path in [&states, &list, &format!("{WEB}/work-items/{item}/")] {
        let answer = gateway.get("ada", path).await.expect(200);
        assert_eq!(answer.calls(), 0, "{path}");
        let oldest = begun.elapsed().as_secs() + 1;
        assert!(says_its_age(&answer).is_some_and(|age| (2..=oldest).contains(&age)), "{:?}", answer.headers);
    }
    let missing = gateway.get("ada", &format!("{WEB}/work-items/00000000-0000-4000-e000-0000000fffff/")).await;
    assert!(
        missing.expect_problem(404, "resource_not_found").calls() > 0,
        "v1 is asked whether something is missing"
    );
    // Own writes show at once, however short the quota.
    let made = gateway.post("ada", &format!("{WEB}/labels/"), json!({"name": "just made"})).await.expect(201);
    assert_eq!(says_its_age(&made), None);
    let labels = gateway.get("ada", &format!("{WEB}/labels/")).await.expect(200);
    assert!(labels.column("name").contains(&json!("just made")));
}

/// An import looks for an external pair before it creates a record, so that an older "no" would make a second one.
#[tokio::test]
async fn older_data_do_not_answer_that_there_is_no_record_with_a_pair_or_number() {
    let settings = [("cache.collection", "100ms"), ("index.freshness", "100ms")];
    let (sandbox, gateway) = gateway(60, 0, &settings).await;
    let pair = "external_id=9&external_source=jira";
    let lists = ["labels/", "work-items/"].map(|list| format!("{WEB}/{list}?{pair}"));
    let item = "00000000-0000-4000-e000-000000000001";
    let comments = format!("{WEB}/work-items/{item}/comments/?{pair}");
    let by_number = |number: u64| format!("{WEB}/work-items/?sequence_id={number}");
    gateway.get("ada", &format!("{WEB}/work-items/?search=a")).await.expect(200);
    for list in lists.iter().chain([&comments, &by_number(9999)]) {
        assert!(gateway.get("ada", list).await.expect(200).data().is_empty(), "{list}");
    }
    let is_short = async || {
        tokio::time::sleep(Duration::from_millis(110)).await;
        let states = gateway.get("ada", &format!("{WEB}/states/")).await.expect(200);
        states.headers["server-timing"].contains("the v1 budget is short")
    };
    while !is_short().await {
        spend(&gateway, 3).await;
    }
    let v1 = WEB.replace("/v2/", "/v1/");
    let at_v1 = |path: &str, body: Value| {
        let (status, made) = ask_v1(&sandbox, "bob", "POST", &format!("{v1}/{path}"), &body);
        assert_eq!(status, 201, "{made}");
        made
    };
    at_v1("labels/", json!({"name": "n", "external_id": "9", "external_source": "jira"}));
    let made = at_v1("work-items/", json!({"name": "n", "external_id": "9", "external_source": "jira"}));
    let comment = json!({"comment_html": "<p>n</p>", "external_id": "9", "external_source": "jira"});
    at_v1(&format!("work-items/{item}/comments/"), comment);
    tokio::time::sleep(Duration::from_millis(150)).await;
    let number = made["sequence_id"].as_u64().expect("a number");
    for list in lists.iter().chain([&comments, &by_number(number)]) {
        assert_eq!(gateway.get("ada", list).await.expect(200).data().len(), 1, "{list}");
    }
}

#[tokio::test]
async fn nothing_is_used_beyond_the_ceiling() {
    let settings = [("cache.collection", "100ms"), ("cache.stretch", "400ms")];
    let (_, gateway) = gateway(40, 0, &settings).await;
    let states = format!("{WEB}/states/");
    gateway.get("ada", &states).await.expect(200);
    spend(&gateway, 26).await;
    tokio::time::sleep(Duration::from_millis(450)).await;
    let answer = gateway.get("ada", &states).await.expect(200);
    assert_eq!((says_its_age(&answer), answer.calls()), (None, 1));
}

#[tokio::test]
async fn without_anything_kept_a_used_up_quota_is_429_with_the_true_time() {
    let (sandbox, gateway) = gateway(12, 0, &[]).await;
    let begun = Instant::now();
    gateway.get("ada", "/api/v2/users/me/").await.expect(200);
    spend(&gateway, 11).await;
    let asked = Instant::now();
    let answer = gateway.get("ada", &format!("{WEB}/states/")).await.expect_problem(429, "rate_limited");
    let wait: u64 = answer.headers["retry-after"].parse().expect("whole seconds");
    assert!(wait <= 60 && wait + begun.elapsed().as_secs() + 1 >= 60, "{wait}");
    assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
    assert_eq!(sandbox.journal().len(), 12, "v1 was not asked for what it would refuse");
    gateway.get("bob", &format!("{WEB}/states/")).await.expect(200);
}

/// The minute passes on a stopped clock. Every pass-through call with a key counts, whatever v1 answers; a call
/// without a key uses no key's quota.
#[tokio::test]
async fn once_a_minute_the_log_says_who_spent_the_quota_the_pass_through_included() {
    let captured = Captured::default();
    let _listening = captured.listen();
    let (sandbox, gateway) = gateway(40, 0, &[]).await;
    gateway.get("ada", "/api/v2/users/me/").await.expect(200);
    spend(&gateway, 3).await;
    gateway.get("ada", "/api/v1/nothing/").await.expect(404);
    gateway.post("bob", "/api/v1/users/me/", json!({})).await.expect(405);
    gateway.send(None, "GET", "/api/v1/users/me/", None).await.expect(401);
    assert_eq!(sandbox.journal().len(), 7);
    tokio::time::pause();
    for _ in 0..2 {
        tokio::time::advance(Duration::from_secs(61)).await;
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }
    let text = captured.text();
    let told: Vec<&str> = text.lines().filter(|line| line.contains("v1 calls of the last minute")).collect();
    assert_eq!(told.len(), 1, "a minute without a call is not told: {told:?}");
    assert!(told[0].contains("\"pass_through of 0000000000000000: 5, users_me_retrieve of "), "{}", told[0]);
    assert!(told[0].trim_end().ends_with(": 1\""), "{}", told[0]);
}

/// The short form of the bench `budget`: no clock, only counts.
#[tokio::test]
async fn hundreds_of_mixed_reads_stay_within_the_quota_without_one_429() {
    let sandbox =
        Sandbox::new(Config { seed: Seed::Demo, quota_per_minute: Some(60), work_items: 300, ..Config::default() });
    let base = serve_sandbox(&sandbox).await;
    let gateway = Gateway::with(&base, &[("upstream.quota", "60")]).await;
    let reader = Reader::of(&sandbox, &gateway).await;
    let (mut reads, begun) = (0, Instant::now());
    while reads < 600 && begun.elapsed() < Duration::from_secs(50) {
        for path in reader.round(reads) {
            let answer = gateway.get(&reader.key, &path).await;
            assert_eq!(answer.status, 200, "{path}: {} after {reads} reads", answer.json);
            reads += 1;
        }
    }
    assert!(reads >= 300, "{reads}");
    assert!(sandbox.journal().len() <= 60, "{} v1 calls", sandbox.journal().len());
}
