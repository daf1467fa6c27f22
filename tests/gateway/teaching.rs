//! Errors that teach: the `detail` for clients, and the hints about unknown members and paths.

use crate::support::furnished::{Furnished, WORKSPACE};
use crate::support::gateway::{Answer, Gateway, WEB};
use causeway::oauth::Minting;
use causeway::sandbox::Seed;
use serde_json::{Value, json};

/// The secret that protects stored v1 keys.
const SECRET: &str = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
const ME: &str = "/api/v2/users/me/";

async fn with_keys() -> (Gateway, String) {
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &[("secrets.key", SECRET)]).await;
    let wanted = Minting { title: "t".into(), scopes: "read".into(), ..Minting::default() };
    let (_, key) = gateway.mint("ada", wanted).await.unwrap();
    (gateway, key)
}

async fn refused(gateway: &Gateway, path: &str, headers: &[(&str, &str)]) -> String {
    let answer = gateway.send_bare("GET", path, headers).await;
    answer.expect_problem(401, "unauthorized").text("detail")
}

#[tokio::test]
async fn each_401_says_what_is_wrong_with_the_credential() {
    let (gateway, good) = with_keys().await;
    let (revoked, bearer) = (good.clone(), format!("Bearer {good}"));
    let none = refused(&gateway, ME, &[]).await;
    assert!(none.starts_with("No credential was sent."), "{none}");
    let by_v1 = refused(&gateway, ME, &[("x-api-key", "plane_api_unknown")]).await;
    assert!(by_v1.starts_with("The service behind does not accept this key"), "{by_v1}");
    for (name, value, right) in [
        ("authorization", bearer.as_str(), "belongs in the header X-Api-Key"),
        ("authorization", "Bearer plane_api_1", "belongs in the header X-Api-Key"),
        ("authorization", "Token plane_api_1", "read as `Bearer …` only"),
        ("authorization", "Bearer", "holds no token"),
        ("x-api-key", "cwa_token", "belongs in the header Authorization"),
        ("x-api-key", "cwr_token", "/auth/o/token/"),
        ("x-api-key", "a b", "without blanks"),
    ] {
        let detail = refused(&gateway, ME, &[(name, value)]).await;
        assert!(detail.contains(right), "{name}: {value}: {detail}");
    }
    let key = gateway.oauth().keys(None).await.unwrap().remove(0).id;
    assert!(gateway.oauth().revoke_key(key, None).await.unwrap());
    let ended = refused(&gateway, ME, &[("x-api-key", &revoked)]).await;
    assert!(ended.contains("expired, was revoked"), "{ended}");
    let unknown = refused(&gateway, ME, &[("x-api-key", "cwk_never-given-out")]).await;
    assert_eq!(ended, unknown, "nothing tells whether an unknown key was ever given out");
}

#[tokio::test]
async fn a_gateway_key_on_v1_is_told_what_it_is_for() {
    let (gateway, key) = with_keys().await;
    gateway.get(&key, ME).await.expect(200);
    let detail = refused(&gateway, "/api/v1/users/me/", &[("x-api-key", &key)]).await;
    assert!(detail.contains("open /api/v2/ only") && !detail.contains("unknown"), "{detail}");
}

#[tokio::test]
async fn detail_is_the_first_fault_in_words() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let body = json!({"name": "x", "priority": "urgentt", "start_date": "tomorrow"});
    let answer = gateway.post("ada", &format!("{WEB}/work-items/"), body).await;
    let answer = answer.expect_problem(400, "validation_error");
    let words = "priority: `urgentt` is not one of urgent, high, medium, low, none; 1 more in errors";
    assert_eq!(answer.text("detail"), words);
    assert_eq!(answer.error_fields(), ["priority", "start_date"]);
}

fn ignored(answer: &Answer) -> Option<&str> {
    answer.headers.get("causeway-ignored").map(String::as_str)
}

