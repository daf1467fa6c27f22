//! Keys, visibility, roles, quotas: the cases for which v1 has one 403, and the checks that it forgets.

use crate::support::gateway::{Answer, Gateway, serve_sandbox};
use crate::support::losing::Losing;
use crate::support::past_gateway::in_web;
use crate::support::proofs::{get_card, me};
use crate::support::scripted::{Exchange, ScriptedV1};
use crate::traps::scene::{
    ADA, CARD, NOWHERE, OTHERS, SECRET, Scene, THROUGH, V1, card, journal, list, list_target, project, record, web,
};
use causeway::sandbox::{Config, Sandbox, Seed};
use serde_json::{Value, json};
use std::time::Duration;

/// The recorded project.
const WEB_ID: &str = "00000000-0000-4000-c000-000000000001";
/// A time after which a person's known rights are too old beside an empty list.
const LONG_AGO: Duration = Duration::from_millis(3200);

#[tokio::test]
async fn trap_01_a_bad_key_is_401_however_v1_says_it() {
    for exchange in ["auth_wrong_key", "auth_expired_key", "auth_deactivated_key"] {
        let scene = Scene::unknown().await;
        scene.expect(Exchange::get("users/me/").key("ada").recorded("auth", exchange));
        let answer = scene.get("states/").await.expect_problem(401, "unauthorized");
        assert!(answer.headers.contains_key("www-authenticate"));
        assert_eq!(scene.v1.calls(), 1, "{exchange}: nothing is asked with a bad key");
        scene.v1.finish();
    }
    let scene = Scene::unknown().await;
    scene.gateway.send(None, "GET", &web("states/"), None).await.expect_problem(401, "unauthorized");
    assert_eq!(scene.v1.calls(), 0);
}

#[tokio::test]
async fn trap_01_a_key_that_turns_bad_is_401_at_once_and_afterwards() {
    let scene = Scene::unknown().await;
    scene.expect(Exchange::get("users/me/").recorded("users", "users_me_admin"));
    scene.expect(Exchange::get(&format!("{V1}{CARD}")).reply(200, card(Some(20))));
    scene.expect(Exchange::post(&format!("{V1}labels/")).recorded("auth", "auth_deactivated_key"));
    scene.post("labels/", json!({"name": "bug"})).await.expect_problem(401, "unauthorized");
    scene.expect(Exchange::get("users/me/").recorded("auth", "auth_deactivated_key"));
    scene.get("labels/").await.expect_problem(401, "unauthorized");
    scene.v1.finish();
}

#[tokio::test]
async fn trap_02_invisible_is_404_and_not_allowed_is_403() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let states = |id: &str| project(id, "states/");
    for (key, path) in [
        ("ada", states(NOWHERE)),
        ("ada", states(OTHERS)),
        ("ada", states(SECRET)),
        ("eve", web("states/")),
        ("dan", web("states/")),
        ("ada", web("states/").replace("acme", "nope")),
        ("ada", web("states/").replace("acme", "other")),
        ("ada", web("states/").replace("acme", "ACME")),
    ] {
        gateway.get(key, &path).await.expect_problem(404, "resource_not_found");
        gateway.post(key, &path, json!({})).await.expect_problem(404, "resource_not_found");
    }
    // A public project of the own workspace is visible without joining (O88); so is one's own project as a guest.
    gateway.get("mel", &web("states/")).await.expect_problem(403, "forbidden");
    gateway.get("gil", &web("states/")).await.expect(200);
    let body = json!({"name": "x", "color": "#000"});
    gateway.post("gil", &web("states/"), body).await.expect_problem(403, "forbidden");
}

/// The server before v1 answers a path of thousands of characters with 414 and HTML, which is no answer of v1.
#[tokio::test]
async fn a_slug_that_is_too_long_is_404_and_v1_is_not_asked_for_it() {
    let scene = Scene::unknown().await;
    scene.expect(Exchange::get("users/me/").recorded("users", "users_me_admin").repeated());
    let workspace = format!("/api/v2/workspaces/{}", "a".repeat(256));
    let in_project = web("states/").replace("/api/v2/workspaces/acme", &workspace);
    for path in [in_project, format!("{workspace}/features/"), format!("{workspace}/work-items/WEB-1/")] {
        scene.gateway.get("ada", &path).await.expect_problem(404, "resource_not_found");
    }
    scene.v1.finish();
}

