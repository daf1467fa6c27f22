//! Offset pages, page sizes, and the edges of cursors.

use super::operations::lists;
use super::world::World;
use serde_json::Value;

#[tokio::test]
async fn offset_pages_lead_forwards_and_backwards_over_every_row_once() {
    let world = World::new().await;
    world.crowd(5).await;
    for operation in lists() {
        let path = world.path(operation);
        let all = world.rows(&path, None).await;
        let (mut walked, mut offset) = (Vec::new(), 0);
        loop {
            let page = world.gateway.get("ada", &format!("{path}?per_page=3&offset={offset}")).await.expect(200);
            assert_eq!(page.json["total_count"], all.len());
            let previous = if offset == 0 { Value::Null } else { Value::from(offset - 3) };
            assert_eq!(page.json["previous"], previous);
            walked.extend(page.data().iter().cloned());
            match page.json["next"].as_u64() {
                Some(next) => assert_eq!(next, offset + 3),
                None => break,
            }
            offset += 3;
        }
        assert_eq!(walked, all, "{}", operation.id());
        let odd = world.gateway.get("ada", &format!("{path}?per_page=3&offset=1")).await.expect(200);
        assert_eq!(odd.json["previous"], 0, "never below zero");
    }
}

#[tokio::test]
async fn the_total_can_be_left_out() {
    let world = World::new().await;
    world.crowd(2).await;
    for operation in lists() {
        let path = world.path(operation);
        for off in ["false", "0", "FALSE"] {
            let page = world.gateway.get("ada", &format!("{path}?count={off}&per_page=1")).await.expect(200);
            assert!(page.json.get("total_count").is_none());
            assert_eq!(page.json["next"], 1);
        }
        for on in ["true", "1", "", "no", "off"] {
            let page = world.gateway.get("ada", &format!("{path}?count={on}")).await.expect(200);
            assert!(page.json["total_count"].is_u64(), "count={on}");
        }
        let cursor = format!("{path}?paginate=cursor&order_by=id&count=true");
        assert!(world.gateway.get("ada", &cursor).await.expect(200).json.get("total_count").is_none());
    }
}

#[tokio::test]
async fn offsets_end_at_ten_thousand() {
    let world = World::new().await;
    for operation in lists() {
        let path = world.path(operation);
        let far = world.gateway.get("ada", &format!("{path}?offset=10000")).await.expect(200);
        assert_eq!((far.data().len(), &far.json["next"], &far.json["previous"]), (0, &Value::Null, &9950.into()));
        for bad in ["10001", "99999999999999999999999", "-1", "x", "1.5", "1e2", "%2B1", "0x1"] {
            let answer =
                world.refused(world.gateway.get("ada", &format!("{path}?offset={bad}")).await, &["offset"]);
            let message = answer.json["errors"][0]["message"].as_str().expect("a message");
            let too_large = bad.len() > 4 && bad.bytes().all(|b| b.is_ascii_digit());
            assert_eq!(message.contains("cursor"), too_large, "{bad}: {message}");
        }
        world.gateway.get("ada", &format!("{path}?offset=")).await.expect(200);
    }
}

#[tokio::test]
async fn page_sizes_are_clamped_upwards_and_refused_downwards() {
    let world = World::new().await;
    world.crowd(210).await;
    for operation in lists() {
        let path = world.path(operation);
        let many = world.rows(&path, None).await.len();
        for (asked, given) in
            [("", 50), ("per_page=200", 200), ("per_page=201", 200), ("per_page=99999999999999999999", 200)]
        {
            let page = world.gateway.get("ada", &format!("{path}?{asked}")).await.expect(200);
            assert_eq!(page.data().len(), given.min(many), "{asked}");
            let next = if many > given { Value::from(given) } else { Value::Null };
            assert_eq!(page.json["next"], next, "{asked}");
        }
        for bad in ["0", "-1", "x", "2.5", "%20"] {
            for style in ["", "&paginate=cursor&order_by=id"] {
                let answer = world.gateway.get("ada", &format!("{path}?per_page={bad}{style}")).await;
                world.refused(answer, &["per_page"]);
            }
        }
    }
}

#[tokio::test]
async fn the_edges_of_cursors() {
    let world = World::new().await;
    world.crowd(5).await;
    for operation in lists() {
        let path = world.path(operation);
        let get = |query: String| {
            let url = format!("{path}?order_by=created_at&per_page=2&{query}");
            async { world.gateway.get("ada", &{ url }).await }
        };
        let first = get("paginate=cursor".into()).await.expect(200);
        let token = first.text("next_cursor");
        assert_eq!(get("cursor=".into()).await.expect(200).json, first.json, "an empty cursor is the first page");
        let second = get(format!("cursor={token}")).await.expect(200);
        assert_ne!(second.column("id"), first.column("id"));
        let offset = get(format!("cursor={token}&offset=1&paginate=offset")).await.expect(200);
        assert_eq!(offset.json, second.json, "a cursor alone selects the cursor path");
        assert_eq!(get("paginate=other".into()).await.expect(200).json["pagination"]["style"], "offset");
        let long = "A".repeat(600);
        for bad in ["x", "%00", "null", "2:1:0", "bm90IGpzb24", &token[1..], &token[..token.len() - 3], &long] {
            world.refused(get(format!("cursor={bad}")).await, &["cursor"]);
        }
        // The token is a position in any eligible order (O19): the rows after the row that it names.
        let last = first.column("id")[1].clone();
        let by_id = world.rows(&path, Some("id")).await;
        let after: Vec<Value> =
            by_id.iter().skip_while(|row| row["id"] != last).skip(1).take(2).map(|row| row["id"].clone()).collect();
        let url = format!("{path}?order_by=id&per_page=2&cursor={token}");
        assert_eq!(world.gateway.get("ada", &url).await.expect(200).column("id"), after);
        let ineligible = operation.0["order_by"]["allowed"].as_array().into_iter().flatten();
        let eligible = operation.0["order_by"]["cursor_eligible"].as_array().expect("orders");
        for order in ineligible.filter(|order| !eligible.contains(order)).filter_map(Value::as_str) {
            let answer = world.gateway.get("ada", &format!("{path}?cursor={token}&order_by={order}")).await;
            world.problem(answer, 400, "ordering_not_cursor_eligible");
        }
    }
}

/// A position in instants means nothing in a list that is ordered by ranks.
#[tokio::test]
async fn a_token_of_a_list_with_other_keys_is_refused() {
    let world = World::new().await;
    let path = |id: &str| world.path(lists().find(|list| list.id() == id).expect("a list"));
    let (states, members) = (path("states_list"), path("project_members_list"));
    for (from, to) in [(&states, &members), (&members, &states)] {
        let first =
            world.gateway.get("ada", &format!("{from}?paginate=cursor&order_by=created_at&per_page=1")).await;
        let token = first.expect(200).text("next_cursor");
        let answer = world.gateway.get("ada", &format!("{to}?order_by=created_at&cursor={token}")).await;
        world.refused(answer, &["cursor"]);
    }
}
