//! Proofs of access through three processes that share a Redis: asked for once, ended at once, and unreadable.

use super::child::Child;
use super::client;
use super::support::exchange::Exchange;
use super::support::proofs::{V1, card, get_card, me};
use super::support::redis::Redis;
use super::support::scripted::ScriptedV1;
use super::support::switch::until;
use causeway::task::spawn;
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time in which each key reads once.
const TURN: Duration = Duration::from_secs(10);
/// Longest wait for an expected event.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time in which a busy machine delivers a message of one process to the others.
const DELIVERED: Duration = Duration::from_secs(2);
const SECRET: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
const LABELS: &str = "/api/v2/workspaces/acme/projects/00000000-0000-4000-c000-000000000001/labels/";
const MEMBERS: &str = "/api/v2/workspaces/acme/members/";
const ROSTER: &str = "workspaces/acme/members/";
const PROJECTS: &str = "workspaces/acme/projects/?per_page=1&fields=workspace";
const V1_LABELS: &str = "labels/?per_page=1000&fields=id,name,description,color,sort_order,parent,external_id,\
                         external_source,created_at,created_by";

/// Three gateways before one v1.
struct Three {
    children: Vec<Child>,
    client: reqwest::Client,
    _folder: tempfile::TempDir,
}

impl Three {
    async fn with(redis: &Redis, v1: &ScriptedV1, env: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (url, called) = (redis.url(), v1.calls());
        let mut children = Vec::new();
        for number in 0..3 {
            let store = format!("sqlite:{}", folder.path().join(format!("{number}.db")).display());
            let env = [&[("CAUSEWAY_SHARED__URL", url.as_str())], env].concat();
            children.push(Child::start_with(v1.base_url(), &store, &env).await);
        }
        // Each process asks at its start whether v1 answers.
        v1.until_called(called + 3).await;
        Self { children, client: client(), _folder: folder }
    }

    async fn get(&self, which: usize, key: &str) -> u16 {
        self.get_at(LABELS, which, key).await
    }

    async fn get_at(&self, path: &str, which: usize, key: &str) -> u16 {
        let url = format!("{}{path}", self.children[which].base());
        let answer = self.client.get(url).header("X-Api-Key", key).send().await.expect("an answer");
        answer.status().as_u16()
    }
}

fn labels() -> Exchange {
    let nothing = json!({"total_count": 0, "next_page_results": false, "results": []});
    Exchange::get(&format!("{V1}{V1_LABELS}")).reply(200, nothing)
}

/// A list that is not empty: for an empty one a proof must be newer.
fn one_label() -> Exchange {
    let label = json!({"id": "00000000-0000-4000-d000-000000000001", "name": "bug", "description": "", "color": "",
        "sort_order": 65535.0, "parent": null, "external_id": null, "external_source": null,
        "created_at": "2026-01-01T00:00:00Z", "created_by": null});
    let list = json!({"total_count": 1, "next_page_results": false, "results": [label]});
    Exchange::get(&format!("{V1}{V1_LABELS}")).reply(200, list)
}

async fn willing() -> ScriptedV1 {
    let v1 = ScriptedV1::start().await;
    v1.expect(me().repeated());
    v1.expect(get_card().reply(200, card(Some(15))).repeated());
    v1.expect(labels().repeated());
    v1
}