#[tokio::test]
async fn members_that_change_nothing_are_named() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let labels = format!("{WEB}/labels/");
    let made =
        gateway.post("ada", &labels, json!({"name": "a", "colour": "#fff", "id": 7, "é,": 1})).await.expect(201);
    assert_eq!(ignored(&made), Some("colour, id, %C3%A9%2C"));
    let plain = gateway.post("ada", &labels, json!({"name": "b"})).await.expect(201);
    assert_eq!(ignored(&plain), None);
    let one = format!("{labels}{}/", made.text("id"));
    assert_eq!(ignored(&gateway.patch("ada", &one, json!({"naem": "c"})).await.expect(200)), Some("naem"));
    // A refusal names them as well: they may be the reason why a member is missing.
    let refused = gateway.post("ada", &labels, json!({"naem": "c"})).await.expect_problem(400, "validation_error");
    assert_eq!(ignored(&refused), Some("naem"));
    let many: serde_json::Map<String, Value> = (0..500).map(|n| (format!("m{n}"), json!(n))).collect();
    let told = gateway.patch("ada", &one, Value::Object(many)).await.expect(200);
    let told = ignored(&told).unwrap();
    assert!(told.ends_with(", m19, ...") && told.split(", ").count() == 21, "{told}");
    // Each character of these names has twelve bytes in the header.
    let long: serde_json::Map<String, Value> =
        (0..20).map(|n| (format!("{n:02}{}", "😀".repeat(60)), json!(n))).collect();
    let told = gateway.patch("ada", &one, Value::Object(long)).await.expect(200);
    let told = ignored(&told).unwrap();
    assert_eq!(told, format!("00{}, ...", "%F0%9F%98%80".repeat(58)), "no proxy has to keep a long head");
}

#[tokio::test]
async fn members_inside_of_options_are_named_too() {
    let furnished = Furnished::with(&[]).await;
    let body = json!({"display_name": "x", "property_type": "OPTION", "options": [{"name": "a", "color": "#fff"}]});
    let made = furnished.gateway.post("ada", &format!("{WEB}/work-item-properties/"), body).await.expect(201);
    assert_eq!(ignored(&made), Some("options.0.color"));
}

#[tokio::test]
async fn a_path_of_v1_habits_gets_the_right_one_named() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let projects = format!("{WORKSPACE}/projects");
    for (asked, right) in [
        (format!("{WEB}/issues/"), format!("did you mean {WEB}/work-items/?")),
        (format!("{WEB}/issues"), format!("did you mean {WEB}/work-items/?")),
        (format!("{WEB}/work_items/"), format!("did you mean {WEB}/work-items/?")),
        (format!("{WEB}//labels/"), format!("did you mean {WEB}/labels/?")),
        (format!("{WEB}/lables/"), format!("did you mean {WEB}/labels/?")),
        (format!("{WEB}/labels"), format!("the right URL is {WEB}/labels/")),
        (format!("{WORKSPACE}/issues/WEB-1/"), format!("did you mean {WORKSPACE}/work-items/WEB-1/?")),
        (format!("{projects}/"), "v1 has it, at /api/v1/workspaces/acme/projects/".to_owned()),
        (format!("{WEB}/pages/"), format!("v1 has it, at {}/pages/", v1(WEB))),
        (format!("{WEB}/work-items/7/links/"), format!("v1 has it, at {}/work-items/7/links/", v1(WEB))),
        ("/api/v2/nonsense/".to_owned(), "/api/v2/docs/ shows all there are".to_owned()),
    ] {
        let answer = gateway.get("ada", &asked).await.expect_problem(404, "resource_not_found");
        assert!(answer.text("detail").contains(&right), "{asked}: {}", answer.text("detail"));
    }
}

/// docs/limits.md promises that a refusal repeats no long text of a request.
#[tokio::test]
async fn no_refusal_repeats_a_long_path_or_a_long_name() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let (long, unknown) = ("x".repeat(3_000), "There is no such path; /api/v2/docs/ shows all there are.");
    for (path, begin) in [
        (format!("{WORKSPACE}/work-items/{long}"), "Every path ends with a slash."),
        (format!("{WORKSPACE}/issues/{long}/"), unknown),
        (format!("{WEB}/work-items/{long}/links/"), unknown),
    ] {
        let detail = gateway.get("ada", &path).await.expect_problem(404, "resource_not_found").text("detail");
        assert!(detail.starts_with(begin) && detail.len() <= 1_000, "{detail}");
    }
    let name = format!("x_{long}");
    let answer = gateway.send_bare("GET", ME, &[("x-api-key", "ada"), (&name, "1")]).await;
    let detail = answer.expect_problem(400, "validation_error").text("detail");
    assert_eq!(detail, format!("The name of the header {} has an underscore.", &name[..100]));
}

fn v1(path: &str) -> String {
    path.replace("/api/v2/", "/api/v1/")
}
