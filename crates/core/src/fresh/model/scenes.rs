//! The sets of parts that run together. May use: this folder.

use super::world::{HALF, MINUTE, World};
use shuttle::future::{self, yield_now};
use shuttle::scheduler::{DfsScheduler, PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, Runner};
use std::sync::Arc;
use std::time::Duration;

/// A part that runs beside the others.
#[derive(Debug, Clone, Copy)]
enum Part {
    /// Asks for a value that is younger than this.
    Ask(Duration),
    /// Asks and leaves at some step.
    AskAndLeave,
    Change,
    Write,
    /// The gateway writes. When that is acknowledged, others remove the record.
    WriteAndRemove,
    Replace,
    Wait,
    Lose,
}

use Part::{Ask, AskAndLeave, Change, Lose, Replace, Wait, Write, WriteAndRemove};

async fn act(part: Part, world: Arc<World>) {
    match part {
        Ask(age) => {
            world.clone().ask(age).await;
            world.ask(age).await;
        }
        AskAndLeave => {
            let asking = future::spawn(world.ask(MINUTE));
            yield_now().await;
            asking.abort();
        }
        Change => world.change().await,
        Write => world.write().await,
        WriteAndRemove => {
            world.clone().write().await;
            world.remove().await;
        }
        Replace => world.replace().await,
        Wait => world.wait().await,
        Lose => world.lose().await,
    }
}

/// Runs all parts of one world side by side until each has ended. A part that waits for ever is a failure.
fn play(parts: &[Part], refused: u64) {
    let world = World::new(refused);
    let all: Vec<_> = parts.iter().map(|part| future::spawn(act(*part, Arc::clone(&world)))).collect();
    future::block_on(async {
        for one in all {
            one.await.expect("a part that ends");
        }
        // The next caller gets an answer, whatever has happened.
        world.ask(MINUTE).await;
    });
}

fn schedules(scheduler: impl Scheduler + 'static, parts: &'static [Part], refused: u64) -> usize {
    Runner::new(scheduler, Config::default()).run(move || play(parts, refused))
}

/// Returns the factor for the number of schedules; 1 in an everyday run.
fn times() -> usize {
    if std::env::var_os("LONG_TESTS").is_some() { 40 } else { 1 }
}

/// Runs many random schedules, and as many with few switches between the parts.
fn explore(scene: &str, parts: &'static [Part], refused: u64) {
    let many = 400 * times();
    let explored = schedules(RandomScheduler::new(many), parts, refused)
        + schedules(PctScheduler::new(3, many), parts, refused);
    println!("{scene}: {explored} schedules explored");
    assert_eq!(explored, 2 * many);
}

#[test]
fn small_worlds_one_schedule_after_the_other() {
    let most = 1_000 * times();
    for (scene, parts) in [
        ("one asks while it changes", &[Ask(MINUTE), Change][..]),
        ("one asks while another leaves", &[Ask(MINUTE), AskAndLeave][..]),
        ("one asks while the read is lost", &[Ask(MINUTE), Lose][..]),
        ("one asks while the gateway writes", &[Ask(MINUTE), Write][..]),
    ] {
        let explored = schedules(DfsScheduler::new(Some(most), false), parts, 0);
        let all = if explored < most { ", which are all" } else { "" };
        println!("{scene}: {explored} schedules explored{all}");
        assert!(explored > 100);
    }
}

#[test]
fn readers_and_changes() {
    explore("readers and changes", &[Ask(MINUTE), Ask(MINUTE), Ask(Duration::ZERO), Change, Change], 0);
}

#[test]
fn readers_and_time() {
    explore("readers and time", &[Ask(MINUTE), Ask(HALF), Change, Wait, Wait], 0);
}

#[test]
fn readers_who_leave_and_reads_that_are_lost() {
    let parts = &[Ask(MINUTE), AskAndLeave, AskAndLeave, Ask(MINUTE), Change, Lose, Lose];
    explore("readers who leave and reads that are lost", parts, 0);
}

#[test]
fn reads_that_fail() {
    explore("reads that all fail", &[Ask(MINUTE), Ask(MINUTE), Change, Ask(MINUTE), Change], 1);
    explore("reads of which some fail", &[Ask(MINUTE), Ask(MINUTE), AskAndLeave, Change, Wait], 2);
}

#[test]
fn own_writes_that_are_carried_over() {
    explore("own writes that are carried over", &[Ask(MINUTE), Write, Ask(MINUTE)], 0);
    explore("own writes and others that change", &[Ask(MINUTE), Ask(MINUTE), Write, Write, Change, Wait], 0);
}

#[test]
fn own_writes_that_others_undo() {
    explore("own writes that others undo", &[Ask(MINUTE), Ask(MINUTE), WriteAndRemove], 0);
    explore("own writes that others undo, and time", &[Ask(MINUTE), WriteAndRemove, Change, Wait], 0);
}

#[test]
fn own_writes_that_replace_what_is_kept() {
    let parts = &[Ask(MINUTE), Ask(Duration::ZERO), Replace, Replace, Change, Ask(MINUTE)];
    explore("own writes that replace what is kept", parts, 0);
}
