//! The audit log: an entry is appended in the transaction of the change that it reports, and is never changed.
//!
//! Databases fold letter case differently or not at all (SQLite knows ASCII only). So case is folded here: once when an
//! entry is written, and once for the text that is searched.
//!
//! May use: `units`, this folder.

use super::error::StoreError;
use super::repeated::{Place, Repeated};
use super::rows::{NewRow, insert, query};
use super::service::Store;
use super::session::Session;
use crate::units::now_micros;
use serde_json::Value;
use sqlx::Row;
use uuid::Uuid;

/// Microseconds that the last entry may be ahead of this clock so that the next entry gets the instants right after
/// it. If it is further ahead, some clock was wrong, and the wrong time is not continued.
const CLOCKS_APART: i64 = 60_000_000;

/// One event to be written; the log assigns id, sequence number and time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AuditEntry {
    /// Name, such as `settings.features_updated`.
    pub event_name: &'static str,
    /// `auth`, `member`, `role`, `settings`, `integration`, `webhook`, `security` or `instance`.
    pub category: &'static str,
    /// Whether the action was done; a refused action is a failure.
    pub success: bool,
    /// Surface of the request: `api`, `auth` or `system`.
    pub source: &'static str,
    /// Actor of the event.
    pub actor: AuditActor,
    /// Kind of target, such as `workspace`.
    pub target_type: &'static str,
    /// Id of the target.
    pub target_id: String,
    /// Name of the target at that time.
    pub target_display_name: String,
    /// Value before the change.
    pub old_value: Option<Value>,
    /// Value after the change.
    pub new_value: Option<Value>,
    /// Reason of a failure, else empty.
    pub reason: &'static str,
    /// More data about the event; an object.
    pub metadata: Value,
    /// The project of the event.
    pub project: Option<Uuid>,
}

/// Actor of an event as of that time, and the origin of the request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditActor {
    /// `user`, `api_token`, `system` or `anonymous`.
    pub kind: &'static str,
    /// The person; none for system and anonymous.
    pub id: Option<Uuid>,
    /// Display name.
    pub display_name: String,
    /// Address.
    pub email: String,
    /// Address that the request came from.
    pub ip_address: Option<String>,
    /// User agent of the request.
    pub user_agent: String,
}

impl Store {
    /// Writes entries that belong to no other change; all of them or none.
    pub async fn record(&self, workspace: Uuid, entries: &[AuditEntry]) -> Result<(), StoreError> {
        if entries.is_empty() {
            return Ok(());
        }
        let mut writing = self.engine.writing().await?;
        append(&mut writing, workspace, entries).await?;
        writing.commit().await
    }

    /// Writes an entry unless `most` entries with the same `key` were written in this workspace within the last minute:
    /// a client that repeats a request must not fill the log. The key identifies the repeated event, for example by
    /// the digest of a credential; it is never the credential. Returns whether the entry was written.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written; the next entry with the key is then written.
    pub async fn record_coalesced(
        &self,
        workspace: Uuid,
        key: &str,
        most: u32,
        entry: &AuditEntry,
    ) -> Result<bool, StoreError> {
        let Some(place) = self.repeated.take(workspace, key, most) else { return Ok(false) };
        // When the caller leaves meanwhile, nothing is written either.
        let unwritten = Unwritten { repeated: &self.repeated, place: &place };
        self.record(workspace, std::slice::from_ref(entry)).await?;
        std::mem::forget(unwritten);
        Ok(true)
    }
}

/// An event that is not written yet. When it is dropped, another event gets its place.
struct Unwritten<'e> {
    repeated: &'e Repeated,
    place: &'e Place,
}

impl Drop for Unwritten<'_> {
    fn drop(&mut self) {
        self.repeated.free(self.place);
    }
}

