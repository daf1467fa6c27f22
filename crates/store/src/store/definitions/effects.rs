//! Effects of an edit on the values recorded on work items, carried out in its transaction.
//!
//! May use: `catalogue`, `refusal`, this folder.

use super::super::engine::{Kind, Writing};
use super::super::error::StoreError;
use super::super::items::{bump, uses_of_type};
use super::super::rows::{Cells, Parameter, all, query, sql};
use crate::catalogue::{Catalogue, Effect, PropertyType, TYPE_IN_USE};
use crate::refusal::Refusal;
use std::collections::BTreeSet;
use uuid::Uuid;

/// Reason why an edit was not made.
pub(super) enum Failure {
    Store(StoreError),
    Refused(Refusal),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Carries out the effects of an edit from `before` to `after`, in their order, and raises the counter of every project
/// whose items lost values.
pub(super) async fn carry_out(
    writing: &mut Writing,
    kind: Kind,
    effects: &[Effect],
    before: &Catalogue,
    after: &Catalogue,
) -> Result<(), Failure> {
    let mut values = Values { writing, kind, touched: BTreeSet::new() };
    for effect in effects {
        match effect {
            Effect::TypeMustBeUnused(id) => {
                if uses_of_type(values.writing, *id).await? > 0 {
                    return Err(Refusal::Conflict { detail: TYPE_IN_USE.into() }.into());
                }
            }
            Effect::PropertyGone(property) => values.remove(*property, "1 = 1", &[]).await?,
            Effect::OptionsGone(property, options) => {
                let these = format!("option_id IN {}", kind.elements("$2"));
                values.remove(*property, &these, &[options]).await?;
                values.close_gaps(*property).await?;
            }
            Effect::Detached { type_id, property } => {
                let these = "work_item_id IN (SELECT id FROM work_item WHERE type_id = $2)";
                values.remove(*property, these, &[type_id]).await?;
            }
            Effect::Rescoped(property) => values.rescope(*property, before, after).await?,
        }
    }
    // Always in the same order, so that writers of two workspaces never wait for each other.
    for project in std::mem::take(&mut values.touched) {
        bump(values.writing, project).await?;
    }
    Ok(())
}

struct Values<'w> {
    writing: &'w mut Writing,
    kind: Kind,
    /// Projects whose items lost values.
    touched: BTreeSet<Uuid>,
}

impl Values<'_> {
    /// Removes the property's values that satisfy the condition `these`, whose parameters start at `$2`.
    async fn remove(
        &mut self,
        property: Uuid,
        these: &str,
        parameters: &[&dyn Parameter],
    ) -> Result<(), StoreError> {
        let projects = format!(
            "SELECT DISTINCT project_id FROM work_item WHERE id IN \
             (SELECT work_item_id FROM custom_value WHERE property_id = $1 AND {these})"
        );
        let parameters = [&[&property as &dyn Parameter], parameters].concat();
        let reading = query(sql(projects), &parameters);
        let projects: Vec<Uuid> = all(&mut **self.writing, reading, |cells| cells.next()).await?;
        if projects.is_empty() {
            return Ok(());
        }
        self.touched.extend(projects);
        let delete = format!("DELETE FROM custom_value WHERE property_id = $1 AND {these}");
        self.writing.run(query(sql(delete), &parameters)).await.map(drop)
    }

    /// Numbers the elements of each item's value from 0 again. Rows of a value with a gap first get positions below
    /// zero, because the same key must not exist twice even for a moment.
    async fn close_gaps(&mut self, property: Uuid) -> Result<(), StoreError> {
        for text in [
            "UPDATE custom_value SET position = -1 - position WHERE property_id = $1 AND work_item_id IN \
             (SELECT work_item_id FROM custom_value WHERE property_id = $1 GROUP BY work_item_id \
             HAVING MAX(position) >= COUNT(*))",
            "INSERT INTO custom_value (work_item_id, property_id, position, value, option_id) \
             SELECT work_item_id, property_id, \
             ROW_NUMBER() OVER (PARTITION BY work_item_id ORDER BY position DESC) - 1, value, option_id \
             FROM custom_value WHERE property_id = $1 AND position < 0",
            "DELETE FROM custom_value WHERE property_id = $1 AND position < 0",
        ] {
            self.writing.run(query(text, &[&property])).await?;
        }
        Ok(())
    }

    /// Removes the values that are not offered any more. Where the edit changed nothing they stay, even values on an
    /// item that only has another type at present (O38).
    async fn rescope(&mut self, property: Uuid, before: &Catalogue, after: &Catalogue) -> Result<(), StoreError> {
        let text = "SELECT DISTINCT project_id, type_id FROM work_item WHERE id IN (SELECT work_item_id \
                    FROM custom_value WHERE property_id = $1)";
        let rows = query(text, &[&property]).fetch_all(&mut **self.writing).await?;
        let has_options =
            after.properties.get(&property).is_some_and(|found| found.property_type == PropertyType::Option);
        for row in &rows {
            let mut cells = Cells::of(row);
            let (project, type_id): (Uuid, Option<Uuid>) = (cells.next()?, cells.next()?);
            let items =
                "work_item_id IN (SELECT id FROM work_item WHERE project_id = $2 AND COALESCE(type_id, '') = $3)";
            let of_type = type_id.map(|id| id.to_string()).unwrap_or_default();
            // Only contexts for all types cover an item without a type.
            let offered = |by: &Catalogue| by.offers(property, project, type_id.unwrap_or_default());
            let now = offered(after);
            if now == offered(before) {
                continue;
            }
            match now {
                None => self.remove(property, items, &[&project, &of_type]).await?,
                Some(options) if has_options => {
                    // A value without an option is of an earlier kind of the property and stays, unreadable (O67).
                    let gone = format!("option_id IS NOT NULL AND option_id NOT IN {}", self.kind.elements("$4"));
                    let these = format!("{items} AND {gone}");
                    self.remove(property, &these, &[&project, &of_type, &Vec::from_iter(options)]).await?;
                }
                Some(_) => {}
            }
        }
        self.close_gaps(property).await
    }
}
