//! Answers as gzip or zstd: the documentation always, answers of v2 by a setting, all others never.

use crate::support::gateway::{Answer, Gateway, WEB};
use causeway::sandbox::Seed;
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use std::io::Read;

const GZIP: (&str, &str) = ("Accept-Encoding", "gzip, deflate");
const BOTH: (&str, &str) = ("Accept-Encoding", "gzip, deflate, br, zstd");
const DOCUMENT: &str = "/api/v2/docs/openapi.json";

/// Returns the decoded body.
fn read(answer: &Answer) -> Vec<u8> {
    let mut plain = Vec::new();
    match answer.headers.get("content-encoding").map(String::as_str) {
        Some("gzip") => drop(GzDecoder::new(&answer.bytes[..]).read_to_end(&mut plain).unwrap()),
        Some("zstd") => plain = zstd::decode_all(&answer.bytes[..]).unwrap(),
        Some(other) => panic!("{other}"),
        None => plain.extend_from_slice(&answer.bytes),
    }
    plain
}

fn coding(answer: &Answer) -> &str {
    answer.headers.get("content-encoding").map_or("", String::as_str)
}

fn varies(answer: &Answer) -> bool {
    answer.all_headers.get_all("vary").iter().any(|line| line.to_str().unwrap().contains("accept-encoding"))
}

#[tokio::test]
async fn the_documentation_is_compressed_for_whoever_takes_it() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    for path in [DOCUMENT, "/api/v2/docs/", "/api/v2/docs/swagger-ui/swagger-ui-bundle.js"] {
        let plain = gateway.send_bare("GET", path, &[]).await.expect(200);
        assert!(coding(&plain).is_empty() && varies(&plain), "{path}");
        for (accept, expected) in [(GZIP, "gzip"), (BOTH, "zstd"), (GZIP, "gzip")] {
            let coded = gateway.send_bare("GET", path, &[accept]).await.expect(200);
            assert_eq!(coding(&coded), expected, "{path}");
            assert!(read(&coded) == plain.bytes, "{path} as {expected}");
            assert!(coded.bytes.len() * 5 < plain.bytes.len() * 3, "{path}: {}", coded.bytes.len());
            assert_ne!(coded.headers["etag"], plain.headers["etag"]);
            let tag = coded.headers["etag"].clone();
            let known = gateway.send_bare("GET", path, &[accept, ("If-None-Match", &tag)]).await.expect(304);
            assert!(known.headers["etag"] == tag && known.bytes.is_empty() && varies(&known), "{path}");
            let head = gateway.send_bare("HEAD", path, &[accept]).await.expect(200);
            assert_eq!(head.headers["content-length"], coded.bytes.len().to_string());
            let head = gateway.send_bare("HEAD", path, &[accept, ("If-None-Match", &tag)]).await.expect(304);
            assert!(!head.headers.contains_key("content-length"), "a length that is not that of the 200");
        }
    }
    // A cached coding for other clients is useless to a client that cannot read it.
    let zstd = gateway.send_bare("GET", DOCUMENT, &[BOTH]).await.expect(200).headers["etag"].clone();
    let other = gateway.send_bare("GET", DOCUMENT, &[GZIP, ("If-None-Match", &zstd)]).await.expect(200);
    assert_eq!(coding(&other), "gzip");
    let gzip = other.headers["etag"].as_str();
    let known = format!("{zstd}, {gzip}");
    let known = gateway.send_bare("GET", DOCUMENT, &[GZIP, ("If-None-Match", &known)]).await.expect(304);
    assert_eq!(known.headers["etag"], gzip);
    let schema = gateway.send_with("ada", "GET", "/api/v2/schema/", None, &[GZIP]).await.expect(200);
    assert_eq!(coding(&schema), "gzip");
    assert!(serde_json::from_slice::<Value>(&read(&schema)).unwrap()["paths"].is_object());
}

