//! Tests of the queues under a stopped clock. May use: this folder.

use super::*;
use tokio::time::{advance, sleep};

const LENGTH: Duration = Duration::from_secs(60);
const DONE: QuotaNotice = QuotaNotice { status: 200, remaining: None, reset: None, retry_after: None };

fn lane(quota: usize, reserve: usize) -> Arc<Lane> {
    Arc::new(Lane::new(Quota::Fixed(quota), reserve, LENGTH))
}

fn within(seconds: u64) -> Instant {
    Instant::now() + Duration::from_secs(seconds)
}

async fn call(lane: &Arc<Lane>, priority: Priority, seconds: u64) -> Result<(), Duration> {
    lane.admit(priority, within(seconds), &Arc::default()).await.map(|permit| permit.answered(&DONE))
}

/// Makes calls until the next one would have to wait.
async fn use_up(lane: &Arc<Lane>, priority: Priority) -> usize {
    let mut made = 0;
    while call(lane, priority, 0).await.is_ok() {
        made += 1;
    }
    made
}

#[tokio::test(start_paused = true)]
async fn each_priority_has_its_share() {
    let lane = lane(60, 6);
    assert_eq!(use_up(&lane, Priority::Index).await, 44);
    assert_eq!(use_up(&lane, Priority::Read).await, 10);
    assert_eq!(use_up(&lane, Priority::Write).await, 6);
    assert_eq!(call(&lane, Priority::Write, 59).await, Err(LENGTH));
}

