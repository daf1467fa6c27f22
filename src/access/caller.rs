//! Who is asking: the person and key behind a proven credential. May use: `v1`.

use crate::v1::V1Key;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use uuid::Uuid;

/// The person v1 knows behind a key (`GET users/me/`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// Id at v1; equals `member_id`, `created_by_id` and `actor_id` elsewhere.
    pub id: Uuid,
    /// Address.
    pub email: String,
    /// Display name.
    pub display_name: String,
}

/// How a request authenticated; `principal_kind` of the current user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrincipalKind {
    /// `X-Api-Key` with a key of v1.
    ApiKey,
    /// A bearer token of the gateway's own authorization server.
    OAuth,
    /// Any other class, such as scoped gateway keys.
    Other,
}

impl PrincipalKind {
    /// The word v2 uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ApiKey => "api_key",
            Self::OAuth => "oauth",
            Self::Other => "other",
        }
    }
}

/// A proven credential: what it may be used for and the v1 key that acts for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Key that v1 sees; its id is the cache identity of the caller.
    pub key: V1Key,
    /// The person.
    pub user: Arc<User>,
    /// How the request authenticated.
    pub kind: PrincipalKind,
    /// Granted scopes; `None` for credentials that are not limited by scopes (API keys).
    pub scopes: Option<Arc<[String]>>,
    /// The grant of a token, which stays when tokens are refreshed, or the gateway key; `None` for a key of v1.
    pub credential: Option<Uuid>,
    /// The only workspace the credential opens; `None` for all its person may see.
    pub workspace: Option<Uuid>,
}
