//! Replays every recorded exchange against the sandbox: one test a file, each with a fresh sandbox
//! in the recorded situation. An exchange that differs must be in the table of known differences in
//! `fixtures/README.md`; one in the table that no longer differs fails as well.

use crate::support::replay::{Replay, known_differences, load};
use causeway::sandbox::{Config, Sandbox, Seed};

/// The least share of exchanges that must be reproduced, in every file and overall.
const LEAST: f64 = 0.95;

/// Replays a file: how many exchanges it has, and those that differ.
fn differences(area: &str) -> (usize, Vec<(String, String)>) {
    let recording = load(area);
    let config =
        Config { seed: Seed::Recorded, quota_per_minute: (area == "throttle").then_some(5), ..Config::default() };
    let sandbox = Sandbox::starting_at(config, recording.recorded_at);
    let mut replay = Replay::new(&recording);
    let mut differing = Vec::new();
    for exchange in &recording.exchanges {
        sandbox.advance(exchange.wait());
        let response = sandbox.handle(replay.request(exchange));
        if let Err(difference) = replay.compare(exchange, &response) {
            differing.push((exchange.name.clone(), difference));
        }
    }
    (recording.exchanges.len(), differing)
}

fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

fn check(area: &str) {
    let known = known_differences();
    let (total, differing) = differences(area);
    let reproduced = total - differing.len();
    println!("{area}: reproduced {reproduced} of {total}");
    let unexpected: Vec<String> = differing
        .iter()
        .filter(|(name, _)| !known.contains_key(name))
        .map(|(name, difference)| format!("  {name}: {difference}"))
        .collect();
    assert!(
        unexpected.is_empty(),
        "{area}: {} unexpected differences\n{}",
        unexpected.len(),
        unexpected.join("\n")
    );
    assert!(share(reproduced, total) >= LEAST, "{area}: reproduced only {reproduced} of {total}");
}

macro_rules! areas {
    ($($area:ident),* $(,)?) => {
        /// The recordings files.
        const AREAS: &[&str] = &[$(stringify!($area)),*];

        $(
            #[test]
            fn $area() {
                check(stringify!($area));
            }
        )*
    };
}

areas!(
    archived_and_drafts,
    auth,
    comments,
    cycles,
    errors,
    estimates,
    labels,
    members,
    modules,
    pagination,
    passthrough,
    permissions,
    projects,
    states,
    throttle,
    timezones,
    types,
    updated_at,
    users,
    work_item_lists,
    work_items,
);

#[test]
fn overall() {
    let known = known_differences();
    let mut reproduced = 0;
    let mut total = 0;
    let mut names = Vec::new();
    let mut differing_names = Vec::new();
    for area in AREAS {
        let (count, differing) = differences(area);
        println!("{area}: reproduced {} of {count}", count - differing.len());
        total += count;
        reproduced += count - differing.len();
        names.extend(load(area).exchanges.into_iter().map(|exchange| exchange.name));
        differing_names.extend(differing.into_iter().map(|(name, _)| name));
    }
    println!("overall: reproduced {reproduced} of {total}");
    for (name, reason) in &known {
        assert!(names.contains(name), "{name} is no recorded exchange");
        assert!(!reason.is_empty(), "{name} has no reason");
        assert!(differing_names.contains(name), "{name} no longer differs: take it out of fixtures/README.md");
    }
    assert!(share(reproduced, total) >= LEAST, "reproduced only {reproduced} of {total}");
}

/// The comparison is useful only if it notices changes.
#[test]
fn changes_are_noticed() {
    let mut recording = load("users");
    let sandbox = Sandbox::starting_at(Config { seed: Seed::Recorded, ..Config::default() }, recording.recorded_at);
    let mut replay = Replay::new(&recording);
    let exchange = &mut recording.exchanges[0];
    let response = sandbox.handle(replay.request(exchange));
    assert_eq!(replay.compare(exchange, &response), Ok(()));

    exchange.response.status = 404;
    assert!(replay.compare(exchange, &response).is_err());
    exchange.response.status = 200;

    let allow = exchange.response.headers.insert("allow".to_owned(), "PUT".to_owned());
    assert!(replay.compare(exchange, &response).is_err());
    exchange.response.headers.extend(allow.map(|allow| ("allow".to_owned(), allow)));

    let body = exchange.response.body.clone();
    for (key, value) in [
        ("first_name", "Bea".into()),
        ("id", "00000000-0000-4000-a000-000000000002".into()),
        ("avatar_url", "".into()),
        ("surplus", 1.into()),
    ] {
        exchange.response.body[key] = value;
        assert!(replay.compare(exchange, &response).is_err(), "{key}");
        exchange.response.body = body.clone();
    }
    assert_eq!(replay.compare(exchange, &response), Ok(()));
}
