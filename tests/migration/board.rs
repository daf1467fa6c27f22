//! The board: what operators see of the move, with what clients call themselves made harmless.

use crate::support::gateway::{Answer, Gateway, WEB};
use causeway::sandbox::Seed;

const V1: &str = "/api/v1/workspaces/acme/projects/00000000-0000-4000-c000-000000000001";

async fn asked(address: &str, path: &str) -> Answer {
    let client = Gateway::before("http://127.0.0.1:1").await;
    let request = http::Request::get(format!("{address}{path}"));
    client.request(request.body(http_body_util::Full::default()).expect("a request")).await
}

fn text(answer: &Answer) -> String {
    String::from_utf8_lossy(&answer.bytes).into_owned()
}

#[tokio::test]
async fn the_board_shows_what_has_moved_and_what_is_left() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("sqlite:{}", folder.path().join("store.db").display());
    let settings = [("store.url", url.as_str()), ("admin.listen", "127.0.0.1:0"), ("usage.flush", "20ms")];
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &settings).await;
    let address = gateway.operators().to_owned();
    let empty = asked(&address, "/migration/").await.expect(200);
    assert!(text(&empty).contains("No call was counted yet") && text(&empty).contains("<li>"), "{}", text(&empty));
    let store = gateway.store().await;
    let hostile = causeway::store::UsageRow {
        day: causeway::usage::today().into(),
        operation: "v1 unknown <script>alert(1)</script>".into(),
        class: 2,
        caller: "<img src=x>".into(),
        client: "\"><script>alert(2)</script>\u{202e}".into(),
        calls: 3,
    };
    store.add_usage(uuid::Uuid::new_v4(), 1, &[hostile]).await.expect("written");
    for path in [format!("{V1}/states/"), format!("{WEB}/states/")] {
        gateway.send_with("ada", "GET", &path, None, &[("User-Agent", "tool/1")]).await.expect(200);
    }
    for _ in 0..200 {
        if store.usage(0).await.expect("rows").len() == 3 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let page = text(&asked(&address, "/migration/").await.expect(200));
    for told in
        ["<strong>20 %</strong>", "tool/1", "GET /api/v2/workspaces/{slug}/projects/{project_id}/states/", "<svg"]
    {
        assert!(page.contains(told), "{told}\n{page}");
    }
    assert!(!page.contains("<script") && !page.contains("<img") && !page.contains('\u{202e}'), "{page}");
    let only = text(&asked(&address, "/migration/?client=tool%2F1").await.expect(200));
    assert!(only.contains("50 %") && !only.contains("unknown"), "{only}");
    let none = text(&asked(&address, "/migration/?client=%3Cb%3E").await.expect(200));
    assert!(none.contains("No call of client") && !none.contains("<b>"), "{none}");
    let csv = asked(&address, "/migration/counts.csv").await.expect(200);
    assert_eq!(csv.headers["content-type"], "text/csv; charset=utf-8");
    assert_eq!(text(&csv).lines().count(), 4, "{}", text(&csv));
    asked(&address, "/migration/?days=0").await.expect(400);
    asked(&address, "/migration/?x=1").await.expect(400);
    asked(&address, "/migration/nothing").await.expect(404);
}
