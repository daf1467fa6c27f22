//! Tests of the window. May use: this folder.

use super::*;

const LENGTH: Duration = Duration::from_secs(60);

fn told(remaining: usize) -> QuotaNotice {
    QuotaNotice { status: 200, remaining: Some(remaining), ..QuotaNotice::default() }
}

fn call(window: &mut Window, told: &QuotaNotice, now: Instant) {
    window.send(1);
    window.answered(told, 0, now);
}

#[tokio::test]
async fn a_call_counts_from_its_sending_to_a_window_after_its_answer() {
    let (mut window, begun) = (Window::new(Quota::Fixed(2), LENGTH), Instant::now());
    window.send(1);
    assert_eq!((window.used(), window.opens(1, 2, begun)), (1, begun));
    let answered = begun + Duration::from_secs(3);
    window.answered(&QuotaNotice { status: 200, ..QuotaNotice::default() }, 0, answered);
    window.send(1);
    assert_eq!(window.opens(1, 2, answered), answered + LENGTH);
    assert_eq!(window.opens(1, 3, answered), answered);
    window.take_back(1);
    window.pass(answered + LENGTH - Duration::from_millis(1));
    assert_eq!(window.used(), 1);
    window.pass(answered + LENGTH);
    assert_eq!(window.used(), 0);
}

#[tokio::test]
async fn many_calls_ahead_take_as_many_windows_as_they_need() {
    let (mut window, now) = (Window::new(Quota::Fixed(2), LENGTH), Instant::now());
    let waits: Vec<u64> = (1..=6).map(|more| (window.opens(more, 2, now) - now).as_secs()).collect();
    assert_eq!(waits, [0, 0, 60, 60, 120, 120]);
    window.send(1);
    assert_eq!(window.opens(1, 2, now), now);
    assert_eq!(window.opens(2, 2, now), now + LENGTH);
    assert_eq!(window.opens(1_000_000, 1, now), now + LENGTH * 1_000_000);
}

#[tokio::test]
async fn calls_of_others_are_learned_from_v1_and_given_back_as_v1_reports() {
    let (mut window, now) = (Window::new(Quota::Fixed(60), LENGTH), Instant::now());
    call(&mut window, &told(40), now);
    assert_eq!(window.used(), 20, "one own and nineteen of others");
    call(&mut window, &told(39), now);
    assert_eq!(window.used(), 21);
    call(&mut window, &told(50), now);
    assert_eq!(window.used(), 10, "v1's window has slid on");
    call(&mut window, &told(600_000), now);
    assert_eq!(window.used(), 4, "own calls count whatever v1 says");
}

#[tokio::test]
async fn a_quota_that_nobody_has_set_grows_with_what_v1_shows_and_never_by_more() {
    let (mut window, now) = (Window::new(Quota::AtLeast(60), LENGTH), Instant::now());
    call(&mut window, &told(59), now);
    assert_eq!((window.quota(), window.used()), (60, 1));
    call(&mut window, &told(41), now);
    assert_eq!((window.quota(), window.used()), (60, 19), "less is what others have spent");
    // v1's window has moved on before ours, so no larger quota is certain.
    call(&mut window, &told(59), now);
    assert_eq!((window.quota(), window.used()), (60, 3));
    call(&mut window, &told(599_996), now);
    assert_eq!((window.quota(), window.used()), (599_997, 4));
    call(&mut window, &told(10), now);
    assert_eq!((window.quota(), window.used()), (599_997, 599_987), "taken off, not forgotten");
    call(&mut window, &told(599_994), now);
    assert_eq!((window.quota(), window.used()), (599_997, 6), "and given back");
    call(&mut window, &told(usize::MAX), now);
    assert_eq!(window.quota(), MOST);
}

#[tokio::test]
async fn a_v1_that_never_shows_as_much_as_was_expected_is_believed_after_a_window() {
    let (mut window, now) = (Window::new(Quota::AtLeast(60), LENGTH), Instant::now());
    call(&mut window, &told(4), now);
    assert_eq!((window.foreign(), window.own(), window.most(now)), (55, 1, 60), "others may have used it");
    let later = now + LENGTH;
    window.pass(later);
    assert_eq!((window.foreign(), window.own(), window.most(later)), (0, 0, 5));
    call(&mut window, &told(9), later);
    assert_eq!((window.foreign(), window.most(later), window.quota()), (50, 10, 60));
    call(&mut window, &told(40), later);
    assert_eq!((window.foreign(), window.own(), window.most(later)), (18, 2, 42), "some are given back");
    let mut set = Window::new(Quota::Fixed(60), LENGTH);
    call(&mut set, &told(4), now);
    assert_eq!(set.most(later), 60);
}

