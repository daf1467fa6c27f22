//! Work items: the two ways to answer a list give the same answer, and expansions show the records of the ids.

use super::operations::{OPERATIONS, lists};
use super::world::{SLUG, WEB, World, at_v1, change_at_v1};
use crate::support::gateway::{Answer, Gateway, serve_sandbox};
use crate::support::past_gateway::in_web;
use crate::support::schema::SENT;
use serde_json::{Value, json};

const ALL: &str = "state,type,parent,assignees,labels";
const BOB: &str = "00000000-0000-4000-a000-000000000002";

fn collection() -> String {
    format!("/api/v2/workspaces/{SLUG}/projects/{WEB}/work-items/")
}

/// Returns queries that v1 may answer by itself, and some that look similar.
fn queries(world: &World) -> Vec<String> {
    let list = lists().find(|list| list.id() == "work_items_list").expect("the list");
    let mut queries = Vec::new();
    let eligible = list.0["order_by"]["cursor_eligible"].as_array().expect("orders");
    for order in list.0["order_by"]["allowed"].as_array().expect("orders").iter().filter_map(Value::as_str) {
        for page in ["", "&offset=3&per_page=4", "&offset=11&per_page=3&count=false", "&offset=500", "&per_page=1"]
        {
            queries.push(format!("order_by={order}{page}"));
        }
        if eligible.contains(&order.into()) {
            queries.push(format!("order_by={order}&paginate=cursor&per_page=5"));
            queries.push(format!("order_by={order}&paginate=cursor"));
        }
    }
    let number = world.key.rsplit('-').next().expect("a number");
    for more in [
        "",
        "&expand=state,type,parent,assignees,labels",
        "&priority=none",
        "&priority=urgent",
        "&search=ONE",
        "&search=two",
        "&state_group=backlog",
        "&state_group=started",
        "&label_id__isnull=true",
        "&cycle_id__isnull=true",
        "&module_id__isnull=false",
        "&is_draft=true",
        "&created_at__gte=2001-01-01",
        "&created_at__lte=2001-01-01",
        "&offset=1",
        "&count=false",
        "&paginate=cursor",
        "&order_by=priority",
        "&type_id=00000000-0000-4000-a000-00000000dead",
        "&parent_id__isnull=true",
        "&assignee_id__isnull=true",
    ] {
        queries.push(format!("sequence_id={number}{more}"));
        queries.push(format!("external_id=E-1&external_source=jira{more}"));
        queries.push(format!("external_id=X-3&external_source=s{more}"));
    }
    for nothing in [
        "sequence_id=0",
        "sequence_id=-1",
        "sequence_id=99999",
        "sequence_id=2147483648",
        "sequence_id=99999999999",
        "external_id=E-1&external_source=s",
        "external_id=e-1&external_source=jira",
        "external_id=A-1&external_source=jira",
        "external_id=T-1&external_source=jira",
        "external_id=E-1&external_source=jira&sequence_id=99",
        "external_id=%25&external_source=%25",
        "external_id=a%2Cb&external_source=jira",
        // v1 answers the whole list when half of a pair is empty, and blanks are trimmed.
        "external_id=%20&external_source=jira",
        "external_id=E-1&external_source=%1F",
        "external_id=%C2%85&external_source=%20",
    ] {
        queries.push(nothing.to_owned());
    }
    queries
}

/// Creates items that v1's look-ups find and its lists do not show: archived ones, drafts and those in triage.
fn hidden(world: &World) -> [String; 2] {
    let sandbox = world.gateway.sandbox();
    let pair = |id: &str| json!({"name": id, "external_id": id, "external_source": "jira"});
    let archived = at_v1(sandbox, "work-items", &pair("A-1"));
    change_at_v1(sandbox, "work-items", &archived, &json!({"archived_at": "2026-11-20"}));
    let draft = at_v1(sandbox, "work-items", &pair("T-1"));
    change_at_v1(sandbox, "work-items", &draft, &json!({"is_draft": true}));
    [archived, draft]
}

#[tokio::test]
async fn a_fresh_gateway_answers_as_one_with_an_index() {
    let world = World::new().await;
    world.crowd(20).await;
    hidden(&world);
    let path = collection();
    world.gateway.get("ada", &format!("{path}?search=x")).await.expect(200);
    let base_url = serve_sandbox(world.gateway.sandbox()).await;
    let mut found = 0;
    for query in queries(&world) {
        let path = format!("{path}?{query}");
        let warm = world.gateway.get("ada", &path).await.expect(200);
        let fresh = Gateway::before(&base_url).await;
        for key in ["ada", "gil"] {
            let cold = fresh.get(key, &path).await.expect(200);
            assert_eq!(cold.json, warm.json, "{query} as {key}");
        }
        found += warm.data().len();
    }
    assert!(found > 500, "{found}");
}

