//! The document and its page as they are served, and the answers of the gateway compared with the document.

use super::document::{DOCUMENT, described, resolved};
use super::operations::{Contract, NOWHERE, OPERATIONS};
use super::world::World;
use crate::support::gateway::Answer;
use crate::support::schema::Shapes;
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::Value;

const SCHEMA: &str = "/api/v2/schema/";

async fn asked(world: &World, path: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = Request::builder().uri(format!("{}{path}", world.gateway.base()));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    world.gateway.request(request.body(Full::new(Bytes::new())).expect("a request")).await
}

/// Fails unless the document describes `answer` to `operation`: its status, its media type, its shape.
#[track_caller]
fn is_described(shapes: &Shapes, operation: &Contract, answer: &Answer) {
    let (id, status) = (operation.id(), answer.status.to_string());
    let response = described(operation)["responses"].get(&status).unwrap_or_else(|| panic!("{id}: {status}"));
    let response = resolved(response);
    let Some(content) = response["content"].as_object() else {
        assert!(answer.bytes.is_empty(), "{id}: {status} has no body");
        return;
    };
    let media = &content[&answer.headers["content-type"]];
    let faults = shapes.faults_as(&media["schema"], &answer.json);
    assert!(faults.is_empty(), "{id}: {faults:#?}\nin {:#}", answer.json);
    if let Some(codes) = response["x-causeway-codes"].as_array() {
        assert!(codes.contains(&answer.json["code"]), "{id}: {}", answer.json);
    }
}

#[tokio::test]
async fn the_document_describes_every_answer() {
    let world = World::new().await;
    world.crowd(4).await;
    let shapes = Shapes::of_a_document(&DOCUMENT);
    let late = |operation: &&Contract| match operation.id() {
        // Records below a record are deleted before the record.
        _ if operation.method() == "DELETE" => 100 - operation.text("path").matches('/').count(),
        "work_items_unarchive" => 2,
        "work_items_archive" => 1,
        _ => 0,
    };
    let mut operations: Vec<&Contract> = OPERATIONS.iter().collect();
    operations.sort_by_key(late);
    for operation in operations {
        let path = world.path(operation);
        is_described(&shapes, operation, &world.ask(None, operation, &path).await);
        is_described(&shapes, operation, &world.ask(Some("gil"), operation, &path).await);
        for (variable, value) in
            [("project_id", "x"), ("project_id", NOWHERE), ("slug", "nowhere"), ("pk", NOWHERE)]
        {
            let other = world.path_but(operation, variable, value);
            if other == path {
                continue;
            }
            is_described(&shapes, operation, &world.ask(Some("ada"), operation, &other).await);
        }
        // A delete ignores its query, so it would be carried out.
        if operation.method() != "DELETE" {
            is_described(&shapes, operation, &world.ask(Some("ada"), operation, &format!("{path}?x=%FF")).await);
        }
        if operation.0["envelope"] == true {
            let more = operation.expands().join(",");
            for query in ["per_page=1", "paginate=cursor&order_by=id", "order_by=zebra", "count=false", "offset=x"]
            {
                let expand = if more.is_empty() { String::new() } else { format!("&expand={more}") };
                let page = world.ask(Some("ada"), operation, &format!("{path}?{query}{expand}")).await;
                is_described(&shapes, operation, &page);
            }
        }
        let success = world.ask(Some("ada"), operation, &path).await;
        assert_eq!(success.status, if operation.works() { operation.status() } else { 501 }, "{}", operation.id());
        is_described(&shapes, operation, &success);
    }
}

#[tokio::test]
async fn the_document_is_served_for_the_address_it_was_asked_at() {
    let world = World::new().await;
    world.problem(asked(&world, SCHEMA, &[]).await, 401, "unauthorized");
    let json = asked(&world, SCHEMA, &[("x-api-key", "gil")]).await.expect(200);
    assert_eq!(json.headers["content-type"], "application/json");
    assert_eq!(json.json["servers"][0]["url"], world.gateway.base());
    assert_eq!(json.json["paths"], DOCUMENT["paths"]);
    let other = asked(&world, SCHEMA, &[("x-api-key", "gil"), ("host", "v2.example.com:8443")]).await.expect(200);
    assert_eq!(other.json["servers"][0]["url"], "http://v2.example.com:8443");
    let known = ("if-none-match", json.headers["etag"].as_str());
    let again = asked(&world, SCHEMA, &[("x-api-key", "gil"), known]).await.expect(304);
    assert!(again.bytes.is_empty() && again.headers["etag"] == json.headers["etag"]);
    asked(&world, SCHEMA, &[("x-api-key", "gil"), known, ("host", "v2.example.com")]).await.expect(200);
    assert!(json.headers["vary"].contains("accept"), "{}", json.headers["vary"]);
    let yaml = asked(&world, SCHEMA, &[("x-api-key", "gil"), ("accept", "application/yaml")]).await.expect(200);
    assert_eq!(yaml.headers["content-type"], "application/yaml");
    assert!(yaml.bytes.starts_with(b"openapi: "), "{}", String::from_utf8_lossy(&yaml.bytes[..40]));
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let refused = world.gateway.send(Some("ada"), method, SCHEMA, None).await;
        assert_eq!(world.problem(refused, 405, "method_not_allowed").headers["allow"], "GET, HEAD");
    }
    let head = world.gateway.send(Some("ada"), "HEAD", SCHEMA, None).await.expect(200);
    assert!(head.bytes.is_empty());
}

#[tokio::test]
async fn the_page_needs_no_credential_and_no_other_host() {
    let world = World::new().await;
    for (part, media) in [
        ("", "text/html; charset=utf-8"),
        ("page.js", "text/javascript; charset=utf-8"),
        ("page.css", "text/css; charset=utf-8"),
        ("swagger-ui/swagger-ui-bundle.js", "text/javascript; charset=utf-8"),
        ("swagger-ui/swagger-ui.css", "text/css; charset=utf-8"),
        ("openapi.json", "application/json"),
    ] {
        let path = format!("/api/v2/docs/{part}");
        let answer = asked(&world, &path, &[]).await.expect(200);
        assert_eq!(answer.headers["content-type"], media);
        let policy = &answer.headers["content-security-policy"];
        assert!(policy.starts_with("default-src 'self';") && !policy.contains("http"), "{policy}");
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
        let again = asked(&world, &path, &[("if-none-match", &answer.headers["etag"])]).await.expect(304);
        assert!(again.bytes.is_empty());
        if ["", "page.js", "page.css"].contains(&part) {
            let text = String::from_utf8_lossy(&answer.bytes).into_owned();
            assert!(!text.contains("http:") && !text.contains("https:") && !text.contains("src=\"//"), "{part}");
        }
        world.problem(world.gateway.send(None, "POST", &path, None).await, 405, "method_not_allowed");
    }
    let document = asked(&world, "/api/v2/docs/openapi.json", &[]).await.expect(200);
    let schema = asked(&world, SCHEMA, &[("x-api-key", "gil")]).await.expect(200);
    assert_eq!(document.bytes, schema.bytes);
    let absent: Value = asked(&world, "/api/v2/docs/../../etc/passwd", &[]).await.json;
    assert_eq!(absent["status"], 400);
    world.problem(asked(&world, "/api/v2/docs/nothing.js", &[]).await, 404, "resource_not_found");
}
