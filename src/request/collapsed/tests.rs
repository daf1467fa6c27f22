//! Which requests are carried out, and which get the answer of another. May use: `context`, this folder.

use super::*;
use crate::context::Note;
use fastrand::Rng;
use futures_util::future::join_all;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, yield_now};
use tokio::time::{sleep, timeout};

/// A value that changes with each tick and is read in two steps.
#[derive(Clone, Default)]
struct World {
    reads: Collapsed<u8>,
    clock: Arc<AtomicU64>,
    carried_out: Arc<AtomicU64>,
}

fn asked(path: &str) -> RequestKey {
    let path_and_query = path.parse().unwrap();
    RequestKey { key: KeyId::of(b"ada"), credential: None, path_and_query }
}

fn ctx() -> Context {
    Context::new("r", Duration::from_secs(30))
}

fn reply(seen: u64) -> Result<Reply, Refusal> {
    Ok(Reply::json(200, seen.to_string()))
}

fn seen(answer: Result<Reply, Refusal>) -> u64 {
    std::str::from_utf8(&answer.unwrap().body.unwrap()).unwrap().parse().unwrap()
}

impl World {
    /// Reads the clock when the reading begins, and answers with that value once `gate` lets it through.
    fn read(&self, path: &str, terms: u8, gate: &Arc<Semaphore>) -> JoinHandle<Result<Reply, Refusal>> {
        self.read_with(path, terms, gate, reply)
    }

    fn read_with(
        &self,
        path: &str,
        terms: u8,
        gate: &Arc<Semaphore>,
        answer: fn(u64) -> Result<Reply, Refusal>,
    ) -> JoinHandle<Result<Reply, Refusal>> {
        let (world, gate, part) = (self.clone(), Arc::clone(gate), self.reads.join(asked(path), || terms));
        tokio::spawn(async move {
            let run = |_| async move {
                let shown = world.clock.load(Ordering::SeqCst);
                world.carried_out.fetch_add(1, Ordering::SeqCst);
                gate.acquire().await.unwrap().forget();
                answer(shown)
            };
            part.answer(&ctx(), run).await
        })
    }

    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst) + 1
    }

    fn carried_out(&self) -> u64 {
        self.carried_out.load(Ordering::SeqCst)
    }

    fn is_forgotten(&self) -> bool {
        self.reads.entries.lock().by_key.is_empty()
    }
}

