//! The list: a page from v1, a look-up, the index.

use super::{FIELDS, WHOLE, first, labels, page, record, second, shown, states};
use crate::operations::scene::{ONE, P, Scene, TWO, WEB, but};
use crate::support::proofs;
use crate::support::scripted::Exchange;
use serde_json::{Value, json};

#[tokio::test]
async fn a_page_v1_can_answer_is_one_call_with_one_row_more() {
    let mut scene =
        Scene::in_project().await.then(page("per_page=51&order_by=-created_at", &[&second(), &first()]));
    let answer = scene.ask("GET", &format!("{WEB}/work-items/"), None).await.expect(200);
    assert_eq!(answer.calls(), 3);
    assert_eq!(answer.data()[1], shown(Value::Null));
    let envelope = (&answer.json["total_count"], &answer.json["next"], &answer.json["previous"]);
    assert_eq!(envelope, (&json!(2), &Value::Null, &Value::Null));
    scene.end();
}

#[tokio::test]
async fn an_offset_is_laid_into_one_of_v1s_pages() {
    // Rows 41 and 42 are wanted, with one more on each side: page 10 of four rows holds exactly these.
    let rows: Vec<Value> = (0..3)
        .map(|n| {
            let id = format!("11111111-1111-4111-8111-{n:012}");
            but(
                &first(),
                json!({"id": id, "sequence_id": 40 + n, "created_at": format!("2026-11-21T10:36:{n:02}Z")}),
            )
        })
        .collect();
    let answer = json!({"total_count": 43, "next_page_results": false, "results": rows});
    let query = format!("cursor=4:10:0&per_page=4&order_by=sequence_id&{FIELDS}");
    let exchange = Exchange::get(&format!("{P}/work-items/?{query}")).reply(200, answer);
    let mut scene = Scene::in_project().await.then(exchange);
    let path = format!("{WEB}/work-items/?order_by=sequence_id&per_page=2&offset=41");
    let answer = scene.ask("GET", &path, None).await.expect(200);
    assert_eq!(answer.column("sequence_id"), [json!(41), json!(42)]);
    assert_eq!((&answer.json["next"], &answer.json["previous"]), (&Value::Null, &json!(39)));
    scene.end();
}

#[tokio::test]
async fn a_tie_on_the_boundary_is_settled_by_the_index() {
    let tied = but(&second(), json!({"created_at": first()["created_at"]}));
    let mut scene = Scene::in_project()
        .await
        .then(page("per_page=2&order_by=-created_at", &[&first(), &tied]))
        .then(page("per_page=1000&order_by=-updated_at", &[&tied, &first()]))
        .then(labels());
    let answer = scene.ask("GET", &format!("{WEB}/work-items/?per_page=1"), None).await.expect(200);
    assert_eq!((answer.column("id"), answer.calls()), (vec![json!(TWO)], 4), "the higher id comes first");
    let next = scene.ask("GET", &format!("{WEB}/work-items/?per_page=1&offset=1"), None).await.expect(200);
    assert_eq!((next.column("id"), next.calls()), (vec![json!(ONE)], 1), "its labels are looked up");
    scene.end();
}

#[tokio::test]
async fn a_number_and_an_external_pair_are_looked_up() {
    let mut found = first();
    found["project"] = json!(&P[P.len() - 36..]);
    let pair = format!("{P}/work-items/?external_id=e%2D1&external_source=tracker");
    let key = format!("workspaces/acme/work-items/WEB-7/?{WHOLE},project");
    let mut scene = Scene::in_project()
        .await
        .then(Exchange::get(&pair).reply(200, found.clone()))
        .then(states())
        .then(Exchange::get(&key).reply(200, found.clone()))
        .then(Exchange::get(&pair).reply(404, json!({"error": "The requested resource does not exist."})));
    let path = format!("{WEB}/work-items/?external_id=e-1&external_source=tracker");
    let answer = scene.ask("GET", &path, None).await.expect(200);
    // The states show that the item is not in triage.
    assert_eq!((answer.data(), answer.calls()), (&vec![shown(Value::Null)], 4));
    let numbered = scene.ask("GET", &format!("{WEB}/work-items/?sequence_id=7"), None).await.expect(200);
    assert_eq!((numbered.data(), numbered.calls()), (answer.data(), 1));
    let nothing = scene.ask("GET", &path, None).await.expect(200);
    assert_eq!((nothing.data().len(), &nothing.json["total_count"]), (0, &json!(0)));
    scene.end();
}