#[tokio::test]
async fn what_v1_allows_is_what_it_leaves_and_what_the_gateway_has_used() {
    // After a restart of a gateway that makes 50 calls a minute.
    let (mut window, begun) = (Window::new(Quota::AtLeast(60), LENGTH), Instant::now());
    for number in 0..60 {
        let now = begun + number * LENGTH / 50;
        window.pass(now);
        call(&mut window, &told(10), now);
    }
    assert_eq!(window.most(begun + LENGTH), 52, "all but the calls of the last ten seconds of a window");
    // v1 allows five calls, answers slowly, and is called whenever it takes a call.
    let (mut window, mut counted) = (Window::new(Quota::AtLeast(60), LENGTH), Vec::<Instant>::new());
    for second in 0..600 {
        let sent = begun + Duration::from_secs(second);
        counted.retain(|at| *at + LENGTH > sent);
        if counted.len() < 5 {
            counted.push(sent);
            window.pass(sent);
            window.send(1);
            window.answered(&told(5 - counted.len()), 0, sent + LENGTH / 10);
        }
    }
    assert_eq!(window.most(begun + 10 * LENGTH), 5);
    assert!(window.learn(70));
    assert_eq!(window.most(begun + 10 * LENGTH), 70, "another process has seen more");
}

#[tokio::test]
async fn calls_that_v1_may_never_have_had_show_nothing() {
    let (mut window, begun) = (Window::new(Quota::AtLeast(60), LENGTH), Instant::now());
    for _ in 0..20 {
        call(&mut window, &QuotaNotice { status: 502, ..QuotaNotice::default() }, begun);
        window.send(1);
        window.lost(begun);
    }
    call(&mut window, &told(4), begun);
    assert_eq!((window.own(), window.most(begun + LENGTH)), (41, 5));
}

#[tokio::test]
async fn a_quota_that_was_set_is_a_ceiling() {
    let (mut window, now) = (Window::new(Quota::Fixed(30), LENGTH), Instant::now());
    call(&mut window, &told(59), now);
    assert_eq!((window.quota(), window.used()), (30, 1));
}

#[tokio::test]
async fn calls_of_others_count_until_the_reset_of_v1() {
    let (mut window, now) = (Window::new(Quota::Fixed(10), LENGTH), Instant::now());
    let soon = QuotaNotice { reset: Some(Duration::from_secs(5)), ..told(0) };
    call(&mut window, &soon, now);
    assert_eq!(window.used(), 10);
    window.pass(now + Duration::from_secs(5));
    assert_eq!(window.used(), 1);
}

#[tokio::test]
async fn a_429_never_closes_the_window_for_longer_than_a_window() {
    for said in [61, 86_400, u64::MAX] {
        let (mut window, now) = (Window::new(Quota::Fixed(2), LENGTH), Instant::now());
        call(&mut window, &QuotaNotice { status: 429, retry_after: Some(said), ..QuotaNotice::default() }, now);
        assert_eq!(window.opens(1, 2, now), now + LENGTH, "{said}");
    }
}

#[tokio::test]
async fn each_429_without_a_time_closes_the_window_for_twice_as_long_until_v1_accepts_a_call() {
    let (mut window, mut now) = (Window::new(Quota::Fixed(60), LENGTH), Instant::now());
    let refused = QuotaNotice { status: 429, ..QuotaNotice::default() };
    for seconds in [5, 10, 20, 40, 60, 60] {
        call(&mut window, &refused, now);
        call(&mut window, &refused, now);
        now += Duration::from_secs(seconds);
        assert_eq!(window.closed(), Some(now), "two that were under way together count as one");
        window.pass(now);
    }
    call(&mut window, &told(50), now);
    call(&mut window, &refused, now);
    assert_eq!(window.closed(), Some(now + UNEXPLAINED));
}

#[tokio::test]
async fn a_429_closes_the_window_and_does_not_count() {
    let (mut window, now) = (Window::new(Quota::Fixed(60), LENGTH), Instant::now());
    call(&mut window, &QuotaNotice { status: 429, retry_after: Some(7), ..QuotaNotice::default() }, now);
    assert_eq!((window.used(), window.opens(1, 60, now)), (0, now + Duration::from_secs(7)));
    window.pass(now + Duration::from_secs(7));
    assert!(window.closed().is_none());
}

#[tokio::test]
async fn refusals_before_the_throttle_do_not_count_where_v1_tells() {
    let (mut window, now) = (Window::new(Quota::Fixed(60), LENGTH), Instant::now());
    let refused = QuotaNotice { status: 403, ..QuotaNotice::default() };
    call(&mut window, &refused, now);
    assert_eq!(window.used(), 1, "v1 has never sent its figures: better counted");
    call(&mut window, &told(58), now);
    call(&mut window, &refused, now);
    assert_eq!(window.used(), 2);
}
