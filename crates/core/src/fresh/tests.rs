//! Tests of single rules; `model` tests all of them together. May use: this folder.

use super::{Changed, Changes, Clock, Fresh, ReadLost};
use std::time::Duration;
use uuid::Uuid;

fn project(id: u128) -> Changed {
    Changed::Project(Uuid::from_u128(id))
}

#[test]
fn only_what_began_before_a_change_that_concerns_it_is_void() {
    let changes = Changes::default();
    let before = changes.now();
    changes.tell(project(1));
    let after = changes.now();
    assert!(changes.is_void(&[project(2), project(1)], before));
    assert!(!changes.is_void(&[project(2)], before));
    assert!(!changes.is_void(&[project(1)], after));
    changes.tell(Changed::ProjectAccess(Uuid::nil()));
    assert!(changes.is_void(&[Changed::AnyProjectAccess], after));
}

#[test]
fn forgotten_changes_void_all_that_is_as_old() {
    let changes = Changes::default();
    let before = changes.now();
    changes.tell(project(0));
    let between = changes.now();
    for id in 1..=200_000 {
        changes.tell(project(id));
    }
    assert!(changes.is_void(&[project(0)], before), "although it was forgotten");
    assert!(changes.is_void(&[Changed::AnyProjectAccess], between), "nobody knows any more");
    assert!(!changes.is_void(&[Changed::AnyProjectAccess], changes.now()));
    assert!(changes.is_void(&[project(200_000)], between));
}

#[test]
fn a_need_is_met_by_what_is_young_enough_or_began_later() {
    let clock = Clock::stopped();
    let changes = Changes::new(clock.clone());
    let began = changes.now();
    clock.advance(Duration::from_secs(5));
    let age = |seconds| changes.need(&[project(1)], Duration::from_secs(seconds));
    assert!(age(6).is_met(began) && !age(5).is_met(began));
    let (now, at_most) = (age(0), age(6));
    assert!(now.is_met(changes.now()) && !now.is_met(began));
    let began_long_ago = began.known_up_to(changes.now());
    assert!(!now.is_met(began_long_ago), "although it is known to hold");
    changes.tell(project(1));
    assert!(at_most.is_met(began), "asked before the change");
    assert!(!age(6).is_met(began), "asked after it");
}

/// Values whose reads fail with the number of the read.
type Numbers = Fresh<u32, u64, Failed>;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Failed {
    ReadLost,
    Read(u64),
}

impl From<ReadLost> for Failed {
    fn from(_: ReadLost) -> Self {
        Self::ReadLost
    }
}

fn kept(numbers: &Numbers) -> Vec<u32> {
    (0..10_000).filter(|key| numbers.any(key).is_some()).collect()
}

#[test]
fn the_least_recently_used_entry_is_evicted_first() {
    let changes = Changes::default();
    let numbers = Numbers::new(&changes, 10).weighing(|_, value| *value);
    for key in 0..5 {
        numbers.put(&key, 2, changes.now());
    }
    assert!(numbers.kept(&0, &changes.need(&[], Duration::from_secs(60))).is_some());
    numbers.put(&5, 3, changes.now());
    assert_eq!(kept(&numbers), [0, 3, 4, 5]);
    numbers.put(&6, 11, changes.now());
    numbers.put(&3, 11, changes.now());
    assert_eq!(kept(&numbers), [0, 4, 5], "too heavy for all there is");
    numbers.amend(&5, |value| {
        *value = 9;
        true
    });
    numbers.put(&7, 1, changes.now());
    assert_eq!(kept(&numbers), [5, 7]);
}

#[test]
fn useless_entries_are_swept_when_the_cache_has_doubled() {
    let clock = Clock::stopped();
    let changes = Changes::new(clock.clone());
    let numbers = Numbers::new(&changes, 1_000_000).useless_after(Duration::from_secs(60));
    for key in 0..10_000 {
        numbers.put(&key, 1, changes.now());
        clock.advance(Duration::from_secs(1));
        assert!(key % 500 != 0 || kept(&numbers).len() <= 1024, "{key}");
    }
    assert!(numbers.any(&9_999).is_some() && numbers.any(&0).is_none());
}

#[test]
fn a_value_is_replaced_only_by_one_that_began_later() {
    let changes = Changes::default();
    let numbers = Numbers::new(&changes, 10);
    let (before, after) = (changes.now(), changes.now());
    numbers.put(&1, 2, after);
    numbers.put(&1, 1, before);
    assert_eq!(numbers.any(&1).unwrap().value, 2);
}

/// Adds to a value, as an own write does.
fn add(numbers: &Numbers, key: u32, much: u64) {
    numbers.amend(&key, move |value| {
        *value += much;
        true
    });
}

/// The moment of a read of another process has the number of the last change before it, which may be small.
#[tokio::test]
async fn only_writes_after_the_moment_of_a_value_are_carried_into_it() {
    let changes = Changes::new(Clock::stopped());
    let numbers = Numbers::new(&changes, 10);
    for (key, is_own) in [(1, true), (2, false)] {
        let (writer, events) = (numbers.clone(), changes.clone());
        let read = move |reading: super::Reading<u32, u64, Failed>| async move {
            add(&writer, key, 1);
            let now = events.now();
            let began = if is_own { now } else { events.moment_at(now.at) };
            add(&writer, key, 10);
            drop(reading.land(100, began));
        };
        let need = changes.need(&[], Duration::from_secs(60));
        let value = numbers.get(&key, need, read).await.unwrap().value;
        assert_eq!(value, 110, "read by this process: {is_own}");
    }
}

