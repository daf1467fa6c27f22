//! The gateway end to end over HTTP, in front of the sandbox or a scripted v1.
//!
//! May use: the public interface of the crate and `tests/support`.

mod compressed;
mod documented;
mod loops;
mod more;
mod new_resource;
mod teaching;
mod tls;
mod unrouted;

use crate::support::gateway::{Gateway, WEB};
use causeway::sandbox::Seed;
use serde_json::json;

#[tokio::test]
async fn a_label_is_created_listed_changed_and_deleted() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let labels = format!("{WEB}/labels/");
    let label = gateway.post("ada", &labels, json!({"name": " bug ", "sort_order": 7.5})).await.expect(201);
    assert_eq!(label.text("name"), "bug");
    let one = format!("{labels}{}/", label.text("id"));
    gateway.patch("ada", &one, json!({"color": "#e5484d"})).await.expect(200);
    let listed = gateway.get("ada", &labels).await.expect(200);
    assert_eq!(listed.column("color"), [json!("#e5484d")]);
    assert_eq!(listed.column("sort_order"), [json!(7.5)]);
    gateway.delete("ada", &one).await.expect(204);
    gateway.get("ada", &one).await.expect_problem(404, "resource_not_found");
}
