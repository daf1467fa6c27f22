//! Thousands of mixed reads with planted differences: all are found, and no other. With LONG_TESTS=1 it is 5,000 reads,
//! and the time to an answer with and without comparing is printed side by side.

use crate::cutover::stage::Stage;
use crate::support::mixed::Reader;
use crate::support::planting::Planting;
use causeway::sandbox::Seed;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Number of planted differences.
const PLANTED: usize = 20;

fn is_long() -> bool {
    std::env::var_os("LONG_TESTS").is_some_and(|long| long == "1")
}

/// Returns the reads whose answers are changed, by path and query; each is sent once.
fn planted(paths: &[String]) -> BTreeSet<String> {
    let step = paths.len() / PLANTED;
    (0..PLANTED).map(|number| format!("{}mark={number}", joined(&paths[number * step]))).collect()
}

fn joined(path: &str) -> String {
    format!("{path}{}", if path.contains('?') { "&" } else { "?" })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_planted_differences_are_found_and_no_other() {
    let reads = if is_long() { 5_000 } else { 480 };
    let marks: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let (known, hits) = (Arc::clone(&marks), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&hits);
    let settings = [
        ("native.serve", "[{ operations = [\"all\"], mode = \"shadow\" }]"),
        ("native.shadow.rate", "10000"),
        // Unknown parameters mark the reads.
        ("strict_query", "false"),
        // An answer that is older than usual, as on a machine so busy that v1 seems slow, is not compared.
        ("cache.stretch", "0s"),
        ("cache.stale_if_error", "0s"),
    ];
    let stage = Stage::with(Seed::Demo, &settings, move |asked, _, _, json| {
        if !known.lock().expect("no panic").contains(&asked.path) {
            return;
        }
        counted.fetch_add(1, Ordering::Relaxed);
        let record = if json["data"].is_array() { &mut json["data"][0] } else { json };
        match record.get("name") {
            Some(_) => record["name"] = json!("planted"),
            None => record["email"] = json!("planted"),
        }
    })
    .await;
    let reader = Reader::of(&stage.sandbox, &stage.gateway).await;
    let reader_reads = 1;
    let mut paths: Vec<String> = (0..).flat_map(|number| reader.round(number)).take(reads).collect();
    // A page that is empty has nothing to change.
    let some: Vec<String> = paths.iter().filter(|path| !path.contains("search=")).cloned().collect();
    let chosen = planted(&some);
    for (number, mark) in chosen.iter().enumerate() {
        let at = number * (reads / PLANTED);
        paths[at].clone_from(mark);
    }
    *marks.lock().expect("no panic") = chosen;
    for (number, path) in paths.iter().enumerate() {
        stage.gateway.get(&reader.key, path).await.expect(200);
        if number % 50 == 49 {
            // No faster than the other side answers, so that no comparison is dropped.
            let asked = i64::try_from(number + 1 + reader_reads).expect("few");
            stage
                .report(|report| {
                    report.operations.iter().map(crate::cutover::stage::all).sum::<i64>() + 60 >= asked
                })
                .await;
        }
    }
    let report = stage.reads(i64::try_from(reads + reader_reads).expect("few")).await;
    let sum = |of: fn(&causeway::shadow::Line) -> i64| report.operations.iter().map(of).sum::<i64>();
    println!("{}", causeway::shadow::text(&report));
    assert_eq!(hits.load(Ordering::Relaxed), 2 * PLANTED, "each was asked for twice");
    assert_eq!(sum(|line| line.different), i64::try_from(PLANTED).expect("few"), "{report:?}");
    assert_eq!((sum(|line| line.not_comparable), sum(|line| line.dropped), sum(|line| line.failed)), (0, 0, 0));
    let places: BTreeSet<&str> = report.differences.iter().map(|told| told.place.as_str()).collect();
    assert!(places.iter().all(|place| place.ends_with("/name") || place.ends_with("/email")), "{places:?}");
    let told: i64 = report.differences.iter().map(|told| told.requests).sum();
    assert_eq!(told, i64::try_from(PLANTED).expect("few"));
}

/// Times to an answer in one process, in turns with and without comparing: one read after the other, and with a pause
/// between them. The other side answers from memory, so that only the gateway is measured. The times are printed, and
/// the test checks that reads were compared only in the modes that compare.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn times_to_an_answer_with_and_without_comparing() {
    if !is_long() {
        return;
    }
    let stage =
        Stage::with(Seed::Demo, &[("native.serve", "[]"), ("cache.collection", "10s")], |_, _, _, _| {}).await;
    let reader = Reader::of(&stage.sandbox, &stage.gateway).await;
    let modes = [
        ("without", "[]", "10"),
        ("10 a second", "[{ operations = [\"all\"], mode = \"shadow\" }]", "10"),
        ("every read", "[{ operations = [\"all\"], mode = \"shadow\" }]", "10000"),
    ];
    let memory = Planting::remembering(stage.behind.base()).await;
    println!("| compared | reads | p50 ms | p99 ms |\n|---|---|---|---|");
    for (pace, pause) in [("at once", Duration::ZERO), ("every 30 ms", Duration::from_millis(30))] {
        let mut times: [Vec<Duration>; 3] = Default::default();
        let mut compared = [0; 3];
        for round in 0..30 {
            let all = [
                ("native.base_url", memory.base_url()),
                ("native.serve", modes[2].1),
                ("native.shadow.rate", "9999"),
            ];
            stage.gateway.reload(&all).await.expect("a reload");
            for path in reader.round(round) {
                stage.gateway.get(&reader.key, &path).await.expect(200);
            }
            tokio::time::sleep(Duration::from_millis(300)).await;
            // In another order each time, so that other load of the machine meets all modes.
            for turn in 0..modes.len() {
                let which = (round + turn) % modes.len();
                let settings = [
                    ("native.base_url", memory.base_url()),
                    ("native.serve", modes[which].1),
                    ("native.shadow.rate", modes[which].2),
                    ("cache.collection", "10s"),
                ];
                stage.gateway.reload(&settings).await.expect("a reload");
                let before = memory.asked().len();
                for path in reader.round(round).into_iter().cycle().take(24) {
                    tokio::time::sleep(pause).await;
                    let began = Instant::now();
                    stage.gateway.get(&reader.key, &path).await.expect(200);
                    times[which].push(began.elapsed());
                }
                // Comparisons that still run must not disturb the next mode.
                tokio::time::sleep(Duration::from_millis(300)).await;
                compared[which] += memory.asked().len() - before;
            }
        }
        for ((name, ..), times) in modes.iter().zip(&mut times) {
            times.sort_unstable();
            let at = |percent: usize| times[times.len() * percent / 100].as_secs_f64() * 1000.0;
            println!("| {name}, {pace} | {} | {:.2} | {:.2} |", times.len(), at(50), at(99));
        }
        println!("asked of the other side: {compared:?}");
        let all = times[2].len();
        assert!(compared[0] == 0 && (1..all).contains(&compared[1]) && compared[2] == all, "{compared:?} of {all}");
    }
}
