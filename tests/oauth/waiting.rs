//! Requests that wait while their token is revoked: nothing is read or written for them from then on, and they are told.

use crate::oauth::stage::{SECRET, Stage, expect_dead};
use crate::support::gateway::{Answer, Gateway, WEB};
use crate::support::proofs::{V1, card, get_card, get_item, item, me};
use crate::support::scripted::{Exchange, Gate, ScriptedV1, Seen};
use crate::support::switch::until;
use futures_util::future::{join, join_all};
use serde_json::json;
use std::time::Duration;

const ITEM: &str = "00000000-0000-4000-8000-00000000000e";
const REVOKE: &str = "/auth/o/revoke/";

fn one() -> String {
    format!("{WEB}/work-items/{ITEM}/")
}

fn reads(name: &str) -> Exchange {
    get_item(ITEM, name)
}

/// A v1 that takes ada's key, and a gateway before it.
async fn stage() -> (ScriptedV1, Stage) {
    let v1 = ScriptedV1::start().await;
    v1.expect(me().repeated());
    v1.expect(get_card().reply(200, card(Some(20))).repeated());
    let gateway = Gateway::with(v1.base_url(), &[("secrets.key", SECRET)]).await;
    (v1, Stage::over(gateway).await)
}

/// Five equal reads at once.
async fn five(stage: &Stage, token: &str) -> Vec<Answer> {
    join_all((0..5).map(|_| async { stage.call(token, &one()).await })).await
}

/// Until v1 has got so many requests with this method for the item, and some time for others to arrive.
async fn pause(v1: &ScriptedV1, method: &str, calls: usize) {
    let is_meant = |seen: &&Seen| seen.method == method && seen.target.contains(ITEM);
    until("v1 is asked", async || v1.seen().iter().filter(is_meant).count() >= calls).await;
    tokio::time::sleep(Duration::from_millis(400)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_that_wait_for_an_equal_one_end_with_their_token() {
    let ((v1, stage), gate) = (stage().await, Gate::default());
    let (revoked, other) = (stage.tokens("read").await, stage.tokens("read").await);
    v1.expect(reads("old").held(&gate).times(2));
    v1.expect(reads("new").repeated());
    let revoking = async {
        pause(&v1, "GET", 2).await;
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
async fn a_write_that_waits_for_its_turn_is_not_carried_out_after_its_grant_has_ended() {
    let ((v1, stage), gate) = (stage().await, Gate::default());
    let tokens = stage.tokens("read write").await;
    v1.expect(reads("old").repeated());
    let writes = Exchange::patch(&format!("{V1}work-items/{ITEM}/")).reply(200, item(ITEM, "first"));
    v1.expect(writes.held(&gate));
    let bearer = format!("Bearer {}", tokens.access);
    let json = ("content-type", "application/json");
    let write = |credential: (&'static str, String), name: &'static str| {
        let stage = &stage;
        async move {
            let body = json!({ "name": name }).to_string();
            stage.send("PATCH", &one(), &[(credential.0, &credential.1), json], body).await
        }
    };
    let revoked = async {
        pause(&v1, "PATCH", 1).await;
        let ending = async {
            pause(&v1, "PATCH", 1).await;
            stage.about(REVOKE, &tokens.refresh).await.expect(200);
            gate.open();
        };
        join(write(("authorization", bearer), "second"), ending).await.0
    };
    let (first, second) = join(write(("x-api-key", "ada".to_owned()), "first"), revoked).await;
    first.expect(200);
    expect_dead(second);
    v1.finish();
}
