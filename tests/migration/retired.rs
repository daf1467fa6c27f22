//! Announcements of v1's end to its clients, and refusals on trial.

use crate::support::gateway::{Gateway, serve_sandbox};
use causeway::app::App;
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::settings::{LoadArgs, Settings};

const STATES: &str = "/api/v1/workspaces/acme/projects/00000000-0000-4000-c000-000000000001/states/";
const LABELS: &str = "/api/v1/workspaces/acme/projects/00000000-0000-4000-c000-000000000001/labels/";

const NOTHING: &str = "00000000-0000-4000-8000-000000000000";

fn links(answer: &crate::support::gateway::Answer) -> Vec<String> {
    let links = answer.all_headers.get_all("link").iter();
    links.map(|link| link.to_str().expect("text").to_owned()).collect()
}

#[tokio::test]
async fn by_default_nothing_is_added_to_an_answer() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let answer = gateway.get("ada", STATES).await.expect(200);
    assert!(["deprecation", "sunset", "link"].iter().all(|name| !answer.headers.contains_key(*name)));
}

#[tokio::test]
async fn clients_are_told_of_the_end_and_refused_after_it() {
    let notices = "[{ operation = \"all\", deprecated = \"2020-01-01\" }, { operation = \"v1_states_list\", \
                   deprecated = \"2020-01-02\", sunset = \"2999-01-01\", link = \"https://wiki.example/v2\", \
                   refuse = true }, { operation = \"v1_labels_list\", deprecated = \"2020-01-01\", \
                   sunset = \"2020-06-01T12:00:00Z\", refuse = true }]";
    let gateway =
        Gateway::sandboxed_with(Seed::Recorded, &[("retirement", notices), ("usage.learn", "false")]).await;
    let states = gateway.get("ada", STATES).await.expect(200);
    assert_eq!(states.headers["deprecation"], "@1577923200");
    assert_eq!(states.headers["sunset"], "Tue, 01 Jan 2999 00:00:00 GMT");
    let successor = STATES.replace("/v1/", "/v2/");
    assert_eq!(
        links(&states),
        [
            format!("<{successor}>; rel=\"successor-version\""),
            "<https://wiki.example/v2>; rel=\"deprecation\"; type=\"text/html\"".into(),
        ]
    );
    // v1's answer is complete.
    assert_eq!(states.headers["content-type"], "application/json");
    let me = gateway.get("ada", "/api/v1/users/me/").await.expect(200);
    assert_eq!(me.headers["deprecation"], "@1577836800");
    assert_eq!(links(&me), ["</api/v2/users/me/>; rel=\"successor-version\""]);
    gateway.sandbox().clear_journal();
    let labels = gateway.get("ada", LABELS).await.expect(410);
    assert_eq!(labels.headers["content-type"], "application/problem+json");
    assert_eq!((labels.text("code").as_str(), &labels.json["status"]), ("gone", &serde_json::json!(410)));
    assert!(labels.text("type").ends_with("/errors/gone"), "{}", labels.json);
    assert!(labels.text("detail").contains(&LABELS.replace("/v1/", "/v2/")), "{}", labels.json);
    assert_eq!(gateway.sandbox().journal().len(), 0, "v1 was asked all the same");
    // v2 still works, with the same calls of v1.
    gateway.get("ada", &LABELS.replace("/v1/", "/v2/")).await.expect(200);
}

/// The proxy before the gateway removes the path of the public address, and clients have to send it.
#[tokio::test]
async fn the_successor_is_named_under_the_public_address() {
    let notices = "[{ operation = \"all\", deprecated = \"2020-01-01\" }, { operation = \"v1_labels_list\", \
                   deprecated = \"2020-01-01\", sunset = \"2020-06-01\", refuse = true }]";
    let settings = [("retirement", notices), ("public_url", "https://pub.example.com/tracker/")];
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &settings).await;
    let me = gateway.get("ada", "/api/v1/users/me/").await.expect(200);
    assert_eq!(links(&me), ["</tracker/api/v2/users/me/>; rel=\"successor-version\""]);
    let labels = gateway.get("ada", LABELS).await.expect(410);
    let successor = format!("use /tracker{}", LABELS.replace("/v1/", "/v2/"));
    assert!(labels.text("detail").contains(&successor), "{}", labels.json);
}

