//! The current user.
//!
//! May use: nothing of this crate beyond plain values.

use serde_json::json;
use uuid::Uuid;

/// The read shape of the person behind a credential.
pub fn current_user(id: Uuid, email: &str, display_name: &str, kind: &str, scopes: &[String]) -> Vec<u8> {
    let user = json!({
        "id": id,
        "email": email,
        "display_name": display_name,
        "principal_kind": kind,
        "scopes": scopes,
    });
    user.to_string().into_bytes()
}