/// An ordered walk that begins on a page of v1 and goes on in the index.
#[tokio::test]
async fn a_walk_that_begins_without_an_index_goes_on_with_it() {
    let world = World::new().await;
    world.crowd(20).await;
    let base_url = serve_sandbox(world.gateway.sandbox()).await;
    let eligible =
        ["created_at", "-created_at", "updated_at", "-updated_at", "sequence_id", "-sequence_id", "id", "-id"];
    for order in eligible {
        let fresh = Gateway::before(&base_url).await;
        let first = format!("{}?paginate=cursor&per_page=4&order_by={order}", collection());
        let mut page = fresh.get("ada", &first).await.expect(200);
        let mut walked = page.column("id");
        while let Some(token) = page.json["next_cursor"].as_str() {
            page = fresh.get("ada", &format!("{first}&cursor={token}")).await.expect(200);
            walked.extend(page.column("id"));
        }
        let all: Vec<Value> =
            world.rows(&collection(), Some(order)).await.iter().map(|row| row["id"].clone()).collect();
        assert_eq!(walked, all, "{order}");
    }
}

#[tokio::test]
async fn hidden_items_are_404_on_every_route_but_unarchive() {
    let world = World::new().await;
    let [archived, draft] = hidden(&world);
    let triaged = {
        let sandbox = world.gateway.sandbox();
        in_web(sandbox, "PATCH", "", &json!({"intake_view": true}));
        let entry = in_web(sandbox, "POST", "intake-issues/", &json!({"issue": {"name": "in triage"}}));
        entry["issue"].as_str().expect("the id of a work item").to_owned()
    };
    for id in [&archived, &draft, &triaged] {
        for (method, tail) in [
            ("GET", ""),
            ("PATCH", ""),
            ("DELETE", ""),
            ("POST", "archive/"),
            ("GET", "comments/"),
            ("POST", "comments/"),
        ] {
            let path = format!("{}{id}/{tail}", collection());
            let body = json!({"name": "x", "comment_html": "x"});
            let body = (method != "GET" && method != "DELETE").then_some(&body);
            let answer = world.gateway.send(Some("ada"), method, &path, body).await;
            world.problem(answer, 404, "resource_not_found");
        }
        let back = world.gateway.send(Some("ada"), "POST", &format!("{}{id}/unarchive/", collection()), None).await;
        match id == &archived {
            true => drop(back.expect(200)),
            false => drop(world.problem(back, 404, "resource_not_found")),
        }
    }
    world.gateway.get("ada", &format!("{}{archived}/", collection())).await.expect(200);
}

/// The expansions of a record's ids, built from v1's own records.
struct Leaves {
    states: Vec<Value>,
    labels: Vec<Value>,
    people: Vec<Value>,
    types: Vec<Value>,
    items: Vec<Value>,
}

impl Leaves {
    async fn of(world: &World) -> Self {
        let base = collection().replace("work-items/", "");
        let rows = |name: &str| {
            let path =
                format!("{base}{name}/?per_page=200{}", if name == "members" { "&expand=member" } else { "" });
            async { world.gateway.get("ada", &{ path }).await.expect(200).data().clone() }
        };
        let (states, labels) = (rows("states").await, rows("labels").await);
        let people = rows("members").await.iter().map(|row| row["member"].clone()).collect();
        Self { states, labels, people, types: rows("work-item-types").await, items: rows("work-items").await }
    }

    #[track_caller]
    fn pick(among: &[Value], id: &Value, keys: &[&str]) -> Value {
        let row = among.iter().find(|row| &row["id"] == id).unwrap_or_else(|| panic!("no {id}"));
        keys.iter().map(|key| ((*key).to_owned(), row[*key].clone())).collect()
    }

    /// Asserts that `row` is `plain` with all five keys beside the ids.
    #[track_caller]
    fn check(&self, row: &Value, plain: &Value, what: &str) {
        let mut expected = plain.clone();
        expected["state"] = Self::pick(&self.states, &plain["state_id"], &["id", "name", "color", "group"]);
        expected["type"] = match &plain["type_id"] {
            Value::Null => Value::Null,
            id => Self::pick(&self.types, id, &["id", "name", "logo_props", "is_epic"]),
        };
        expected["parent"] = match &plain["parent_id"] {
            Value::Null => Value::Null,
            id => Self::pick(&self.items, id, &["id", "name", "sequence_id"]),
        };
        let ids = |name: &str| plain[name].as_array().expect("ids").clone();
        let person = ["id", "display_name", "avatar_url", "email"];
        expected["assignees"] =
            ids("assignee_ids").iter().map(|id| Self::pick(&self.people, id, &person)).collect();
        let label = ["id", "name", "color"];
        expected["labels"] = ids("label_ids").iter().map(|id| Self::pick(&self.labels, id, &label)).collect();
        assert_eq!(row, &expected, "{what}");
    }
}