/// A list of all work items does not replace the list of the work items in a cycle.
#[tokio::test]
async fn a_successor_holds_what_v1_has_in_its_path_and_says_what_it_needs() {
    let ended = "[{ operation = \"all\", deprecated = \"2020-01-01\" }, { operation = \"v1_work_items_search\", \
                 deprecated = \"2020-01-01\", sunset = \"2020-06-01\", refuse = true }]";
    let settings = [("retirement", ended), ("usage.learn", "false")];
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &settings).await;
    let project = STATES.trim_end_matches("states/").replace("/v1/", "/v2/");
    for (set, filter) in [("cycles", "cycle"), ("modules", "module")] {
        let path = format!("{}{set}/{NOTHING}/{filter}-issues/", STATES.trim_end_matches("states/"));
        let expected = format!("<{project}work-items/?{filter}_id={NOTHING}>; rel=\"successor-version\"");
        assert_eq!(links(&gateway.get("ada", &path).await), [expected]);
    }
    let search = "/api/v1/workspaces/acme/work-items/search/?search=x";
    let whole = gateway.get("ada", &format!("{search}&project_id={NOTHING}")).await.expect(410);
    let successor = format!("/api/v2/workspaces/acme/projects/{NOTHING}/work-items/");
    assert!(whole.text("detail").contains(&format!("use {successor}.")), "{}", whole.json);
    assert_eq!(links(&whole), [format!("<{successor}>; rel=\"successor-version\"")]);
    let open = gateway.get("ada", search).await.expect(410);
    let needs = "use /api/v2/workspaces/acme/projects/{project_id}/work-items/.";
    assert!(open.text("detail").contains(needs), "{}", open.json);
    assert!(links(&open).is_empty(), "{:?}", links(&open));
}

#[tokio::test]
async fn a_long_text_of_the_path_is_not_repeated() {
    let ended = "[{ operation = \"all\", deprecated = \"2020-01-01\", sunset = \"2020-06-01\", refuse = true }]";
    let settings = [("retirement", ended), ("usage.learn", "false")];
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &settings).await;
    let gone = gateway.get("ada", &STATES.replace("acme", &"a".repeat(1_500))).await.expect(410);
    let successor = "use /api/v2/workspaces/{slug}/projects/{project_id}/states/.";
    assert!(gone.text("detail").ends_with(successor), "{}", gone.json);
    assert!(links(&gone).is_empty(), "{:?}", links(&gone));
}

#[tokio::test]
async fn an_ended_operation_is_reported_as_ended_during_a_brownout() {
    let retirement =
        "[{ operation = \"all\", deprecated = \"2020-01-01\", sunset = \"2020-06-01\", refuse = true }]";
    let brownout = "[{ operation = \"all\", from = \"2020-01-01\", until = \"2999-01-01\" }]";
    let settings = [("retirement", retirement), ("brownout", brownout)];
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &settings).await;
    let states = gateway.get("ada", STATES).await.expect(410);
    assert!(states.text("detail").contains("ended on 2020-06-01T00:00:00Z"), "{}", states.json);
}

/// An operation with a table of its own follows that table from the beginning, even before its window begins.
#[tokio::test]
async fn a_table_of_its_own_counts_instead_of_that_for_all_before_it_begins_too() {
    let notices = "[{ operation = \"all\", deprecated = \"2020-01-01\", sunset = \"2020-06-01\", refuse = true }, \
                   { operation = \"v1_labels_list\", deprecated = \"2999-01-01\", sunset = \"2999-06-01\" }]";
    let gateway =
        Gateway::sandboxed_with(Seed::Recorded, &[("retirement", notices), ("usage.learn", "false")]).await;
    gateway.get("ada", STATES).await.expect(410);
    let labels = gateway.get("ada", LABELS).await.expect(200);
    assert!(["deprecation", "sunset"].iter().all(|name| !labels.headers.contains_key(*name)));
}

/// A client that comes back at the end of one window would be refused by the other.
#[tokio::test]
async fn of_two_windows_the_end_that_is_told_is_the_later_one() {
    let window = |operation: &str, year: u16| {
        format!("{{ operation = \"{operation}\", from = \"2020-01-01\", until = \"{year}-01-01\" }}")
    };
    let (all, states) = (window("all", 2998), window("v1_states_list", 2999));
    for windows in [format!("[{all}, {states}]"), format!("[{states}, {all}]")] {
        let gateway = Gateway::sandboxed_with(Seed::Recorded, &[("brownout", &windows)]).await;
        for (path, until) in [(STATES, "until 2999-01-01"), (LABELS, "until 2998-01-01")] {
            let refused = gateway.get("ada", path).await.expect(410);
            assert!(refused.text("detail").contains(until), "{}", refused.json);
        }
    }
}

