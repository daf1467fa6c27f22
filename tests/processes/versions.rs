//! `If-Match` and `Idempotency-Key` through two gateways on one database: of two writers with the same version one
//! is refused, and a POST that goes through both is carried out once.

use super::child::Child;
use super::support::gateway::serve_sandbox;
use super::support::postgres::Database;
use super::{client, sound};
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::task::spawn;
use reqwest::Method;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Barrier;

const WEB: &str = "/api/v2/workspaces/acme/projects/00000000-0000-4000-c000-000000000001/";
/// Rounds of two writers, for each kind of record.
const ROUNDS: usize = 40;
/// Longest time that v1 takes for a write: long compared with the time between two requests.
const LONGEST: Duration = Duration::from_millis(5);

/// An answer.
#[derive(Debug)]
struct Outcome {
    status: u16,
    tag: String,
    replayed: bool,
    json: Value,
}

/// Two gateways before one v1 that saves whole rows, as the real one does.
struct Two {
    children: [Child; 2],
    v1: String,
    client: reqwest::Client,
}

impl Two {
    async fn on(stores: [&str; 2]) -> Self {
        let config = Config { seed: Seed::Recorded, ..Config::default() };
        let v1 = serve_sandbox(&Sandbox::new(config).saving_whole_rows(5, LONGEST)).await;
        let children = [Child::start(&v1, stores[0]).await, Child::start(&v1, stores[1]).await];
        Self { children, v1, client: client() }
    }

    async fn send(
        &self,
        which: usize,
        method: &str,
        path: &str,
        body: Option<&Value>,
        header: (&str, &str),
    ) -> Outcome {
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        let mut request = self.client.request(method, format!("{}{path}", self.children[which].base()));
        request = request.header("X-Api-Key", "ada").header(header.0, header.1);
        if let Some(body) = body {
            request = request.header("Content-Type", "application/json").body(body.to_string());
        }
        let answer = request.send().await.expect("an answer");
        let header = |name: &str| {
            answer.headers().get(name).map(|value| value.to_str().expect("a header").to_owned()).unwrap_or_default()
        };
        let (status, tag, replayed) =
            (answer.status().as_u16(), header("etag"), header("idempotency-replayed") == "true");
        let json = serde_json::from_slice(&answer.bytes().await.expect("a body")).unwrap_or_default();
        Outcome { status, tag, replayed, json }
    }

    async fn made(&self, path: &str, body: Value) -> String {
        let told = self.send(0, "POST", path, Some(&body), ("accept", "*/*")).await;
        assert!([200, 201].contains(&told.status), "{path}: {}", told.json);
        told.json["id"].as_str().expect("an id").to_owned()
    }

    async fn read(&self, which: usize, path: &str) -> Outcome {
        let told = self.send(which, "GET", path, None, ("accept", "*/*")).await;
        assert_eq!(told.status, 200, "{path}: {}", told.json);
        told
    }

    /// Lets both writers read the version, each through a gateway of its own, and then write at once.
    async fn round(self: &Arc<Self>, path: &str, bodies: [Value; 2]) -> [Outcome; 2] {
        let barrier = Arc::new(Barrier::new(2));
        let writers = [0, 1].map(|which| {
            let (two, barrier) = (Arc::clone(self), Arc::clone(&barrier));
            let (path, body) = (path.to_owned(), bodies[which].clone());
            spawn(async move {
                let seen = two.read(which, &path).await;
                barrier.wait().await;
                two.send(which, "PATCH", &path, Some(&body), ("if-match", &seen.tag)).await
            })
        });
        let [one, other] = writers;
        [one.await.expect("a writer"), other.await.expect("a writer")]
    }
}

fn value(round: usize, which: usize) -> String {
    format!("round {round} of {which}")
}

/// Returns the bodies of the two writers in this round.
fn bodies(member: &str, round: usize) -> [Value; 2] {
    [0, 1].map(|which| json!({ member: value(round, which) }))
}

/// Returns which of the two got 200, when the other one got 412.
fn winner(told: &[Outcome; 2]) -> usize {
    let winner = usize::from(told[0].status != 200);
    let statuses = [told[winner].status, told[1 - winner].status];
    assert_eq!(statuses, [200, 412], "{told:?}");
    assert_eq!(told[1 - winner].json["code"], "precondition_failed");
    winner
}

