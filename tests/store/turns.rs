//! Turns and epochs: the messages between processes on one store.

use crate::store::place::{PROJECT, Place, is_sqlite};
use causeway::store::{AT_WORK, NoTurn, Patience, Store, Turn, TurnName};
use causeway::task::spawn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

on_both_engines![
    one_has_the_turn_at_a_time,
    many_turns_leave_connections_for_the_work,
    sets_of_names_never_wait_for_each_other,
    shared_turns_wait_only_for_exclusive_ones,
    a_turn_that_is_not_reached_in_time_leaves_nothing_behind,
    a_full_line_refuses_at_once,
    a_turn_can_grow,
    turns_that_grow_leave_a_connection_to_the_writers_that_they_wait_for,
    a_turn_that_lost_its_locks_while_it_grew_is_lost,
    a_turn_that_was_lost_since_its_check_is_found_lost,
    a_turn_whose_write_v1_may_still_carry_out_holds_up_all_writers,
    a_stopped_process_keeps_only_the_locks_with_which_it_writes,
    a_store_that_is_gone_holds_nothing,
    epochs_grow_for_everybody,
];

fn alone(name: &str) -> TurnName {
    TurnName { name: name.to_owned(), shared: false }
}

fn shared(name: &str) -> TurnName {
    TurnName { name: name.to_owned(), shared: true }
}

fn within(time: Duration) -> Patience {
    Patience { waiting: 1_000, until: Instant::now() + time }
}

async fn turn(store: &Store, wanted: Vec<TurnName>) -> Turn {
    store.turn(wanted, within(Duration::from_secs(60))).await.unwrap()
}

/// Opens the store as another process; returns the same store where there can be no other process.
async fn other_process(place: &Place, store: &Store) -> Store {
    if is_sqlite(store) { store.clone() } else { place.open().await }
}

