//! Reads whose answers are compared with those of the deployment's own v2, beside the requests.

use crate::cutover::stage::Stage;
use crate::support::gateway::WEB;
use causeway::sandbox::Seed;
use causeway::shadow::text;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;

const ALL: (&str, &str) = ("native.serve", "[{ operations = [\"all\"], mode = \"shadow\" }]");
const STATES: &str = "/api/v2/workspaces/acme/projects/00000000-0000-4000-c000-000000000001/states/";

#[tokio::test]
async fn answers_are_the_translations_and_differences_are_found() {
    let stage = Stage::with(Seed::Recorded, &[ALL, ("admin.listen", "127.0.0.1:0")], |asked, _, status, json| {
        if asked.path.contains("/states/") && json["data"].is_array() {
            json["data"][0]["name"] = json!("<b>changed</b>");
        } else if asked.path.contains("/labels/") {
            *status = 403;
        }
    })
    .await;
    let states = stage.gateway.get("ada", STATES).await.expect(200);
    assert!(!states.json.to_string().contains("changed"));
    stage.gateway.get("ada", &format!("{WEB}/labels/")).await.expect(200);
    stage.gateway.get("ada", &format!("{WEB}/members/")).await.expect(200);
    stage.gateway.get("ada", &format!("{WEB}/states/?gruop=x")).await.expect(400);
    let report = stage.reads(4).await;
    let line = |name: &str| report.operations.iter().find(|line| line.operation == name).expect(name).clone();
    // A request that both sides refuse is equal.
    assert_eq!((line("states_list").different, line("labels_list").different), (1, 1), "{report:?}");
    assert_eq!(
        (line("states_list").equal + line("states_list").different, line("project_members_list").equal),
        (2, 1)
    );
    let found: Vec<_> = report.differences.iter().map(|told| (&*told.operation, &*told.place)).collect();
    assert!(found.contains(&("states_list", "/data/*/name")) && found.contains(&("labels_list", "status")));
    assert_eq!(found.len(), 2, "{report:?}");
    assert!(report.differences.iter().any(|told| (&*told.ours, &*told.theirs) == ("200", "403")));
    // The report contains no text that a person has written.
    let shown = text(&report);
    assert!(!format!("{report:?}{shown}").contains("changed") && shown.contains("/data/*/name"), "{shown}");
    let page = board(&stage).await;
    assert!(page.contains("Compared with the deployment's own v2") && page.contains("/data/*/name"), "{page}");
}

async fn board(stage: &Stage) -> String {
    let request = http::Request::get(format!("{}/migration/", stage.gateway.operators()));
    let answer = stage.gateway.request(request.body(http_body_util::Full::default()).expect("a request")).await;
    String::from_utf8_lossy(&answer.expect(200).bytes).into_owned()
}

#[tokio::test]
async fn the_shadowed_request_is_the_read_with_the_callers_key_and_nothing_else() {
    let stage = Stage::with(Seed::Recorded, &[ALL], |_, _, _, _| {}).await;
    let headers = [("Cookie", "session=1"), ("X-Secret", "s"), ("User-Agent", "tool/1")];
    let path = format!("{STATES}?group=started");
    stage.gateway.send_with("ada", "GET", &path, None, &headers).await.expect(200);
    stage.gateway.post("ada", &format!("{WEB}/labels/"), json!({"name": "x"})).await.expect(201);
    stage.reads(1).await;
    let asked = stage.native.asked();
    assert_eq!(asked.len(), 1, "writes are not sent there");
    assert_eq!((asked[0].method.as_str(), &asked[0].path), ("GET", &path));
    assert_eq!(asked[0].header("x-api-key"), "ada");
    let mut names: Vec<&str> = asked[0].headers.keys().map(http::HeaderName::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["accept", "host", "user-agent", "via", "x-api-key"]);
    assert!(asked[0].header("user-agent").starts_with("causeway-shadow/"));
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let stage = Stage::with(Seed::Recorded, &[ALL], |asked, _, status, _| {
        if asked.headers.contains_key("x-api-key") {
            *status = 307;
        }
    })
    .await;
    stage.gateway.get("ada", STATES).await.expect(200);
    let report = stage.reads(1).await;
    assert_eq!((&*report.differences[0].ours, &*report.differences[0].theirs), ("200", "307"));
    assert_eq!(stage.native.asked().len(), 2, "asked twice, because a difference is looked at again");
}