#[tokio::test]
async fn a_pair_v1_chokes_on_is_found_in_the_index() {
    let pair = format!("{P}/work-items/?external_id=e%2D1&external_source=tracker");
    let twin = but(&second(), json!({"external_id": "e-1", "external_source": "tracker"}));
    let broken = json!({"error": "Something went wrong please try again later"});
    let mut scene = Scene::in_project().await;
    scene = scene.then(Exchange::get(&pair).reply(500, broken));
    scene = scene.then(page("per_page=1000&order_by=-updated_at", &[&first(), &twin])).then(labels());
    let path = format!("{WEB}/work-items/?external_id=e-1&external_source=tracker&order_by=id");
    let answer = scene.ask("GET", &path, None).await.expect(200);
    assert_eq!(answer.column("id"), [json!(ONE), json!(TWO)]);
    scene.end();
}

#[tokio::test]
async fn a_number_two_items_share_is_found_in_the_index() {
    let key = format!("workspaces/acme/work-items/WEB-7/?{WHOLE},project");
    let twin = but(&second(), json!({"sequence_id": 7}));
    let broken = json!({"error": "Something went wrong please try again later"});
    let mut scene = Scene::in_project().await;
    scene = scene.then(Exchange::get(&key).reply(500, broken));
    scene = scene.then(page("per_page=1000&order_by=-updated_at", &[&first(), &twin])).then(labels());
    let answer = scene.ask("GET", &format!("{WEB}/work-items/?sequence_id=7&order_by=id"), None).await.expect(200);
    assert_eq!(answer.column("id"), [json!(ONE), json!(TWO)]);
    scene.end();
}

/// v1 has no path to such a key.
#[tokio::test]
async fn a_number_in_a_project_with_a_slash_in_its_identifier_is_found_in_the_index() {
    let mut card = proofs::card(Some(20));
    card["identifier"] = json!("A/B");
    let mut scene = Scene::new().await.then(proofs::me()).then(proofs::get_card().reply(200, card));
    scene = scene.then(page("per_page=1000&order_by=-updated_at", &[&first(), &second()])).then(labels());
    let answer = scene.ask("GET", &format!("{WEB}/work-items/?sequence_id=7"), None).await.expect(200);
    assert_eq!(answer.column("identifier"), [json!("A/B-7")]);
    scene.end();
}

#[tokio::test]
async fn a_pair_longer_than_v1_can_hold_is_on_no_item_and_costs_no_call() {
    let mut scene = Scene::in_project().await;
    let long = "e".repeat(256);
    for pair in [format!("external_id={long}&external_source=x"), format!("external_id=x&external_source={long}")] {
        let answer = scene.ask("GET", &format!("{WEB}/work-items/?{pair}"), None).await.expect(200);
        assert_eq!((answer.data().len(), &answer.json["total_count"]), (0, &json!(0)));
    }
    scene.end();
}

#[tokio::test]
async fn a_filter_builds_the_index_and_the_next_costs_nothing() {
    let mut scene = Scene::in_project()
        .await
        .then(page("per_page=1000&order_by=-updated_at", &[&first(), &second()]))
        .then(labels())
        .then(states());
    let answer = scene.ask("GET", &format!("{WEB}/work-items/?priority=high&order_by=id"), None).await.expect(200);
    assert_eq!((answer.column("id"), answer.calls()), (vec![json!(ONE), json!(TWO)], 4));
    assert_eq!(answer.data()[0], shown(Value::Null));
    let below =
        scene.ask("GET", &format!("{WEB}/work-items/?parent_id={ONE}&expand=parent"), None).await.expect(200);
    let parent = json!({"id": ONE, "name": "First", "sequence_id": 7});
    assert_eq!((&below.data()[0]["parent"], below.calls()), (&parent, 0));
    let groups = scene.ask("GET", &format!("{WEB}/work-items/?state_group=unstarted"), None).await.expect(200);
    assert_eq!((groups.data().len(), groups.calls()), (2, 1), "the states tell the groups");
    // Even with an index, a single item is read from v1.
    scene = scene.then(Exchange::get(&format!("{}?{WHOLE}", record())).reply(200, first()));
    let one = scene.ask("GET", &format!("{WEB}/work-items/{ONE}/"), None).await.expect(200);
    assert_eq!(one.calls(), 1);
    scene.end();
}
