//! Requests that wait while their token is revoked or expires: they read and write nothing from then on, and get a 401.

use crate::oauth::stage::{SECRET, Stage, Tokens, expect_dead};
use crate::support::gateway::{Answer, Gateway, WEB};
use crate::support::proofs::{V1, card, get_card, get_item, item, me};
use crate::support::scripted::{Exchange, Gate, ScriptedV1, Seen};
use crate::support::switch::until;
use futures_util::future::{join, join_all};
use serde_json::json;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const ITEM: &str = "00000000-0000-4000-8000-00000000000e";
const REVOKE: &str = "/auth/o/revoke/";

fn one() -> String {
    format!("{WEB}/work-items/{ITEM}/")
}

fn reads(name: &str) -> Exchange {
    get_item(ITEM, name)
}

/// A v1 that accepts ada's key, and a gateway before it.
async fn stage() -> (ScriptedV1, Stage) {
    stage_with(&[]).await
}

async fn stage_with(settings: &[(&str, &str)]) -> (ScriptedV1, Stage) {
    let v1 = ScriptedV1::start().await;
    v1.expect(me().repeated());
    v1.expect(get_card().reply(200, card(Some(20))).repeated());
    let stage = before(&v1, settings).await;
    (v1, stage)
}

/// A gateway before `v1`, with further settings.
async fn before(v1: &ScriptedV1, settings: &[(&str, &str)]) -> Stage {
    let settings: Vec<_> = [("secrets.key", SECRET)].iter().chain(settings).copied().collect();
    Stage::over(Gateway::with(v1.base_url(), &settings).await).await
}

/// Sends five equal reads at once.
async fn five(stage: &Stage, token: &str) -> Vec<Answer> {
    join_all((0..5).map(|_| async { stage.call(token, &one()).await })).await
}

/// Time for requests to arrive.
async fn pause() {
    tokio::time::sleep(Duration::from_millis(400)).await;
}

