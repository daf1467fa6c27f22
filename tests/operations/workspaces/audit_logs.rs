//! `workspaces/{slug}/audit-logs/`.

use crate::support::audit::{ACME, written};
use crate::support::gateway::{Answer, Gateway};
use causeway::sandbox::Seed;
use causeway::store::Store;
use serde_json::{Value, json};
use tempfile::TempDir;
use uuid::Uuid;

const LOG: &str = "/api/v2/workspaces/acme/audit-logs/";

/// A gateway whose log has forty entries, with another workspace's log beside it.
struct Log {
    gateway: Gateway,
    store: Store,
    ids: Vec<String>,
    _folder: TempDir,
}

impl Log {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let url = format!("sqlite:{}", folder.path().join("store.db").display());
        let gateway = Gateway::sandboxed_with(Seed::Recorded, &[("store.url", &url)]).await;
        let store = gateway.store().await;
        let ids = written(&store, ACME, 0..40).await;
        written(&store, Uuid::from_u128(9), 0..3).await;
        Self { gateway, store, ids, _folder: folder }
    }

    async fn get(&self, query: &str) -> Answer {
        self.gateway.get("ada", &format!("{LOG}{query}")).await
    }

    /// Returns the numbers of the entries that a query finds, oldest first.
    async fn found(&self, query: &str) -> Vec<u64> {
        let page = self.get(&format!("?order_by=created_at&per_page=200&{query}")).await.expect(200);
        assert_eq!(page.json["total_count"], page.data().len());
        page.data().iter().map(|row| row["metadata"]["n"].as_u64().expect("a number")).collect()
    }
}

#[tokio::test]
async fn only_administrators_of_the_workspace_read_it() {
    let log = Log::new().await;
    for path in [LOG.to_owned(), format!("{LOG}{}/", log.ids[0])] {
        log.gateway.get("ada", &path).await.expect(200);
        // A member, a member who administers a project, and a guest.
        for key in ["bob", "kim", "gil"] {
            log.gateway.get(key, &path).await.expect_problem(403, "forbidden");
        }
        for slug in ["other", "nowhere"] {
            let elsewhere = path.replace("acme", slug);
            log.gateway.get("ada", &elsewhere).await.expect_problem(404, "resource_not_found");
        }
    }
    // The role is checked before the record and the query.
    log.gateway.get("gil", &format!("{LOG}?per_page=x")).await.expect_problem(403, "forbidden");
    log.gateway.get("gil", &format!("{LOG}{}/", Uuid::nil())).await.expect_problem(403, "forbidden");
}

#[tokio::test]
async fn one_entry_by_its_record_id_and_by_nothing_else() {
    let log = Log::new().await;
    let one = log.get(&format!("{}/", log.ids[6])).await.expect(200);
    let expected = json!({"sequence_number": 7, "event_name": "settings.features_updated", "category": "security",
        "outcome": "success", "source": "api", "actor_type": "api_token",
        "actor_id": "00000000-0000-4000-a000-000000000003", "actor_display_name": "kim",
        "actor_email": "kim@acme.test", "target_type": "workspace", "target_id": "target 1",
        "target_display_name": "Row 006", "old_value": {"n": 6}, "new_value": [6, null, "ü"], "reason": "",
        "metadata": {"n": 6}, "ip_address": "203.0.113.0", "user_agent": "curl/8.6.0", "workspace_id": ACME,
        "project_id": null});
    for (name, value) in expected.as_object().expect("an object") {
        assert_eq!(&one.json[name], value, "{name}");
    }
    assert_eq!(one.json["id"], log.ids[6].as_str());
    assert!(one.text("created_at").ends_with('Z') && one.text("created_at").len() == 27);
    let listed = log.get("?order_by=created_at&per_page=200").await.expect(200);
    assert_eq!(listed.data()[6], one.json);
    let by_event = log.get(&format!("{}/", one.text("event_id"))).await;
    by_event.expect_problem(404, "resource_not_found");
    let foreign = log.store.audit_page(Uuid::from_u128(9), &crate::support::audit::oldest_first()).await;
    let foreign = foreign.expect("found").read().expect("read").rows[0].id;
    log.get(&format!("{foreign}/")).await.expect_problem(404, "resource_not_found");
    log.get("WEB-1/").await.expect_problem(400, "validation_error");
    let expanded = log.get(&format!("{}/?expand=actor", log.ids[6])).await.expect_problem(400, "validation_error");
    assert_eq!(expanded.error_fields(), ["expand"]);
}