fn without(answer: &Answer) -> Value {
    let mut plain = answer.json.clone();
    let members = plain.as_object_mut().expect("a record");
    ALL.split(',').for_each(|name| drop(members.remove(name)));
    plain
}

#[tokio::test]
async fn expansions_are_what_the_ids_name_wherever_they_are_honoured() {
    for warm in [false, true] {
        let world = World::new().await;
        world.crowd(12).await;
        let leaves = Leaves::of(&world).await;
        if warm {
            world.gateway.get("ada", &format!("{}?search=x", collection())).await.expect(200);
        }
        let expand = format!("expand={ALL}");
        let plain = world.gateway.get("ada", &format!("{}?per_page=200", collection())).await.expect(200);
        let rows = world.gateway.get("ada", &format!("{}?per_page=200&{expand}", collection())).await.expect(200);
        assert_eq!(rows.data().len(), 14);
        assert!(plain.data().iter().any(|row| row["parent_id"].is_string() && row["label_ids"] != json!([])));
        for (row, plain) in rows.data().iter().zip(plain.data()) {
            leaves.check(row, plain, "list");
            SENT.assert("WorkItem", row);
            let one = format!("{}{}/", collection(), plain["id"].as_str().expect("an id"));
            let key =
                format!("/api/v2/workspaces/{SLUG}/work-items/{}/", plain["identifier"].as_str().expect("a key"));
            for path in [one, key] {
                let bare = world.gateway.get("ada", &path).await.expect(200);
                let got = world.gateway.get("ada", &format!("{path}?{expand}")).await.expect(200);
                leaves.check(&got.json, &bare.json, &path);
            }
        }
        let body =
            json!({"name": "new", "state": "Todo", "parent": world.key, "assignee_ids": [BOB], "labels": ["one"]});
        let created = world.gateway.post("ada", &format!("{}?{expand}", collection()), body).await.expect(201);
        leaves.check(&created.json, &without(&created), "create");
        assert_eq!(
            (&created.json["state"]["name"], &created.json["labels"][0]["name"]),
            (&json!("Todo"), &json!("one"))
        );
        let one = format!("{}{}/", collection(), created.text("id"));
        let body = json!({"parent_id": null, "label_ids": [], "state": "done"});
        let changed = world.gateway.patch("ada", &format!("{one}?{expand}"), body).await.expect(200);
        leaves.check(&changed.json, &without(&changed), "update");
        assert_eq!((&changed.json["parent"], &changed.json["labels"]), (&Value::Null, &json!([])));
        for name in ALL.split(',') {
            let got = world.gateway.get("ada", &format!("{one}?expand={name}")).await.expect(200);
            let added: Vec<&str> = ALL.split(',').filter(|name| got.json.get(name).is_some()).collect();
            assert_eq!(added, [name], "that one and no other");
        }
    }
    let honoured = OPERATIONS.iter().filter(|operation| operation.expands().contains(&"parent")).count();
    assert_eq!(honoured, 5, "list, get, look-up, create and update");
}

/// A create or a move that the rules forbid is refused before any write, in whatever form the state is given.
#[tokio::test]
async fn rules_refuse_creates_and_moves() {
    let rules = format!(
        "[{{ project = \"{WEB}\", initial = [\"Backlog\"], moves = [{{ from = \"Backlog\", to = \"Todo\" }}] }}]"
    );
    let world = World::with(&[("workflow", &rules)]).await;
    world.gateway.sandbox().clear_journal();
    let done = "00000000-0000-4000-d000-000000000104";
    let one = format!("{}{}/", collection(), world.record("work_items"));
    for state in [json!({"state": "Done"}), json!({"state_id": done})] {
        let mut body = state.clone();
        body["name"] = "forbidden".into();
        let answer = world.gateway.post("ada", &collection(), body).await;
        world.problem(answer, 403, "workflow_transition_denied");
        let answer = world.gateway.patch("ada", &one, state).await;
        world.problem(answer, 403, "workflow_transition_denied");
    }
    assert_eq!(world.v1_writes(), 0);
    world.gateway.post("ada", &collection(), json!({"name": "plain"})).await.expect(201);
    let moved = world.gateway.patch("ada", &one, json!({"state": "todo"})).await.expect(200);
    assert_eq!(moved.json["state_id"], "00000000-0000-4000-d000-000000000102");
    // Keeping the state is no move.
    world.gateway.patch("ada", &one, json!({"state": "Todo", "name": "stays"})).await.expect(200);
}
