//! Tests of the limit of calls in flight, with one process and with several. May use: this folder.

use super::*;

const MS: Duration = Duration::from_millis(10);

fn of(min: usize, max: usize) -> Concurrency {
    Concurrency::new(ConcurrencySettings { min, max })
}

/// Makes a round of calls that use the limit.
async fn round(limit: &Concurrency, took: Duration, failed: bool) {
    for _ in 0..ROUND {
        let mut slots = Vec::new();
        while slots.len() < limit.figures().limit {
            slots.push(limit.enter(Priority::Write, slots.len() as u64).await);
        }
        slots.pop().unwrap().ended(took, failed);
    }
}

#[tokio::test]
async fn the_limit_grows_while_it_is_used_and_v1_keeps_up() {
    let limit = of(2, 160);
    assert_eq!(limit.figures().limit, 10);
    for _ in 0..5 {
        round(&limit, MS, false).await;
    }
    assert_eq!(limit.figures().limit, 15);
    for _ in 0..ROUND {
        limit.enter(Priority::Read, 0).await.ended(MS, false);
    }
    assert!(limit.figures().limit <= 16, "one call at a time asks for no more");
    for _ in 0..200 {
        round(&limit, MS, false).await;
    }
    assert_eq!(limit.figures().limit, 160);
}

#[tokio::test]
async fn it_shrinks_when_calls_fail_or_slow_down_and_keeps_its_bounds() {
    for (took, failed) in [(MS, true), (MS * 10, false)] {
        let limit = of(4, 400);
        round(&limit, MS, false).await;
        let before = limit.figures().limit;
        round(&limit, took, failed).await;
        assert!(limit.figures().limit < before, "{failed}");
        for _ in 0..60 {
            round(&limit, Duration::from_secs(5), true).await;
        }
        assert_eq!(limit.figures().limit, 4);
    }
}

/// Lets the processes exchange their measurements.
fn tell(processes: &[Concurrency]) {
    let measured: Vec<Measured> = processes.iter().map(Concurrency::measured).collect();
    for (at, process) in processes.iter().enumerate() {
        let others = measured.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, found)| *found);
        process.hear(others.collect());
    }
}

fn limits(processes: &[Concurrency]) -> Vec<usize> {
    processes.iter().map(|process| process.figures().limit).collect()
}

#[tokio::test]
async fn processes_have_one_limit_together_and_parts_by_demand() {
    let processes = [of(4, 240), of(4, 240), of(4, 240)];
    assert_eq!(limits(&processes), [15; 3], "before they know of each other");
    tell(&processes);
    assert_eq!(limits(&processes), [5; 3]);
    // One process has much to do.
    let waiting: Vec<_> = (0..25)
        .map(|key| {
            let limit = processes[0].clone();
            tokio::spawn(async move { limit.enter(Priority::Read, key).await })
        })
        .collect();
    tokio::task::yield_now().await;
    tell(&processes);
    assert_eq!(limits(&processes), [15, 1, 1], "each has one place at least");
    tokio::task::yield_now().await;
    assert_eq!(processes[0].figures().under_way, 15, "those who waited go at once");
    drop(waiting);
}

/// Returns the largest number of calls in flight, in the long run, of busy processes before a v1 that handles twelve
/// at once and becomes slow beyond that.
async fn most_at_once(processes: usize, tells: bool) -> usize {
    let processes: Vec<Concurrency> = (0..processes).map(|_| of(4, 256)).collect();
    let mut most = 0;
    for turn in 0..300 {
        let mut slots = Vec::new();
        for process in &processes {
            while process.figures().under_way < process.figures().limit {
                slots.push(process.enter(Priority::Read, slots.len() as u64).await);
            }
        }
        most = if turn < 200 { 0 } else { most.max(slots.len()) };
        let took = MS * u32::try_from((slots.len() / 12).max(1)).unwrap();
        for slot in slots {
            slot.ended(took, false);
        }
        if tells {
            tell(&processes);
        }
    }
    most
}

#[tokio::test]
async fn a_small_v1_gets_no_more_from_three_processes_than_from_one() {
    let one = most_at_once(1, true).await;
    let (three, strangers) = (most_at_once(3, true).await, most_at_once(3, false).await);
    assert!(three <= one + one / 4, "{one} from one, {three} from three");
    assert!(strangers > one + one / 4, "{strangers} from three that know nothing of each other");
}

