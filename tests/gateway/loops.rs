//! A gateway whose v1 is the gateway itself, and gateways before gateways.

use crate::support::gateway::{Gateway, reserved, serve_sandbox};
use causeway::sandbox::{Config, Sandbox, Seed};

#[tokio::test]
async fn a_loop_ends_at_its_first_turn() {
    let (socket, address) = reserved();
    let gateway = Gateway::at(socket, &format!("http://{address}"), &[]).await;
    for path in ["/api/v1/users/me/", "/api/v2/users/me/"] {
        gateway.get("ada", path).await.expect_problem(502, "upstream_error");
    }
    let passed = gateway.get("ada", "/api/v1/users/me/").await;
    assert!(passed.text("detail").contains("leads back to this gateway"), "{}", passed.text("detail"));
}

#[tokio::test]
async fn a_loop_through_another_gateway_ends_too() {
    let (socket, address) = reserved();
    let behind = Gateway::before(&format!("http://{address}")).await;
    let before = Gateway::at(socket, behind.base(), &[]).await;
    let answer = before.get("ada", "/api/v1/users/me/").await.expect(502);
    assert!(answer.text("detail").contains("leads back to this gateway"), "{}", answer.text("detail"));
}

#[tokio::test]
async fn a_gateway_before_a_gateway_serves() {
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let inner = Gateway::before(&serve_sandbox(&sandbox).await).await;
    let outer = Gateway::before(inner.base()).await;
    for path in ["/api/v1/users/me/", "/api/v2/users/me/"] {
        outer.get("ada", path).await.expect(200);
    }
}
