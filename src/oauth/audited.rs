//! Events of grants and keys as entries of the audit logs they belong to.
//!
//! A grant is a person's and not a workspace's, so it is told to the workspaces this process has seen the person
//! in; a key for one workspace is told there. Entries that cannot be written are in the log of the process.
//!
//! May use: `access`, `store`, `events`.

use super::events::{Event, Events, Logged, Origin};
use crate::access::Access;
use crate::store::{AuditActor, AuditEntry, Store};
use futures_util::future::BoxFuture;
use serde_json::json;
use std::collections::BTreeSet;
use uuid::Uuid;

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
        let Some((mut entry, user, workspace)) = told(event) else { return };
        let known = self.access.acquaintance(user);
        let workspaces: BTreeSet<Uuid> = match workspace {
            Some(only) => BTreeSet::from([only]),
            None => known.iter().flat_map(|known| known.workspaces.keys().copied()).collect(),
        };
        entry.source = if from.is_some() { "auth" } else { "system" };
        // The person whose grant was misused has not misused it, and is named in `metadata`.
        if entry.actor.kind != ANONYMOUS {
            entry.actor.id = Some(user);
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

/// An event as an entry, apart from what the request says; the person it is about, and the only workspace it is told
/// to.
fn told(event: &Event) -> Option<(AuditEntry, Uuid, Option<Uuid>)> {
    let entry = |event_name,
                 category,
                 by,
                 user: &Uuid,
                 (target_type, id): (_, &Uuid),
                 title: &str,
                 reason: &'static str| {
        AuditEntry {
            event_name,
            category,
            success: reason.is_empty(),
            actor: AuditActor { kind: by, ..AuditActor::default() },
            target_type,
            target_id: id.to_string(),
            target_display_name: title.to_owned(),
            reason,
            metadata: json!({ "user_id": user }),
            ..AuditEntry::default()
        }
    };
    let grant = |name, category, by, (user, id): (&Uuid, &Uuid), title: &str, reason| {
        (entry(name, category, by, user, ("oauth_grant", id), title, reason), *user, None)
    };
    let key = |name, user: &Uuid, id: &Uuid, title: &str, workspace: &Option<Uuid>| {
        (entry(name, "security", "user", user, ("gateway_key", id), title, ""), *user, *workspace)
    };
    match event {
        Event::Granted { grant: id, name, user, .. } => {
            Some(grant("oauth_grant.created", "auth", "user", (user, id), name, ""))
        }
        Event::GrantRevoked { grant: id, name, user } => {
            Some(grant("oauth_grant.revoked", "auth", "user", (user, id), name, ""))
        }
        Event::TokenRevoked { grant: id, name, user, .. } => {
            Some(grant("oauth_grant.token_revoked", "auth", "api_token", (user, id), name, ""))
        }
        Event::CodeMisused { grant: id, name, user, .. } => {
            Some(grant("oauth_grant.code_misused", "security", ANONYMOUS, (user, id), name, "code_misused"))
        }
        Event::RefreshReused { grant: id, name, user, .. } => {
            let reused = "refresh_token_reused";
            Some(grant("oauth_grant.refresh_token_reused", "security", ANONYMOUS, (user, id), name, reused))
        }
        Event::KeyMinted { key: id, title, user, workspace } => {
            Some(key("gateway_key.created", user, id, title, workspace))
        }
        Event::KeyRevoked { key: id, title, user, workspace } => {
            Some(key("gateway_key.revoked", user, id, title, workspace))
        }
        Event::CredentialRefused { .. } => None,
    }
}
