//! The first page for a person, and the answers to machines at the same paths.

use crate::support::gateway::{Answer, Gateway};
use causeway::plan::codes::TABLE;
use causeway::sandbox::Seed;

const BROWSER: (&str, &str) = ("Accept", "text/html,application/xhtml+xml,*/*;q=0.8");

async fn page(gateway: &Gateway, path: &str) -> (Answer, String) {
    let answer = gateway.send_with("ada", "GET", path, None, &[BROWSER]).await;
    assert_eq!(answer.headers["content-type"], "text/html; charset=utf-8", "{path}");
    assert!(answer.headers["content-security-policy"].contains("default-src 'none'"));
    let text = String::from_utf8_lossy(&answer.bytes).into_owned();
    (answer, text)
}

#[tokio::test]
async fn the_start_is_a_page_for_people_and_json_for_machines() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let (home, text) = page(&gateway, "/").await;
    home.expect(200);
    for link in ["/api/v2/docs/", "/auth/o/grants/"] {
        assert!(text.contains(&format!("href=\"{}{link}\"", gateway.base())), "{text}");
    }
    assert!(!text.contains(env!("CARGO_PKG_VERSION")), "strangers learn no version");
    let machine = gateway.send(None, "GET", "/", None).await.expect(200);
    assert_eq!(machine.text("documentation"), format!("{}/api/v2/docs/", gateway.base()));
    assert!(!machine.json.to_string().contains(env!("CARGO_PKG_VERSION")));
    gateway.send(None, "POST", "/", None).await.expect_problem(405, "method_not_allowed");
    let docs = gateway.send(None, "GET", "/api/v2/docs", None).await.expect(308);
    assert_eq!(docs.headers["location"], format!("{}/api/v2/docs/", gateway.base()));
}

#[tokio::test]
async fn each_code_that_a_problem_points_to_has_a_page() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let problem = gateway.send(None, "GET", "/api/v2/users/me/", None).await.expect_problem(401, "unauthorized");
    let pointed = problem.text("type");
    let path = pointed.strip_prefix(gateway.base()).expect("on this address");
    assert!(page(&gateway, path).await.1.contains("X-Api-Key"));
    for (status, code) in TABLE.into_iter().chain([(410, "gone")]) {
        let (answer, text) = page(&gateway, &format!("/errors/{code}")).await;
        answer.expect(200);
        assert!(text.contains(&format!("status {status}")) && text.contains("What to do"), "{code}");
        let machine = gateway.send(None, "GET", &format!("/errors/{code}"), None).await.expect(200);
        assert_eq!(machine.json["status"], status);
    }
}

#[tokio::test]
async fn an_unknown_path_gives_people_a_page_and_machines_a_problem() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let (nothing, text) = page(&gateway, "/no/%3Cscript%3E").await;
    nothing.expect(404);
    assert!(!text.contains("<script"), "{text}");
    let problem = gateway.send(None, "GET", "/no", None).await.expect_problem(404, "resource_not_found");
    assert_eq!(problem.text("detail"), "There is nothing at this path.");
    page(&gateway, "/errors/nothing").await.0.expect(404);
}

#[tokio::test]
async fn paths_that_only_v1_has_are_named_in_the_404() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let projects = gateway.get("ada", "/api/v2/workspaces/acme/projects/").await;
    let detail = projects.expect_problem(404, "resource_not_found").text("detail");
    assert_eq!(
        detail,
        "There is no such path in v2; v1 has it, at /api/v1/workspaces/acme/projects/. v2 has no list of projects; it stays \
         on v1."
    );
    let other = gateway.get("ada", "/api/v2/workspaces/acme/nothing/").await;
    assert_eq!(
        other.expect_problem(404, "resource_not_found").text("detail"),
        "There is no such path; /api/v2/docs/ shows all there are."
    );
}