#[tokio::test]
async fn the_most_urgent_go_first_and_index_work_leaves_room() {
    let limit = of(4, 4);
    let mut held = Vec::new();
    for priority in [Priority::Index, Priority::Index, Priority::Index, Priority::Read] {
        held.push(limit.enter(priority, 0).await);
    }
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut waiting = Vec::new();
    for priority in [Priority::Index, Priority::Read, Priority::Write] {
        let (limit, order) = (limit.clone(), Arc::clone(&order));
        waiting.push(tokio::spawn(async move {
            let slot = limit.enter(priority, 0).await;
            order.lock().push(priority);
            drop(slot);
        }));
        tokio::task::yield_now().await;
    }
    assert!(order.lock().is_empty());
    drop(held);
    for one in waiting {
        one.await.unwrap();
    }
    assert_eq!(*order.lock(), [Priority::Write, Priority::Read, Priority::Index]);
}

#[tokio::test]
async fn calls_of_one_key_that_hang_leave_places_to_its_writes_and_to_other_keys() {
    let limit = of(16, 16);
    let enter = |priority, key| {
        let limit = limit.clone();
        tokio::spawn(async move { limit.enter(priority, key).await })
    };
    let mut hanging: Vec<_> = (0..20).map(|_| enter(Priority::Read, 1)).collect();
    tokio::task::yield_now().await;
    let figures = limit.figures();
    assert_eq!((figures.under_way, figures.waiting), (12, 8), "three quarters are for one key");
    for (priority, key) in [(Priority::Read, 2), (Priority::Write, 1)] {
        let slot = tokio::time::timeout(MS, limit.enter(priority, key)).await;
        assert!(slot.is_ok(), "{priority:?} of {key} passes those that wait");
    }
    drop(hanging.remove(0).await);
    tokio::task::yield_now().await;
    let figures = limit.figures();
    assert_eq!((figures.under_way, figures.waiting), (12, 7), "a place that is free again goes to the next");
}

#[tokio::test]
async fn calls_that_hang_leave_places_to_other_keys_also_when_the_limit_shrinks() {
    let limit = of(4, 256);
    let mut hanging = Vec::new();
    for _ in 0..12 {
        hanging.push(limit.enter(Priority::Read, 1).await);
    }
    // Another process wants as many places, so this one has half of them.
    limit.hear(vec![Measured { limit: 16.0, wants: 16 }]);
    assert_eq!(limit.figures().limit, 8);
    let enter = async |priority, key| tokio::time::timeout(MS, limit.enter(priority, key)).await;
    assert!(enter(Priority::Read, 1).await.is_err(), "its calls hang");
    let others =
        [enter(Priority::Read, 2).await.expect("a place"), enter(Priority::Write, 3).await.expect("a place")];
    assert!(enter(Priority::Read, 4).await.is_err(), "a quarter was free");
    drop(others);
    drop(hanging);
    let figures = limit.figures();
    assert_eq!((figures.under_way, figures.waiting), (0, 0));
    let mut all = Vec::new();
    for key in 0..8 {
        all.push(enter(Priority::Read, key).await.expect("within the limit"));
    }
    assert!(enter(Priority::Read, 9).await.is_err(), "the limit holds again");
}

#[tokio::test]
async fn index_work_alone_is_not_urgent() {
    let limit = of(4, 4);
    drop(limit.enter(Priority::Index, 0).await);
    assert!(!limit.is_urgent_within(Duration::MAX));
    let read = limit.enter(Priority::Read, 0).await;
    assert!(limit.is_urgent_within(Duration::ZERO));
    drop(read);
    assert!(limit.is_urgent_within(Duration::from_secs(600)) && !limit.is_urgent_within(Duration::ZERO));
}

#[tokio::test]
async fn a_caller_that_leaves_the_queue_is_no_longer_counted() {
    let limit = of(1, 1);
    let held = limit.enter(Priority::Read, 0).await;
    for key in [0, 1, 1] {
        let gone = tokio::time::timeout(MS, limit.enter(Priority::Read, key)).await;
        assert!(gone.is_err());
    }
    let waits = tokio::spawn({
        let limit = limit.clone();
        async move { drop(limit.enter(Priority::Read, 1).await) }
    });
    tokio::task::yield_now().await;
    assert_eq!(limit.figures().waiting, 1);
    drop(held);
    waits.await.unwrap();
    assert_eq!((limit.figures().under_way, limit.figures().waiting), (0, 0));
}

#[tokio::test]
async fn leaving_the_queue_keeps_the_places_of_the_others() {
    let limit = of(1, 1);
    let held = limit.enter(Priority::Read, 0).await;
    let gone = tokio::time::timeout(MS, limit.enter(Priority::Write, 0)).await;
    assert!(gone.is_err());
    let next = tokio::spawn({
        let limit = limit.clone();
        async move { drop(limit.enter(Priority::Read, 0).await) }
    });
    tokio::task::yield_now().await;
    drop(held);
    next.await.unwrap();
    drop(limit.enter(Priority::Index, 0).await);
}