#[tokio::test]
async fn trap_02_a_403_on_a_read_is_judged_by_a_new_card() {
    for (second_card, status, code) in [
        (Exchange::get("").recorded("projects", "projects_get_outsider"), 404, "resource_not_found"),
        (Exchange::get("").reply(200, card(None)), 403, "forbidden"),
    ] {
        let scene = Scene::unknown().await;
        scene.expect(Exchange::get("users/me/").recorded("users", "users_me_admin"));
        let target = format!("{V1}{CARD}");
        scene.expect(Exchange::get(&target).reply(200, card(Some(15))));
        scene.expect(list("states", &[]).recorded("states", "states_list_by_project_outsider"));
        scene.expect(second_card.at(&target));
        scene.get("states/").await.expect_problem(status, code);
        scene.v1.finish();
    }
}

#[tokio::test]
async fn trap_02_a_403_on_a_write_is_judged_by_a_new_card() {
    for (second_card, status, code) in [
        (Exchange::get("").recorded("projects", "projects_get_outsider"), 404, "resource_not_found"),
        (Exchange::get("").recorded("projects", "projects_get_private_by_non_member"), 404, "resource_not_found"),
        (Exchange::get("").reply(200, card(None)), 403, "forbidden"),
        (Exchange::get("").reply(200, card(Some(5))), 403, "forbidden"),
    ] {
        let scene = Scene::unknown().await;
        scene.expect(Exchange::get("users/me/").recorded("users", "users_me_admin"));
        let target = format!("{V1}{CARD}");
        scene.expect(Exchange::get(&target).reply(200, card(Some(15))));
        scene.expect(
            Exchange::post(&format!("{V1}states/")).recorded("states", "states_create_by_project_outsider"),
        );
        scene.expect(second_card.at(&target));
        let body = json!({"name": "Review", "color": "#000"});
        scene.post("states/", body).await.expect_problem(status, code);
        scene.v1.finish();
    }
}

#[tokio::test]
async fn trap_03_labels_and_rosters_of_projects_one_is_not_in_are_not_shown() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    for path in ["labels/", "members/"] {
        for id in [SECRET, OTHERS, NOWHERE] {
            gateway.get("ada", &project(id, path)).await.expect_problem(404, "resource_not_found");
        }
        gateway.get("mel", &web(path)).await.expect_problem(403, "forbidden");
        let asked = journal(&gateway);
        assert!(asked.is_empty(), "v1 would have answered: {asked:?}");
    }
}

#[tokio::test]
async fn trap_04_labels_are_not_created_where_one_is_not_a_member() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let body = json!({"name": "intruder"});
    for id in [SECRET, OTHERS, NOWHERE] {
        gateway.post("ada", &project(id, "labels/"), body.clone()).await.expect_problem(404, "resource_not_found");
    }
    gateway.post("mel", &web("labels/"), body).await.expect_problem(403, "forbidden");
    assert!(journal(&gateway).is_empty());
    let secret = gateway.get("bob", &project(SECRET, "labels/")).await.expect(200);
    assert!(secret.data().is_empty(), "v1 would have let ada in");
}

#[tokio::test]
async fn trap_11_both_kinds_of_500_are_502() {
    for (file, exchange) in [("errors", "errors_500_order_by"), ("errors", "errors_null_byte_in_query")] {
        let scene = Scene::new().await;
        scene.expect(
            Exchange::get("").recorded(file, exchange).at(&crate::traps::scene::list_target("states")).repeated(),
        );
        scene.expect(Exchange::post(&format!("{V1}labels/")).recorded(file, exchange));
        // Before the gateway reports the outcome of the create, it looks for the record.
        scene.expect(list("labels", &[]));
        for answer in [scene.get("states/").await, scene.post("labels/", json!({"name": "bug"})).await] {
            let answer = answer.expect_problem(502, "upstream_error");
            assert!(answer.json.get("errors").is_none());
            assert!(!answer.json.to_string().contains('<'), "no page of v1: {}", answer.json);
        }
        let posts = scene.calls().iter().filter(|call| call.starts_with("POST")).count();
        assert_eq!(posts, 1, "a write is never repeated");
        scene.v1.finish();
    }
}

