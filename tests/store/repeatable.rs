//! Requests that may be repeated: one of many at once begins, limits hold, and another process takes over from a killed
//! one.

use crate::store::place::{Place, execute, is_sqlite, number};
use causeway::store::{KeptAnswer, Repeatable, RepeatableBounds, RepeatableRequest, Store};
use causeway::task::spawn;
use sqlx::Row;
use std::collections::HashSet;
use uuid::Uuid;

on_both_engines![
    of_many_at_once_one_begins,
    bounds_hold_however_many_come_at_once,
    one_credential_leaves_room_for_the_others,
    an_attempt_is_taken_over_when_its_time_is_over,
    an_older_attempt_changes_nothing_any_more,
    stored_answers_are_summed_up_without_reading_them,
    others_write_while_much_is_swept_out,
];

const BOUNDS: RepeatableBounds =
    RepeatableBounds { keep: 3_600_000_000, attempt: 60_000_000, late: 5, per_person: 10, per_person_size: 1000 };
const ADA: Uuid = Uuid::from_u128(1);

fn request(id: &str) -> RepeatableRequest {
    RepeatableRequest { id: id.to_owned(), user: ADA, credential: None, fingerprint: format!("all of {id}") }
}

async fn begin(store: &Store, id: &str) -> Repeatable {
    store.begin_repeatable(request(id), &BOUNDS).await.expect("a store that can be written")
}

async fn crowd(place: &Place, how_many: usize, id: impl Fn(usize) -> String) -> Vec<Repeatable> {
    let stores = [place.open().await, place.open().await];
    let tasks: Vec<_> = (0..how_many)
        .map(|number| {
            let (store, id) = (stores[number % 2].clone(), id(number));
            spawn(async move { begin(&store, &id).await })
        })
        .collect();
    let mut found = Vec::new();
    for task in tasks {
        found.push(task.await.expect("no task panics"));
    }
    found
}

async fn of_many_at_once_one_begins(place: Place) {
    let found = crowd(&place, 24, |_| "one".into()).await;
    let begun = found.iter().filter(|found| matches!(found, Repeatable::New(_))).count();
    let running = found.iter().filter(|found| matches!(found, Repeatable::Running(left) if *left > 0)).count();
    assert_eq!((begun, running), (1, 23));
    let store = place.open().await;
    let other = RepeatableRequest { fingerprint: "another".into(), ..request("one") };
    assert_eq!(store.begin_repeatable(other, &BOUNDS).await.expect("found"), Repeatable::Other);
}

async fn bounds_hold_however_many_come_at_once(place: Place) {
    let found = crowd(&place, 24, |number| format!("request {number}")).await;
    assert_eq!(found.iter().filter(|found| matches!(found, Repeatable::New(_))).count(), 10);
    assert_eq!(found.iter().filter(|found| matches!(found, Repeatable::Full(left) if *left > 0)).count(), 14);
    let store = place.open().await;
    execute(&store, "UPDATE repeatable_request SET expires_at = 1").await;
    let Repeatable::New(attempt) = begin(&store, "request 1").await else { panic!("what is over is forgotten") };
    assert_eq!(number(&store, "SELECT COUNT(*) FROM repeatable_request").await, 1);
    let large = KeptAnswer { sealed: "x".repeat(1000), with: "w".into() };
    store.keep_answer(&attempt, &large, Some(ADA)).await.expect("kept");
    assert_eq!(begin(&store, "request 1").await, Repeatable::Done(large));
    assert!(matches!(begin(&store, "request 2").await, Repeatable::Full(_)), "bytes are bounded too");
    let other = RepeatableRequest { user: Uuid::from_u128(2), ..request("theirs") };
    let theirs = store.begin_repeatable(other, &BOUNDS).await.expect("found");
    assert!(matches!(theirs, Repeatable::New(_)), "another person has bounds of their own");
}

async fn one_credential_leaves_room_for_the_others(place: Place) {
    let store = place.open().await;
    let of = async |credential: Option<u128>, id: &str| {
        let request = RepeatableRequest { credential: credential.map(Uuid::from_u128), ..request(id) };
        store.begin_repeatable(request, &BOUNDS).await.expect("a store that can be written")
    };
    let fill = async |credential: Option<u128>| {
        let mut begun = 0;
        while let Repeatable::New(_) = of(credential, format!("{credential:?} {begun}").as_str()).await {
            begun += 1;
        }
        begun
    };
    assert_eq!(fill(Some(1)).await, 10);
    let Repeatable::New(attempt) = of(Some(2), "large").await else { panic!("another app has its own room") };
    let large = KeptAnswer { sealed: "x".repeat(1000), with: "w".into() };
    store.keep_answer(&attempt, &large, None).await.expect("kept");
    assert!(matches!(of(Some(2), "more").await, Repeatable::Full(_)), "bytes are bounded for each too");
    for (credential, begun) in [(3, 10), (4, 10), (5, 9), (6, 0)] {
        assert_eq!(fill(Some(credential)).await, begun, "all apps together have four times the room");
    }
    assert_eq!(fill(None).await, 10, "the person's own keys have theirs in any case");
    assert_eq!(of(Some(2), "large").await, Repeatable::Done(large));
}