#[tokio::test]
async fn answers_that_cannot_be_compared_are_counted_separately() {
    let stage = Stage::with(Seed::Recorded, &[ALL, ("native.shadow.rate", "1000")], |asked, _, status, _| {
        if asked.path.contains("/members/") {
            *status = 503;
        }
    })
    .await;
    stage.gateway.post("ada", &format!("{WEB}/work-items/"), json!({"name": "a second one"})).await.expect(201);
    let first = format!("{WEB}/work-items/?paginate=cursor&per_page=1");
    let page = stage.gateway.get("ada", &first).await.expect(200);
    let cursor = page.text("next_cursor");
    stage.gateway.get("ada", &format!("{first}&cursor={cursor}")).await.expect(200);
    stage.gateway.get("ada", &format!("{WEB}/members/")).await.expect(200);
    let report = stage.reads(3).await;
    let line = |name: &str| report.operations.iter().find(|line| line.operation == name).expect(name).clone();
    let items = line("work_items_list");
    assert_eq!((items.equal, items.not_comparable), (1, 1), "{report:?}");
    assert_eq!(line("project_members_list").failed, 1);
    assert!(report.differences.is_empty());
}

#[tokio::test]
async fn a_record_that_the_other_side_lacks_is_a_difference() {
    let settings = [ALL, ("native.shadow.rate", "1000")];
    let stage = Stage::with(Seed::Recorded, &settings, |asked, _, _, json| {
        // The newest work item is not there, so another one is the first.
        if asked.path.contains("/work-items/") && json["data"].is_array() {
            json["data"][0]["id"] = json!("00000000-0000-4000-c000-0000000000ff");
            json["data"][0]["created_at"] = json!("2020-01-01T00:00:00.000000Z");
        }
    })
    .await;
    stage.gateway.post("ada", &format!("{WEB}/work-items/"), json!({"name": "a second one"})).await.expect(201);
    // An order that v2 does not know is the default, which is the creation date.
    for query in ["paginate=cursor&per_page=1", "per_page=1&count=false", "per_page=1&order_by=--priority"] {
        stage.gateway.get("ada", &format!("{WEB}/work-items/?{query}")).await.expect(200);
    }
    let report = stage.reads(3).await;
    let items = report.operations.iter().find(|line| line.operation == "work_items_list").expect("a line");
    assert_eq!((items.different, items.equal, items.not_comparable), (3, 0, 0), "{report:?}");
    let mut found: Vec<_> =
        report.differences.iter().map(|told| (&*told.place, &*told.ours, &*told.theirs)).collect();
    found.sort_unstable();
    assert_eq!(found, [("/data/*", "a row", "nothing"), ("/data/*", "nothing", "a row")]);
}

#[tokio::test]
async fn a_write_between_the_two_answers_is_no_difference() {
    let stage = Stage::with(Seed::Recorded, &[ALL], |asked, number, _, json| {
        // At first the other side already has a change that v1's answer does not show yet.
        if asked.path.contains("/states/") && number <= 2 {
            json["data"][0]["name"] = json!("renamed a moment ago");
        }
    })
    .await;
    stage.gateway.get("ada", STATES).await.expect(200);
    let report = stage.reads(1).await;
    assert_eq!((report.operations[0].equal, report.differences.len()), (1, 0), "{report:?}");
    assert_eq!(stage.native.asked().len(), 2);
}

