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

const GRANT: &str = "oauth_grant";
const KEY: &str = "gateway_key";
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
        let Some(told) = told(event) else { return };
        let known = self.access.acquaintance(told.user);
        // The person whose grant was misused has not misused it, and is named in `metadata`.
        let proven = told.by != ANONYMOUS;
        let person = known.as_ref().map(|known| &known.user).filter(|_| proven);
        let workspaces: BTreeSet<Uuid> = match told.workspace {
            Some(only) => BTreeSet::from([only]),
            None => known.iter().flat_map(|known| known.workspaces.keys().copied()).collect(),
        };
        let entry = AuditEntry {
            event_name: told.name,
            category: told.category,
            success: told.reason.is_empty(),
            source: if from.is_some() { "auth" } else { "system" },
            actor: AuditActor {
                kind: told.by,
                id: proven.then_some(told.user),
                display_name: person.map(|person| person.display_name.clone()).unwrap_or_default(),
                email: person.map(|person| person.email.clone()).unwrap_or_default(),
                ip_address: from.and_then(|from| from.address).map(|address| address.to_string()),
                user_agent: from.map(|from| from.user_agent.clone()).unwrap_or_default(),
            },
            target_type: told.target,
            target_id: told.id.to_string(),
            target_display_name: told.title,
            reason: told.reason,
            metadata: json!({ "user_id": told.user }),
            ..AuditEntry::default()
        };
        for workspace in workspaces {
            if let Err(fault) = self.store.record(workspace, std::slice::from_ref(&entry)).await {
                tracing::error!(cause = %fault, event = told.name, "an event is missing in an audit log");
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

/// An event in the terms of the audit log.
struct Told {
    name: &'static str,
    category: &'static str,
    by: &'static str,
    user: Uuid,
    target: &'static str,
    id: Uuid,
    title: String,
    workspace: Option<Uuid>,
    reason: &'static str,
}

fn told(event: &Event) -> Option<Told> {
    let grant = |name, category, by, (user, id): (&Uuid, &Uuid), title: &str, reason| Told {
        name,
        category,
        by,
        user: *user,
        target: GRANT,
        id: *id,
        title: title.to_owned(),
        workspace: None,
        reason,
    };
    let key = |name, user: &Uuid, id: &Uuid, title: &str, workspace: &Option<Uuid>| Told {
        name,
        category: "security",
        by: "user",
        user: *user,
        target: KEY,
        id: *id,
        title: title.to_owned(),
        workspace: *workspace,
        reason: "",
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
