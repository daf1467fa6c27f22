//! Events of grants and credentials. May use: `store`.

use crate::store::oauth::{Client, GatewayKey, TokenKind};
use strum::{IntoStaticStr, VariantNames};
use uuid::Uuid;

/// Reason why a known credential was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RejectionReason {
    /// It has expired.
    Expired,
    /// It was revoked or exchanged, or the grant or token that it came from was.
    Revoked,
}

/// Kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum EventKind {
    /// A person allowed a client.
    Granted,
    /// A person ended a grant.
    GrantRevoked,
    /// A client revoked an access token, or a refresh token and with it the grant.
    TokenRevoked(TokenKind),
    /// A code was presented twice or with a wrong proof; its grant has ended.
    CodeMisused,
    /// A refresh token was presented again; its grant has ended.
    RefreshReused,
    KeyMinted,
    KeyRevoked,
    /// A known token or key was presented when it was no longer valid.
    CredentialRefused(RejectionReason),
}

/// An event of a grant or a gateway key; never holds a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub what: EventKind,
    /// Id of the grant or the key.
    pub id: Uuid,
    /// Name of the grant's client, or purpose of the key.
    pub title: String,
    pub user: Uuid,
    /// The client that acted, or that was allowed.
    pub client: Option<String>,
    /// The only workspace that a key opens.
    pub workspace: Option<Uuid>,
}

impl Event {
    /// Builds an event of a grant, caused by this client or about it.
    pub(super) fn of_grant(what: EventKind, id: Uuid, user: Uuid, client: &Client) -> Self {
        let (title, client) = (client.name.clone(), Some(client.id.clone()));
        Self { what, id, title, user, client, workspace: None }
    }

    pub(super) fn of_key(what: EventKind, key: &GatewayKey) -> Self {
        let workspace = key.workspace.as_ref().map(|(id, _)| *id);
        Self { what, id: key.id, title: key.title.clone(), user: key.user, client: None, workspace }
    }
}

impl EventKind {
    /// Returns the position of the event's name in its [`VariantNames`]. Figures use these names for events.
    pub fn number(self) -> usize {
        let name = <&str>::from(self);
        Self::VARIANTS.iter().position(|known| *known == name).unwrap_or_default()
    }
}
