//! Guests and members do not share cached data, even if v1 should show them different rows one day.

use crate::support::gateway::{Gateway, WEB};
use crate::support::proofs::{card, get_card};
use crate::support::scripted::{Exchange, ScriptedV1};
use serde_json::{Value, json};

fn person(key: &str) -> Value {
    let number = key.bytes().map(u64::from).sum::<u64>();
    let id = format!("00000000-0000-4000-a000-{number:012}");
    json!({"id": id, "email": format!("{key}@acme.test"), "display_name": key})
}

fn labels(name: &str) -> Value {
    json!({"total_count": 1, "next_page_results": false, "results": [{
        "id": "00000000-0000-4000-7000-000000000009", "name": name, "description": "", "color": "",
        "sort_order": 65535.0, "parent": null, "external_id": null, "external_source": null,
        "created_at": "2026-11-21T10:36:12.630235Z", "created_by": "00000000-0000-4000-a000-000000000001"}]})
}

fn project() -> &'static str {
    WEB.trim_start_matches("/api/v2/")
}

fn knows(v1: &ScriptedV1, key: &str, role: Option<i64>) {
    v1.expect(Exchange::get("users/me/").key(key).reply(200, person(key)));
    v1.expect(get_card().key(key).reply(200, card(role)));
}

fn list(key: &str, name: &str) -> Exchange {
    let target = format!(
        "{}/labels/?per_page=1000&fields=id,name,description,color,sort_order,parent,external_id,\
         external_source,created_at,created_by",
        project()
    );
    Exchange::get(&target).key(key).reply(200, labels(name))
}

#[tokio::test]
async fn each_role_class_reads_for_itself_and_shares_among_itself() {
    let v1 = ScriptedV1::start().await;
    for (key, role) in [("ada", Some(20)), ("bob", Some(15)), ("gil", Some(5)), ("gus", Some(5)), ("odd", Some(10))]
    {
        knows(&v1, key, role);
    }
    knows(&v1, "mel", None);
    v1.expect(list("ada", "for members"));
    v1.expect(list("gil", "for guests"));
    let gateway = Gateway::before(v1.base_url()).await;
    let path = format!("{WEB}/labels/");
    for (key, name) in [
        ("ada", "for members"),
        ("gil", "for guests"),
        ("bob", "for members"),
        ("gus", "for guests"),
        ("odd", "for guests"),
    ] {
        assert_eq!(gateway.get(key, &path).await.expect(200).column("name"), [json!(name)], "{key}");
    }
    gateway.get("mel", &path).await.expect_problem(403, "forbidden");
    v1.finish();
}

fn items(key: &str, name: &str) -> Exchange {
    let target = format!("{}/work-items/?per_page=1000&order_by=-updated_at&{ITEM_FIELDS}", project());
    let row = json!({"id": "00000000-0000-4000-e000-000000000009", "name": name, "sequence_id": 9, "priority": "none",
        "state": "00000000-0000-4000-d000-000000000101", "parent": null, "assignees": [], "labels": [],
        "start_date": null, "target_date": null, "is_draft": false, "archived_at": null,
        "created_at": "2026-11-21T10:36:12.630235Z", "updated_at": "2026-11-21T10:36:12.630235Z",
        "created_by": "00000000-0000-4000-a000-000000000001", "sort_order": 65535.0,
        "external_id": null, "external_source": null});
    let page = json!({"total_count": 1, "next_page_results": false, "results": [row]});
    Exchange::get(&target).key(key).reply(200, page)
}

const ITEM_FIELDS: &str = "fields=id,name,sequence_id,priority,state,parent,assignees,labels,start_date,target_date,\
                           is_draft,archived_at,created_at,updated_at,created_by,sort_order,external_id,\
                           external_source";

/// Each role class has its own index too, and no caller is answered from it without a card of their own.
#[tokio::test]
async fn each_role_class_has_an_index_of_its_own() {
    let v1 = ScriptedV1::start().await;
    for (key, role) in [("ada", Some(20)), ("bob", Some(15)), ("gil", Some(5)), ("gus", Some(5))] {
        knows(&v1, key, role);
    }
    knows(&v1, "mel", None);
    v1.expect(items("ada", "for members"));
    v1.expect(items("gil", "for guests"));
    let gateway = Gateway::with(v1.base_url(), &[("index.freshness", "10m")]).await;
    let path = format!("{WEB}/work-items/?priority=none");
    for (key, name) in
        [("ada", "for members"), ("gil", "for guests"), ("bob", "for members"), ("gus", "for guests")]
    {
        assert_eq!(gateway.get(key, &path).await.expect(200).column("name"), [json!(name)], "{key}");
    }
    gateway.get("mel", &path).await.expect_problem(403, "forbidden");
    v1.finish();
}

#[tokio::test]
async fn a_single_record_is_found_in_the_own_class_only() {
    for order in [["ada", "gil"], ["gil", "ada"]] {
        let v1 = ScriptedV1::start().await;
        knows(&v1, "ada", Some(20));
        knows(&v1, "gil", Some(5));
        for key in order {
            v1.expect(list(key, key));
        }
        let gateway = Gateway::before(v1.base_url()).await;
        for key in order {
            let path = format!("{WEB}/labels/00000000-0000-4000-7000-000000000009/");
            assert_eq!(gateway.get(key, &path).await.expect(200).text("name"), key);
        }
        v1.finish();
    }
}
