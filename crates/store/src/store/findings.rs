//! Checks of a store for faults.
//!
//! May use: this folder.

use super::definitions;
use super::engine::Kind;
use super::error::StoreError;
use super::rows::{all, query};
use super::service::Store;
use uuid::Uuid;

impl Store {
    /// Checks the store and returns a message for each fault; empty for a sound store.
    pub async fn findings(&self) -> Result<Vec<String>, StoreError> {
        let mut findings = Vec::new();
        if self.engine.kind() == Kind::Sqlite {
            findings.extend(self.damage().await?);
            let broken = query("SELECT \"table\", COUNT(*) FROM pragma_foreign_key_check GROUP BY 1", &[]);
            let broken: Vec<(String, i64)> =
                all(self.engine.pool(), broken, |cells| Ok((cells.next()?, cells.next()?))).await?;
            findings
                .extend(broken.iter().map(|(table, rows)| format!("table {table}: {rows} rows refer to nothing")));
        }
        let workspaces = query("SELECT id FROM workspace ORDER BY id", &[]);
        let workspaces: Vec<Uuid> = all(self.engine.pool(), workspaces, |cells| cells.next()).await?;
        for workspace in workspaces {
            let mut reading = self.engine.reading().await?;
            match definitions::read(&mut reading, workspace).await {
                Ok(catalogue) => {
                    let faults = catalogue.check().into_iter();
                    findings.extend(faults.map(|fault| format!("workspace {workspace}: {fault}")));
                }
                Err(error) => findings.push(format!("workspace {workspace}: {error}")),
            }
        }
        for (what, text) in FINDINGS {
            let found: Vec<String> = all(self.engine.pool(), query(text, &[]), |cells| cells.next()).await?;
            findings.extend(found.into_iter().map(|one| format!("{what}: {one}")));
        }
        Ok(findings)
    }

    async fn damage(&self) -> Result<Vec<String>, StoreError> {
        let looking = query("PRAGMA integrity_check(100)", &[]);
        let found: Vec<String> = all(self.engine.pool(), looking, |cells| cells.next()).await?;
        let found = found.into_iter().filter(|found| found != "ok");
        Ok(found.map(|found| format!("the file is damaged: {found}")).collect())
    }

    /// Fails for a damaged SQLite file.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] with the faults found, or the reason why the file cannot be read.
    pub async fn sound(&self) -> Result<(), StoreError> {
        match self.damage().await? {
            found if found.is_empty() => Ok(()),
            found => Err(StoreError::Damaged(found.join("; "))),
        }
    }
}

/// Statements that return a text for each fault.
const FINDINGS: [(&str, &str); 5] = [
    (
        "the audit log of a workspace has gaps",
        "SELECT workspace_id FROM audit_log GROUP BY workspace_id \
         HAVING MAX(sequence_number) <> COUNT(*) OR MIN(sequence_number) <> 1",
    ),
    (
        "the audit log of a workspace does not end where its counter says",
        "SELECT workspace_id FROM audit_log GROUP BY workspace_id HAVING MAX(sequence_number) <> COALESCE((SELECT \
         sequence_number FROM audit_end WHERE audit_end.workspace_id = audit_log.workspace_id), 0)",
    ),
    (
        "an older entry of the audit log has a later time",
        "SELECT later.id FROM audit_log AS later JOIN audit_log AS next \
         ON next.workspace_id = later.workspace_id AND next.sequence_number = later.sequence_number + 1 \
         WHERE later.created_at > next.created_at",
    ),
    (
        "a write that is not settled between v1 and the store",
        "SELECT id || ' (' || kind || ' in project ' || project_id || ', ' || state || ')' FROM intent \
         WHERE settled_at IS NULL ORDER BY began_at",
    ),
    (
        "values of a work item without its record",
        "SELECT DISTINCT work_item_id FROM custom_value WHERE work_item_id NOT IN (SELECT id FROM work_item)",
    ),
];