#[tokio::test]
async fn trap_12_ids_in_paths_reach_v1_in_lower_case() {
    let scene = Scene::new().await;
    let label = record("labels", "labels_create_minimal", json!({}));
    let id = crate::traps::scene::id(&label).to_owned();
    scene.expect(list("labels", std::slice::from_ref(&label)));
    let one = format!("{V1}labels/{id}/");
    scene.expect(
        Exchange::patch(&one)
            .body(json!({"color": "#111"}))
            .reply(200, record("labels", "labels_create_minimal", json!({"color": "#111"}))),
    );
    scene.expect(Exchange::delete(&one));
    let upper = web(&format!("labels/{}/", id.to_uppercase())).replace("c000", "C000");
    let found = scene.gateway.get("ada", &upper).await.expect(200);
    assert_eq!(found.text("id"), id);
    scene.gateway.patch("ada", &upper, json!({"color": "#111"})).await.expect(200);
    scene.v1.expect(list("labels", &[label]).repeated());
    scene.gateway.delete("ada", &upper).await.expect(204);
    for wrong in ["not-a-uuid", "00000000000040008000000000000001", "{00000000-0000-4000-8000-000000000001}"] {
        let answer = scene.get(&format!("labels/{wrong}/")).await.expect_problem(400, "validation_error");
        assert_eq!(answer.error_fields(), ["pk"]);
    }
    scene.v1.finish();
}

