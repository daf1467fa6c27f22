//! Entries of the audit log (O81): changes of features and of definitions, refused changes, and failed
//! credentials. Work items are not audited.
//!
//! May use: `refusal`, `store` (the entry), `access` (where people were seen), the parts.

use super::Runner;
use crate::access::{Caller, Origin};
use crate::refusal::EndedCredential;
use crate::store::{AuditActor, AuditEntry, StoreError};
use serde_json::{Value, json};
use uuid::Uuid;

const SETTINGS: &str = "settings";
/// Number of refused changes of one person and credential that are written a minute.
const REFUSED: u32 = 60;
const INSUFFICIENT: &str = "insufficient_permissions";
const INVALID_CREDENTIALS: &str = "invalid_credentials";
/// Actor and source of changes that no person requested.
pub const SYSTEM: &str = "system";
const FEATURES_UPDATED: &str = "settings.features_updated";
const AUTHENTICATION: &str = "auth.api_authentication";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub id: Uuid,
    pub name: String,
    /// The project of the record; none for a record of the workspace.
    pub project: Option<Uuid>,
}

/// Creates the entry for a changed definition. In `event`, the first part is the kind of the target, the second the
/// change; `old` and `new` are the read shapes before and after, none where no record exists.
pub fn changed(
    actor: AuditActor,
    event: &'static str,
    target: Target,
    old: Option<Value>,
    new: Option<Value>,
) -> AuditEntry {
    let kind = event.split_once('.').map_or(event, |(kind, _)| kind);
    AuditEntry {
        target_type: kind,
        target_id: target.id.to_string(),
        target_display_name: target.name,
        old_value: old,
        new_value: new,
        project: target.project,
        ..done(actor, event, SETTINGS)
    }
}

/// Creates the entry for a change of the features of the workspace `slug` from `old` to `new` (flags by name).
pub fn features_updated(actor: AuditActor, workspace: Uuid, slug: &str, old: Value, new: Value) -> AuditEntry {
    AuditEntry { old_value: Some(old), new_value: Some(new), ..of_workspace(actor, workspace, slug) }
}

/// Creates the entry for a refused change of the features of the workspace `slug`, by a caller without permission. Must
/// be written with `Store::record_coalesced`.
fn features_refused(actor: AuditActor, workspace: Uuid, slug: &str) -> AuditEntry {
    AuditEntry { success: false, reason: INSUFFICIENT, ..of_workspace(actor, workspace, slug) }
}

/// Creates the entry for a refused credential of the workspace `slug`; `credential` names it, for example by its
/// prefix, and is never the secret itself. Must be written with `Store::record_coalesced`.
fn authentication_failed(actor: AuditActor, workspace: Uuid, slug: &str, credential: &str) -> AuditEntry {
    AuditEntry {
        event_name: AUTHENTICATION,
        category: "auth",
        success: false,
        reason: INVALID_CREDENTIALS,
        metadata: json!({ "credential": credential }),
        ..of_workspace(actor, workspace, slug)
    }
}

impl Runner {
    /// Records that the scopes of a credential do not let `caller` change the features of the workspace `slug`. The
    /// entry is written only when the id of the workspace is known without asking v1, because the caller was seen in
    /// it. The answer is 403 either way, so an error of the store is logged.
    pub async fn features_out_of_scope(&self, caller: &Caller, slug: &str, origin: &Origin) {
        let Some(known) = self.access.acquaintance(caller.user.id) else { return };
        let Some(workspace) = known.called(slug).filter(|id| caller.workspace.is_none_or(|only| only == *id))
        else {
            return;
        };
        if let Err(fault) = self.record_refused_features(caller, workspace, slug, origin).await {
            tracing::error!(cause = %fault, "a refused change of features is missing in an audit log");
        }
    }

