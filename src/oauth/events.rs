//! What happens to grants and credentials. May use: `store`.

use crate::store::oauth::{Client, GatewayKey};
use strum::{IntoStaticStr, VariantNames};
use uuid::Uuid;

/// Why a credential that is known was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dead {
    /// Its time is over.
    Expired,
    /// It, or what it came from, was revoked or exchanged.
    Revoked,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum What {
    /// A person allowed a client.
    Granted,
    /// A person ended a grant.
    GrantRevoked,
    /// A client gave a token back.
    TokenRevoked,
    /// A code was presented twice or with a wrong proof: its grant has ended.
    CodeMisused,
    /// A refresh token was presented again: its grant has ended.
    RefreshReused,
    KeyMinted,
    KeyRevoked,
    /// A known token or key was presented when it was no longer good.
    CredentialRefused(Dead),
}

/// Something that happened to a grant or a gateway key; never holds a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub what: What,
    /// The grant or the key.
    pub id: Uuid,
    /// What the client of the grant is called, or what the key is for.
    pub title: String,
    pub user: Uuid,
    /// The client that did it, or was allowed.
    pub client: Option<String>,
    /// The only workspace a key opens.
    pub workspace: Option<Uuid>,
}

impl Event {
    /// Of a grant, by or for this client.
    pub(super) fn of_grant(what: What, id: Uuid, user: Uuid, client: &Client) -> Self {
        let (title, client) = (client.name.clone(), Some(client.id.clone()));
        Self { what, id, title, user, client, workspace: None }
    }

    pub(super) fn of_key(what: What, key: &GatewayKey) -> Self {
        let workspace = key.workspace.as_ref().map(|(id, _)| *id);
        Self { what, id: key.id, title: key.title.clone(), user: key.user, client: None, workspace }
    }
}

impl What {
    /// The place of its name among its [`VariantNames`], which are what events are called in figures.
    pub fn number(self) -> usize {
        let name = <&str>::from(self);
        Self::VARIANTS.iter().position(|known| *known == name).unwrap_or_default()
    }
}
