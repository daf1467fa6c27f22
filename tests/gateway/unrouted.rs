//! A proxy before v1 that has no route for some paths, or blocks them: its answers are not v1's own answers.

use crate::support::gateway::{Gateway, WEB, serve_sandbox};
use crate::support::switch::{Line, Switch};
use causeway::sandbox::{Config, Sandbox, Seed};

const ITEM: &str = "00000000-0000-4000-e000-000000000001";

#[tokio::test]
async fn a_proxys_own_403_and_404_never_mean_a_missing_record() {
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let v1 = Switch::before(&serve_sandbox(&sandbox).await).await;
    let acme = "/api/v2/workspaces/acme";
    let (items, nothing) = (format!("{WEB}/work-items/"), "deadbeef-0000-4000-8000-00000000dead");
    for (word, path) in [
        // The project card and the workspace card.
        ("fields=id,is_member", format!("{WEB}/states/")),
        ("/workspaces/acme/", format!("{acme}/members/")),
        ("/states/", format!("{WEB}/states/")),
        ("/states/", format!("{WEB}/states/{nothing}/")),
        ("/members/", format!("{WEB}/members/")),
        ("/work-items/", items.clone()),
        ("/work-items/", format!("{items}{ITEM}/")),
        ("/work-items/", format!("{acme}/work-items/WEB-1/")),
        ("external_id=", format!("{items}?external_id=1&external_source=x")),
        ("/comments/", format!("{items}{ITEM}/comments/")),
        ("/comments/", format!("{items}{ITEM}/comments/{nothing}/")),
    ] {
        for status in [403, 404] {
            v1.set(Line::Unrouted(status, word)).await;
            let gateway = Gateway::before(&v1.base_url()).await;
            let answer = gateway.get("ada", &path).await;
            assert_eq!((answer.status, answer.code()), (502, "upstream_error"), "{status} {word} {path}");
        }
    }
}
