//! Every allowed order of the working lists, both ways: total, stable, and equal to brute force.

use super::operations::{Contract, lists};
use super::world::World;
use serde_json::Value;
use std::cmp::Ordering;

fn allowed(operation: &Contract) -> Vec<&str> {
    operation.0["order_by"]["allowed"].as_array().expect("orders").iter().filter_map(Value::as_str).collect()
}

/// Words that have an order of their own (7.3).
const RANKS: [(&str, &[&str]); 2] = [
    ("priority", &["urgent", "high", "medium", "low", "none"]),
    ("state_group", &["backlog", "unstarted", "started", "completed", "cancelled", "triage"]),
];

fn compared(a: &Value, b: &Value, field: &str) -> Ordering {
    let ranks = RANKS.iter().find(|(ranked, _)| *ranked == field).map(|(_, words)| *words);
    let rank = |value: &Value| {
        let words = ranks?;
        words.iter().position(|word| value == word).map(Value::from)
    };
    let (a_key, b_key) = (rank(&a[field]), rank(&b[field]));
    let key = match (a_key.as_ref().unwrap_or(&a[field]), b_key.as_ref().unwrap_or(&b[field])) {
        (Value::Number(a), Value::Number(b)) => a.as_f64().partial_cmp(&b.as_f64()).expect("finite"),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        // Members carry no `created_at`; their order is checked by its reverse.
        (Value::Null, Value::Null) => Ordering::Equal,
        other => panic!("{field}: {other:?}"),
    };
    key.then_with(|| a["id"].as_str().cmp(&b["id"].as_str()))
}

fn ids(rows: &[Value]) -> Vec<&str> {
    rows.iter().filter_map(|row| row["id"].as_str()).collect()
}

#[tokio::test]
async fn every_order_is_total_and_stable_and_its_reverse_is_its_reverse() {
    let world = World::new().await;
    world.crowd(12).await;
    for operation in lists() {
        let path = world.path(operation);
        for order in allowed(operation).into_iter().filter(|order| !order.starts_with('-')) {
            let up = world.rows(&path, Some(order)).await;
            let mut down = world.rows(&path, Some(&format!("-{order}"))).await;
            let mut expected = world.widened(operation, &up);
            let shown = expected.iter().any(|row| !row[order].is_null());
            if shown {
                expected.sort_by(|a, b| compared(a, b, order));
                assert_eq!(ids(&up), ids(&expected), "{} by {order}", operation.id());
            }
            let resource = super::operations::PLAN.resource(operation.resource()).expect("a resource");
            let hidden = resource.field(order).is_some_and(|field| field.spec.hidden);
            assert!(shown || hidden || operation.text("response") == "Member", "{order} is not shown");
            down.reverse();
            assert_eq!(ids(&up), ids(&down), "{} by -{order}", operation.id());
            assert_eq!(ids(&up), ids(&world.rows(&path, Some(order)).await));
        }
    }
}

#[tokio::test]
async fn the_default_is_the_declared_one_and_unknown_orders_fall_back_to_it() {
    let world = World::new().await;
    world.crowd(12).await;
    for operation in lists() {
        let path = world.path(operation);
        let default = operation.0["order_by"]["default"].as_str().expect("a default");
        let plain = world.rows(&path, None).await;
        assert_eq!(ids(&plain), ids(&world.rows(&path, Some(default)).await), "{}", operation.id());
        let opposite = default.strip_prefix('-').map_or_else(|| format!("-{default}"), str::to_owned);
        assert_ne!(ids(&plain), ids(&world.rows(&path, Some(&opposite)).await), "{}", operation.id());
        let unknown = ["", "name", "-", "--id", "-name", "id,created_at", "CREATED_AT", "updated_at"];
        for unknown in unknown.into_iter().filter(|order| !allowed(operation).contains(order)) {
            assert_eq!(ids(&plain), ids(&world.rows(&path, Some(unknown)).await), "order_by={unknown}");
        }
    }
}

#[tokio::test]
async fn eligible_orders_walk_all_rows_exactly_once_and_no_others_walk() {
    let world = World::new().await;
    world.crowd(12).await;
    for operation in lists() {
        let path = world.path(operation);
        let eligible = operation.0["order_by"]["cursor_eligible"].as_array().expect("orders");
        for order in allowed(operation) {
            let first =
                world.gateway.get("ada", &format!("{path}?paginate=cursor&order_by={order}&per_page=3")).await;
            if !eligible.contains(&order.into()) {
                world.problem(first, 400, "ordering_not_cursor_eligible");
                continue;
            }
            let mut page = first.expect(200);
            let mut walked = page.data().clone();
            while let Some(token) = page.json["next_cursor"].as_str() {
                let next = format!("{path}?order_by={order}&per_page=3&cursor={token}");
                page = world.gateway.get("ada", &next).await.expect(200);
                assert!(!page.data().is_empty() && page.data().len() <= 3);
                walked.extend(page.data().iter().cloned());
            }
            assert_eq!(ids(&walked), ids(&world.rows(&path, Some(order)).await), "{} by {order}", operation.id());
        }
        let default = operation.0["order_by"]["default"].clone();
        for unknown in ["", "&order_by=nonsense"] {
            let answer = world.gateway.get("ada", &format!("{path}?paginate=cursor{unknown}")).await;
            match eligible.contains(&default) {
                true => assert_eq!(answer.status, 200),
                false => drop(world.problem(answer, 400, "ordering_not_cursor_eligible")),
            }
        }
    }
}