fn calls(v1: &ScriptedV1, path: &str) -> usize {
    v1.seen().iter().filter(|call| call.target.starts_with(path)).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_hundred_keys_are_proven_once_whatever_process_they_come_to() {
    const KEYS: usize = 400;
    let (redis, v1) = (Redis::start(), willing().await);
    let three = Arc::new(Three::with(&redis, &v1, &[("CAUSEWAY_SECRETS__KEY", SECRET)]).await);
    // Each key at all three at the same time, ten keys at once.
    for keys in (0..KEYS).collect::<Vec<_>>().chunks(10) {
        let reads: Vec<_> = keys
            .iter()
            .flat_map(|key| (0..3).map(move |which| (*key, which)))
            .map(|(key, which)| {
                let three = Arc::clone(&three);
                spawn(async move { three.get(which, &format!("key-{key}")).await })
            })
            .collect();
        for read in reads {
            assert_eq!(read.await.expect("an answer"), 200);
        }
    }
    let (identities, cards) = (calls(&v1, "users/me/"), calls(&v1, &format!("{V1}?fields=")));
    println!("{} calls of v1: {identities} identities, {cards} cards", v1.calls());
    let once = 2 * KEYS;
    assert!(identities >= KEYS && cards >= KEYS, "{identities} identities and {cards} cards prove {KEYS} keys");
    assert!(identities + cards <= once + once / 20, "{identities} identities and {cards} cards for {KEYS} keys");
}

/// The process has a proof of its own, but another process has obtained a newer one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proof_of_another_process_is_looked_up_once() {
    const READS: u64 = 40;
    let (redis, v1) = (Redis::start(), willing().await);
    // Long enough for all reads on a busy machine.
    let env = [("CAUSEWAY_SECRETS__KEY", SECRET), ("CAUSEWAY_CACHE__CARD", "10s")];
    let three = Three::with(&redis, &v1, &env).await;
    assert_eq!(three.get(0, "ada").await, 200);
    tokio::time::sleep(Duration::from_millis(10_100)).await;
    assert_eq!(three.get(1, "ada").await, 200);
    let card = format!("{V1}?fields=");
    assert_eq!(calls(&v1, &card), 2, "the first proof was over");
    let (before, begun) = (redis.scripts_run(), Instant::now());
    for _ in 0..READS {
        assert_eq!(three.get(0, "ada").await, 200);
    }
    let run = redis.scripts_run() - before;
    assert_eq!(calls(&v1, &card), 2, "the second serves both");
    // Each of three processes also runs one a second, as a sign of life.
    let most = READS / 4 + 3 * (begun.elapsed().as_secs() + 2);
    assert!(run < most, "{run} scripts were run for {READS} requests, {most} are too many");
}

