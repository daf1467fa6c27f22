//! The caller: the person and key behind a proven credential, and the roles of people. May use: `v1`.

use crate::v1::V1Key;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::sync::Arc;
use uuid::Uuid;

/// The person that v1 knows as the owner of a key (`GET users/me/`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// Id at v1; equals `member_id`, `created_by_id` and `actor_id` elsewhere.
    pub id: Uuid,
    /// Email address.
    pub email: String,
    /// Display name.
    pub display_name: String,
}

/// Kind of credential of a request; `principal_kind` of the current user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum PrincipalKind {
    /// `X-Api-Key` with a key of v1.
    ApiKey,
    /// A bearer token of the gateway's own authorization server.
    #[strum(serialize = "oauth")]
    OAuth,
    /// Any other kind, such as scoped gateway keys.
    Other,
}

/// A proven credential: its permissions, and the v1 key that acts for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Key that v1 sees; its id is the cache identity of the caller.
    pub key: V1Key,
    /// The owner of the key.
    pub user: Arc<User>,
    /// Kind of credential of the request.
    pub kind: PrincipalKind,
    /// Granted scopes; `None` for credentials that are not limited by scopes (API keys).
    pub scopes: Option<Arc<[String]>>,
    /// The grant of a token, which stays when tokens are refreshed, or the gateway key; `None` for a key of v1.
    pub credential: Option<Uuid>,
    /// The only workspace that the credential can access; `None` for all that its person may see.
    pub workspace: Option<Uuid>,
}

impl Caller {
    /// Creates the caller who presents a v1 key, which nothing limits.
    pub fn of_v1_key(key: V1Key, user: Arc<User>) -> Self {
        Self { key, user, kind: PrincipalKind::ApiKey, scopes: None, credential: None, workspace: None }
    }
}

/// Source of a request, for the audit log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// The client's address.
    pub ip: Option<IpAddr>,
    /// `User-Agent` of the request; empty without one.
    pub user_agent: String,
}

/// Role of v1 in a project or workspace: 20 admin, 15 member (contributor), 5 guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Role(pub i64);

impl Role {
    /// May administer.
    pub const ADMIN: Role = Role(20);
    /// May write.
    pub const MEMBER: Role = Role(15);
    /// May read and comment.
    pub const GUEST: Role = Role(5);

    /// Returns the slug on a workspace roster; `unknown` for a number that v1 is not known to use.
    pub fn workspace_slug(self) -> &'static str {
        match self.0 {
            20 => "admin",
            15 => "member",
            5 => "guest",
            _ => "unknown",
        }
    }

    /// Returns the slug on a project roster.
    pub fn project_slug(self) -> &'static str {
        match self.0 {
            20 => "admin",
            15 => "contributor",
            5 => "guest",
            _ => "unknown",
        }
    }

    /// Checks whether the role sees everything that members above guest see.
    pub fn is_above_guest(self) -> bool {
        self.0 >= Self::MEMBER.0
    }
}