/// In every round one writer gets 200 and the other 412, and both gateways show the write of the first.
async fn one_of_two(two: &Arc<Two>, kind: &str, id: &str, member: &str) {
    let path = format!("{WEB}{kind}/{id}/");
    let mut first = [0, 0];
    for round in 0..ROUNDS {
        let told = two.round(&path, bodies(member, round)).await;
        let winner = winner(&told);
        first[winner] += 1;
        for which in [0, 1] {
            let now = two.read(which, &path).await;
            assert_eq!(now.json[member], value(round, winner), "{path}, round {round}");
            assert_eq!(now.tag, told[winner].tag, "{path}, round {round}");
        }
    }
    println!("{kind}: {ROUNDS} rounds, first through one gateway or the other {first:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_writers_with_the_same_version_one_is_refused() {
    let database = Database::create().await;
    let two = Arc::new(Two::on([&database.url(), &database.url()]).await);
    let item = two.made(&format!("{WEB}work-items/"), json!({"name": "start"})).await;
    one_of_two(&two, "work-items", &item, "name").await;
    let state = two.made(&format!("{WEB}states/"), json!({"name": "start", "color": "#112233"})).await;
    one_of_two(&two, "states", &state, "description").await;
    let label = two.made(&format!("{WEB}labels/"), json!({"name": "start"})).await;
    one_of_two(&two, "labels", &label, "name").await;
    two.made(&format!("{WEB}work-item-types/enable/"), json!({})).await;
    let kind = two.made(&format!("{WEB}work-item-types/"), json!({"name": "start"})).await;
    one_of_two(&two, "work-item-types", &kind, "description").await;
    let choice = json!({"display_name": "Size", "property_type": "OPTION"});
    let property = two.made(&format!("{WEB}work-item-properties/"), choice).await;
    let options = format!("work-item-properties/{property}/options");
    let option = two.made(&format!("{WEB}{options}/"), json!({"name": "start"})).await;
    one_of_two(&two, &options, &option, "name").await;
    // One writes the half of an item in v1, the other the half in the gateways' store.
    let path = format!("{WEB}work-items/{item}/");
    for round in 0..ROUNDS {
        let before = two.read(0, &path).await.json;
        // A different type than the present one: a write that changes nothing conflicts with no other.
        let type_id = if before["type_id"].is_null() { json!(kind) } else { Value::Null };
        let told = two.round(&path, [json!({"name": value(round, 0)}), json!({"type_id": type_id})]).await;
        let won = winner(&told);
        let now = two.read(1 - won, &path).await.json;
        assert_eq!(now["name"] != before["name"], won == 0, "{path}, round {round}: {now}");
        assert!(won == 0 || now["type_id"] == type_id, "{path}, round {round}: {now}");
    }
    sound(&database.url(), &two.v1).await;
}

/// Without a common store nothing keeps the two writers apart, so the rounds above must fail here.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_store_in_common_both_are_taken() {
    let two = Arc::new(Two::on(["sqlite::memory:", "sqlite::memory:"]).await);
    let label = two.made(&format!("{WEB}labels/"), json!({"name": "start"})).await;
    let path = format!("{WEB}labels/{label}/");
    let mut both = 0;
    for round in 0..ROUNDS {
        let told = two.round(&path, bodies("name", round)).await;
        both += usize::from(told.iter().all(|told| told.status == 200));
    }
    assert!(both > 0, "the rounds find no write that is lost where there must be some");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_post_that_goes_through_both_is_carried_out_once() {
    let database = Database::create().await;
    let two = Arc::new(Two::on([&database.url(), &database.url()]).await);
    two.made(&format!("{WEB}work-item-types/enable/"), json!({})).await;
    for kind in ["work-items", "labels", "work-item-types"] {
        let path = format!("{WEB}{kind}/");
        let mut running = 0;
        for round in 0..ROUNDS {
            let (key, body) = (format!("key-{round}"), json!({"name": format!("once {round}")}));
            let sent = [0, 1].map(|which| {
                let (two, path, key, body) = (Arc::clone(&two), path.clone(), key.clone(), body.clone());
                spawn(async move { two.send(which, "POST", &path, Some(&body), ("idempotency-key", &key)).await })
            });
            let [one, other] = sent;
            let mut told = [one.await.expect("an answer"), other.await.expect("an answer")];
            told.sort_by_key(|told| (told.status, told.replayed));
            let [first, second] = told;
            assert_eq!((first.status, first.replayed), (201, false), "{path}: {first:?} {second:?}");
            match second.status {
                409 => {
                    assert_eq!(second.json["code"], "idempotency_in_progress", "{path}");
                    running += 1;
                }
                _ => assert!(second.replayed && same(&second, &first), "{path}: {first:?} {second:?}"),
            }
            for which in [0, 1] {
                let again = two.send(which, "POST", &path, Some(&body), ("idempotency-key", &key)).await;
                assert!(again.replayed && same(&again, &first), "{path}: {first:?} {again:?}");
            }
        }
        for which in [0, 1] {
            let page = two.read(which, &format!("{path}?per_page=100")).await.json;
            for round in 0..ROUNDS {
                let name = format!("once {round}");
                let rows =
                    page["data"].as_array().expect("a page").iter().filter(|row| row["name"] == name.as_str());
                assert_eq!(rows.count(), 1, "{path}: {name}");
            }
        }
        println!("{kind}: {ROUNDS} rounds, in {running} of them the other one was still running");
    }
    sound(&database.url(), &two.v1).await;
}

fn same(one: &Outcome, other: &Outcome) -> bool {
    (one.status, &one.tag, &one.json) == (other.status, &other.tag, &other.json)
}
