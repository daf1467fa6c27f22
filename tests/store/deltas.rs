//! Turns to refresh an index, and the deltas of each: one at a time, numbered, never from a process that has lost the
//! turn, and deleted after a while.

use crate::store::place::{Place, execute, number};
use causeway::store::{DeltaTurn, Store, TakenTurn};
use std::time::{Duration, Instant};

const EVER: Duration = Duration::MAX;

async fn taken(store: &Store) -> DeltaTurn {
    match store.take_delta_turn("list").await.expect("an answer") {
        TakenTurn::Mine(turn) => turn,
        TakenTurn::Others(for_so_long) => panic!("taken for {for_so_long:?}"),
    }
}

async fn told(store: &Store, bytes: &[u8]) -> i64 {
    let turn = taken(store).await;
    let number = store.tell_delta("list", turn.holder, bytes).await.expect("an answer");
    assert_eq!(number, Some(turn.number + 1));
    turn.number + 1
}

async fn numbers(store: &Store, after: i64) -> Vec<i64> {
    let deltas = store.deltas("list", after, EVER).await.expect("deltas");
    deltas.iter().map(|delta| delta.number).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_has_the_turn_and_the_others_know_for_how_long() {
    let place = Place::postgres().await;
    let (one, two) = (place.open().await, place.open().await);
    let begun = Instant::now();
    let turn = taken(&one).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    match two.take_delta_turn("list").await.expect("an answer") {
        TakenTurn::Others(for_so_long) => {
            assert!(for_so_long >= Duration::from_millis(100) && for_so_long <= begun.elapsed(), "{for_so_long:?}");
        }
        TakenTurn::Mine(_) => panic!("one of them has it"),
    }
    // The turn of another list is free.
    assert!(matches!(two.take_delta_turn("other list").await, Ok(TakenTurn::Mine(_))));
    one.end_delta_turn("list", turn.holder).await.expect("an end");
    assert_eq!(taken(&two).await.number, turn.number, "nothing was told");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delta_has_the_next_number_and_the_age_of_its_turn() {
    let place = Place::postgres().await;
    let (one, two) = (place.open().await, place.open().await);
    let first = told(&one, b"one").await;
    let begun = Instant::now();
    let turn = taken(&two).await;
    let taken = Instant::now();
    tokio::time::sleep(Duration::from_millis(150)).await;
    two.tell_delta("list", turn.holder, b"two").await.expect("told");
    let deltas = one.deltas("list", first, EVER).await.expect("deltas");
    assert_eq!(deltas.len(), 1);
    assert_eq!((deltas[0].number, &deltas[0].bytes[..]), (first + 1, &b"two"[..]));
    assert!(deltas[0].age >= Duration::from_millis(150) && deltas[0].age <= begun.elapsed(), "{:?}", deltas[0].age);
    assert_eq!(numbers(&one, 0).await, [first, first + 1]);
    let young = one.deltas("list", 0, taken.elapsed().mul_f64(0.5)).await.expect("deltas");
    assert!(young.is_empty(), "none began so lately");
    assert_eq!(one.deltas("other list", 0, EVER).await.expect("deltas"), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_lost_its_turn_cannot_add_a_delta() {
    let place = Place::postgres().await;
    let (one, two) = (place.open().await, place.open().await);
    let lost = taken(&one).await;
    execute(&one, "UPDATE index_turn SET held_until = held_until - 3000000").await;
    let turn = taken(&two).await;
    assert_eq!(one.tell_delta("list", lost.holder, b"late").await.expect("an answer"), None);
    one.renew_delta_turn("list", lost.holder).await.expect("an answer");
    one.end_delta_turn("list", lost.holder).await.expect("an answer");
    assert_eq!(two.tell_delta("list", turn.holder, b"told").await.expect("an answer"), Some(turn.number + 1));
    assert_eq!(two.tell_delta("list", turn.holder, b"again").await.expect("an answer"), None);
    assert_eq!(numbers(&one, 0).await, [turn.number + 1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_is_renewed_stays_and_one_that_is_not_ends() {
    let place = Place::postgres().await;
    let (one, two) = (place.open().await, place.open().await);
    let turn = taken(&one).await;
    execute(&one, "UPDATE index_turn SET held_until = held_until - 2500000").await;
    one.renew_delta_turn("list", turn.holder).await.expect("renewed");
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert!(matches!(two.take_delta_turn("list").await, Ok(TakenTurn::Others(_))));
    execute(&one, "UPDATE index_turn SET held_until = held_until - 3000000").await;
    taken(&two).await;
    // A turn from before the clock was set back by an hour.
    execute(&one, "UPDATE index_turn SET held_until = held_until + 3600000000").await;
    taken(&one).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_last_and_the_young_are_kept() {
    let place = Place::postgres().await;
    let store = place.open().await;
    let mut last = 0;
    for _ in 0..20 {
        last = told(&store, b"delta").await;
    }
    assert_eq!(numbers(&store, 0).await, (last - 15..=last).collect::<Vec<_>>());
    execute(&store, "UPDATE index_delta SET began_at = began_at - 601000000").await;
    assert!(numbers(&store, 0).await.is_empty(), "too old");
    let turn = match store.take_delta_turn("other list").await.expect("an answer") {
        TakenTurn::Mine(turn) => turn,
        TakenTurn::Others(_) => panic!("nobody else"),
    };
    store.tell_delta("other list", turn.holder, b"delta").await.expect("told");
    assert_eq!(number(&store, "SELECT COUNT(*) FROM index_delta").await, 1, "what is old goes with any");
    execute(&store, "UPDATE index_delta SET began_at = began_at + 3600000000").await;
    assert_eq!(store.deltas("other list", 0, EVER).await.expect("deltas"), [], "the clock was put back");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_at_once_one_has_the_turn() {
    let place = Place::postgres().await;
    let stores = [place.open().await, place.open().await, place.open().await];
    for _ in 0..20 {
        let takes = stores.iter().cycle().take(12).map(|store| store.take_delta_turn("list"));
        let outcomes = futures_util::future::join_all(takes).await;
        let own: Vec<DeltaTurn> = outcomes
            .into_iter()
            .filter_map(|outcome| match outcome.expect("an answer") {
                TakenTurn::Mine(turn) => Some(turn),
                TakenTurn::Others(_) => None,
            })
            .collect();
        assert_eq!(own.len(), 1);
        stores[0].tell_delta("list", own[0].holder, b"delta").await.expect("told").expect("a number");
    }
}
