//! The report as it is printed: days as dates, also in JSON.

use causeway::migration::{CallerLine, ClientLine, Left, Report};
use serde_json::{Value, json};

/// 2026-11-22, and the day after it.
const DAY: i64 = 20_779;

fn report() -> Report {
    let client = ClientLine { client: "tool/1".into(), v1: 1, last_v1: Some(DAY), days: vec![(1, 0)], v2: 0 };
    let moved = ClientLine { client: "tool/2".into(), ..ClientLine::default() };
    let caller = CallerLine { fingerprint: "ab".into(), v1: 1, last_v1: Some(DAY), ..CallerLine::default() };
    let left = Left {
        operation: "v1_states_list".into(),
        call: "GET /api/v1/…".into(),
        does: "states of a project".into(),
        calls: 1,
        last: DAY,
        v2: Vec::new(),
        reason: None,
    };
    Report {
        since: Some(DAY),
        today: DAY + 1,
        v1: 1,
        v2: 0,
        clients: vec![client, moved],
        callers: vec![caller],
        left: vec![left],
        ready: Vec::new(),
        quiet: 14,
        never: vec!["v1_labels_list".into()],
        used: Vec::new(),
    }
}

#[test]
fn days_are_dates_in_json() {
    let told = json!(report());
    let dates =
        ["/since", "/today", "/clients/0/last_v1", "/clients/1/last_v1", "/callers/0/last_v1", "/left/0/last"];
    let dates = dates.map(|place| told.pointer(place).expect(place).clone());
    let day = json!("2026-11-22");
    assert_eq!(dates, [day.clone(), json!("2026-11-23"), day.clone(), Value::Null, day.clone(), day]);
    let nothing = json!(Report { since: None, ..report() });
    assert_eq!(nothing["since"], Value::Null);
}
