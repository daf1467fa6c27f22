//! Lists: filters, search, orders, both kinds of pages.

use super::*;
use crate::support::past_gateway::in_web;

async fn filled() -> (Gateway, Vec<String>) {
    let gateway = gateway().await;
    let mut ids = Vec::new();
    for (html, access, source) in [
        ("<p>The <b>Qu</b>ick fox</p>", "INTERNAL", "zd"),
        ("<p>class of its own</p>", "EXTERNAL", "zd"),
        ("<div class=\"fox\">nothing here</div>", "INTERNAL", "gh"),
    ] {
        let id = format!("k{}", ids.len());
        let body = json!({"comment_html": html, "access": access, "external_id": id, "external_source": source});
        ids.push(post(&gateway, "ada", body).await.text("id"));
    }
    (gateway, ids)
}

async fn listed(gateway: &Gateway, query: &str) -> Vec<String> {
    let answer = gateway.get("ada", &format!("{}?{query}", comments())).await.expect(200);
    answer.column("id").iter().map(|id| id.as_str().expect("an id").to_owned()).collect()
}

#[tokio::test]
async fn filters_and_search_look_at_what_a_reader_sees() {
    let (gateway, ids) = filled().await;
    for (query, wanted) in [
        ("access=INTERNAL", &[0, 2][..]),
        ("access=EXTERNAL", &[1]),
        ("external_id=k1", &[1]),
        ("external_source=zd", &[0, 1]),
        ("external_source=zd&access=INTERNAL", &[0]),
        ("search=QUICK", &[0]),
        ("search=fox", &[0]),
        ("search=class", &[1]),
        ("search=%3Cp%3E", &[]),
        ("search=", &[0, 1, 2]),
    ] {
        let wanted: Vec<String> = wanted.iter().map(|&index: &usize| ids[index].clone()).collect();
        assert_eq!(listed(&gateway, query).await, wanted, "{query}");
    }
    for bad in ["access=PUBLIC", "per_page=0", "offset=-1", "cursor=x", "actor_id=1", "expand=actor"] {
        let answer = gateway.get("ada", &format!("{}?{bad}", comments())).await;
        answer.expect_problem(400, "validation_error");
    }
}

#[tokio::test]
async fn orders_and_pages_of_both_kinds() {
    let (gateway, ids) = filled().await;
    let backwards: Vec<String> = ids.iter().rev().cloned().collect();
    assert_eq!(listed(&gateway, "").await, ids, "oldest first unless asked otherwise (O20)");
    assert_eq!(listed(&gateway, "order_by=-created_at").await, backwards);
    assert_eq!(listed(&gateway, "order_by=updated_at").await, ids, "an unknown order falls back");
    let mut by_id = ids.clone();
    by_id.sort();
    assert_eq!(listed(&gateway, "order_by=id").await, by_id);

    let page = gateway.get("ada", &format!("{}?per_page=2&offset=1", comments())).await.expect(200);
    assert_eq!((&page.json["total_count"], &page.json["previous"]), (&json!(3), &json!(0)));
    assert_eq!(page.data().len(), 2);

    let mut walked = Vec::new();
    let mut query = "paginate=cursor&per_page=1&order_by=-created_at".to_owned();
    loop {
        let page = gateway.get("ada", &format!("{}?{query}", comments())).await.expect(200);
        walked.extend(page.column("id").iter().map(|id| id.as_str().expect("an id").to_owned()));
        let Some(next) = page.json["next_cursor"].as_str() else { break };
        query = format!("cursor={next}&per_page=1&order_by=-created_at");
    }
    assert_eq!(walked, backwards);
}

#[tokio::test]
async fn a_change_behind_the_gateway_is_seen_when_it_went_through_the_pass_through() {
    let (gateway, ids) = filled().await;
    assert_eq!(listed(&gateway, "").await.len(), 3);
    gateway.delete("bob", &on_v1(&comment(&ids[0]))).await.expect(204);
    assert_eq!(listed(&gateway, "").await, ids[1..]);
}

/// The list is kept, and the read of one comment asks v1.
#[tokio::test]
async fn a_comment_that_was_just_answered_with_404_is_not_listed() {
    let (gateway, ids) = filled().await;
    assert_eq!(listed(&gateway, "").await, ids);
    in_web(gateway.sandbox(), "DELETE", &format!("work-items/{ITEM}/comments/{}/", ids[1]), &Value::Null);
    assert_eq!(listed(&gateway, "").await, ids);
    gateway.get("ada", &comment(&ids[1])).await.expect_problem(404, "resource_not_found");
    assert_eq!(listed(&gateway, "").await, [&ids[0], &ids[2]].map(Clone::clone));
}