#[tokio::test(start_paused = true)]
async fn a_quota_of_any_size_leaves_something_to_everybody() {
    for quota in 1..200 {
        for reserve in [0, 6, 1000] {
            for priority in [Priority::Index, Priority::Read, Priority::Write] {
                assert!(use_up(&lane(quota, reserve), priority).await > 0, "{quota} {reserve} {priority:?}");
            }
            assert_eq!(use_up(&lane(quota, reserve), Priority::Write).await, quota);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_inside_its_deadline_and_is_else_told_the_true_time() {
    let lane = lane(2, 0);
    call(&lane, Priority::Read, 0).await.unwrap();
    advance(Duration::from_secs(10)).await;
    call(&lane, Priority::Read, 0).await.unwrap();
    advance(Duration::from_secs(20)).await;
    assert_eq!(call(&lane, Priority::Read, 29).await, Err(Duration::from_secs(30)));
    assert_eq!(lane.wait(Priority::Read), Duration::from_secs(30));
    let begun = Instant::now();
    call(&lane, Priority::Read, 31).await.unwrap();
    assert_eq!(begun.elapsed().as_secs(), 30, "let through at the second it was told");
}

#[tokio::test(start_paused = true)]
async fn the_urgent_go_first_and_equals_in_the_order_they_came() {
    let lane = lane(1, 0);
    call(&lane, Priority::Read, 0).await.unwrap();
    let order: Arc<Mutex<Vec<(Priority, u32)>>> = Arc::default();
    let mut waiting = Vec::new();
    for number in 0..3 {
        for priority in [Priority::Index, Priority::Read, Priority::Write] {
            let (lane, order) = (Arc::clone(&lane), Arc::clone(&order));
            waiting.push(tokio::spawn(async move {
                call(&lane, priority, 3600).await.unwrap();
                order.lock().push((priority, number));
            }));
            sleep(Duration::from_millis(1)).await;
        }
    }
    for one in waiting {
        one.await.unwrap();
    }
    let expected: Vec<_> = [Priority::Write, Priority::Read, Priority::Index]
        .into_iter()
        .flat_map(|priority| (0..3).map(move |number| (priority, number)))
        .collect();
    assert_eq!(*order.lock(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_waiter_whose_client_leaves_gives_its_place_up() {
    let lane = lane(1, 0);
    call(&lane, Priority::Read, 0).await.unwrap();
    let wait = || {
        let lane = Arc::clone(&lane);
        tokio::spawn(async move { call(&lane, Priority::Read, 3600).await })
    };
    let (first, second) = (wait(), wait());
    sleep(Duration::from_millis(1)).await;
    assert_eq!(lane.wait(Priority::Read).as_secs(), 179, "two go before, a minute each");
    first.abort();
    let begun = Instant::now();
    second.await.unwrap().unwrap();
    assert!(begun.elapsed() <= LENGTH, "the place of the one who left is not waited for");
    assert!(lane.state().first().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_call_without_room_before_its_deadline_is_refused_at_once() {
    let lane = lane(2, 0);
    use_up(&lane, Priority::Read).await;
    let waiting: Vec<_> = (0..2)
        .map(|_| {
            let lane = Arc::clone(&lane);
            tokio::spawn(async move { call(&lane, Priority::Read, 90).await })
        })
        .collect();
    sleep(Duration::from_millis(1)).await;
    let begun = Instant::now();
    assert!(call(&lane, Priority::Read, 70).await.is_err(), "two are ahead, for two calls");
    assert_eq!(begun.elapsed(), Duration::ZERO);
    for one in waiting {
        one.await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_larger_quota_that_another_process_has_seen_ends_the_wait() {
    let lane = Arc::new(Lane::new(Quota::AtLeast(1), 0, LENGTH));
    call(&lane, Priority::Read, 0).await.unwrap();
    let (begun, waiting) = (Instant::now(), Arc::clone(&lane));
    let waiting = tokio::spawn(async move { call(&waiting, Priority::Read, 3600).await });
    sleep(Duration::from_secs(1)).await;
    lane.hear(0, 10);
    waiting.await.unwrap().unwrap();
    assert_eq!(begun.elapsed().as_secs(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_429_of_v1_holds_everybody_back_for_as_long_as_v1_says() {
    let lane = lane(60, 6);
    let limited = QuotaNotice { status: 429, retry_after: Some(9), ..DONE };
    lane.admit(Priority::Read, within(0), &Arc::default()).await.unwrap().answered(&limited);
    assert!(lane.is_short());
    assert_eq!(call(&lane, Priority::Write, 5).await, Err(Duration::from_secs(9)));
    advance(Duration::from_secs(9)).await;
    call(&lane, Priority::Index, 0).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_not_sent_is_given_back_and_one_without_an_answer_is_not() {
    let lane = lane(1, 0);
    let admit = async || lane.admit(Priority::Read, within(0), &Arc::default()).await.unwrap();
    drop(admit().await);
    let mut refused = admit().await;
    refused.sends();
    refused.not_sent();
    let mut lost = admit().await;
    lost.sends();
    drop(lost);
    assert!(call(&lane, Priority::Read, 0).await.is_err());
    assert!(!lane.is_idle());
    advance(LENGTH).await;
    assert!(lane.is_idle());
}

/// Clients arrive at random and calls take random times. v1 never counts more than the quota in any window, when it
/// counts each call at some moment between the sending and the answer.
#[tokio::test(start_paused = true)]
async fn v1_never_counts_more_than_the_quota_in_any_window() {
    let (lane, counted) = (lane(60, 6), Arc::new(Mutex::new(Vec::new())));
    let mut clients = Vec::new();
    for number in 0..300_u64 {
        let (lane, counted) = (Arc::clone(&lane), Arc::clone(&counted));
        let priority = [Priority::Write, Priority::Read, Priority::Index][(number % 3) as usize];
        clients.push(tokio::spawn(async move {
            sleep(Duration::from_millis(number * 977 % 50_000)).await;
            let permit = lane.admit(priority, within(3600), &Arc::default()).await.unwrap();
            sleep(Duration::from_millis(number * 331 % 900)).await;
            counted.lock().push(Instant::now());
            sleep(Duration::from_millis(number * 113 % 900)).await;
            permit.answered(&DONE);
        }));
    }
    for client in clients {
        client.await.unwrap();
    }
    let mut counted = counted.lock().clone();
    counted.sort();
    assert_eq!(counted.len(), 300);
    for calls in counted.windows(61) {
        assert!(calls[60] - calls[0] >= LENGTH, "61 calls in {:?}", calls[60] - calls[0]);
    }
    let whole = counted[299] - counted[0];
    assert!(whole < LENGTH * 6, "and hardly slower than that: {whole:?}");
}

#[tokio::test(start_paused = true)]
async fn reserved_quota_belongs_to_its_request() {
    let (lane, meter) = (lane(5, 0), Arc::default());
    call(&lane, Priority::Write, 0).await.unwrap();
    let room = lane.keep(3, Priority::Write, within(0), &meter).await.unwrap().expect("room");
    assert_eq!(use_up(&lane, Priority::Write).await, 1, "the others have what is left");
    for _ in 0..2 {
        lane.admit(Priority::Write, within(0), &meter).await.unwrap().answered(&DONE);
    }
    drop(room);
    assert_eq!(use_up(&lane, Priority::Write).await, 1, "the third was not made and is anybody's");
    assert_eq!(lane.admit(Priority::Write, within(59), &meter).await.map(drop), Err(LENGTH), "not theirs any more");
}

#[tokio::test(start_paused = true)]
async fn two_rooms_of_one_request_are_given_back_together() {
    let (lane, meter) = (lane(5, 0), Arc::default());
    let first = lane.keep(2, Priority::Read, within(0), &meter).await.unwrap();
    let second = lane.keep(1, Priority::Read, within(0), &meter).await.unwrap();
    drop(first);
    assert_eq!(use_up(&lane, Priority::Write).await, 2, "the other read of the request may need it");
    lane.admit(Priority::Read, within(0), &meter).await.unwrap().answered(&DONE);
    drop(second);
    assert_eq!(use_up(&lane, Priority::Write).await, 2);
}

#[tokio::test(start_paused = true)]
async fn room_is_waited_for_as_a_whole_or_not_at_all() {
    let (lane, meter) = (lane(5, 0), Arc::default());
    call(&lane, Priority::Write, 0).await.unwrap();
    advance(Duration::from_secs(10)).await;
    call(&lane, Priority::Write, 0).await.unwrap();
    let kept = |calls, seconds| lane.keep(calls, Priority::Write, within(seconds), &meter);
    assert_eq!(kept(5, 30).await.map(drop), Err(LENGTH));
    assert_eq!(kept(4, 30).await.map(drop), Err(Duration::from_secs(50)));
    assert!(kept(6, 30).await.unwrap().is_none(), "so many can never be made at once");
    assert_eq!(use_up(&lane, Priority::Write).await, 3, "who gives up keeps nothing");
}

#[tokio::test(start_paused = true)]
async fn room_does_not_help_where_v1_itself_refuses() {
    let (lane, meter) = (lane(5, 0), Arc::default());
    let _room = lane.keep(3, Priority::Write, within(0), &meter).await.unwrap().expect("room");
    let limited = QuotaNotice { status: 429, retry_after: Some(7), ..DONE };
    lane.admit(Priority::Write, within(0), &meter).await.unwrap().answered(&limited);
    let wait = lane.admit(Priority::Write, within(5), &meter).await.map(drop);
    assert_eq!(wait, Err(Duration::from_secs(7)));
    let begun = Instant::now();
    lane.admit(Priority::Write, within(8), &meter).await.unwrap().answered(&DONE);
    assert_eq!(begun.elapsed(), Duration::from_secs(7));
}