#[tokio::test]
async fn a_failure_is_not_kept_and_a_panic_is_a_failure() {
    let changes = Changes::default();
    let numbers = Numbers::new(&changes, 10);
    let need = || changes.need(&[], Duration::from_secs(60));
    let failed = numbers.get(&1, need(), |reading| async { reading.end(Err(Failed::Read(1))) }).await;
    assert_eq!(failed.unwrap_err(), Failed::Read(1));
    let lost = numbers.get(&1, need(), |reading| async move { panic!("{:?}", reading.began()) }).await;
    assert_eq!(lost.unwrap_err(), Failed::ReadLost);
    let read = numbers.get(&1, need(), |reading| async { reading.end(Ok(3)) }).await;
    assert_eq!(read.unwrap().value, 3);
    let kept = numbers.get(&1, need(), |reading| async { reading.end(Err(Failed::Read(4))) }).await;
    assert_eq!(kept.unwrap().value, 3);
}

#[tokio::test]
async fn a_value_that_lasts_for_a_shorter_time_is_read_again_earlier() {
    let clock = Clock::stopped();
    let changes = Changes::new(clock.clone());
    let numbers = Numbers::new(&changes, 10).lasting(|value| Duration::from_secs(*value));
    for (wait, brings, is) in [(0, 5, 5), (4, 60, 5), (1, 60, 60), (29, 7, 60), (1, 7, 7)] {
        clock.advance(Duration::from_secs(wait));
        let need = changes.need(&[], Duration::from_secs(30));
        let value = numbers.get(&1, need, |reading| async move { reading.end(Ok(brings)) }).await.unwrap().value;
        assert_eq!(value, is, "after {wait} s more");
    }
}

#[tokio::test(start_paused = true)]
async fn a_thousand_share_one_read_even_when_the_first_leaves() {
    let changes = Changes::default();
    let numbers = Numbers::new(&changes, 10);
    let ask = || {
        let (numbers, need) = (numbers.clone(), changes.need(&[], Duration::from_secs(60)));
        tokio::spawn(async move {
            let slow = |reading: super::Reading<u32, u64, Failed>| async {
                tokio::time::sleep(Duration::from_millis(30)).await;
                let number = reading.began().number;
                reading.end(Ok(number));
            };
            numbers.get(&1, need, slow).await.unwrap().value
        })
    };
    let first = ask();
    tokio::time::sleep(Duration::from_millis(5)).await;
    first.abort();
    let others: Vec<_> = (0..1000).map(|_| ask()).collect();
    let mut values = Vec::new();
    for other in others {
        values.push(other.await.unwrap());
    }
    values.dedup();
    assert_eq!(values.len(), 1);
}

#[test]
fn a_read_from_elsewhere_is_void_only_after_a_later_change() {
    let clock = Clock::stopped();
    let changes = Changes::new(clock.clone());
    let (this, other) = (Changed::Project(Uuid::from_u128(1)), Changed::Project(Uuid::from_u128(2)));
    let mut moments = vec![changes.now().at];
    for changed in [&this, &other, &this, &other] {
        clock.advance(Duration::from_secs(1));
        changes.tell(changed.clone());
        clock.advance(Duration::from_secs(1));
        moments.push(changes.now().at);
    }
    let is_void = |changed: &Changed, at: usize| {
        changes.is_void(std::slice::from_ref(changed), changes.moment_at(moments[at]))
    };
    assert_eq!([0, 1, 2, 3, 4].map(|at| is_void(&this, at)), [true, true, true, false, false]);
    assert_eq!([0, 1, 2, 3, 4].map(|at| is_void(&other, at)), [true, true, true, true, false]);
    let need = changes.need(&[this], Duration::from_secs(60));
    assert!(need.is_met(changes.moment_at(moments[3])) && !need.is_met(changes.moment_at(moments[2])));
}

#[test]
fn a_later_read_is_never_older_or_void_sooner_than_an_earlier_one() {
    let clock = Clock::stopped();
    let changes = Changes::new(clock.clone());
    let this = Changed::Project(Uuid::from_u128(1));
    changes.tell(this.clone());
    let before = changes.now();
    clock.advance(Duration::from_secs(1));
    let between = changes.now().at;
    // By the clock of another machine it may seem to be from long ago.
    let long_ago = before.at - Duration::from_secs(60);
    for at in [long_ago, between] {
        let later = changes.later_moment_at(at, before);
        assert_eq!(later.at, at.max(before.at));
        assert!(later.number >= before.number && !changes.is_void(std::slice::from_ref(&this), later));
    }
    clock.advance(Duration::from_secs(1));
    changes.tell(this.clone());
    let need = changes.need(std::slice::from_ref(&this), Duration::from_secs(60));
    assert!(!need.is_met(changes.later_moment_at(between, before)), "it was told after it began");
    assert!(need.is_met(changes.later_moment_at(changes.now().at, before)));
}

#[test]
fn before_all_changes_that_are_remembered_everything_is_void() {
    let clock = Clock::stopped();
    let changes = Changes::new(clock.clone());
    let begun = changes.now().at;
    assert!(!changes.is_void(&[Changed::Credentials], changes.moment_at(begun)));
    for _ in 0..5000 {
        changes.tell(Changed::AnyProjectAccess);
    }
    let need = changes.need(&[Changed::Credentials], Duration::from_secs(60));
    assert!(!need.is_met(changes.moment_at(begun)));
    assert!(need.is_met(changes.moment_at(changes.now().at)));
}
