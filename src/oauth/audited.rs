//! Reports events to three places: the log of the process, the event counter, and the audit logs.
//!
//! A grant belongs to a person, so its events have no workspace. They go to the audit logs of the workspaces in which
//! this process has seen the person. Events of a key for one workspace go to that workspace. Entries that cannot be
//! written to an audit log are still in the log of the process. May use: `access`, `store`, this folder.

use super::events::{Event, EventKind};
use crate::access::{Access, Origin};
use crate::store::oauth::TokenKind;
use crate::store::{AuditActor, AuditEntry, Store};
use serde_json::json;
use std::collections::BTreeSet;
use uuid::Uuid;

/// Number of revoked access tokens of one person and client that are written a minute.
const REVOKED: u32 = 60;
/// Kind of the actor when it is not proven who caused the event.
const ANONYMOUS: &str = "anonymous";

/// Receiver of events; it gets each event once.
pub struct Audited {
    store: Store,
    access: Access,
    count: Box<dyn Fn(EventKind) + Send + Sync>,
}

impl Audited {
    /// `access` knows the workspaces in which people were seen; `count` is called with every event.
    pub fn new(store: Store, access: Access, count: impl Fn(EventKind) + Send + Sync + 'static) -> Self {
        Self { store, access, count: Box::new(count) }
    }

    /// Reports an event. `from` is the origin of the request; `None` at the command line and for rejected credentials.
    /// The request waits until the event is reported. An error in the report does not fail the request.
    pub async fn report_event(&self, event: &Event, from: Option<&Origin>) {
        (self.count)(event.what);
        match event.what {
            EventKind::CodeMisused | EventKind::RefreshReused => tracing::warn!(?event, "access"),
            EventKind::CredentialRefused(_) => tracing::debug!(?event, "access"),
            _ => tracing::info!(?event, "access"),
        }
        self.record(event, from).await;
    }

    async fn record(&self, event: &Event, from: Option<&Origin>) {
        let Some(mut entry) = told(event) else { return };
        let known = self.access.acquaintance(event.user);
        let workspaces: BTreeSet<Uuid> = match event.workspace {
            Some(only) => BTreeSet::from([only]),
            None => known.iter().flat_map(|known| known.workspaces()).collect(),
        };
        entry.source = if from.is_some() { "auth" } else { "system" };
        // The person of a misused grant has not misused it, so the person is named in `metadata` only.
        if entry.actor.kind != ANONYMOUS {
            entry.actor.id = Some(event.user);
            if let Some(known) = &known {
                entry.actor.display_name.clone_from(&known.user.display_name);
                entry.actor.email.clone_from(&known.user.email);
            }
        }
        if let Some(from) = from {
            entry.actor.ip_address = from.ip.map(|ip| ip.to_string());
            entry.actor.user_agent.clone_from(&from.user_agent);
        }
        let repeatable = repeatable(event);
        for workspace in workspaces {
            let written = match &repeatable {
                Some(key) => self.store.record_coalesced(workspace, key, REVOKED, &entry).await.map(drop),
                None => self.store.record(workspace, std::slice::from_ref(&entry)).await,
            };
            if let Err(fault) = written {
                tracing::error!(cause = %fault, event = entry.event_name, "an event is missing in an audit log");
            }
        }
    }
}

/// Returns the key of an event that an app can cause without end: with each refresh it gets an access token to revoke.
/// At most [`REVOKED`] of them are written a minute for each person and client. All others end a grant or key, or
/// create one.
fn repeatable(event: &Event) -> Option<String> {
    let client = event.client.as_deref().unwrap_or_default();
    let ends_one_token = event.what == EventKind::TokenRevoked(TokenKind::Access);
    ends_one_token.then(|| format!("access token revoked {} {client}", event.user))
}

/// Builds the audit entry of an event, without the details of the request.
fn told(event: &Event) -> Option<AuditEntry> {
    let (event_name, category, by, reason) = match event.what {
        EventKind::Granted => ("oauth_grant.created", "auth", "user", ""),
        EventKind::GrantRevoked => ("oauth_grant.revoked", "auth", "user", ""),
        EventKind::TokenRevoked(_) => ("oauth_grant.token_revoked", "auth", "api_token", ""),
        EventKind::CodeMisused => ("oauth_grant.code_misused", "security", ANONYMOUS, "code_misused"),
        EventKind::RefreshReused => {
            ("oauth_grant.refresh_token_reused", "security", ANONYMOUS, "refresh_token_reused")
        }
        EventKind::KeyMinted => ("gateway_key.created", "security", "user", ""),
        EventKind::KeyRevoked => ("gateway_key.revoked", "security", "user", ""),
        EventKind::CredentialRefused(_) => return None,
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