    /// Records that `caller` may not change the features of the workspace `slug`, at most [`REFUSED`] times a minute for
    /// each person and grant or gateway key: anybody can repeat a refused request, and entries stay for ever. All v1
    /// keys of a person count as one.
    pub(super) async fn record_refused_features(
        &self,
        caller: &Caller,
        workspace: Uuid,
        slug: &str,
        origin: &Origin,
    ) -> Result<(), StoreError> {
        let user = &caller.user;
        let entry = features_refused(origin.actor(user.id, Some(user)), workspace, slug);
        let key = format!("{FEATURES_UPDATED} {} {:?}", user.id, caller.credential);
        self.store.record_coalesced(workspace, &key, REFUSED, &entry).await.map(drop)
    }

    /// Records that a credential that was valid earlier was presented for the workspace `slug`. The entry is written
    /// only when the id of the workspace is known without asking v1 (the key behind the credential is gone): the
    /// workspace of the key, or one that the person was seen in. The answer is 401 either way, so an error of the store
    /// is logged.
    pub async fn credential_refused(&self, ended: &EndedCredential, slug: &str, origin: &Origin) {
        let known = self.access.acquaintance(ended.user);
        let workspace = match &ended.workspace {
            Some((id, name)) => (name == slug).then_some(*id),
            None => known.as_ref().and_then(|known| known.called(slug)),
        };
        let Some(workspace) = workspace else { return };
        let actor = origin.actor(ended.user, known.as_ref().map(|known| &*known.user));
        let credential = format!("{} {}", ended.kind, ended.id);
        let entry = authentication_failed(actor, workspace, slug, &credential);
        if let Err(fault) = self.store.record_coalesced(workspace, &credential, 1, &entry).await {
            tracing::error!(cause = %fault, "a failed credential is missing in an audit log");
        }
    }
}

fn of_workspace(actor: AuditActor, workspace: Uuid, slug: &str) -> AuditEntry {
    AuditEntry {
        target_type: "workspace",
        target_id: workspace.to_string(),
        target_display_name: slug.to_owned(),
        ..done(actor, FEATURES_UPDATED, SETTINGS)
    }
}

fn done(actor: AuditActor, event_name: &'static str, category: &'static str) -> AuditEntry {
    AuditEntry {
        event_name,
        category,
        success: true,
        source: if actor.kind == SYSTEM { SYSTEM } else { "api" },
        actor,
        metadata: json!({}),
        ..AuditEntry::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn actor() -> AuditActor {
        AuditActor {
            kind: "api_token",
            id: Some(Uuid::from_u128(1)),
            display_name: "ada".into(),
            email: "ada@acme.test".into(),
            ..AuditActor::default()
        }
    }

    #[test]
    fn the_kind_of_the_target_is_in_the_name_of_the_event() {
        let target = Target { id: Uuid::from_u128(2), name: "Bug".into(), project: Some(Uuid::from_u128(3)) };
        let entry = changed(actor(), "work_item_property_option.deleted", target, Some(json!({"a": 1})), None);
        assert_eq!(
            (entry.target_type, entry.category, entry.success),
            ("work_item_property_option", SETTINGS, true)
        );
        assert_eq!(entry.target_id, Uuid::from_u128(2).to_string());
        assert_eq!((entry.old_value, entry.new_value), (Some(json!({"a": 1})), None));
        assert_eq!((entry.project, entry.target_display_name.as_str()), (Some(Uuid::from_u128(3)), "Bug"));
    }

    #[test]
    fn refusals_are_failures_with_a_reason() {
        let workspace = Uuid::from_u128(9);
        let refused = features_refused(actor(), workspace, "acme");
        assert_eq!((refused.success, refused.reason), (false, "insufficient_permissions"));
        assert_eq!((refused.event_name, refused.category), (FEATURES_UPDATED, SETTINGS));
        assert_eq!((refused.target_type, refused.target_display_name.as_str()), ("workspace", "acme"));
        let failed = authentication_failed(actor(), workspace, "acme", "cw_ab12");
        assert_eq!((failed.event_name, failed.category), ("auth.api_authentication", "auth"));
        assert_eq!((failed.success, failed.reason), (false, "invalid_credentials"));
        let done = features_updated(actor(), workspace, "acme", json!({"x": false}), json!({"x": true}));
        assert!(done.success && done.reason.is_empty() && done.old_value != done.new_value);
    }
}