#[tokio::test]
async fn filters_narrow_and_combine() {
    let log = Log::new().await;
    let of = |holds: fn(u64) -> bool| (0..40).filter(|n| holds(*n)).collect::<Vec<u64>>();
    assert_eq!(log.found("actor_id=00000000-0000-4000-A000-000000000001").await, of(|n| n % 4 == 0));
    assert_eq!(log.found("actor_id=nobody").await, of(|_| false));
    assert_eq!(log.found("event_name=auth.sign_in").await, of(|n| n % 3 == 2));
    assert_eq!(log.found("event_name=auth").await, of(|_| false));
    assert_eq!(log.found("category=role&outcome=failure").await, of(|n| n % 8 == 2 && n % 5 == 0));
    assert_eq!(log.found("target_type=role&target_id=target+3").await, of(|n| n % 3 == 1 && n % 5 == 3));
    assert_eq!(log.found("ip_address=203.0.113.1").await, of(|n| n % 4 != 3 && n % 3 == 1));
    assert_eq!(log.found("search=+FEATURES_+&category=auth").await, of(|n| n % 3 == 0 && n % 8 == 0));
    assert_eq!(log.found("search=bob%40").await, of(|n| n % 4 == 1));
    assert_eq!(log.found("search=row%201").await, of(|_| false));
    assert_eq!(log.found("search=row%2001").await, of(|n| (10..20).contains(&n)));
    assert_eq!(log.found("search=curl").await, of(|_| false), "the agent is not searched");
    assert_eq!(log.found("target_id=%00&search=%00").await, of(|_| false));
}

#[tokio::test]
async fn the_bounds_of_time_are_inclusive() {
    let log = Log::new().await;
    let all = log.get("?order_by=created_at&per_page=200").await.expect(200).column("created_at");
    let at = |n: usize| all[n].as_str().expect("an instant").to_owned();
    assert_eq!(log.found(&format!("created_after={}", at(37))).await, [37, 38, 39]);
    assert_eq!(log.found(&format!("created_before={}", at(2))).await, [0, 1, 2]);
    let one = format!("created_after={0}&created_before={0}", at(5).replace('Z', "%2B00:00"));
    assert_eq!(log.found(&one).await, [5]);
    let after = at(5).replace('Z', "001Z");
    assert_eq!(log.found(&format!("created_after={after}&created_before={}", at(6))).await, [6]);
    assert_eq!(log.found(&format!("created_after={}&created_before={after}", at(5))).await, [5]);
    assert_eq!(log.found("created_after=2020-01-01&created_before=2020-01-02").await, Vec::<u64>::new());
    assert_eq!(log.found("created_after=2020-01-01").await.len(), 40);
}

#[tokio::test]
async fn invalid_parameters_are_refused_by_name() {
    let log = Log::new().await;
    for (query, fields) in [
        ("?category=work_items", vec!["category"]),
        ("?outcome=maybe&created_after=soon", vec!["created_after", "outcome"]),
        ("?expand=actor", vec!["expand"]),
        ("?actor=ada", vec!["actor"]),
        ("?cursor=x", vec!["cursor"]),
        ("?offset=10001", vec!["offset"]),
    ] {
        let answer = log.get(query).await.expect_problem(400, "validation_error");
        let mut told = answer.error_fields();
        told.sort_unstable();
        assert_eq!(told, fields, "{query}");
    }
    // Lists of members have no instants for a cursor.
    let members = "/api/v2/workspaces/acme/members/?paginate=cursor&order_by=id&per_page=1";
    let token = log.gateway.get("ada", members).await.expect(200).text("next_cursor");
    let answer = log.get(&format!("?cursor={token}")).await.expect_problem(400, "validation_error");
    assert_eq!(answer.error_fields(), ["cursor"]);
}

#[tokio::test]
async fn a_cursor_goes_on_under_either_order_and_keeps_no_filter() {
    let log = Log::new().await;
    let first = log.get("?paginate=cursor&per_page=10").await.expect(200);
    assert_eq!(first.json["has_more"], true);
    assert!(first.json.get("total_count").is_none());
    let numbers = |answer: &Answer| answer.column("sequence_number");
    assert_eq!(numbers(&first), (31..=40).rev().map(Value::from).collect::<Vec<_>>(), "newest first");
    let token = first.text("next_cursor");
    written(&log.store, ACME, 40..45).await;
    let second = log.get(&format!("?cursor={token}&per_page=30")).await.expect(200);
    assert_eq!(numbers(&second), (1..=30).rev().map(Value::from).collect::<Vec<_>>(), "new ones do not shift it");
    assert_eq!((&second.json["next_cursor"], &second.json["has_more"]), (&Value::Null, &false.into()));
    let last = first.column("id")[9].clone();
    let by_id = log.get(&format!("?cursor={token}&order_by=id&per_page=200")).await.expect(200);
    assert!(by_id.column("id").iter().all(|id| id.as_str() > last.as_str()));
    let failures = log.get(&format!("?cursor={token}&outcome=failure")).await.expect(200);
    assert_eq!(numbers(&failures), [26, 21, 16, 11, 6, 1].map(Value::from));
}

#[tokio::test]
async fn it_costs_v1_nothing_but_the_proofs_of_access_and_the_list_of_projects() {
    let log = Log::new().await;
    let cold = log.get("?event_name=settings.features_updated&created_before=2020-01-01").await.expect(200);
    assert_eq!(cold.calls(), 3, "the person, the role, and the id of the workspace");
    assert_eq!(log.get("").await.expect(200).calls(), 1, "the projects that ada sees, because entries name some");
    assert_eq!(log.get("?offset=10&search=row").await.expect(200).calls(), 0);
    assert_eq!(log.get(&format!("{}/", log.ids[3])).await.expect(200).calls(), 0);
}