/// Each key reads once in ten seconds, through the processes in turn, in a long run for longer than the quota's window.
/// Proofs are never stretched, so that they use up a small quota; a caller without room is told when to come again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_keys_together_keep_to_the_total_quota() {
    let long = std::env::var_os("LONG_TESTS").is_some();
    let (keys, total, rounds) = if long { (400, 600, 18) } else { (40, 60, 2) };
    let (redis, v1) = (Redis::start(), willing().await);
    let quota = total.to_string();
    let env = [
        ("CAUSEWAY_SECRETS__KEY", SECRET),
        ("CAUSEWAY_UPSTREAM__TOTAL_QUOTA", quota.as_str()),
        ("CAUSEWAY_LIMITS__DEADLINE", if long { "30s" } else { "15s" }),
    ];
    let three = Arc::new(Three::with(&redis, &v1, &env).await);
    let readers: Vec<_> = (0..keys)
        .map(|key: usize| {
            let three = Arc::clone(&three);
            spawn(async move {
                let mut answers = Vec::new();
                tokio::time::sleep(TURN * u32::try_from(key).expect("a number") / keys as u32).await;
                let mut turns = tokio::time::interval(TURN);
                for round in 0..rounds {
                    turns.tick().await;
                    answers.push(three.get((key + round) % 3, &format!("key-{key}")).await);
                }
                answers
            })
        })
        .collect();
    let (mut answered, mut told) = (0, 0);
    for reader in readers {
        for status in reader.await.expect("a reader") {
            match status {
                200 => answered += 1,
                429 => told += 1,
                status => panic!("{status}"),
            }
        }
    }
    let at: Vec<Instant> = v1.seen().iter().map(|call| call.at).collect();
    let within = |from: Instant, at: Instant| at >= from && at - from < Duration::from_secs(60);
    let minute = |from: &Instant| at.iter().filter(|at| within(*from, **at)).count();
    let most = at.iter().map(minute).max().unwrap_or_default();
    println!("{answered} answered, {told} told to wait; {} calls of v1, {most} in the fullest minute", at.len());
    assert!(most <= total, "{most} calls in a minute");
    assert!(most >= total * 9 / 10, "the quota is used: {most}");
    assert!(answered >= total / 2, "{answered} answered");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_ends_what_the_others_have_proven() {
    let (redis, v1) = (Redis::start(), ScriptedV1::start().await);
    v1.expect(me().times(4));
    v1.expect(get_card().reply(200, card(Some(15))));
    v1.expect(labels().times(3));
    let env = [("CAUSEWAY_SECRETS__KEY", SECRET), ("CAUSEWAY_CACHE__COLLECTION", "0s")];
    let three = Three::with(&redis, &v1, &env).await;
    until("all hear of refusals", async || redis.subscriptions() == 3).await;
    for which in 0..3 {
        assert_eq!(three.get(which, "bob").await, 200);
    }
    assert_eq!(v1.calls(), 3 + 5, "one identity, one card and three lists");
    // From now on v1 refuses the key; the first process learns it from the list that it wants to read.
    let invalid = json!({"detail": "Given API token is not valid"});
    v1.expect(labels().reply(403, invalid.clone()));
    v1.expect(me().reply(403, invalid.clone()).repeated());
    assert_eq!(three.get(0, "bob").await, 401);
    tokio::time::sleep(DELIVERED).await;
    for which in [1, 2] {
        assert_eq!(three.get(which, "bob").await, 401, "the identity is asked for again");
    }
    assert_eq!(calls(&v1, &format!("{V1}labels/")), 4, "nobody got as far as the list");
    v1.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_who_lost_a_project_sees_it_through_no_process() {
    let (redis, v1) = (Redis::start(), ScriptedV1::start().await);
    v1.expect(me().times(4));
    v1.expect(get_card().reply(200, card(Some(15))));
    v1.expect(one_label().repeated());
    let env = [("CAUSEWAY_SECRETS__KEY", SECRET), ("CAUSEWAY_CACHE__CARD", "20s")];
    let three = Three::with(&redis, &v1, &env).await;
    assert_eq!(three.get(0, "bob").await, 200);
    let proven = tokio::time::Instant::now();
    tokio::time::sleep(Duration::from_secs(5)).await;
    // The second process has the proof of the first, with its age.
    assert_eq!(three.get(1, "bob").await, 200);
    let gone = json!({"detail": "gone"});
    v1.expect(get_card().reply(404, gone).repeated());
    tokio::time::sleep_until(proven + Duration::from_millis(20_100)).await;
    for which in 0..3 {
        assert_eq!(three.get(which, "bob").await, 404, "the proof of the first is twenty seconds old everywhere");
    }
}

/// The members of the workspace with ada, the caller, among them.
fn roster() -> Exchange {
    let ada = json!({"id": "00000000-0000-4000-a000-000000000001", "first_name": "Ada", "last_name": "Admin",
        "email": "ada@acme.test", "avatar": "", "avatar_url": null, "display_name": "ada", "role": 20});
    Exchange::get(ROSTER).reply(200, json!([ada]))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workspace_is_proven_once_and_a_refusal_counts_everywhere() {
    const KEYS: usize = 40;
    let (redis, v1) = (Redis::start(), ScriptedV1::start().await);
    v1.expect(me().repeated());
    v1.expect(roster().times(KEYS as u32));
    v1.expect(
        Exchange::get(PROJECTS)
            .reply(200, json!({"results": [{"workspace": "00000000-0000-4000-b000-000000000001"}]}))
            .repeated(),
    );
    let env = [("CAUSEWAY_SECRETS__KEY", SECRET), ("CAUSEWAY_CACHE__CARD", "8s")];
    let three = Arc::new(Three::with(&redis, &v1, &env).await);
    for keys in (0..KEYS).collect::<Vec<_>>().chunks(5) {
        let reads: Vec<_> = keys
            .iter()
            .flat_map(|key| (0..3).map(move |which| (which, format!("key-{key}"))))
            .map(|(which, key)| {
                let three = Arc::clone(&three);
                spawn(async move { three.get_at(MEMBERS, which, &key).await })
            })
            .collect();
        for read in reads {
            assert_eq!(read.await.expect("an answer"), 200);
        }
    }
    println!("{} rosters for {KEYS} keys through three processes", calls(&v1, ROSTER));
    assert_eq!(calls(&v1, ROSTER), KEYS);
    assert!(!redis.contents().contains("acme.test"), "what is shared is sealed");
    // From now on v1 refuses the list of members, and every proof from before has expired.
    tokio::time::sleep(Duration::from_millis(8_100)).await;
    v1.expect(Exchange::get(ROSTER).recorded("members", "members_workspace_guest").repeated());
    for which in 0..3 {
        assert_eq!(three.get_at(MEMBERS, which, "key-1").await, 403, "a guest may not read the roster");
    }
    assert_eq!(calls(&v1, ROSTER), KEYS + 1, "a guest is proven once as well");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn proofs_in_redis_are_unreadable_and_absent_without_a_secret() {
    let (redis, v1) = (Redis::start(), willing().await);
    let three = Three::with(&redis, &v1, &[("CAUSEWAY_SECRETS__KEY", SECRET)]).await;
    assert_eq!(three.get(0, "a-key-of-v1").await, 200);
    until("a proof is there", async || redis.contents().contains(":proofs:")).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let contents = redis.contents();
    let names: Vec<&str> = contents.lines().filter(|line| line.starts_with("causeway:")).collect();
    assert!(names.iter().any(|name| name.contains(":proofs:")), "{names:?}");
    let id = causeway::v1::KeyId::of(b"a-key-of-v1").0;
    let bare: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    for told in ["a-key-of-v1", &bare[..16], "@acme", "acme.test", "0000-4000"] {
        assert!(!contents.contains(told), "{told}");
    }
    drop(three);
    redis.flush();
    let three = Three::with(&redis, &v1, &[]).await;
    for which in 0..3 {
        assert_eq!(three.get(which, "a-key-of-v1").await, 200);
    }
    assert!(!redis.contents().contains(":proofs:"));
    assert_eq!(calls(&v1, "users/me/"), 6 + 4, "beside one at each start, each process asks for itself");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_with_full_memory_takes_no_proofs() {
    let (redis, v1) = (Redis::start(), willing().await);
    let three = Three::with(&redis, &v1, &[("CAUSEWAY_SECRETS__KEY", SECRET)]).await;
    let memory = |bytes: &str| {
        redis::cmd("CONFIG").arg("SET").arg("maxmemory").arg(bytes).exec(&mut redis.connection()).expect("a limit");
    };
    memory("1");
    for which in [0, 1, 2] {
        assert_eq!(three.get(which, "a-key").await, 200);
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(!redis.contents().contains(":proofs:"));
    memory("0");
    assert_eq!(three.get(0, "another-key").await, 200);
    until("a proof is there", async || redis.contents().contains(":proofs:")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_fails_while_redis_is_stopped_started_and_emptied() {
    let (mut redis, v1) = (Redis::start(), willing().await);
    let three = Three::with(&redis, &v1, &[("CAUSEWAY_SECRETS__KEY", SECRET)]).await;
    let mut key = 0;
    let mut reads = async || {
        for which in [0, 1, 2, 2, 1, 0] {
            key += 1;
            assert_eq!(three.get(which, &format!("key-{}", key / 2)).await, 200);
        }
    };
    reads().await;
    redis.stop();
    reads().await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    reads().await;
    redis.start_again();
    reads().await;
    redis.flush();
    reads().await;
    let patience = Instant::now() + PATIENCE;
    for number in 0.. {
        let (late, before) = (format!("late-key-{number}"), calls(&v1, "users/me/"));
        assert_eq!(three.get(0, &late).await, 200);
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(three.get(1, &late).await, 200);
        if calls(&v1, "users/me/") - before == 1 {
            break;
        }
        assert!(Instant::now() < patience, "not shared again");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}
