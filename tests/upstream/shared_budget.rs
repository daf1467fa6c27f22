//! One quota of v1 for several processes: budgets that share a Redis, and budgets that know the number of processes.

use crate::support::redis::Redis;
use crate::support::scripted::{Exchange, ScriptedV1};
use crate::support::switch::until;
use crate::upstream::{client_of, context};
use causeway::context::{Context, Priority};
use causeway::shared::{Script, Shared, Unusable};
use causeway::task::spawn;
use causeway::v1::{
    Budget, BudgetSettings, Client, Method, NotDone, Outcome, Processes, Quota, V1Error, V1Key, V1Request,
    V1Response, told,
};
use http::HeaderMap;
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest wait for an answer of Redis: also a busy machine answers in time.
const TIMEOUT: Duration = Duration::from_secs(2);
const MINUTE: Duration = Duration::from_secs(60);

fn settings(window: Duration, quota: Quota, total: Quota) -> BudgetSettings {
    BudgetSettings { window, quota, service_quota: quota, total, write_reserve: 0, service: None }
}

/// Returns a connection to Redis, a budget and a client for each of three processes.
async fn three(redis: &Redis, v1: &ScriptedV1, settings: &BudgetSettings) -> Vec<(Shared, Client)> {
    let mut all = Vec::new();
    for _ in 0..3 {
        let shared = Shared::open(&redis.url(), v1.base_url(), TIMEOUT).await.expect("a shared place");
        let processes: Arc<dyn Processes> = Arc::new(shared.clone());
        let budget = Budget::among(settings.clone(), Some(shared.clone()), Some(processes));
        all.push((shared, client_of(v1.base_url()).paced_by(budget)));
    }
    all
}

fn me() -> Exchange {
    Exchange::get("users/me/").reply(200, json!({}))
}

async fn ask(client: &Client, key: &str, ctx: &Context) -> Result<V1Response, V1Error> {
    client.call(&V1Key::new(key), V1Request::get("users/me/", ""), ctx).await
}

/// A context for a call that does not wait for quota.
fn impatient() -> Context {
    Context::new("req-2", Duration::from_secs(10))
}

/// Makes calls until one would have to wait, and returns their number.
async fn use_up(client: &Client, key: &str) -> usize {
    let mut made = 0;
    while ask(client, key, &impatient()).await.is_ok() {
        made += 1;
    }
    made
}

async fn they_know_each_other(all: &[(Shared, Client)]) {
    until("three that know each other", async || all.iter().all(|(shared, _)| shared.processes() == 3)).await;
}

async fn redis_is_back(all: &[(Shared, Client)]) {
    until("Redis is back", async || all.iter().all(|(shared, _)| shared.is_up())).await;
}

/// Stops Redis, until all processes have noticed.
async fn stop(redis: &mut Redis, all: &[(Shared, Client)]) {
    redis.stop();
    until("nobody thinks that Redis is there", async || all.iter().all(|(shared, _)| !shared.is_up())).await;
}