/// Appends to the log of `workspace` and locks its end until the commit. So sequence numbers and instants grow in the
/// order of the commits: a reader that pages by either never misses an entry that is appended meanwhile.
pub(super) async fn append(
    writing: &mut Session,
    workspace: Uuid,
    entries: &[AuditEntry],
) -> Result<(), StoreError> {
    if entries.is_empty() {
        return Ok(());
    }
    let count = i64::try_from(entries.len()).unwrap_or(i64::MAX);
    let text = "INSERT INTO audit_end (workspace_id, sequence_number, created_at) VALUES ($1, $2, $3 + $2 - 1) \
                ON CONFLICT (workspace_id) DO UPDATE SET sequence_number = audit_end.sequence_number + $2, \
                created_at = CASE WHEN audit_end.created_at >= $3 AND audit_end.created_at < $3 + $4 \
                THEN audit_end.created_at + $2 ELSE $3 + $2 - 1 END RETURNING sequence_number, created_at";
    let row = query(text, &[&workspace, &count, &now_micros(), &CLOCKS_APART]).fetch_one(&mut *writing).await?;
    let (last, ended): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    let places = (last - count + 1..).zip(ended - count + 1..);
    for (entry, (sequence, at)) in entries.iter().zip(places) {
        let AuditActor { display_name, email, .. } = &entry.actor;
        let searched = [entry.event_name, display_name, email, &entry.target_display_name];
        let row: NewRow = &[
            ("id", &Uuid::new_v4().to_string()),
            ("event_id", &Uuid::new_v4().to_string()),
            ("workspace_id", &workspace),
            ("sequence_number", &sequence),
            ("event_name", &entry.event_name),
            ("category", &entry.category),
            ("outcome", &(if entry.success { "success" } else { "failure" })),
            ("source", &entry.source),
            ("actor_type", &entry.actor.kind),
            ("actor_id", &entry.actor.id),
            ("actor_display_name", &entry.actor.display_name),
            ("actor_email", &entry.actor.email),
            ("target_type", &entry.target_type),
            ("target_id", &entry.target_id),
            ("target_display_name", &entry.target_display_name),
            ("old_value", &entry.old_value),
            ("new_value", &entry.new_value),
            ("reason", &entry.reason),
            ("metadata", &entry.metadata),
            ("ip_address", &entry.actor.ip_address),
            ("user_agent", &entry.actor.user_agent),
            ("project_id", &entry.project),
            ("search_text", &search_text(searched)),
            ("created_at", &at),
        ];
        writing.run(insert("audit_log", row)).await?;
    }
    Ok(())
}

/// Separator between the texts of one entry, so that no search matches across two texts.
pub(super) const BETWEEN: char = '\u{1f}';

/// Builds the text that searches of an entry look at; the last of `texts` is the name of the entry's target.
fn search_text(texts: [&str; 4]) -> String {
    let folded = texts.map(folded);
    folded.join(BETWEEN.encode_utf8(&mut [0; 4]))
}

/// Returns the text without letter case. It folds letter by letter, because the position in a word must not matter
/// (Greek final sigma). It folds through capitals, because some letters are equal only there (`ß`, `SS`; `ſ`, `S`), and
/// before that to small letters, because the capital `ẞ` stays as it is among capitals.
pub(super) fn folded(text: &str) -> String {
    let capitals = text.chars().flat_map(char::to_lowercase).flat_map(char::to_uppercase);
    let small = capitals.flat_map(char::to_lowercase);
    small.map(|c| if c == BETWEEN { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letter_case_does_not_matter_in_any_script() {
        for (one, other) in [
            ("ÄRGER", "ärger"),
            ("STRASSE", "straße"),
            ("GROẞ", "groß"),
            ("ЖУК", "жук"),
            ("ΟΔΟΣ", "οδος"),
            ("ΟΔΟΣ", "οδοσ"),
            ("Ǆ", "ǆ"),
            ("K", "k"),
        ] {
            assert_eq!(folded(one), folded(other));
        }
        assert_ne!(folded("a"), folded("ä"));
    }

    #[test]
    fn folding_gives_the_same_result_for_lower_case_text() {
        for text in ["ΟΔΟΣ", "İzmir", "Straße", "ÅSE", "ﬁn"] {
            assert_eq!(folded(&text.to_lowercase()), folded(text));
        }
    }

    #[test]
    fn nothing_is_found_across_two_texts() {
        let text = search_text(["a.b", "x\u{1f}y", "", "z"]);
        assert!(text.contains(&folded("X\u{1f}Y")) && !text.contains(&folded("y\u{1f}")));
        assert_eq!(text, "a.b\u{1f}x y\u{1f}\u{1f}z");
    }
}
