//! `users/me/`.

use crate::operations::scene::{ADA, Scene, me};
use serde_json::json;

#[tokio::test]
async fn the_check_of_the_credential_is_the_answer() {
    let mut scene = Scene::new().await.then(me());
    let answer = scene.ask("GET", "/api/v2/users/me/", None).await.expect(200);
    let expected = json!({"id": ADA, "email": "ada@acme.test", "display_name": "ada", "principal_kind": "api_key",
        "scopes": []});
    assert_eq!((answer.calls(), &answer.json), (1, &expected));
    assert_eq!(scene.ask("GET", "/api/v2/users/me/", None).await.expect(200).calls(), 0);
    scene.end();
}