async fn settle() {
    for _ in 0..50 {
        yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn equal_reads_at_once_are_two_and_the_second_is_for_all_who_came_during_the_first() {
    let (world, gate) = (World::default(), Arc::new(Semaphore::new(0)));
    let first = world.read("/x", 0, &gate);
    settle().await;
    let now = world.tick();
    let others: Vec<_> = (0..30).map(|_| world.read("/x", 0, &gate)).collect();
    let other_path = world.read("/x?a", 0, &gate);
    settle().await;
    assert_eq!(world.carried_out(), 2, "the first and the other path");
    gate.add_permits(100);
    assert_eq!(seen(first.await.unwrap()), now - 1);
    assert!(join_all(others).await.into_iter().all(|answer| seen(answer.unwrap()) == now));
    other_path.await.unwrap().unwrap();
    assert_eq!(world.carried_out(), 3);
    assert!(world.is_forgotten());
}

#[tokio::test(start_paused = true)]
async fn a_shared_read_continues_when_its_first_client_leaves() {
    let (world, gate) = (World::default(), Arc::new(Semaphore::new(0)));
    let first = world.read("/x", 0, &gate);
    settle().await;
    let [one, other, last] = [(); 3].map(|()| world.read("/x", 0, &gate));
    settle().await;
    // The reading of the first request was for its own client only.
    first.abort();
    settle().await;
    assert_eq!(world.carried_out(), 2);
    one.abort();
    settle().await;
    other.abort();
    settle().await;
    assert_eq!(world.carried_out(), 2);
    gate.add_permits(100);
    seen(last.await.unwrap());
    assert!(world.is_forgotten());
}

#[tokio::test(start_paused = true)]
async fn a_shared_read_ends_when_all_its_clients_have_left() {
    let (world, gate, now) = (World::default(), Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(1)));
    seen(world.read("/x", 0, &now).await.unwrap());
    let first = world.read("/x", 0, &gate);
    settle().await;
    let others = [(); 2].map(|()| world.read("/x", 0, &gate));
    settle().await;
    first.abort();
    settle().await;
    assert_eq!(world.carried_out(), 3);
    others.iter().for_each(JoinHandle::abort);
    settle().await;
    assert!(world.is_forgotten());
}

/// Clients that wait for less than two readings would never get an answer if each of them began a new reading.
#[tokio::test(start_paused = true)]
async fn impatient_clients_do_not_take_the_answer_from_each_other() {
    let world = World::default();
    let mut reads = Vec::new();
    for _ in 0..100 {
        let (world, part) = (world.clone(), world.reads.join(asked("/x"), || 0));
        let read = async move {
            let run = |_| async move {
                world.carried_out.fetch_add(1, Ordering::SeqCst);
                sleep(Duration::from_millis(600)).await;
                reply(0)
            };
            part.answer(&ctx(), run).await
        };
        reads.push(tokio::spawn(timeout(Duration::from_millis(1_000), read)));
        sleep(Duration::from_millis(100)).await;
    }
    let answered = join_all(reads).await.into_iter().filter(|read| matches!(read, Ok(Ok(Ok(_))))).count();
    // Two of three: a client that comes when over 0.4 s of a reading are left leaves before the next reading ends.
    assert!(answered >= 60, "{answered} of 100");
    assert!(world.carried_out() < 20, "{}", world.carried_out());
}

#[tokio::test(start_paused = true)]
async fn when_all_who_wait_have_left_nothing_is_carried_out_for_them() {
    let (world, gate) = (World::default(), Arc::new(Semaphore::new(0)));
    let first = world.read("/x", 0, &gate);
    settle().await;
    for waiting in [world.read("/x", 0, &gate), world.read("/x", 0, &gate)] {
        settle().await;
        waiting.abort();
    }
    settle().await;
    gate.add_permits(100);
    seen(first.await.unwrap());
    assert_eq!(world.carried_out(), 1);
    assert!(world.is_forgotten());
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_for_the_one_alone_and_a_refusal_for_all() {
    let failing = |_| Err(Refusal::upstream("It failed.", "for the log"));
    let refusing = |_| Err(Refusal::not_found());
    for (answer, carried_out) in [(failing as fn(u64) -> _, 6), (refusing, 2)] {
        let (world, gate) = (World::default(), Arc::new(Semaphore::new(0)));
        let reads: Vec<_> = (0..6).map(|_| world.read_with("/x", 0, &gate, answer)).collect();
        gate.add_permits(100);
        assert!(join_all(reads).await.into_iter().all(|answer| answer.unwrap().is_err()));
        assert_eq!(world.carried_out(), carried_out);
        assert!(world.is_forgotten());
    }
}

#[tokio::test(start_paused = true)]
async fn one_of_whom_something_else_was_proven_is_carried_out_for_itself() {
    let (world, gate) = (World::default(), Arc::new(Semaphore::new(0)));
    let reads = [world.read("/x", 0, &gate), world.read("/x", 0, &gate), world.read("/x", 1, &gate)];
    settle().await;
    assert_eq!(world.carried_out(), 2);
    gate.add_permits(100);
    assert!(join_all(reads).await.into_iter().all(|answer| answer.unwrap().is_ok()));
    assert_eq!(world.carried_out(), 3);
    assert!(world.is_forgotten());
}

#[tokio::test(start_paused = true)]
async fn one_that_hangs_holds_the_next_one_up_for_a_moment_only() {
    let (world, never, gate) = (World::default(), Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(100)));
    let hangs = world.read("/x", 0, &never);
    settle().await;
    // The number of clients that wait and leave meanwhile does not matter.
    for _ in 0..4 {
        let leaves = world.read("/x", 0, &gate);
        sleep(PATIENCE / 5).await;
        leaves.abort();
        settle().await;
    }
    let begun = tokio::time::Instant::now();
    let waiting = world.read("/x", 0, &gate);
    sleep(PATIENCE / 5 - Duration::from_millis(2)).await;
    assert_eq!(world.carried_out(), 1);
    seen(waiting.await.unwrap());
    assert!(begun.elapsed() < PATIENCE / 4);
    // By now the hanging reading has taken longer than `PATIENCE`.
    seen(world.read("/x", 0, &gate).await.unwrap());
    hangs.abort();
    settle().await;
    assert!(world.is_forgotten());
}

#[tokio::test(start_paused = true)]
async fn when_the_one_for_all_hangs_another_begins_beside_it() {
    let (world, never, gate) = (World::default(), Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let first = world.read("/x", 0, &gate);
    settle().await;
    let hangs = world.read("/x", 0, &never);
    settle().await;
    let now = world.tick();
    let others: Vec<_> = (0..10).map(|_| world.read("/x", 0, &gate)).collect();
    settle().await;
    gate.add_permits(100);
    seen(first.await.unwrap());
    settle().await;
    assert_eq!(world.carried_out(), 2);
    let begun = tokio::time::Instant::now();
    assert!(join_all(others).await.into_iter().all(|answer| seen(answer.unwrap()) == now));
    assert!(begun.elapsed() <= PATIENCE + Duration::from_millis(2), "{:?}", begun.elapsed());
    assert_eq!(world.carried_out(), 3);
    hangs.abort();
    settle().await;
    assert!(world.is_forgotten());
}

#[tokio::test(start_paused = true)]
async fn one_that_hangs_beside_another_takes_the_answer_of_that() {
    let (world, never, gate) = (World::default(), Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let first = world.read("/x", 0, &gate);
    settle().await;
    let [slow, beside] = [&gate, &never].map(|gate| world.read("/x", 0, gate));
    settle().await;
    gate.add_permits(1);
    seen(first.await.unwrap());
    sleep(PATIENCE + Duration::from_millis(10)).await;
    assert_eq!(world.carried_out(), 3);
    gate.add_permits(1);
    assert_eq!(seen(slow.await.unwrap()), seen(beside.await.unwrap()));
    settle().await;
    assert!(world.is_forgotten());
}

/// Thirty requests at once. Each alone would use older data after ten seconds, or fail when there is none.
#[tokio::test(start_paused = true)]
async fn sharing_a_read_of_a_silent_v1_never_lengthens_the_wait() {
    const ALONE: Duration = Duration::from_secs(10);
    for older in [true, false] {
        let (world, begun) = (World::default(), tokio::time::Instant::now());
        let reads: Vec<_> = (0..30)
            .map(|_| {
                let (world, part) = (world.clone(), world.reads.join(asked("/x"), || 0));
                tokio::spawn(async move {
                    let ctx = ctx();
                    let meter = Arc::clone(&ctx.meter);
                    let run = |waited| async move {
                        world.carried_out.fetch_add(1, Ordering::SeqCst);
                        sleep(ALONE.saturating_sub(waited)).await;
                        match older {
                            true => meter.relies_on(Instant::now(), Note::Outage),
                            false => return Err(Refusal::unavailable("for the log")),
                        }
                        reply(0)
                    };
                    let answer = part.answer(&ctx, run).await;
                    assert_eq!((answer.is_ok(), ctx.meter.is_stale()), (older, older));
                    begun.elapsed()
                })
            })
            .collect();
        let waited = join_all(reads).await.into_iter().map(Result::unwrap).max();
        assert!(waited <= Some(ALONE + Duration::from_millis(20)), "{waited:?}");
        // One reading each second, and none at the end.
        assert!((9..=11).contains(&world.carried_out()), "{}", world.carried_out());
        assert!(world.is_forgotten());
    }
}

/// One request waits long without result; another, which began beside it, still gets its answer.
#[tokio::test(start_paused = true)]
async fn a_long_wait_in_vain_takes_no_answer_from_those_who_read_beside_it() {
    let (world, never, gate) = (World::default(), Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let first = world.read("/x", 0, &never);
    settle().await;
    let fails = world.read_with("/x", 0, &gate, |_| Err(Refusal::unavailable("for the log")));
    settle().await;
    let [beside, waits] = [&never, &never].map(|gate| world.read("/x", 0, gate));
    sleep(PATIENCE * 2 + Duration::from_millis(10)).await;
    assert_eq!(world.carried_out(), 3);
    gate.add_permits(1);
    assert!(fails.await.unwrap().is_err() && waits.await.unwrap().is_err());
    never.add_permits(2);
    seen(beside.await.unwrap());
    seen(first.await.unwrap());
    settle().await;
    assert!(world.is_forgotten());
}

/// Sends two requests that wait for the same reading; the first is carried out with `run`. Returns their contexts.
async fn answered<F>(run: impl Fn(Arc<Meter>) -> F) -> [Context; 2]
where
    F: Future<Output = Result<Reply, Refusal>> + Send + 'static,
{
    let reads = Collapsed::default();
    let first = reads.join(asked("/x"), || ());
    let both = [ctx(), ctx()];
    let parts = both.each_ref().map(|ctx| (reads.join(asked("/x"), || ()), ctx));
    let run = &run;
    let both_at_once = parts.map(|(part, ctx)| part.answer(ctx, |_| run(Arc::clone(&ctx.meter))));
    drop(first);
    assert!(join_all(both_at_once).await.iter().all(Result::is_ok));
    both
}

#[tokio::test(start_paused = true)]
async fn the_age_of_an_answer_and_who_asked_v1_are_told_to_all() {
    let read_at = Instant::now() - Duration::from_secs(7);
    let [leading, joining] = answered(|meter| async move {
        meter.record(Duration::from_millis(1));
        meter.relies_on(read_at, Note::Stale);
        reply(0)
    })
    .await;
    assert!(joining.meter.is_stale() && joining.meter.notes().contains(&Note::Collapsed));
    assert!(joining.meter.stale_age() >= Some(Duration::from_secs(7)));
    assert!(joining.meter.asks_v1() && joining.meter.calls() == 0);
    assert!(!leading.meter.notes().contains(&Note::Collapsed));
}

#[tokio::test(start_paused = true)]
async fn older_data_because_of_a_failure_is_for_the_one_alone() {
    let failures = AtomicU64::new(0);
    let both = answered(|meter| {
        let fails = failures.fetch_add(1, Ordering::SeqCst) == 0;
        async move {
            if fails {
                meter.relies_on(Instant::now(), Note::Outage);
            }
            reply(0)
        }
    })
    .await;
    assert_eq!(both.map(|ctx| ctx.meter.is_stale()), [true, false]);
}

/// Thousands of reads of three paths: they take time, some fail, and some clients leave.
#[tokio::test(start_paused = true)]
async fn no_request_gets_data_read_before_it_came() {
    for seed in 0..20 {
        let (world, mut random) = (World::default(), Rng::with_seed(seed));
        let mut reads = Vec::new();
        for _ in 0..500 {
            let now = world.tick();
            let (path, terms) = (["/a", "/b", "/c"][random.usize(0..3)], u8::from(random.f32() < 0.1));
            let (takes, fails, leaves) = (random.u64(0..3000), random.f32() < 0.1, random.f32() < 0.2);
            let (reading, part) = (world.clone(), world.reads.join(asked(path), || terms));
            let run = move |_| async move {
                let shown = reading.clock.load(Ordering::SeqCst);
                reading.carried_out.fetch_add(1, Ordering::SeqCst);
                sleep(Duration::from_millis(takes)).await;
                if fails { Err(Refusal::upstream("It failed.", "for the log")) } else { reply(shown) }
            };
            let read = tokio::spawn(async move { part.answer(&ctx(), run).await });
            if leaves {
                let leaving = read.abort_handle();
                let stays = Duration::from_millis(random.u64(0..2000));
                tokio::spawn(async move {
                    sleep(stays).await;
                    leaving.abort();
                });
            }
            reads.push((now, read));
            sleep(Duration::from_millis(random.u64(0..20))).await;
        }
        for (asked_at, read) in reads {
            if let Ok(answer @ Ok(_)) = read.await {
                assert!(seen(answer) >= asked_at, "seed {seed}");
            }
        }
        settle().await;
        assert!(world.is_forgotten(), "seed {seed}");
        assert!(world.carried_out() < 400, "seed {seed}: {}", world.carried_out());
    }
}
