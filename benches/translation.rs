//! The speed of translating v1 pages into v2 records, in bytes of v1 and against a plain `serde_json::Value` round trip
//! of the same bytes in the same run.
//!
//! `cargo bench --bench translation` prints a table; with `-- --check` it also fails below the floor.
//!
//! May use: the public interface of the crate and `fixtures/`.

use causeway::app::compile_plan;
use causeway::plan::Rows;
use causeway::translate::{Held, ReadShape};
use serde_json::{Value, json};
use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The smallest ratio accepted by `--check`.
const FLOOR: f64 = 1.5;
/// Records of one v1 page.
const RECORDS: u64 = 1_000;
/// Turns of each of the two, one after the other; the medians are compared.
const TURNS: usize = 60;

/// A page as v1 sends it, every member of every record, made from a recorded one.
fn page(resource: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/v1/{resource}.json"));
    let text = std::fs::read_to_string(path).expect("a fixture");
    let all: Value = serde_json::from_str(&text).expect("JSON");
    let exchanges = all["exchanges"].as_array().expect("exchanges");
    let recorded = exchanges.iter().find(|exchange| {
        let (request, rows) = (&exchange["request"], &exchange["response"]["body"]["results"]);
        request["method"] == "GET"
            && request["path"].as_str().is_some_and(|path| path.ends_with(&format!("/{resource}/")))
            && !request["query"].as_str().unwrap_or_default().contains("fields")
            && rows.as_array().is_some_and(|rows| !rows.is_empty())
    });
    let mut page = recorded.expect("a recorded list")["response"]["body"].clone();
    let rows = page["results"].as_array().expect("rows").clone();
    let row = |number: u64| {
        let mut row = rows[number as usize % rows.len()].clone();
        row["id"] = json!(format!("00000000-0000-4000-8000-{number:012}"));
        row["name"] = json!(format!("{} {number}", row["name"].as_str().unwrap_or("Record")));
        row
    };
    page["results"] = (0..RECORDS).map(row).collect();
    page["count"] = json!(RECORDS);
    serde_json::to_vec(&page).expect("JSON")
}

fn translate(shape: &ReadShape, page: &[u8]) -> Vec<Held> {
    shape.read_page(Rows::Paged, page).expect("a page")
}

fn round_trip(page: &[u8]) -> Vec<u8> {
    let value: Value = serde_json::from_slice(page).expect("JSON");
    serde_json::to_vec(&value).expect("JSON")
}

fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    black_box(work());
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn main() -> ExitCode {
    let check = std::env::args().any(|argument| argument == "--check");
    let plan = compile_plan(None).expect("mappings");
    let mut fine = true;
    println!("{:<10} {:>9} {:>12} {:>12} {:>7}", "resource", "KiB", "v2 GB/s", "Value GB/s", "ratio");
    for name in ["states", "labels", "cycles", "modules"] {
        let resource = plan.resource(name).expect("a resource");
        let (shape, page) = (ReadShape::of(resource), page(name));
        assert_eq!(translate(&shape, &page).len() as u64, RECORDS);
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..TURNS {
            ours.push(timed(|| translate(&shape, black_box(&page))));
            theirs.push(timed(|| round_trip(black_box(&page))));
        }
        let (ours, theirs) = (median(ours).as_secs_f64(), median(theirs).as_secs_f64());
        let speed = |time: f64| page.len() as f64 / time / 1e9;
        let ratio = theirs / ours;
        fine &= ratio >= FLOOR;
        println!("{name:<10} {:>9} {:>12.3} {:>12.3} {ratio:>7.2}", page.len() / 1024, speed(ours), speed(theirs));
    }
    if check && !fine {
        eprintln!("a ratio is below the floor of {FLOOR}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
