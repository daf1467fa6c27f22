//! The proof of a credential for a read: v1's answer about a project or a workspace, never the cached identity of the
//! key.
//!
//! May use: what this folder may use.

use super::operations::working;
use super::world::World;

/// Reads in a workspace trust the cached owner of a key for some minutes, because each of them shows data only after v1
/// has accepted the key for a card. When cards are never used again, each read shows that.
#[tokio::test]
async fn no_read_in_a_workspace_is_answered_without_asking_v1_for_a_card() {
    let world = World::with(&[("cache.card", "0s")]).await;
    let mut without = Vec::new();
    for operation in working().filter(|operation| !operation.writes()) {
        let path = world.path(operation);
        world.enter(operation).await;
        world.gateway.get("ada", &path).await.expect(200);
        world.gateway.sandbox().clear_journal();
        world.gateway.get("ada", &path).await.expect(200);
        let journal = world.gateway.sandbox().journal();
        let mut cards =
            journal.iter().filter(|call| call.status == 200 && call.path.starts_with("/api/v1/workspaces/"));
        if !cards.any(|call| call.key.as_deref() == Some("ada")) {
            without.push(operation.id());
        }
    }
    assert_eq!(without, ["users_me_retrieve"], "the person alone");
}
