//! Tests of the breaker under a stopped clock. May use: this folder.

use super::*;
use tokio::time::advance;

const SECOND: Duration = Duration::from_secs(1);

fn end(breaker: &Breaker, path: u64, how: Ended) -> bool {
    breaker.admit(path).map(|pass| pass.ended(how)).is_ok()
}

/// Returns a breaker that has opened because v1 was unreachable.
fn opened() -> Breaker {
    let breaker = Breaker::default();
    while breaker.closed_for().is_none() {
        assert!(end(&breaker, 1, Ended::Unreachable));
    }
    breaker
}

#[tokio::test(start_paused = true)]
async fn connections_that_cannot_be_made_open_it_soon() {
    let breaker = Breaker::default();
    assert_eq!(breaker.health(), Health::Unknown);
    assert!(end(&breaker, 1, Ended::Answered));
    assert_eq!(breaker.health(), Health::Ok);
    for _ in 0..UNREACHABLE {
        assert!(end(&breaker, 1, Ended::Unreachable));
    }
    assert_eq!(breaker.admit(1).unwrap_err(), PAUSE);
    advance(SECOND / 2).await;
    assert_eq!(breaker.admit(2).unwrap_err(), PAUSE / 2);
    assert_eq!(breaker.health(), Health::Unreachable(SECOND / 2));
}

#[tokio::test(start_paused = true)]
async fn a_poisonous_request_opens_nothing_however_often_it_comes() {
    for how in [Ended::Failed, Ended::Faulty] {
        let breaker = Breaker::default();
        for _ in 0..1000 {
            assert!(end(&breaker, 7, how), "{how:?}");
        }
    }
    // Such failures on many paths do not open it either, while v1 answers others.
    let breaker = Breaker::default();
    assert!(end(&breaker, 1, Ended::Faulty) && end(&breaker, 0, Ended::Answered));
    for path in 0..1000 {
        assert!(end(&breaker, path, Ended::Faulty));
    }
    // All requests on the pass-through count as one path.
    let breaker = Breaker::default();
    for _ in 0..1000 {
        breaker.observe().ended(Ended::Failed);
        breaker.observe().ended(Ended::Faulty);
    }
    assert_eq!(breaker.closed_for(), None);
}

#[tokio::test(start_paused = true)]
async fn connections_that_break_at_once_are_one_failure() {
    let breaker = Breaker::default();
    for _ in 0..FAILURES - 1 {
        for path in 0..100 {
            assert!(end(&breaker, path, Ended::Broken));
        }
        assert!(end(&breaker, 1, Ended::Answered));
        advance(AT_ONCE).await;
    }
    assert_eq!(breaker.closed_for(), None);
    assert!(end(&breaker, 1, Ended::Broken));
    assert!(breaker.closed_for().is_some(), "v1 that breaks them again and again is of no use");
}

#[tokio::test(start_paused = true)]
async fn failures_on_several_paths_open_it_when_they_outweigh_the_rest() {
    for how in [Ended::Failed, Ended::Faulty] {
        let breaker = Breaker::default();
        for path in 0..FAILURES as u64 {
            assert!(end(&breaker, path, how));
        }
        assert!(breaker.closed_for().is_some(), "{how:?}");
    }
    let breaker = Breaker::default();
    for path in 0..100 {
        assert!(end(&breaker, path, Ended::Failed));
        assert!(end(&breaker, path, Ended::Answered) && end(&breaker, path, Ended::Answered));
    }
    // Failures that are far apart do not count as trouble.
    let breaker = Breaker::default();
    for path in 0..100 {
        assert!(end(&breaker, path, Ended::Failed));
        advance(WINDOW / 3).await;
    }
}

#[tokio::test(start_paused = true)]
async fn one_call_at_a_time_finds_out_and_a_good_answer_closes_it() {
    let breaker = opened();
    advance(PAUSE).await;
    let probe = breaker.admit(1).unwrap();
    assert!(probe.probe && breaker.admit(2).is_err());
    probe.ended(Ended::Unreachable);
    assert_eq!(breaker.admit(1).unwrap_err(), 2 * PAUSE, "the pause grows");
    advance(2 * PAUSE).await;
    // After a dropped probe, another may be sent.
    drop(breaker.admit(1).unwrap());
    let probe = breaker.admit(1).unwrap();
    probe.ended(Ended::Answered);
    assert!(!breaker.admit(1).unwrap().probe);
    assert_eq!(breaker.health(), Health::Ok);
    for _ in 0..20 {
        advance(LONGEST).await;
        if let Ok(pass) = breaker.admit(1) {
            pass.ended(Ended::Unreachable);
        }
    }
    assert!(breaker.admit(1).unwrap_err() <= LONGEST, "and never beyond the longest");
}