/// Starts Redis again, until all processes have noticed.
async fn start_again(redis: &mut Redis, all: &[(Shared, Client)]) {
    redis.start_again();
    redis_is_back(all).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_window_sees_more_calls_than_the_quota_whoever_makes_them() {
    const WINDOW: Duration = Duration::from_secs(3);
    const QUOTA: usize = 20;
    let (redis, v1) = (Redis::start(), ScriptedV1::start().await);
    v1.expect(me().repeated());
    let all = three(&redis, &v1, &settings(WINDOW, Quota::Fixed(QUOTA), Quota::Unlimited)).await;
    let until = Instant::now() + WINDOW * 4;
    let callers: Vec<_> = all
        .iter()
        .flat_map(|(_, client)| [Priority::Read, Priority::Write].map(|priority| (client.clone(), priority)))
        .map(|(client, priority)| {
            spawn(async move {
                while Instant::now() < until {
                    let _ = ask(&client, "ada", &context().with_priority(priority)).await;
                    tokio::time::sleep(Duration::from_millis(7)).await;
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.expect("a caller");
    }
    let arrived: Vec<Instant> = v1.seen().iter().map(|call| call.at).collect();
    let most = (0..arrived.len())
        .map(|first| arrived[first..].iter().take_while(|at| at.duration_since(arrived[first]) < WINDOW).count());
    assert_eq!(most.max(), Some(QUOTA), "the quota is kept, and used: {} calls", arrived.len());
    assert!(arrived.len() > 3 * QUOTA, "{} calls", arrived.len());
    v1.finish();
}

/// Redis is asked for the time in whole milliseconds, and v1's window has no such steps. Each round has processes of
/// its own, so that only Redis knows of the call before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_counts_to_the_last_part_of_the_last_millisecond() {
    const WINDOW: Duration = Duration::from_millis(20);
    let redis = Redis::start();
    let shared = Shared::open(&redis.url(), "http://v1.test", TIMEOUT).await.expect("a shared place");
    let at_once = || Context::new("req-1", Duration::ZERO).with_priority(Priority::Write);
    for round in 0..60 {
        let key = V1Key::new(&format!("key-{round}")).id();
        let process =
            || Budget::among(settings(WINDOW, Quota::Fixed(1), Quota::Unlimited), Some(shared.clone()), None);
        let call = process().admit(key, &at_once()).await.expect("the first call");
        let answered = Instant::now();
        call.answered(&told(200, &HeaderMap::new()));
        let next = loop {
            assert!(answered.elapsed() < Duration::from_secs(10), "never again");
            if let Ok(next) = process().admit(key, &at_once()).await {
                break next;
            }
        };
        let after = answered.elapsed();
        next.not_sent();
        assert!(after >= WINDOW, "round {round}: {after:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_process_may_use_all_of_it_and_each_key_has_its_own() {
    let (redis, v1) = (Redis::start(), ScriptedV1::start().await);
    v1.expect(me().repeated());
    let all = three(&redis, &v1, &settings(MINUTE, Quota::Fixed(10), Quota::Unlimited)).await;
    assert_eq!(use_up(&all[0].1, "ada").await, 10, "nothing is set aside for the others");
    for (_, client) in &all {
        let wait = ask(client, "ada", &impatient()).await.map(drop);
        assert!(matches!(wait, Err(V1Error::Limited(short)) if short.wait > Duration::from_secs(50)), "{wait:?}");
    }
    assert_eq!(use_up(&all[1].1, "bob").await, 10);
    v1.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quota_learned_by_one_process_is_known_to_all() {
    let (redis, v1) = (Redis::start(), ScriptedV1::start().await);
    v1.expect(me().header("x-ratelimit-remaining", "599").repeated());
    let all = three(&redis, &v1, &settings(MINUTE, Quota::AtLeast(5), Quota::Unlimited)).await;
    for _ in 0..30 {
        ask(&all[0].1, "ada", &impatient()).await.expect("v1 has shown that it takes more");
    }
    ask(&all[1].1, "ada", &impatient()).await.expect("which the second hears before it has called v1 itself");
    v1.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_429_that_one_gets_holds_all_back() {
    let (redis, v1) = (Redis::start(), ScriptedV1::start().await);
    let limited = json!({"error_code": 5900, "error_message": "RATE_LIMIT_EXCEEDED"});
    v1.expect(Exchange::post("labels/").reply(429, limited).header("retry-after", "30"));
    let all = three(&redis, &v1, &settings(MINUTE, Quota::Fixed(10), Quota::Unlimited)).await;
    let write = V1Request::write(Method::POST, "labels/", "{}");
    let outcome = all[0].1.write(&V1Key::new("ada"), write, &impatient(), None).await;
    assert!(matches!(outcome, Outcome::NotDone(NotDone::Refused(_))), "{outcome:?}");
    // The message is sent without waiting for it.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let wait = ask(&all[1].1, "ada", &impatient()).await.map(drop);
    assert!(matches!(wait, Err(V1Error::Limited(short)) if short.wait > Duration::from_secs(20)), "{wait:?}");
    assert_eq!(v1.calls(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_redis_is_away_each_has_its_even_part() {
    let (mut redis, v1) = (Redis::start(), ScriptedV1::start().await);
    v1.expect(me().repeated());
    let all = three(&redis, &v1, &settings(MINUTE, Quota::Fixed(12), Quota::Unlimited)).await;
    they_know_each_other(&all).await;
    stop(&mut redis, &all).await;
    for (_, client) in &all {
        assert_eq!(use_up(client, "ada").await, 4);
    }
    start_again(&mut redis, &all).await;
    assert_eq!(use_up(&all[0].1, "bob").await, 12);
    v1.finish();
}

/// The number of processes that the store knows.
#[derive(Debug)]
struct InStore(usize);

impl Processes for InStore {
    fn processes(&self) -> usize {
        self.0
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_others_leave_an_even_part_to_one_that_does_not_reach_redis() {
    let (redis, v1) = (Redis::start(), ScriptedV1::start().await);
    v1.expect(me().repeated());
    let settings = settings(MINUTE, Quota::Unlimited, Quota::Fixed(12));
    let mut all = Vec::new();
    for reaches in [true, true, false] {
        let pool = match reaches {
            true => Some(Shared::open(&redis.url(), v1.base_url(), TIMEOUT).await.expect("a shared place")),
            false => None,
        };
        let budget = Budget::among(settings.clone(), pool.clone(), Some(Arc::new(InStore(3))));
        all.push((pool, client_of(v1.base_url()).paced_by(budget)));
    }
    let pools: Vec<&Shared> = all.iter().filter_map(|(pool, _)| pool.as_ref()).collect();
    until("two that know each other", async || pools.iter().all(|pool| pool.processes() == 2)).await;
    assert_eq!(use_up(&all[2].1, "ada").await, 4);
    assert_eq!(use_up(&all[0].1, "ada").await, 8);
    assert_eq!(use_up(&all[1].1, "ada").await, 0);
    v1.finish();
}

/// A process believes for a whole window how much of the quota the others had used when it last asked Redis.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_redis_is_away_earlier_calls_of_the_others_still_count() {
    let (mut redis, v1) = (Redis::start(), ScriptedV1::start().await);
    v1.expect(me().repeated());
    let all = three(&redis, &v1, &settings(MINUTE, Quota::Fixed(12), Quota::Unlimited)).await;
    they_know_each_other(&all).await;
    for _ in 0..6 {
        ask(&all[0].1, "ada", &impatient()).await.expect("half of the quota");
    }
    ask(&all[1].1, "ada", &impatient()).await.expect("a call of another process");
    assert_eq!(use_up(&all[0].1, "bob").await, 12);
    assert_eq!(use_up(&all[1].1, "bob").await, 0);
    stop(&mut redis, &all).await;
    assert_eq!(use_up(&all[1].1, "ada").await, 2, "the six that were left are for the second and the third");
    assert_eq!(use_up(&all[0].1, "ada").await, 0);
    for (_, client) in &all[..2] {
        assert_eq!(use_up(client, "bob").await, 0, "also a refusal tells how much was used");
    }
    v1.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_made_while_redis_is_away_count_when_it_is_back() {
    let (mut redis, v1) = (Redis::start(), ScriptedV1::start().await);
    v1.expect(me().repeated());
    let all = three(&redis, &v1, &settings(MINUTE, Quota::Fixed(12), Quota::Unlimited)).await;
    they_know_each_other(&all).await;
    stop(&mut redis, &all).await;
    for key in ["ada", "bob"] {
        assert_eq!(use_up(&all[0].1, key).await, 4);
    }
    start_again(&mut redis, &all).await;
    // The first process reports them although it makes no further call.
    until("Redis knows of the calls", async || redis.contents().matches(":quota:").count() >= 2).await;
    for key in ["ada", "bob"] {
        assert_eq!(use_up(&all[1].1, key).await, 8);
        assert_eq!(use_up(&all[0].1, key).await, 0);
    }
    v1.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_redis_is_waited_for_as_long_as_is_set_and_then_counts_as_away() {
    const WAIT: Duration = Duration::from_millis(300);
    static NOTHING: Script = Script::new("return 1");
    let redis = Redis::start();
    let shared = Shared::open(&redis.url(), "http://v1.test", WAIT).await.expect("a shared place");
    let ask = || shared.run_one(NOTHING.on(["causeway:test:nothing:{all}"]));
    ask().await.expect("an answer");
    redis::cmd("CLIENT").arg("PAUSE").arg(60_000).exec(&mut redis.connection()).expect("a pause");
    let asked = Instant::now();
    ask().await.expect_err("no answer");
    assert!(asked.elapsed() >= WAIT, "{:?}", asked.elapsed());
    while shared.is_up() {
        assert!(asked.elapsed() < Duration::from_secs(20), "Redis still counts as there");
        ask().await.expect_err("no answer");
    }
}

/// As after a failover, in which the old server becomes a replica and keeps its connections.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_takes_no_writes_any_more_counts_as_away() {
    let (redis, v1) = (Redis::start(), ScriptedV1::start().await);
    v1.expect(me().repeated());
    let all = three(&redis, &v1, &settings(MINUTE, Quota::Fixed(12), Quota::Unlimited)).await;
    they_know_each_other(&all).await;
    for _ in 0..6 {
        ask(&all[0].1, "cyd", &impatient()).await.expect("half of what all may use together");
    }
    redis::cmd("REPLICAOF").arg("127.0.0.1").arg(1).exec(&mut redis.connection()).expect("a replica");
    let more = ask(&all[0].1, "cyd", &impatient()).await.map(drop);
    assert!(matches!(more, Err(V1Error::Limited(_))), "before anybody has noticed too: {more:?}");
    for (_, client) in &all {
        assert_eq!(use_up(client, "ada").await, 4);
    }
    assert!(all.iter().all(|(shared, _)| !shared.is_up()));
    let told = Shared::look(&redis.url(), TIMEOUT).await.expect("a Redis").expect("why it cannot be used");
    assert!(matches!(&told, Unusable::Refusing(cause) if cause.contains("read only")), "{told:?}");
    redis::cmd("REPLICAOF").arg("NO").arg("ONE").exec(&mut redis.connection()).expect("a master");
    redis_is_back(&all).await;
    assert_eq!(use_up(&all[0].1, "bob").await, 12);
    v1.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_quota_of_all_keys_holds_for_all_processes() {
    let (redis, v1) = (Redis::start(), ScriptedV1::start().await);
    v1.expect(me().repeated());
    let all = three(&redis, &v1, &settings(MINUTE, Quota::Fixed(60), Quota::Fixed(8))).await;
    let mut made = 0;
    for (number, (_, client)) in all.iter().enumerate() {
        for key in 0..3 {
            made += usize::from(ask(client, &format!("key-{number}-{key}"), &impatient()).await.is_ok());
        }
    }
    assert_eq!(made, 8);
    // The first process made its calls long ago; it learns of the others at its next read.
    let (budget, anybody) = (&all[0].1.budget, V1Key::new("anybody").id());
    until("reads make do with what is kept", async || budget.is_short(anybody)).await;
    v1.finish();
}

#[tokio::test]
async fn the_quota_of_all_keys_needs_no_redis() {
    let v1 = ScriptedV1::start().await;
    v1.expect(me().repeated());
    let client =
        client_of(v1.base_url()).paced_by(Budget::new(settings(MINUTE, Quota::Unlimited, Quota::Fixed(3))));
    for key in ["ada", "bob", "cyd"] {
        ask(&client, key, &impatient()).await.expect("within the quota");
    }
    let wait = ask(&client, "dee", &impatient()).await.map(drop);
    assert!(matches!(wait, Err(V1Error::Limited(_))), "{wait:?}");
    v1.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_not_made_after_all_is_given_back() {
    let (redis, v1) = (Redis::start(), ScriptedV1::start().await);
    v1.expect(me().repeated());
    let all = three(&redis, &v1, &settings(MINUTE, Quota::Fixed(4), Quota::Unlimited)).await;
    let (key, ctx) = (V1Key::new("ada").id(), impatient());
    let room = all[0].1.budget.keep_room(key, 3, &ctx).await.expect("room");
    assert_eq!(use_up(&all[1].1, "ada").await, 1, "the others have what is left");
    drop(room);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(use_up(&all[2].1, "ada").await, 3);
    v1.finish();
}
