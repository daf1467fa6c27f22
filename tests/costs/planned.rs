//! `explain` tells the truth about an operation: the calls that v1 has answered are the planned ones.

use crate::costs::place::{PLAN, Place, operation};
use causeway::explain::{ToldCall, explain, replacement};
use causeway::index::SetNeeds;
use causeway::plan::{Operation, Surface};
use causeway::sandbox::JournalEntry;
use uuid::Uuid;

/// Checks whether the call that was made is a planned call, in which variables may be unknown.
fn is_made(told: &ToldCall, made: &JournalEntry) -> bool {
    let path = made.path.split('?').next().unwrap_or_default();
    let path = path.strip_prefix("/api/v1/").unwrap_or(path);
    let (planned, real): (Vec<_>, Vec<_>) = (told.path.split('/').collect(), path.split('/').collect());
    let fits = |(planned, real): (&&str, &&str)| planned.starts_with('{') || planned == real;
    told.method == made.method && planned.len() == real.len() && planned.iter().zip(&real).all(fits)
}

/// Removes the announced calls from the calls that were made, and returns the announced calls that were not made.
fn take<'t>(told: &'t [ToldCall], made: &mut Vec<JournalEntry>) -> Vec<&'t ToldCall> {
    // Exact paths first, so that a variable takes what nothing else can.
    let mut told: Vec<&ToldCall> = told.iter().collect();
    told.sort_by_key(|call| call.path.contains('{'));
    told.retain(|told| match made.iter().position(|made| is_made(told, made)) {
        Some(position) => {
            made.remove(position);
            false
        }
        None => true,
    });
    told
}

/// Compares the calls planned for an operation, cold or warm, with those v1 has answered since the journal was
/// cleared. When cold, only the proofs of access may be left over.
pub fn hold(place: &Place, operation: &Operation, warm: bool) {
    let told = explain(&PLAN, true, operation.method.as_str(), &place.path(operation), None).expect("an operation");
    assert_eq!(told.operation, operation.id);
    assert_eq!(told.refused, [], "{}", operation.id);
    let line: usize = told.mapping.rsplit(':').next().and_then(|line| line.parse().ok()).expect("a line");
    let file = told.mapping.split(':').next().expect("a file");
    let text = std::fs::read_to_string(file).expect("the mapping file");
    let below = text.lines().skip(line - 1).take(2).collect::<Vec<_>>().join("\n");
    let surface = if operation.surface == Surface::Project { "project" } else { "workspace" };
    assert_eq!(below.replace("{surface}", surface), format!("[[operations]]\nid = \"{}\"", operation.id));
    let mut made = place.gateway.sandbox().journal();
    let calls = if warm { &told.warm } else { &told.cold };
    let vain = take(calls, &mut made);
    assert!(vain.is_empty(), "{}: planned but not made: {vain:?}, left {made:?}", operation.id);
    if !warm {
        let vain = take(&told.proofs, &mut made);
        assert!(vain.is_empty(), "{}: told as proof but not made: {vain:?}, left {made:?}", operation.id);
    }
    assert!(made.is_empty(), "{}: made but not planned: {made:?}", operation.id);
}