async fn one_has_the_turn_at_a_time(place: Place) {
    let store = place.open().await;
    let second = other_process(&place, &store).await;
    let (inside, entered) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let tasks: Vec<_> = (0..12)
        .map(|number| {
            let store = if number % 2 == 0 { store.clone() } else { second.clone() };
            let (inside, entered) = (Arc::clone(&inside), Arc::clone(&entered));
            spawn(async move {
                let inside_now = turn(&store, vec![alone("cycle names")]).await;
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two at a time");
                tokio::time::sleep(Duration::from_millis(5)).await;
                inside.fetch_sub(1, Ordering::SeqCst);
                entered.fetch_add(1, Ordering::SeqCst);
                drop(inside_now);
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(entered.load(Ordering::SeqCst), 12);
    let _one = turn(&store, vec![alone("one")]).await;
    let _other = turn(&second, vec![alone("other")]).await;
}

/// Callers of two processes that want overlapping sets, in any order, exclusive and shared.
async fn sets_of_names_never_wait_for_each_other(place: Place) {
    let store = place.open().await;
    let second = other_process(&place, &store).await;
    let inside: Arc<Vec<AtomicUsize>> = Arc::new((0..5).map(|_| AtomicUsize::new(0)).collect());
    let tasks: Vec<_> = (0..40_usize)
        .map(|number| {
            let store = if number % 2 == 0 { store.clone() } else { second.clone() };
            let inside = Arc::clone(&inside);
            spawn(async move {
                let names = [number % 5, (number * 3 + 1) % 5, (number * 2 + 2) % 5];
                let shares = |name: usize| (number + name).is_multiple_of(3);
                let wanted = |name: &usize| TurnName { name: format!("name {name}"), shared: shares(*name) };
                let held = turn(&store, names.iter().map(wanted).collect()).await;
                for name in names.iter().filter(|name| !shares(**name)) {
                    inside[*name].fetch_add(1, Ordering::SeqCst);
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
                for name in names.iter().filter(|name| !shares(**name)) {
                    let alone = names.iter().filter(|other| *other == name).count();
                    assert!(inside[*name].load(Ordering::SeqCst) <= alone, "two at a time");
                }
                for name in names.iter().filter(|name| !shares(**name)) {
                    inside[*name].fetch_sub(1, Ordering::SeqCst);
                }
                drop(held);
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

async fn shared_turns_wait_only_for_exclusive_ones(place: Place) {
    let store = place.open().await;
    let second = other_process(&place, &store).await;
    let one = turn(&store, vec![shared("states")]).await;
    let other = turn(&second, vec![shared("states")]).await;
    let soon = || within(Duration::from_millis(100));
    for store in [&store, &second] {
        assert!(matches!(store.turn(vec![alone("states")], soon()).await, Err(NoTurn::TooLate)));
    }
    drop((one, other));
    let _alone = turn(&store, vec![alone("states"), shared("states")]).await;
    assert!(matches!(second.turn(vec![shared("states")], soon()).await, Err(NoTurn::TooLate)));
}

async fn a_turn_that_is_not_reached_in_time_leaves_nothing_behind(place: Place) {
    let store = place.open().await;
    let second = other_process(&place, &store).await;
    let first = turn(&store, vec![alone("b")]).await;
    for _ in 0..20 {
        let late = second.turn(vec![alone("a"), alone("b")], within(Duration::from_millis(20))).await;
        assert!(matches!(late, Err(NoTurn::TooLate)));
        // A client that leaves while it waits.
        let waiting = second.turn(vec![alone("a"), alone("b")], within(Duration::from_secs(1)));
        assert!(tokio::time::timeout(Duration::from_millis(5), waiting).await.is_err());
    }
    let free = turn(&store, vec![alone("a")]).await;
    drop((first, free));
    let _all = turn(&second, vec![alone("a"), alone("b")]).await;
    store.ping().await.unwrap();
}

async fn a_full_line_refuses_at_once(place: Place) {
    let store = place.open().await;
    let inside = turn(&store, vec![alone("a")]).await;
    let few = Patience { waiting: 0, until: Instant::now() + Duration::from_secs(60) };
    assert!(matches!(store.turn(vec![alone("a")], few).await, Err(NoTurn::Full)));
    drop(inside);
    let _inside = store.turn(vec![alone("a")], few).await.unwrap();
}

async fn a_turn_can_grow(place: Place) {
    let store = place.open().await;
    let second = other_process(&place, &store).await;
    let soon = || within(Duration::from_millis(50));
    let patience = within(Duration::from_secs(60));
    let mut growing = store.growing_turn(vec![alone("rule")], patience).await.unwrap();
    growing.also(vec![alone("child 1"), alone("child 2"), alone("rule")], patience).await.unwrap();
    for name in ["rule", "child 1", "child 2"] {
        assert!(matches!(second.turn(vec![alone(name)], soon()).await, Err(NoTurn::TooLate)), "{name}");
    }
    drop(growing);
    let _all = turn(&second, vec![alone("rule"), alone("child 1"), alone("child 2")]).await;
}

async fn turns_that_grow_leave_a_connection_to_the_writers_that_they_wait_for(place: Place) {
    let store = place.open().await;
    // As many as there are connections for turns.
    let tasks: Vec<_> = (0..8)
        .map(|number| {
            let store = store.clone();
            spawn(async move {
                let (rule, child) = (format!("rule {number}"), format!("child {number}"));
                let patience = within(Duration::from_secs(60));
                let mut growing = store.growing_turn(vec![alone(&rule)], patience).await.unwrap();
                let (writer, name) = (store.clone(), child.clone());
                let writing = spawn(async move { drop(turn(&writer, vec![alone(&name)]).await) });
                // Time to get in line.
                tokio::time::sleep(Duration::from_millis(300)).await;
                growing.also(vec![alone(&child)], within(Duration::from_secs(20))).await.unwrap();
                writing.await.unwrap();
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

async fn a_turn_that_lost_its_locks_while_it_grew_is_lost(place: Place) {
    let store = place.open().await;
    let second = other_process(&place, &store).await;
    let _other = turn(&second, vec![alone("child")]).await;
    let mut growing = turn(&store, vec![alone("rule")]).await;
    growing.ensure_held().await.unwrap();
    let late = growing.also(vec![alone("child")], within(Duration::from_millis(50))).await;
    assert!(matches!(late, Err(NoTurn::TooLate)));
    // In one process the turn never depended on the database.
    assert_eq!(growing.ensure_held().await.is_ok(), is_sqlite(&store));
    let _next = turn(&second, vec![alone(if is_sqlite(&store) { "another" } else { "rule" })]).await;
}

/// Ends all connections that hold advisory locks.
async fn end_all_locks(store: &Store) {
    sqlx::query(
        "SELECT pg_terminate_backend(pid)::text FROM pg_locks WHERE locktype = 'advisory' AND granted AND \
                 database = (SELECT oid FROM pg_database WHERE datname = current_database())",
    )
    .fetch_all(store.engine().pool())
    .await
    .unwrap();
}

/// As when a write waits for its place at v1.
async fn a_turn_that_was_lost_since_its_check_is_found_lost(place: Place) {
    let store = place.open().await;
    let mut held = turn(&store, vec![alone("a")]).await;
    held.ensure_held().await.unwrap();
    held.ensure_still_held().await.unwrap();
    if !is_sqlite(&store) {
        let second = place.open().await;
        end_all_locks(&second).await;
        let _next = turn(&second, vec![alone("a")]).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(held.ensure_still_held().await.is_err());
        return;
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    held.ensure_still_held().await.unwrap();
}

async fn a_turn_whose_write_v1_may_still_carry_out_holds_up_all_writers(place: Place) {
    let store = place.open().await;
    let second = other_process(&place, &store).await;
    let mut left = turn(&store, vec![alone("a")]).await;
    let noted = left.noted();
    store.bump_epoch(PROJECT, Vec::new(), noted.as_ref(), false).await.unwrap();
    left.leave_other_processes();
    assert!(matches!(store.turn(vec![alone("a")], within(Duration::from_millis(50))).await, Err(NoTurn::TooLate)));
    if !is_sqlite(&store) {
        let begun = Instant::now();
        let mut next = turn(&second, vec![alone("a")]).await;
        next.ensure_held().await.unwrap();
        assert!(begun.elapsed() >= AT_WORK, "{:?}", begun.elapsed());
    }
    store.bump_epoch(PROJECT, Vec::new(), noted.as_ref(), true).await.unwrap();
    drop(left);
    let mut next = turn(&store, vec![alone("a")]).await;
    next.ensure_held().await.unwrap();
}

/// As when the processes of a machine are stopped, and others take over.
async fn a_stopped_process_keeps_only_the_locks_with_which_it_writes(place: Place) {
    let store = place.open().await;
    if is_sqlite(&store) {
        // No other process has the file.
        return;
    }
    let stopped = place.open().await;
    let mut writing = turn(&stopped, vec![alone("written")]).await;
    writing.ensure_held().await.unwrap();
    let mut unused = stopped.turn(vec![alone("unused")], within(Duration::from_millis(200))).await.unwrap();
    let _next = turn(&store, vec![alone("unused")]).await;
    assert!(unused.ensure_held().await.is_err());
    writing.ensure_held().await.unwrap();
}

/// As when a process dies: its connections end, and so do its locks.
async fn a_store_that_is_gone_holds_nothing(place: Place) {
    let store = place.open().await;
    if is_sqlite(&store) {
        // No other process has the file.
        return;
    }
    let dying = place.open().await;
    let held = turn(&dying, vec![alone("a")]).await;
    end_all_locks(&store).await;
    let _next = turn(&store, vec![alone("a")]).await;
    drop(held);
}

async fn many_turns_leave_connections_for_the_work(place: Place) {
    let store = place.open().await;
    let tasks: Vec<_> = (0..40)
        .map(|number| {
            let store = store.clone();
            spawn(async move {
                let _turn = turn(&store, vec![alone(&format!("name {number}"))]).await;
                store.ping().await.unwrap();
                store.bump_epoch(PROJECT, Vec::new(), None, true).await.unwrap();
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

async fn epochs_grow_for_everybody(place: Place) {
    let store = place.open().await;
    assert_eq!(store.epoch(PROJECT).await.unwrap(), 0);
    let first = store.bump_epoch(PROJECT, Vec::new(), None, true).await.unwrap();
    if is_sqlite(&store) {
        // One process has the file to itself: there is no other process to tell.
        assert_eq!((first, store.epoch(PROJECT).await.unwrap()), (0, 0));
        return;
    }
    let other = place.open().await;
    assert_eq!((first, other.epoch(PROJECT).await.unwrap()), (1, 1));
    let bumps = (0..20).map(|number| {
        let store = if number % 2 == 0 { store.clone() } else { other.clone() };
        spawn(async move { store.bump_epoch(PROJECT, Vec::new(), None, true).await.unwrap() })
    });
    let mut seen = Vec::new();
    for bump in bumps.collect::<Vec<_>>() {
        seen.push(bump.await.unwrap());
    }
    seen.sort_unstable();
    assert_eq!(seen, (2..=21).collect::<Vec<_>>());
}
