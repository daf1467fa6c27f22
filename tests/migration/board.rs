//! The board: the operators' view of the move; names that clients give themselves are made harmless.

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
    for _ in 0..3000 {
        if store.usage().await.expect("rows").len() == 3 {
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
    stays_as_asked(&address).await;
    let csv = asked(&address, "/migration/counts.csv").await.expect(200);
    assert_eq!(csv.headers["content-type"], "text/csv; charset=utf-8");
    assert_eq!(text(&csv).lines().count(), 4, "{}", text(&csv));
    asked(&address, "/migration/?days=0").await.expect(400);
    asked(&address, "/migration/?x=1").await.expect(400);
    asked(&address, "/migration/nothing").await.expect(404);
}

/// Another choice of days keeps the rest of the query, and a link to a client or caller keeps the days.
async fn stays_as_asked(address: &str) {
    let page = async |query: &str| text(&asked(address, &format!("/migration/?{query}")).await.expect(200));
    let one_day = page("days=1").await;
    for told in ["<option value=\"1\" selected>1</option>", "href=\"/migration/?days=1", "client=tool%2F1\""] {
        assert!(one_day.contains(told), "{told}\n{one_day}");
    }
    assert!(!one_day.contains("href=\"/migration/?client=") && !one_day.contains("href=\"/migration/?caller="));
    assert!(!one_day.contains("type=\"hidden\""), "{one_day}");
    let month = page("days=30").await;
    assert!(month.contains("<option value=\"30\" selected>") && month.matches("<option").count() == 4, "{month}");
    let person = page("caller=ada").await;
    let operation = page("operation=v1+unknown+%3Cscript%3Ealert%281%29%3C%2Fscript%3E").await;
    let client = page("client=tool%2F1").await;
    let hidden = |name: &str| format!("<input type=\"hidden\" name=\"{name}\" value=\"");
    assert!(operation.contains(&hidden("operation")) && !operation.contains("<script"), "{operation}");
    assert!(client.contains("value=\"tool/1\">") && !client.contains("type=\"hidden\""), "{client}");
    assert!(person.contains(&format!("{}ada\">", hidden("caller"))), "{person}");
}