/// Calls that a query needs in addition to those of the plan are announced too.
#[tokio::test]
async fn queries_cost_what_is_told() {
    let queries = [
        "",
        "?state_group=started",
        "?order_by=-updated_at&per_page=5",
        "?expand=state,labels,assignees,parent",
        "?cycle_id={cycle}&module_id={module}",
        "?cycle_id__isnull=true",
        "?module_id__in={module},{unknown}",
        "?label_id={label}&search=one",
        "?sequence_id=1",
        "?external_id=a&external_source=b",
    ];
    let unknown: Vec<_> = (0..SetNeeds::FEW).map(|_| Uuid::new_v4().to_string()).collect();
    for query in queries {
        let place = Place::new().await;
        let query = query.replace("{unknown}", &unknown.join(","));
        let list = operation("work_items_list");
        let ids = [("{cycle}", "cycles"), ("{module}", "modules"), ("{label}", "labels")];
        let query = ids.iter().fold(query, |query, (name, of)| query.replace(name, place.record(of)));
        let target = format!("{}{query}", place.path(list));
        let told = explain(&PLAN, true, "GET", &target, None).expect("an operation");
        place.send("ada", "GET", &target, None).await.expect(200);
        let mut made = place.gateway.sandbox().journal();
        let mut all = told.proofs.clone();
        all.extend(told.cold);
        let look_up = query.contains("sequence_id") || query.contains("external_id");
        let vain = take(&all, &mut made);
        assert!(vain.is_empty() || look_up, "{query}: told but not made: {vain:?}");
        made.retain(|made| !told.further.iter().any(|told| is_made(told, made)));
        // v1's own look-ups have addresses of their own, which the condition of the planned call names.
        made.retain(|_| !look_up);
        assert!(made.is_empty(), "{query}: made but not told: {made:?}");
    }
}

/// The answer to a support question: why a filter is refused, and where the other filters are evaluated.
#[test]
fn faults_of_a_query_are_told_as_the_list_tells_them() {
    let list = "/api/v2/workspaces/acme/projects/00000000-0000-4000-c000-000000000001/work-items/";
    let told = explain(&PLAN, true, "GET", &format!("{list}?stat_group=started&per_page=0&priority=none"), None);
    let told = told.expect("an operation");
    let fields: Vec<_> = told.refused.iter().filter_map(|refused| refused.field.as_deref()).collect();
    assert_eq!(fields, ["stat_group", "per_page"]);
    assert!(told.refused[0].message.contains("state_group"), "{:?}", told.refused[0]);
    let told = explain(&PLAN, false, "GET", &format!("{list}?stat_group=started"), None).expect("an operation");
    assert!(told.refused.is_empty(), "tolerated when queries are not strict");
    let told = explain(&PLAN, true, "GET", &list.replace("c000-", ""), None).expect("an operation");
    assert_eq!(told.refused[0].field.as_deref(), Some("project_id"));
    for (method, path, sentence) in [
        ("PUT", list, "405"),
        ("GET", list.trim_end_matches('/'), "ends with a slash"),
        ("GET", "/api/v2/nothing/", "no operation"),
        ("GET", "api/v2/nothing/", "no operation"),
    ] {
        let fault = explain(&PLAN, true, method, path, None).expect_err("no operation");
        assert!(fault.contains(sentence), "{fault}");
    }
}

/// `explain` shows a request that the gateway refuses before routing with the words of that refusal.
#[tokio::test]
async fn explain_shows_the_refusals_of_the_door_in_the_same_words() {
    let place = Place::new().await;
    let at = |path: &str| format!("/api/v2/workspaces/acme/{path}");
    for (method, path) in [
        ("GET", at("projects/../states/")),
        ("GET", at("projects/%2e%2e/states/")),
        ("GET", at("a%2Fb/members/")),
        ("GET", at("a%5Cb/")),
        ("GET", at("a%zz/")),
        ("get", at("members/")),
        ("Delete", at("members/?per_page=1")),
    ] {
        let answer = place.gateway.send(Some("ada"), method, &path, None).await;
        let detail = answer.expect_problem(400, "validation_error").text("detail");
        let fault = explain(&PLAN, true, method, &path, None).expect_err("refused");
        let told = format!("{method} {path} is answered with 400 validation_error: {detail}");
        assert_eq!(fault, told);
    }
    for (method, path) in [("get", "/api/v1/users/me/"), ("GET", "/api/v1/a%2Fb/")] {
        let fault = replacement(&PLAN, method, path, None).expect_err("refused");
        assert!(fault.contains("is answered with 400 validation_error: "), "{fault}");
    }
    let far = "/api/v2/workspaces/acme/members/?search=http://x/";
    for target in [far.to_owned(), format!("https://gw.example{far}")] {
        explain(&PLAN, true, "GET", &target, None).expect("an operation");
    }
}