async fn an_attempt_is_taken_over_when_its_time_is_over(place: Place) {
    let store = place.open().await;
    let Repeatable::New(first) = begin(&store, "one").await else { panic!("it is the first") };
    execute(&store, "UPDATE repeatable_request SET ends_at = 7").await;
    let Repeatable::Unknown(second) = begin(&store, "one").await else { panic!("its time is over") };
    assert_eq!((second.began_at, second.earlier_until), (first.began_at, 7 + 5));
    assert!(matches!(begin(&store, "one").await, Repeatable::Running(_)), "the second attempt holds it");
    let told = Uuid::from_u128(7);
    store.leave_unknown(&second, 9, Some(told), true).await.expect("noted");
    let Repeatable::Unknown(third) = begin(&store, "one").await else { panic!("nobody knows") };
    assert_eq!((third.earlier_until, second.record, third.record), (9, None, Some(told)));
    assert_eq!((second.refused, third.refused), (false, true));
    let Repeatable::New(other) = begin(&store, "other").await else { panic!("another one") };
    store.keep_answer(&other, &KeptAnswer { sealed: "s".into(), with: "w".into() }, Some(ADA)).await.expect("kept");
    assert_eq!(store.records_of_others(&third, false).await.expect("read"), (HashSet::from([ADA]), false));
    let alike = RepeatableRequest { fingerprint: request("one").fingerprint, ..request("alike") };
    assert!(matches!(store.begin_repeatable(alike, &BOUNDS).await, Ok(Repeatable::New(_))));
    assert!(store.records_of_others(&third, false).await.expect("read").1, "one like it runs");
    assert!(store.records_of_others(&other, false).await.expect("read").0.contains(&told), "it has no answer yet");
    let bob = RepeatableRequest { user: Uuid::from_u128(3), ..request("of bob") };
    let Repeatable::New(of_bob) = store.begin_repeatable(bob, &BOUNDS).await.expect("found") else { panic!("new") };
    let his = Uuid::from_u128(77);
    store
        .keep_answer(&of_bob, &KeptAnswer { sealed: "s".into(), with: "w".into() }, Some(his))
        .await
        .expect("kept");
    assert_eq!(store.records_of_others(&third, false).await.expect("read").0, HashSet::from([ADA]));
    assert_eq!(store.records_of_others(&third, true).await.expect("read").0, HashSet::from([ADA, his]));
    store.free_repeatable(&third).await.expect("freed");
    assert!(matches!(begin(&store, "one").await, Repeatable::New(_)));
}

async fn an_older_attempt_changes_nothing_any_more(place: Place) {
    let store = place.open().await;
    let Repeatable::New(first) = begin(&store, "one").await else { panic!("it is the first") };
    execute(&store, "UPDATE repeatable_request SET ends_at = 7").await;
    let Repeatable::Unknown(second) = begin(&store, "one").await else { panic!("its time is over") };
    let answer = |text: &str| KeptAnswer { sealed: text.into(), with: "w".into() };
    store.keep_answer(&second, &answer("second"), None).await.expect("kept");
    store.keep_answer(&first, &answer("first"), None).await.expect("no fault");
    store.free_repeatable(&first).await.expect("no fault");
    store.leave_unknown(&first, 1, None, false).await.expect("no fault");
    assert_eq!(begin(&store, "one").await, Repeatable::Done(answer("second")));
}

async fn stored_answers_are_summed_up_without_reading_them(place: Place) {
    let store = place.open().await;
    if !is_sqlite(&store) {
        // PostgreSQL stores long texts beside the rows, and chooses its plan itself.
        return;
    }
    let sums = "EXPLAIN QUERY PLAN SELECT credential, COUNT(*), SUM(size), MIN(expires_at) FROM repeatable_request \
                WHERE user_id = 'x' GROUP BY credential";
    let plan = sqlx::query(sums).fetch_one(store.engine().pool()).await.expect("a plan");
    let plan: String = plan.try_get("detail").expect("a text");
    assert!(plan.contains("COVERING INDEX repeatable_request_of_user"), "{plan}");
}

async fn others_write_while_much_is_swept_out(place: Place) {
    let store = place.open().await;
    let text = "INSERT INTO repeatable_request (id, user_id, fingerprint, state, attempt, began_at, ends_at, \
                expires_at, answer, sealed_with, size) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n \
                WHERE i < 6000) SELECT 'old ' || i, 'somebody', 'f', 'done', 'a', 1, 1, 1, 'x', 'w', 1 FROM n";
    execute(&store, text).await;
    let sweeping = store.clone();
    let sweep = spawn(async move { sweeping.sweep_repeatable().await.expect("swept") });
    let mut between = 0;
    while !sweep.is_finished() {
        begin(&store, "new").await;
        let left = number(&store, "SELECT COUNT(*) FROM repeatable_request WHERE expires_at = 1").await;
        between += i64::from(0 < left && left < 6000);
    }
    assert_eq!(sweep.await.expect("no panic"), 6000);
    // On PostgreSQL writers do not wait for each other, and the sweep may be over before a write looks.
    assert!(between > 0 || !is_sqlite(&store), "no write found the sweep half done");
}