#[tokio::test]
async fn trap_13_a_redirect_of_v1_is_502_and_never_followed() {
    let scene = Scene::new().await;
    let moved = || Exchange::get("").recorded("errors", "errors_slash_missing_get");
    scene.expect(moved().at(&crate::traps::scene::list_target("states")));
    scene.expect(Exchange::post(&format!("{V1}labels/")).recorded("errors", "errors_slash_missing_post"));
    // A redirect by a proxy may come after the create, so the gateway looks for the record.
    scene.expect(list("labels", &[]));
    scene.get("states/").await.expect_problem(502, "upstream_error");
    scene.post("labels/", json!({"name": "bug"})).await.expect_problem(502, "upstream_error");
    scene.finish(&["GET states/", r#"POST labels/ {"name":"bug"}"#, "GET labels/"]);
}

#[tokio::test]
async fn trap_57_a_used_up_quota_is_429_with_v1s_retry_after() {
    let limited = || Exchange::get("").recorded("throttle", "throttle_limited");
    // On the first look at the key, on the card, on a list, on a write.
    let scene = Scene::unknown().await;
    scene.expect(limited().at("users/me/"));
    let answer = scene.get("states/").await.expect_problem(429, "rate_limited");
    assert_eq!(answer.headers["retry-after"], "60");
    scene.expect(Exchange::get("users/me/").recorded("users", "users_me_admin"));
    scene.expect(limited().at(&format!("{V1}{CARD}")));
    assert_eq!(scene.get("states/").await.expect_problem(429, "rate_limited").headers["retry-after"], "60");
    scene.expect(Exchange::get(&format!("{V1}{CARD}")).reply(200, card(Some(20))));
    scene.expect(limited().at(&list_target("states")));
    assert_eq!(scene.get("states/").await.expect_problem(429, "rate_limited").headers["retry-after"], "60");
    scene.expect(Exchange::post(&format!("{V1}labels/")).recorded("throttle", "throttle_limited"));
    let answer = scene.post("labels/", json!({"name": "bug"})).await.expect_problem(429, "rate_limited");
    assert_eq!(answer.headers["retry-after"], "60");
    scene.v1.finish();
}

/// A server before v1 may drop the header. v1 is then asked again after 5 s, and not each second.
#[tokio::test]
async fn trap_57_a_429_that_names_no_time_is_429_and_v1_is_left_alone_for_a_while() {
    let refused = json!({"error_code": 5900, "error_message": "RATE_LIMIT_EXCEEDED"});
    let v1 = ScriptedV1::start().await;
    v1.expect(me()).expect(get_card().reply(200, card(Some(20))));
    v1.expect(Exchange::get(&list_target("states")).reply(429, refused));
    let settings = [("upstream.quota", "60"), ("limits.deadline", "3s")];
    let gateway = Gateway::with(v1.base_url(), &settings).await;
    for path in ["states/", "labels/"] {
        let answer = gateway.get("ada", &web(path)).await.expect_problem(429, "rate_limited");
        let seconds: u64 = answer.headers["retry-after"].parse().expect("whole seconds");
        assert!((1..=5).contains(&seconds), "{path}: {seconds}");
    }
    v1.finish();
}

/// A proxy before v1 may limit a single path, which says nothing about v1's quota.
#[tokio::test]
async fn trap_57_a_429_of_a_proxy_on_the_pass_through_holds_no_other_call_back() {
    let (v1, search) = (ScriptedV1::start().await, format!("{V1}work-items/search/"));
    v1.expect(me()).expect(get_card().reply(200, card(Some(20))));
    v1.expect(list("states", &[record("states", "states_create_minimal", json!({}))]));
    let settings = [("upstream.quota", "60"), ("limits.deadline", "3s")];
    let gateway = Gateway::with(v1.base_url(), &settings).await;
    let limited = || Exchange::get(&search).html(429, "Slow down");
    let own = Exchange::get(&search).recorded("throttle", "throttle_limited");
    let passed = async |answer: Exchange| {
        v1.expect(answer);
        gateway.get("ada", &format!("/api/v1/{search}")).await.expect(429);
    };
    passed(limited()).await;
    passed(limited().header("retry-after", "60")).await;
    gateway.get("ada", &web("states/")).await.expect(200);
    passed(own).await;
    let refused = gateway.get("ada", &web("labels/")).await.expect_problem(429, "rate_limited");
    assert!(refused.text("detail").contains("is used up"), "{}", refused.json);
    v1.finish();
}

#[tokio::test]
async fn trap_57_reads_of_people_who_see_the_same_cost_one_call() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    gateway.get("ada", &web("states/")).await.expect(200);
    for key in ["ada", "bob", "kim"] {
        for path in ["states/", "states/?group=started", "states/?order_by=-id&per_page=2&offset=1"] {
            gateway.get(key, &web(path)).await.expect(200);
        }
    }
    let lists = journal(&gateway).iter().filter(|call| call.starts_with("GET states/")).count();
    assert_eq!(lists, 1);
    // Guests share cached data only with guests.
    gateway.get("gil", &web("states/")).await.expect(200);
    let lists = journal(&gateway).iter().filter(|call| call.starts_with("GET states/")).count();
    assert_eq!(lists, 2);
}

#[tokio::test]
async fn trap_58_an_archived_project_is_not_there() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    gateway.get("ada", &web("states/")).await.expect(200);
    gateway.post("ada", &format!("{THROUGH}archive/"), json!({})).await.expect(204);
    gateway.sandbox().clear_journal();
    for path in ["states/", "labels/", "cycles/", "modules/", "members/"] {
        gateway.get("ada", &web(path)).await.expect_problem(404, "resource_not_found");
    }
    // v1 would accept these writes.
    let body = json!({"name": "x", "color": "#000"});
    for path in ["states/", "labels/", "cycles/", "modules/"] {
        gateway.post("ada", &web(path), body.clone()).await.expect_problem(404, "resource_not_found");
    }
    assert!(journal(&gateway).is_empty());
    gateway.delete("ada", &format!("{THROUGH}archive/")).await.expect(204);
    gateway.get("ada", &web("states/")).await.expect(200);
}