#[tokio::test(start_paused = true)]
async fn an_outage_that_nobody_asked_about_for_a_minute_is_unknown_until_the_next_probe() {
    let breaker = opened();
    advance(FORGOTTEN - SECOND).await;
    assert_eq!(breaker.health(), Health::Unreachable(FORGOTTEN - SECOND));
    advance(SECOND).await;
    assert_eq!(breaker.health(), Health::Unknown);
    // Calls are still made one at a time. One that fails shows the same outage.
    let probe = breaker.admit(1).unwrap();
    assert!(probe.probe && breaker.admit(2).is_err());
    probe.ended(Ended::Unreachable);
    assert_eq!(breaker.health(), Health::Unreachable(FORGOTTEN));
    advance(FORGOTTEN).await;
    assert_eq!(breaker.health(), Health::Unknown);
    // So does a probe whose caller leaves before v1 has answered.
    drop(breaker.admit(1).unwrap());
    assert_eq!(breaker.health(), Health::Unreachable(2 * FORGOTTEN));
    advance(FORGOTTEN).await;
    // So does a call that passes through.
    breaker.observe().ended(Ended::Unreachable);
    assert_eq!(breaker.health(), Health::Unreachable(3 * FORGOTTEN));
    advance(FORGOTTEN).await;
    assert_eq!(breaker.health(), Health::Unknown);
    assert!(end(&breaker, 1, Ended::Answered));
    assert_eq!(breaker.health(), Health::Ok);
}

#[tokio::test(start_paused = true)]
async fn pass_through_calls_are_never_held_back_and_close_the_breaker() {
    let breaker = opened();
    breaker.observe().ended(Ended::Answered);
    assert!(breaker.admit(1).is_err(), "it may have begun before");
    advance(PAUSE).await;
    breaker.observe().ended(Ended::Answered);
    assert!(!breaker.admit(1).unwrap().probe);
    // Its failures to connect count too.
    for _ in 0..UNREACHABLE {
        breaker.observe().ended(Ended::Unreachable);
    }
    assert!(breaker.admit(1).is_err());
}

#[tokio::test(start_paused = true)]
async fn failures_while_it_is_open_take_no_more_memory() {
    let breaker = opened();
    for _ in 0..2 * MOST {
        breaker.observe().ended(Ended::Unreachable);
    }
    assert_eq!(breaker.state().failures.len(), MOST);
    advance(2 * WINDOW).await;
    breaker.observe().ended(Ended::Unreachable);
    assert_eq!(breaker.state().failures.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_first_failure_newer_than_the_count_of_answers_means_no_good_answers() {
    let breaker = Breaker::default();
    let mut state = breaker.state();
    for _ in 0..UNREACHABLE {
        state.note(Failure { at: Instant::now(), ended: Ended::Unreachable, path: 1, answered: 5 });
    }
    assert!(state.should_open(4, false));
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_fails_after_a_newer_one_was_answered_opens_nothing() {
    let breaker = opened();
    advance(PAUSE).await;
    let old = breaker.admit(1).unwrap();
    advance(SILENCE).await;
    assert!(old.probe && end(&breaker, 1, Ended::Answered));
    old.ended(Ended::Unreachable);
    assert_eq!(breaker.closed_for(), None);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_probe_of_an_earlier_outage_allows_no_second_probe() {
    let breaker = opened();
    advance(PAUSE).await;
    let old = breaker.admit(1).unwrap();
    breaker.observe().ended(Ended::Answered);
    for _ in 0..UNREACHABLE {
        assert!(end(&breaker, 1, Ended::Unreachable));
    }
    advance(2 * PAUSE).await;
    let new = breaker.admit(1).unwrap();
    assert!(old.probe && new.probe);
    drop(old);
    assert_eq!(breaker.admit(1).unwrap_err(), PAUSE);
}

#[tokio::test(start_paused = true)]
async fn silence_opens_it_only_when_several_wait() {
    let breaker = Breaker::default();
    let slow: Vec<Pass> = (1..WAITING).map(|path| breaker.admit(path).unwrap()).collect();
    advance(10 * SILENCE).await;
    assert!(!breaker.has_stopped_calls(), "few that wait may have asked for much");
    let more = breaker.admit(9).unwrap();
    assert!(!breaker.has_stopped_calls(), "the last one has just begun");
    more.ended(Ended::Answered);
    let more = breaker.admit(9).unwrap();
    advance(SILENCE - SECOND).await;
    assert!(!breaker.has_stopped_calls());
    advance(SECOND).await;
    assert!(breaker.has_stopped_calls() && breaker.admit(1).is_err());
    drop((slow, more));
}

#[tokio::test(start_paused = true)]
async fn trouble_is_remembered_for_a_moment() {
    let breaker = Breaker::default();
    assert!(end(&breaker, 1, Ended::Answered) && !breaker.is_troubled());
    assert!(end(&breaker, 1, Ended::Failed) && breaker.is_troubled());
    advance(WINDOW).await;
    assert!(!breaker.is_troubled());
    advance(FORGOTTEN).await;
    assert_eq!(breaker.health(), Health::Unknown);
}