#[tokio::test]
async fn answers_of_v2_are_compressed_by_setting_and_nothing_else_is() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let (list, v1) = (format!("{WEB}/labels/"), WEB.replace("v2", "v1") + "/states/");
    for number in 0..15 {
        gateway.post("ada", &list, json!({"name": format!("label {number}")})).await.expect(201);
    }
    let off = gateway.send_with("ada", "GET", &list, None, &[BOTH]).await.expect(200);
    assert!(coding(&off).is_empty() && !varies(&off));
    assert_eq!(gateway.reload(&[("edge.compress", "true")]).await.unwrap(), ["edge.compress"]);
    let plain = gateway.get("ada", &list).await.expect(200);
    assert!(coding(&plain).is_empty() && varies(&plain) && plain.json == off.json);
    for (accept, expected) in [(GZIP, "gzip"), (BOTH, "zstd")] {
        let coded = gateway.send_with("ada", "GET", &list, None, &[accept]).await.expect(200);
        assert!(coding(&coded) == expected && coded.bytes.len() < plain.bytes.len());
        assert_eq!(serde_json::from_slice::<Value>(&read(&coded)).unwrap(), plain.json);
        let refused = gateway.send_with("ada", "GET", &format!("{list}?per_page=no"), None, &[accept]).await;
        assert!(coding(&refused.expect_problem(400, "validation_error")).is_empty());
        for path in ["/auth/grants/", &v1] {
            let answer = gateway.send_with("ada", "GET", path, None, &[accept]).await;
            // The sandbox may code its own answers, as v1 does.
            assert!(path == v1 || coding(&answer).is_empty(), "{path}");
        }
    }
}

#[tokio::test]
async fn the_tag_of_a_compressed_record_serves_to_change_it() {
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &[("edge.compress", "true")]).await;
    let long = "A sentence that is there to be long. ".repeat(100);
    let state = json!({"name": "waiting", "color": "#e5484d", "group": "started", "description": long});
    let state = gateway.post("ada", &format!("{WEB}/states/"), state).await.expect(201);
    let path = format!("{WEB}/states/{}/", state.text("id"));
    let coded = gateway.send_with("ada", "GET", &path, None, &[GZIP]).await.expect(200);
    assert_eq!(coding(&coded), "gzip");
    let tag = coded.headers["etag"].as_str();
    assert!(tag.ends_with(".gzip\""), "{tag}");
    gateway.send_with("ada", "GET", &path, None, &[GZIP, ("If-None-Match", tag)]).await.expect(304);
    let change = json!({"name": "waited for"});
    gateway.send_with("ada", "PATCH", &path, Some(&change), &[("If-Match", tag)]).await.expect(200);
    let late = gateway.send_with("ada", "PATCH", &path, Some(&change), &[("If-Match", tag)]).await;
    late.expect_problem(412, "precondition_failed");
}

/// A cache finds what a 304 is about by its tag (RFC 9111, 4.3.4), also when such forms are not made any more.
#[tokio::test]
async fn a_form_from_before_the_setting_was_switched_off_is_known_by_its_own_tag() {
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &[("edge.compress", "true")]).await;
    let long = "A sentence that is there to be long. ".repeat(100);
    let state = json!({"name": "waiting", "color": "#e5484d", "group": "started", "description": long});
    let state = gateway.post("ada", &format!("{WEB}/states/"), state).await.expect(201);
    let path = format!("{WEB}/states/{}/", state.text("id"));
    let coded = gateway.send_with("ada", "GET", &path, None, &[GZIP]).await.expect(200);
    assert_eq!(gateway.reload(&[("edge.compress", "false")]).await.unwrap(), ["edge.compress"]);
    let plain = gateway.send_with("ada", "GET", &path, None, &[GZIP]).await.expect(200);
    for tag in [&coded.headers["etag"], &plain.headers["etag"]] {
        let known = gateway.send_with("ada", "GET", &path, None, &[GZIP, ("If-None-Match", tag)]).await.expect(304);
        assert_eq!(&known.headers["etag"], tag);
    }
    assert_ne!(coded.headers["etag"], plain.headers["etag"]);
}