#[tokio::test]
async fn trap_59_keys_of_deactivated_accounts_work_and_those_of_inactive_members_do_not() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    assert_eq!(gateway.get("zed", "/api/v2/users/me/").await.expect(200).text("display_name"), "zed");
    gateway.get("zed", &web("states/")).await.expect(200);
    // Only the switch of the membership counts.
    assert_eq!(gateway.get("dan", "/api/v2/users/me/").await.expect(200).text("display_name"), "dan");
    gateway.get("dan", &web("states/")).await.expect_problem(404, "resource_not_found");
    gateway.get("dan", "/api/v2/workspaces/acme/members/").await.expect_problem(404, "resource_not_found");
    assert_ne!(gateway.get("zed", "/api/v2/users/me/").await.text("id"), ADA);
}

#[tokio::test]
async fn trap_03_what_v1_shows_somebody_who_has_left_is_not_taken_for_the_list_of_others() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let v1 = gateway.sandbox();
    in_web(v1, "POST", "labels/", &json!({"name": "bug"}));
    gateway.get("bob", &web("states/")).await.expect(200);
    tokio::time::sleep(LONG_AGO).await;
    in_web(v1, "DELETE", "members/00000000-0000-4000-9000-000000000102/", &Value::Null);
    gateway.get("bob", &web("labels/")).await.expect_problem(403, "forbidden");
    assert_eq!(gateway.get("ada", &web("labels/")).await.expect(200).data().len(), 1);
}

#[tokio::test]
async fn trap_58_the_empty_lists_of_a_project_that_was_archived_a_moment_ago_are_404() {
    let lists = [
        "states/",
        "labels/",
        "cycles/",
        "modules/",
        "work-items/",
        "work-items/?priority=none",
        "work-items/?sequence_id=1",
        "work-items/?cycle_id__isnull=false",
        "work-items/?module_id=00000000-0000-4000-e000-000000000001",
    ];
    let shown = lists.map(|list| async move {
        let gateway = Gateway::sandboxed(Seed::Recorded).await;
        gateway.get("ada", &web("members/")).await.expect(200);
        tokio::time::sleep(LONG_AGO).await;
        in_web(gateway.sandbox(), "POST", "archive/", &Value::Null);
        gateway.get("ada", &web(list)).await.expect_problem(404, "resource_not_found");
    });
    futures_util::future::join_all(shown).await;
}

/// The index still vouches for the work item as it was a moment ago.
#[tokio::test]
async fn trap_58_no_comments_of_a_project_that_was_archived_a_moment_ago_are_404() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let item = "work-items/00000000-0000-4000-e000-000000000001/comments/";
    gateway.get("ada", &web("work-items/?priority=none")).await.expect(200);
    gateway.post("ada", &web(item), json!({"comment_html": "there"})).await.expect(201);
    tokio::time::sleep(LONG_AGO).await;
    in_web(gateway.sandbox(), "POST", "archive/", &Value::Null);
    gateway.get("ada", &web(item)).await.expect_problem(404, "resource_not_found");
}

/// An empty list of an existing project costs no check of the rights when those were just checked.
#[tokio::test]
async fn an_empty_list_beside_new_rights_is_one_call() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    assert_eq!(gateway.get("ada", &web("labels/")).await.expect(200).calls(), 3, "person, rights, list");
    tokio::time::sleep(LONG_AGO).await;
    assert_eq!(gateway.get("ada", &web("cycles/")).await.expect(200).calls(), 2, "the list, and the rights again");
    assert_eq!(
        gateway.get("bob", &web("cycles/")).await.expect(200).calls(),
        2,
        "person and rights: it is for all"
    );
}

/// Returns the answers to bob for `path`, and to ada, who sends the same request while v1 has not answered him.
async fn ada_while_bob_reads(gateway: &Gateway, wire: &Losing, path: &str) -> (Answer, Answer) {
    wire.detain("GET");
    let member = async {
        wire.held().await;
        let let_go = async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            wire.let_go();
        };
        tokio::join!(gateway.get("ada", path), let_go).0
    };
    tokio::join!(gateway.get("bob", path), member)
}

