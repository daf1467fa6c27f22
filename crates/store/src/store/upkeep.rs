//! What an operator does with a store: open it apart from a gateway, bring its tables up to date, copy it, look
//! it through, and purge what v1 has not shown for long.
//!
//! May use: `fresh`, `units`, this folder.

use super::asked;
use super::definitions;
use super::engine::{Engine, Kind};
use super::error::StoreError;
use super::items_kept;
use super::lines::{HELD, Turns};
use super::place::{folder_of, opening, private};
use super::repeated::Repeated;
use super::rows::{Cells, all, query, value};
use super::service::Store;
use super::unchanged::Unchanged;
use crate::fresh::Changes;
use crate::units::{micros, now_micros};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// What a sweep removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Swept {
    /// Work items.
    pub work_items: u64,
    /// Elements of their values.
    pub values: u64,
}

impl Store {
    /// Opens the store whatever deployment it belongs to, and leaves its tables as they are.
    ///
    /// # Errors
    /// [`StoreError`]: unknown kind or no access.
    pub async fn open_for_upkeep(url: &str) -> Result<Self, StoreError> {
        let changes = Changes::default();
        let engine = Engine::open(url, &changes).await.map_err(|fault| opening(fault, url))?;
        Ok(Self {
            engine,
            memory: definitions::memory::Memory::new(),
            versions: asked::none(&changes),
            epochs: asked::none(&changes),
            counters: Unchanged::default(),
            turns: Turns::new(HELD),
            items: items_kept::none(&changes),
            changes,
            running: Arc::default(),
            repeated: Repeated::default(),
        })
    }

    /// Brings the tables up to what this version needs; returns the names of the steps that were taken.
    ///
    /// # Errors
    /// [`StoreError::Schema`] when a newer version has been here.
    pub async fn migrate(&self) -> Result<Vec<String>, StoreError> {
        let before = self.engine.tables_version().await?;
        self.engine.migrate().await?;
        Ok(self.engine.steps_after(before))
    }

    /// Names of the steps that [`Store::migrate`] would take.
    pub async fn steps_to_take(&self) -> Result<Vec<String>, StoreError> {
        Ok(self.engine.steps_after(self.engine.tables_version().await?))
    }

    /// Makes sure that this version reads the tables rightly.
    ///
    /// # Errors
    /// [`StoreError::Schema`] when a newer version has changed the meaning of what is there.
    pub async fn can_be_read(&self) -> Result<(), StoreError> {
        match self.engine.tables_version().await? {
            version if version > self.engine.newest_step() => self.engine.may_read_newer_tables(version).await,
            _ => Ok(()),
        }
    }

    /// Writes a copy of a SQLite store to a new file, which only its owner can read, while the store is in use.
    ///
    /// # Errors
    /// [`StoreError::Occupied`] when there is such a file, [`StoreError::NoCopy`] when it cannot be written.
    pub async fn copy_to(&self, file: &Path) -> Result<(), StoreError> {
        let no_copy = |cause: String| StoreError::NoCopy { file: file.display().to_string(), cause };
        let fault = |cause: std::io::Error| no_copy(cause.to_string());
        private().create_new(true).open(file).map_err(|cause| match cause.kind() {
            ErrorKind::AlreadyExists => StoreError::Occupied(file.display().to_string()),
            _ => fault(cause),
        })?;
        let copied = query("VACUUM INTO $1", &[&file.display().to_string()])
            .execute(self.engine.pool())
            .await
            .map_err(|cause| match StoreError::from(cause) {
                StoreError::Unavailable(cause) => no_copy(cause),
                other => other,
            })
            .and_then(|_| lasting(file).map_err(fault));
        if copied.is_err() {
            // An unfinished copy must not pass for one.
            let _ = std::fs::remove_file(file);
        }
        copied
    }

    /// Looks the store through and says in words what is wrong; nothing for a sound one.
    pub async fn findings(&self) -> Result<Vec<String>, StoreError> {
        let mut findings = Vec::new();
        if self.engine.kind() == Kind::Sqlite {
            findings.extend(self.damage().await?);
            let broken = "SELECT \"table\", COUNT(*) FROM pragma_foreign_key_check GROUP BY 1";
            for row in sqlx::query(broken).fetch_all(self.engine.pool()).await? {
                let mut cells = Cells::of(&row);
                let (table, rows): (String, i64) = (cells.next()?, cells.next()?);
                findings.push(format!("table {table}: {rows} rows refer to nothing"));
            }
        }
        for workspace in self.workspaces().await? {
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

    /// Refuses a damaged SQLite file.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] with what was found, or why it cannot be read.
    pub async fn sound(&self) -> Result<(), StoreError> {
        match self.damage().await? {
            found if found.is_empty() => Ok(()),
            found => Err(StoreError::Damaged(found.join("; "))),
        }
    }

    async fn workspaces(&self) -> Result<Vec<Uuid>, StoreError> {
        all(self.engine.pool(), query("SELECT id FROM workspace ORDER BY id", &[]), |cells| cells.next()).await
    }

    /// How many work items v1 does not show at present; their values are kept.
    pub async fn missing_items(&self) -> Result<i64, StoreError> {
        let counting = query("SELECT COUNT(*) FROM work_item WHERE missing_since IS NOT NULL", &[]);
        Ok(value(self.engine.pool(), counting).await?.unwrap_or_default())
    }

    /// Purges work items that v1 has not shown for longer than `age`, and their values.
    pub async fn sweep(&self, age: Duration) -> Result<Swept, StoreError> {
        let before = now_micros() - micros(age);
        let mut writing = self.engine.writing().await?;
        let text = "DELETE FROM custom_value WHERE work_item_id IN (SELECT id FROM work_item \
                    WHERE missing_since < $1)";
        let values = writing.run(query(text, &[&before])).await?;
        let text = "DELETE FROM work_item WHERE missing_since < $1";
        let work_items = writing.run(query(text, &[&before])).await?;
        writing.commit().await?;
        Ok(Swept { work_items, values })
    }
}

/// Statements that answer a text for each thing that is wrong.
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

/// Waits until the file and its name are on the disk.
fn lasting(file: &Path) -> std::io::Result<()> {
    std::fs::OpenOptions::new().write(true).open(file)?.sync_all()?;
    std::fs::File::open(folder_of(file))?.sync_all()
}
