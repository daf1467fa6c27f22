//! What happens to grants and credentials, and the entries of the audit logs that it becomes.
//!
//! The gateway learns of these without a workspace: a grant is a person's and not a workspace's, so it is told to the
//! workspaces this process has seen the person in; a key for one workspace is told there. Entries that cannot be
//! written are in the log of the process. May use: `access`, `store`.

use crate::access::Access;
use crate::store::oauth::{Client, GatewayKey};
use crate::store::{AuditActor, AuditEntry, Store};
use futures_util::future::BoxFuture;
use serde_json::json;
use std::collections::BTreeSet;
use std::net::IpAddr;
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

/// The request by which something happened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    pub address: Option<IpAddr>,
    /// What sent it, empty when it does not say.
    pub user_agent: String,
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

/// Is told of events, on the way of a request, which waits for it; a fault in it is its own matter.
pub trait Events: Send + Sync + 'static {
    /// Something happened, by a request `from` somewhere; by none when an operator did it at the command line.
    fn happened<'e>(&'e self, event: &'e Event, from: Option<&'e Origin>) -> BoxFuture<'e, ()>;
}

/// Writes events to the log.
#[derive(Debug, Clone, Copy, Default)]
pub struct Logged;

impl Events for Logged {
    fn happened<'e>(&'e self, event: &'e Event, _: Option<&'e Origin>) -> BoxFuture<'e, ()> {
        match event.what {
            What::CodeMisused | What::RefreshReused => tracing::warn!(?event, "access"),
            What::CredentialRefused(_) => tracing::debug!(?event, "access"),
            _ => tracing::info!(?event, "access"),
        }
        Box::pin(std::future::ready(()))
    }
}

/// The actor of an event that nobody is proven to have caused.
const ANONYMOUS: &str = "anonymous";

/// Writes events to audit logs, and to the log of the process.
pub struct Audited {
    store: Store,
    access: Access,
}

impl Audited {
    /// `access` knows where people were seen.
    pub fn new(store: Store, access: Access) -> Self {
        Self { store, access }
    }

    async fn record(&self, event: &Event, from: Option<&Origin>) {
        let Some(mut entry) = told(event) else { return };
        let known = self.access.acquaintance(event.user);
        let workspaces: BTreeSet<Uuid> = match event.workspace {
            Some(only) => BTreeSet::from([only]),
            None => known.iter().flat_map(|known| known.workspaces.keys().copied()).collect(),
        };
        entry.source = if from.is_some() { "auth" } else { "system" };
        // The person whose grant was misused has not misused it, and is named in `metadata`.
        if entry.actor.kind != ANONYMOUS {
            entry.actor.id = Some(event.user);
            if let Some(known) = &known {
                entry.actor.display_name.clone_from(&known.user.display_name);
                entry.actor.email.clone_from(&known.user.email);
            }
        }
        if let Some(from) = from {
            entry.actor.ip_address = from.address.map(|address| address.to_string());
            entry.actor.user_agent.clone_from(&from.user_agent);
        }
        for workspace in workspaces {
            if let Err(fault) = self.store.record(workspace, std::slice::from_ref(&entry)).await {
                tracing::error!(cause = %fault, event = entry.event_name, "an event is missing in an audit log");
            }
        }
    }
}

impl Events for Audited {
    fn happened<'e>(&'e self, event: &'e Event, from: Option<&'e Origin>) -> BoxFuture<'e, ()> {
        Box::pin(async move {
            Logged.happened(event, from).await;
            self.record(event, from).await;
        })
    }
}

/// An event as an entry, apart from what the request says.
fn told(event: &Event) -> Option<AuditEntry> {
    let (event_name, category, by, reason) = match event.what {
        What::Granted => ("oauth_grant.created", "auth", "user", ""),
        What::GrantRevoked => ("oauth_grant.revoked", "auth", "user", ""),
        What::TokenRevoked => ("oauth_grant.token_revoked", "auth", "api_token", ""),
        What::CodeMisused => ("oauth_grant.code_misused", "security", ANONYMOUS, "code_misused"),
        What::RefreshReused => ("oauth_grant.refresh_token_reused", "security", ANONYMOUS, "refresh_token_reused"),
        What::KeyMinted => ("gateway_key.created", "security", "user", ""),
        What::KeyRevoked => ("gateway_key.revoked", "security", "user", ""),
        What::CredentialRefused(_) => return None,
    };
    Some(AuditEntry {
        event_name,
        category,
        success: reason.is_empty(),
        actor: AuditActor { kind: by, ..AuditActor::default() },
        target_type: event_name.split_once('.')?.0,
        target_id: event.id.to_string(),
        target_display_name: event.title.clone(),
        reason,
        metadata: json!({ "user_id": event.user }),
        ..AuditEntry::default()
    })
}