/// Waits until v1 has got `calls` requests with this method for the item, and some time for others to arrive.
async fn arrived(v1: &ScriptedV1, method: &str, calls: usize) {
    let is_meant = |seen: &&Seen| seen.method == method && seen.target.contains(ITEM);
    until("v1 is asked", async || v1.seen().iter().filter(is_meant).count() >= calls).await;
    pause().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_that_wait_for_an_equal_one_end_with_their_token() {
    let ((v1, stage), gate) = (stage().await, Gate::default());
    let (revoked, other) = (stage.tokens("read").await, stage.tokens("read").await);
    v1.expect(reads("old").held(&gate).times(2));
    v1.expect(reads("new").repeated());
    let revoking = async {
        arrived(&v1, "GET", 2).await;
        stage.about(REVOKE, &revoked.access).await.expect(200);
        gate.open();
    };
    let ((dead, good), ()) = join(join(five(&stage, &revoked.access), five(&stage, &other.access)), revoking).await;
    for answer in dead {
        expect_dead(answer);
    }
    for answer in good {
        answer.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_that_finds_nothing_ends_with_its_token() {
    let ((v1, stage), gate) = (stage().await, Gate::default());
    let tokens = stage.tokens("read").await;
    v1.expect(reads("none").reply(404, json!({"error": "The requested resource does not exist."})).held(&gate));
    let revoking = async {
        arrived(&v1, "GET", 1).await;
        stage.about(REVOKE, &tokens.access).await.expect(200);
        gate.open();
    };
    let path = one();
    expect_dead(join(stage.call(&tokens.access, &path), revoking).await.0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_waits_for_its_turn_is_not_carried_out_after_its_grant_has_ended() {
    let (v1, stage) = stage().await;
    let ends = async |tokens: &Tokens| drop(stage.about(REVOKE, &tokens.refresh).await.expect(200));
    a_write_waits_while_its_grant(&v1, &stage, ends).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_waits_longer_than_a_command_is_noticed_is_not_carried_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = format!("sqlite:{}", folder.path().join("causeway.db").display());
    let (v1, stage) = stage_with(&[("store.url", store.as_str()), ("oauth.revocation_delay", "200ms")]).await;
    let ends = async |_: &Tokens| {
        // A command works in another process, which cannot notify this one.
        let commands = stage.gateway.store().await.oauth();
        let ada = "00000000-0000-4000-a000-000000000001".parse().expect("an id");
        for grant in commands.grants_of(ada).await.expect("grants") {
            assert!(commands.revoke_grant_of(ada, grant.id).await.expect("revoked"));
        }
        pause().await;
    };
    a_write_waits_while_its_grant(&v1, &stage, ends).await;
}

/// The life of a token in the tests in which it expires, and a longer time.
const LIFE: (&str, &str) = ("oauth.access_token", "5s");
const LONGER: Duration = Duration::from_millis(5100);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_that_takes_longer_than_its_token_is_good_is_shown_nothing() {
    let ((v1, stage), gate) = (stage_with(&[LIFE]).await, Gate::default());
    let tokens = stage.tokens("read").await;
    v1.expect(reads("old").held(&gate));
    let expiring = async {
        tokio::time::sleep(LONGER).await;
        gate.open();
    };
    expect_dead(join(stage.call(&tokens.access, &one()), expiring).await.0);
    v1.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_waits_longer_than_its_token_is_good_is_not_carried_out() {
    let (v1, stage) = stage_with(&[LIFE]).await;
    a_write_waits_while_its_grant(&v1, &stage, async |_: &Tokens| tokio::time::sleep(LONGER).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_waits_for_v1_in_its_turn_is_not_sent_after_its_grant_has_ended() {
    let ((v1, stage), gate) = (stage().await, Gate::default());
    let tokens = stage.tokens("read write").await;
    v1.expect(reads("old").held(&gate));
    let ending = async {
        arrived(&v1, "GET", 1).await;
        stage.about(REVOKE, &tokens.refresh).await.expect(200);
        gate.open();
    };
    expect_dead(join(writes(&stage, &tokens.access, "PATCH", &one(), &[]), ending).await.0);
    v1.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_v1_lets_wait_is_not_sent_again_after_its_grant_has_ended() {
    let (v1, stage) = stage_with(&[("upstream.quota", "60")]).await;
    let tokens = stage.tokens("read write").await;
    v1.expect(reads("old"));
    let limited = json!({"error_code": 5900, "error_message": "RATE_LIMIT_EXCEEDED"});
    let write = Exchange::patch(&format!("{V1}work-items/{ITEM}/"));
    v1.expect(write.reply(429, limited).header("retry-after", "6"));
    let ending = async {
        arrived(&v1, "PATCH", 1).await;
        stage.about(REVOKE, &tokens.refresh).await.expect(200);
    };
    expect_dead(join(writes(&stage, &tokens.access, "PATCH", &one(), &[]), ending).await.0);
    v1.finish();
}

/// The life of a card in the tests in which it expires, and a longer time.
const CARD: (&str, &str) = ("cache.card", "3s");
const OLDER: Duration = Duration::from_millis(3100);

/// Path of the project's types, which the gateway's own store holds.
fn types() -> String {
    format!("{WEB}/work-item-types/")
}

const ONCE: (&str, &str) = ("idempotency-key", "once");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kept_answer_is_not_given_to_a_repetition_that_waited_until_its_grant_had_ended() {
    let (v1, gate) = (ScriptedV1::start().await, Gate::default());
    v1.expect(me().repeated()).expect(get_card().reply(200, card(Some(20))));
    let stage = before(&v1, &[CARD]).await;
    let tokens = stage.tokens("read write").await;
    writes(&stage, &tokens.access, "POST", &types(), &[ONCE]).await.expect(201);
    tokio::time::sleep(OLDER).await;
    v1.expect(get_card().reply(200, card(Some(20))).held(&gate));
    let ending = async {
        let cards = || v1.seen().iter().filter(|call| call.target.contains("is_member")).count();
        until("v1 is asked for the card", async || cards() == 2).await;
        stage.about(REVOKE, &tokens.refresh).await.expect(200);
        gate.open();
    };
    expect_dead(join(writes(&stage, &tokens.access, "POST", &types(), &[ONCE]), ending).await.0);
    v1.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kept_answer_is_not_given_to_somebody_removed_while_the_body_of_a_repetition_came() {
    let v1 = ScriptedV1::start().await;
    v1.expect(me().repeated()).expect(get_card().reply(200, card(Some(20))).times(2));
    let stage = before(&v1, &[CARD]).await;
    let (json, key) = (("content-type", "application/json"), ("x-api-key", "ada"));
    let body = json!({"name": "new"}).to_string();
    stage.send("POST", &types(), &[json, key, ONCE], body.clone()).await.expect(201);
    tokio::time::sleep(OLDER).await;
    let address = stage.gateway.base().trim_start_matches("http://");
    let head = format!(
        "POST {} HTTP/1.1\r\nhost: {address}\r\nx-api-key: ada\r\ncontent-type: application/json\r\n\
         connection: close\r\nidempotency-key: once\r\ncontent-length: {}\r\n\r\n",
        types(),
        body.len()
    );
    let mut client = TcpStream::connect(address).await.expect("a connection");
    client.write_all(head.as_bytes()).await.expect("a head");
    let cards = || v1.seen().iter().filter(|call| call.target.contains("is_member")).count();
    until("v1 is asked for the card", async || cards() == 2).await;
    v1.expect(get_card().reply(200, card(None)));
    tokio::time::sleep(OLDER).await;
    client.write_all(body.as_bytes()).await.expect("a body");
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    v1.finish();
}

/// Writes a name with a token.
async fn writes(stage: &Stage, token: &str, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    let bearer = format!("Bearer {token}");
    let own = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    let headers: Vec<_> = own.iter().chain(headers).copied().collect();
    stage.send(method, path, &headers, json!({"name": "new"}).to_string()).await
}

/// Lets a write wait behind another one while its grant `ends`.
async fn a_write_waits_while_its_grant(v1: &ScriptedV1, stage: &Stage, ends: impl AsyncFnOnce(&Tokens)) {
    let (gate, tokens) = (Gate::default(), stage.tokens("read write").await);
    v1.expect(reads("old").repeated());
    let writes = Exchange::patch(&format!("{V1}work-items/{ITEM}/")).reply(200, item(ITEM, "first"));
    v1.expect(writes.held(&gate));
    let bearer = format!("Bearer {}", tokens.access);
    let json = ("content-type", "application/json");
    let write = |credential: (&'static str, String), name: &'static str| async move {
        let body = json!({ "name": name }).to_string();
        stage.send("PATCH", &one(), &[(credential.0, &credential.1), json], body).await
    };
    let revoked = async {
        arrived(v1, "PATCH", 1).await;
        let ending = async {
            pause().await;
            ends(&tokens).await;
            gate.open();
        };
        join(write(("authorization", bearer), "second"), ending).await.0
    };
    let (first, second) = join(write(("x-api-key", "ada".to_owned()), "first"), revoked).await;
    first.expect(200);
    expect_dead(second);
    let writes = v1.seen().iter().filter(|call| call.method == "PATCH").count();
    assert_eq!(writes, 1, "the second is not sent");
}