/// The read of a former member is in flight when a member requests the same list.
#[tokio::test]
async fn trap_03_a_member_who_waits_for_the_read_of_somebody_who_has_left_gets_the_list() {
    let v1 = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let wire = Losing::before(&serve_sandbox(&v1).await).await;
    let gateway = Gateway::before(wire.base_url()).await;
    for key in ["ada", "bob"] {
        gateway.get(key, &web("states/")).await.expect(200);
    }
    tokio::time::sleep(LONG_AGO).await;
    in_web(&v1, "DELETE", "members/00000000-0000-4000-9000-000000000102/", &Value::Null);
    let labels = web("labels/");
    let (left, member) = ada_while_bob_reads(&gateway, &wire, &labels).await;
    left.expect_problem(403, "forbidden");
    assert!(member.expect(200).data().is_empty());
}

/// An answer of v1 to a person who left just after the check of their rights is used for no other caller.
#[tokio::test]
async fn trap_03_an_empty_list_beside_new_rights_counts_for_its_reader_alone() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let v1 = gateway.sandbox();
    let label = in_web(v1, "POST", "labels/", &json!({"name": "bug"}));
    in_web(v1, "POST", "work-items/", &json!({"name": "one", "labels": [label["id"]]}));
    gateway.get("ada", &web("states/")).await.expect(200);
    gateway.get("bob", &web("states/")).await.expect(200);
    in_web(v1, "DELETE", "members/00000000-0000-4000-9000-000000000102/", &Value::Null);
    assert!(gateway.get("bob", &web("labels/")).await.expect(200).data().is_empty());
    let of_label = format!("work-items/?label_id={}", label["id"].as_str().unwrap());
    for path in ["labels/", "labels/?name=bug", &of_label] {
        assert_eq!(gateway.get("ada", &web(path)).await.expect(200).data().len(), 1, "{path}");
    }
}

/// A write does not rely on it either.
#[tokio::test]
async fn trap_03_a_write_beside_the_empty_list_of_somebody_else_shows_the_whole_list() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    in_web(gateway.sandbox(), "POST", "labels/", &json!({"name": "bug"}));
    gateway.get("ada", &web("states/")).await.expect(200);
    gateway.get("bob", &web("states/")).await.expect(200);
    in_web(gateway.sandbox(), "DELETE", "members/00000000-0000-4000-9000-000000000102/", &Value::Null);
    assert!(gateway.get("bob", &web("labels/")).await.expect(200).data().is_empty());
    gateway.post("ada", &web("labels/"), json!({"name": "chore"})).await.expect(201);
    assert_eq!(gateway.get("ada", &web("labels/")).await.expect(200).data().len(), 2);
}

/// v1 shows the members of a deleted project as an empty list.
#[tokio::test]
async fn the_roster_of_a_project_that_was_deleted_a_moment_ago_is_404() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    gateway.get("ada", &web("states/")).await.expect(200);
    tokio::time::sleep(LONG_AGO).await;
    in_web(gateway.sandbox(), "DELETE", "", &Value::Null);
    gateway.get("ada", &web("members/")).await.expect_problem(404, "resource_not_found");
}

/// The read of a cycle by a former member is in flight when a member filters by it.
#[tokio::test]
async fn a_member_who_waits_for_the_cycle_that_somebody_who_has_left_reads_gets_its_items() {
    let v1 = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let cycle = in_web(&v1, "POST", "cycles/", &json!({"name": "July", "project_id": WEB_ID}));
    let item = in_web(&v1, "POST", "work-items/", &json!({"name": "one"}));
    let in_cycle = format!("cycles/{}/cycle-issues/", cycle["id"].as_str().unwrap());
    in_web(&v1, "POST", &in_cycle, &json!({"issues": [item["id"]]}));
    let wire = Losing::before(&serve_sandbox(&v1).await).await;
    let gateway = Gateway::before(wire.base_url()).await;
    for key in ["ada", "bob"] {
        gateway.get(key, &web("work-items/?priority__in=none,low")).await.expect(200);
    }
    in_web(&v1, "DELETE", "members/00000000-0000-4000-9000-000000000102/", &Value::Null);
    let filtered = web(&format!("work-items/?cycle_id={}", cycle["id"].as_str().unwrap()));
    let (left, member) = ada_while_bob_reads(&gateway, &wire, &filtered).await;
    left.expect_problem(403, "forbidden");
    assert_eq!(member.expect(200).data().len(), 1);
}