#[tokio::test]
async fn a_share_and_a_rate_bound_what_is_sent_there_and_what_is_kept_is_bounded() {
    let settings = [ALL, ("native.shadow.rate", "1"), ("native.shadow.keep", "3")];
    let stage = Stage::with(Seed::Recorded, &settings, |_, _, _, json| {
        for name in ["name", "color", "group", "sequence", "is_default", "description"] {
            json["data"][0][name] = Value::Null;
        }
    })
    .await;
    let begun = Instant::now();
    for _ in 0..20 {
        stage.gateway.get("ada", STATES).await.expect(200);
    }
    let seconds = i64::try_from(begun.elapsed().as_secs()).expect("not long");
    let report = stage.reads(20).await;
    let line = &report.operations[0];
    assert!(line.dropped >= 15 - seconds && line.different >= 1, "{seconds} s: {report:?}");
    assert_eq!(report.differences.len(), 3);
    let share = [("native.shadow.share", "1"), ("native.shadow.rate", "1000")];
    stage.gateway.reload(&share).await.expect("a reload");
    for _ in 0..20 {
        stage.gateway.get("ada", STATES).await.expect(200);
    }
    stage.store.clear_shadow().await.expect("cleared");
    tokio::time::sleep(Duration::from_millis(200)).await;
    let report = causeway::shadow::Report::read(&stage.store).await.expect("a report");
    assert!(report.operations.iter().map(crate::cutover::stage::all).sum::<i64>() < 15, "{report:?}");
}

#[tokio::test]
async fn a_read_gives_its_place_back_although_its_comparison_goes_on() {
    // It accepts connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
    let base = format!("http://{}", silent.local_addr().expect("an address"));
    let settings =
        [ALL, ("native.base_url", base.as_str()), ("native.shadow.rate", "1000"), ("limits.concurrency", "8")];
    let stage = Stage::with(Seed::Recorded, &settings, |_, _, _, _| {}).await;
    for _ in 0..20 {
        stage.gateway.get("ada", STATES).await.expect(200);
    }
}

#[tokio::test]
async fn scopes_of_a_token_make_no_difference() {
    let settings = [ALL, ("secrets.key", crate::oauth::stage::SECRET)];
    let stage = Stage::with(Seed::Recorded, &settings, |_, _, _, _| {}).await;
    let workspace = Some("acme".to_owned());
    let wanted = causeway::oauth::Minting {
        title: "t".into(),
        scopes: "projects.states:read".into(),
        workspace,
        ..causeway::oauth::Minting::default()
    };
    let key = stage.gateway.mint("ada", wanted).await.expect("a key").1;
    stage.gateway.get(&key, STATES).await.expect(200);
    stage.gateway.get(&key, &format!("{WEB}/labels/")).await.expect(403);
    stage.gateway.get(&key, &STATES.replace("acme", "globex")).await.expect(404);
    let report = stage.reads(2).await;
    let line = &report.operations[0];
    assert_eq!((line.equal, line.not_comparable, report.operations.len()), (1, 1, 1), "{report:?}");
}

#[tokio::test]
async fn texts_of_the_other_side_are_shown_escaped() {
    let settings = [ALL, ("admin.listen", "127.0.0.1:0"), ("native.shadow.values", "true")];
    let stage = Stage::with(Seed::Recorded, &settings, |asked, _, _, json| {
        if asked.path.contains("/states/") {
            json["data"][0]["name"] = json!("<script>alert(1)</script>\u{1b}[2J\u{202e}");
            json["data"][0]["<img src=x>"] = json!(1);
        }
    })
    .await;
    stage.gateway.get("ada", STATES).await.expect(200);
    let report = stage.reads(1).await;
    assert!(report.differences.iter().any(|told| told.theirs.contains("<script>")), "{report:?}");
    let page = board(&stage).await;
    assert!(page.contains("alert(1)") && !page.contains("<script") && !page.contains("<img"), "{page}");
    let shown = text(&report);
    assert!(!page.contains('\u{202e}') && !shown.contains(['\u{202e}', '\u{1b}']), "{shown}");
}
