//! Turns and epochs: what processes on one store tell each other.

use crate::place::{PROJECT, Place, is_sqlite};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

on_both_engines![one_has_the_turn_at_a_time, many_turns_leave_connections_for_the_work, epochs_grow_for_everybody];

async fn one_has_the_turn_at_a_time(place: Place) {
    let store = place.open().await;
    // On PostgreSQL also between processes.
    let second = if is_sqlite(&store) { store.clone() } else { place.open().await };
    let (inside, entered) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let tasks: Vec<_> = (0..12)
        .map(|number| {
            let store = if number % 2 == 0 { store.clone() } else { second.clone() };
            let (inside, entered) = (Arc::clone(&inside), Arc::clone(&entered));
            tokio::spawn(async move {
                let turn = store.advisory("cycle names").await.unwrap();
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two at a time");
                tokio::time::sleep(Duration::from_millis(5)).await;
                inside.fetch_sub(1, Ordering::SeqCst);
                entered.fetch_add(1, Ordering::SeqCst);
                drop(turn);
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(entered.load(Ordering::SeqCst), 12);
    let _one = store.advisory("one").await.unwrap();
    let other = tokio::time::timeout(Duration::from_secs(3), store.advisory("other")).await;
    let _other = other.expect("another name").unwrap();
}

async fn many_turns_leave_connections_for_the_work(place: Place) {
    let store = place.open().await;
    let tasks: Vec<_> = (0..40)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(async move {
                let _turn = store.advisory(&format!("name {number}")).await.unwrap();
                store.ping().await.unwrap();
                store.bump_epoch(PROJECT).await.unwrap();
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
    let first = store.bump_epoch(PROJECT).await.unwrap();
    if is_sqlite(&store) {
        // One process has the file to itself: there is nobody to tell.
        assert_eq!((first, store.epoch(PROJECT).await.unwrap()), (0, 0));
        return;
    }
    let other = place.open().await;
    assert_eq!((first, other.epoch(PROJECT).await.unwrap()), (1, 1));
    let bumps = (0..20).map(|number| {
        let store = if number % 2 == 0 { store.clone() } else { other.clone() };
        tokio::spawn(async move { store.bump_epoch(PROJECT).await.unwrap() })
    });
    let mut seen = Vec::new();
    for bump in bumps.collect::<Vec<_>>() {
        seen.push(bump.await.unwrap());
    }
    seen.sort_unstable();
    assert_eq!(seen, (2..=21).collect::<Vec<_>>());
}