#[tokio::test]
async fn windows_refuse_those_they_are_for_or_only_count() {
    let windows = "[{ operation = \"v1_states_list\", from = \"2020-01-01T00:00:00Z\", until = \"2999-01-01T00:00:00Z\", \
                   clients = [\"old-tool/1\"] }, { operation = \"v1_labels_list\", from = \"2020-01-01T00:00:00Z\", \
                   until = \"2999-01-01T00:00:00Z\", dry_run = true }, { operation = \"all\", \
                   from = \"2020-01-01T00:00:00Z\", until = \"2020-01-02T00:00:00Z\" }]";
    let settings = [("brownout", windows), ("admin.listen", "127.0.0.1:0")];
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &settings).await;
    let ask =
        async |agent: &str, path: &str| gateway.send_with("ada", "GET", path, None, &[("User-Agent", agent)]).await;
    let refused = ask("Old-Tool/1 (x)", STATES).await.expect(410);
    assert!(refused.text("detail").contains("until 2999-01-01T00:00:00Z"), "{}", refused.json);
    ask("new-tool/1", STATES).await.expect(200);
    ask("old-tool/1", LABELS).await.expect(200);
    ask("old-tool/1", "/api/v1/users/me/").await.expect(200);
    let figures = gateway.metrics().await;
    for (operation, outcome) in [("v1_states_list", "refused"), ("v1_labels_list", "counted")] {
        let line = format!("causeway_brownout_requests_total{{operation=\"{operation}\",outcome=\"{outcome}\"}} 1");
        assert!(figures.contains(&line), "{figures}");
    }
}

#[tokio::test]
async fn faulty_announcements_are_refused_at_the_start() {
    let load = |name: &str, value: &str| {
        let overrides =
            [("upstream.base_url", "http://127.0.0.1:1"), ("store.url", "sqlite::memory:"), (name, value)];
        let overrides = overrides.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        Settings::load(LoadArgs { file: None, env: std::iter::empty(), overrides })
    };
    let of = |operation: &str, times: &str| format!("{{ operation = \"{operation}\", {times} }}");
    let (march, april) = ("2999-03-01T00:00:00Z", "2999-04-01T00:00:00Z");
    let window = format!("from = \"{march}\", until = \"{april}\"");
    for (name, value, told) in [
        ("brownout", format!("[{}, {}]", of("all", &window), of("all", &window)), "overlap for the same client"),
        (
            "brownout",
            format!("[{}]", of("all", &format!("from = \"{april}\", until = \"{march}\""))),
            "ends before",
        ),
        (
            "retirement",
            format!("[{}]", of("all", &format!("deprecated = \"{april}\", sunset = \"{march}\""))),
            "sunset",
        ),
        (
            "retirement",
            format!("[{}]", of("all", &format!("deprecated = \"{april}\", refuse = true"))),
            "no `sunset`",
        ),
        ("retirement", "soon".to_owned(), "one table per operation"),
        // Of which zone?
        (
            "brownout",
            format!("[{}]", of("all", "from = 2999-03-01T22:00:00, until = 2999-03-02T02:00:00")),
            "an instant such as 2027-01-31T12:00:00Z",
        ),
    ] {
        let fault = load(name, &value).expect_err("a fault").to_string();
        assert!(fault.contains(told), "{told}\n{fault}");
    }
    let unknown = load("brownout", &format!("[{}]", of("v1_sattes_list", &window))).expect("readable");
    let fault = App::build(&unknown).await.err().expect("refused").to_string();
    assert!(fault.contains("v1 has no operation v1_sattes_list; did you mean v1_states_list?"), "{fault}");
    let named = format!("[{}]", of("all", &format!("{window}, clients = [\"Old-Tool/1.0\"]")));
    let named = load("brownout", &named).expect("readable");
    let fault = App::build(&named).await.err().expect("refused").to_string();
    assert!(fault.contains("Old-Tool/1.0; `causeway migration` names this one old-tool/1.0"), "{fault}");
    // With valid settings the same gateway starts.
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let good = format!("[{}]", of("v1_states_list", &window));
    Gateway::with(&serve_sandbox(&sandbox).await, &[("brownout", &good)])
        .await
        .get("ada", STATES)
        .await
        .expect(200);
}
