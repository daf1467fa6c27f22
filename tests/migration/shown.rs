//! The report as it is printed: days as dates, also in JSON, and numbers with words that fit them.

use causeway::migration::{CallerLine, ClientLine, RemainingOperation, Report, client_text, text};
use serde_json::{Value, json};

/// 2026-11-22, and the day after it.
const DAY: i64 = 20_779;

fn report() -> Report {
    let client = ClientLine { client: "tool/1".into(), v1: 1, last_v1: Some(DAY), days: vec![(1, 0)], v2: 0 };
    let moved = ClientLine { client: "tool/2".into(), ..ClientLine::default() };
    let caller = CallerLine { fingerprint: "ab".into(), v1: 1, last_v1: Some(DAY), ..CallerLine::default() };
    let left = RemainingOperation {
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

#[test]
fn no_line_is_wider_than_a_terminal() {
    let long = "x".repeat(200);
    let left = RemainingOperation { operation: long.clone(), v2: vec![long.clone()], ..report().left[0].clone() };
    let client = ClientLine { client: long.clone(), ..report().clients[0].clone() };
    let caller =
        CallerLine { person: long.clone(), title: long, kind: "v1 key".into(), ..report().callers[0].clone() };
    let wide = Report { left: vec![left], clients: vec![client], callers: vec![caller], ..report() };
    let told = text(&wide);
    let widest = told.lines().map(|line| line.chars().count()).max();
    assert_eq!(widest, Some(100), "{told}");
}

#[test]
fn successors_can_be_told_from_each_other() {
    let project = "/api/v2/workspaces/{slug}/projects/{project_id}";
    for (v2, shown) in [
        (format!("GET {project}/modules/"), "GET …/modules/"),
        (format!("PATCH {project}/work-items/{{pk}}/"), "PATCH …/work-items/{pk}/"),
        (format!("DELETE {project}/work-items/{{work_item_id}}/comments/{{pk}}/"), "DELETE …/comments/{pk}/"),
        ("GET /api/v2/workspaces/{slug}/members/".into(), "GET …/members/"),
        ("GET /api/v2/users/me/".into(), "GET /api/v2/users/me/"),
    ] {
        let left = RemainingOperation { v2: vec![v2], ..report().left[0].clone() };
        let told = text(&Report { left: vec![left], ..report() });
        let line = told.lines().find(|line| line.starts_with("v1_states_list ")).expect("the operation");
        assert!(line.ends_with(&format!("2026-11-22  {shown}")), "{told}");
    }
}

#[test]
fn one_is_not_many() {
    let told = text(&report());
    assert!(told.starts_with("Since 2026-11-22: 1 call of v1, 0 of v2; 0 % moved.\n"), "{told}");
    assert!(told.contains("\n1 operation of v1 was never called; --json names it.\n"), "{told}");
    let many = text(&Report { v1: 2, never: Vec::new(), ..report() });
    assert!(many.contains(": 2 calls of v1") && many.contains("\n0 operations of v1 were never called"), "{many}");
    let left = client_text("tool/1", &report().left);
    assert!(left.starts_with("1 call, the last on 2026-11-22: "), "{left}");
}
