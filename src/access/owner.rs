//! The owner of a key, as `GET users/me/` returns it.
//!
//! v1 answers it for every valid key, also for deactivated accounts (trap 59, `users_me_deactivated_user`);
//! the cards decide what such a person may see. May use: `context`, `refusal`, `v1`, this folder.

use super::caller::User;
use super::paths;
use super::remembered::Verdict;
use crate::context::Context;
use crate::refusal::Refusal;
use crate::v1::{Client, Object, V1Key, V1Request};
use serde::Deserialize;
use std::sync::Arc;
use uuid::Uuid;

#[derive(Deserialize)]
struct Me {
    id: Uuid,
    #[serde(deserialize_with = "crate::v1::present")]
    email: Option<String>,
    #[serde(deserialize_with = "crate::v1::present")]
    display_name: Option<String>,
}

/// Asks v1. A refused key is a verdict (trap 1 makes it 401); any other answer without a person is an error.
pub(super) async fn owner(client: Client, key: V1Key, ctx: Context) -> Result<Verdict<Arc<User>>, Refusal> {
    let answer = match client.ask(&key, V1Request::get(paths::IDENTITY, ""), &ctx).await {
        Ok(answer) => answer,
        Err(refused @ Refusal::Unauthorized { .. }) => return Ok(Err(refused)),
        Err(fault) => return Err(fault),
    };
    if !answer.is_success() {
        let cause = format!("v1 answered users/me/ with {}", answer.status);
        return Err(Refusal::upstream("The credential could not be checked.", cause));
    }
    let Object(me): Object<Me> = serde_json::from_slice(&answer.body)
        .map_err(|cause| Refusal::upstream("The credential could not be checked.", cause))?;
    Ok(Ok(Arc::new(User {
        id: me.id,
        email: me.email.unwrap_or_default(),
        display_name: me.display_name.unwrap_or_default(),
    })))
}
