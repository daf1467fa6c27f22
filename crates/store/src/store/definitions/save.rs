//! Saving the changes of an edit: the difference between two catalogues, in an order that violates no unique index.
//!
//! Records that are deleted, or give up a place that only one record may have, are saved before the others. Links are
//! removed before the records they join are saved, and added after them. May use: `catalogue`, this folder.

use super::super::engine::Kind;
use super::super::error::StoreError;
use super::super::rows::{NewRow, at_once, cells, insert, placeholder_rows, query, sql, with_cells};
use super::super::session::Session;
use super::tables::Definition;
use crate::catalogue::{Catalogue, Context, ContextOption, FLAGS};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use uuid::Uuid;

/// Changes the stored definitions from `before` to `after`.
pub(super) async fn difference(
    connection: &mut Session,
    kind: Kind,
    before: &Catalogue,
    after: &Catalogue,
    now: i64,
) -> Result<(), StoreError> {
    let workspace = after.workspace;
    if before.features != after.features {
        features(connection, after).await?;
    }
    links_gone(connection, kind, before, after).await?;
    let mut saving = Saving { connection, kind, workspace, now };
    saving.records(&before.types, &after.types).await?;
    saving.records(&before.properties, &after.properties).await?;
    saving.records(&before.options, &after.options).await?;
    saving.records(&before.contexts, &after.contexts).await?;
    links_new(saving.connection, before, after).await
}

async fn features(connection: &mut Session, after: &Catalogue) -> Result<(), StoreError> {
    let flags = FLAGS.iter().zip(after.features.flags).map(|(name, on)| ((*name).to_owned(), Value::Bool(on)));
    let flags: Map<String, Value> = flags.collect();
    let text = "UPDATE workspace SET flags = $2, default_level = $3 WHERE id = $1";
    connection.run(query(text, &[&after.workspace, &flags, &after.features.default_level])).await.map(drop)
}

struct Saving<'c> {
    connection: &'c mut Session,
    kind: Kind,
    workspace: Uuid,
    now: i64,
}

impl Saving<'_> {
    async fn records<T: Definition>(
        &mut self,
        before: &BTreeMap<Uuid, Arc<T>>,
        after: &BTreeMap<Uuid, Arc<T>>,
    ) -> Result<(), StoreError> {
        let gone: Vec<Uuid> = before.keys().filter(|id| !after.contains_key(id)).copied().collect();
        if !gone.is_empty() {
            self.delete::<T>(&gone).await?;
        }
        let changed = after.iter().filter_map(|(id, new)| Some((*id, before.get(id)?, new)));
        let mut changed: Vec<_> = changed.filter(|(_, old, new)| !Arc::ptr_eq(old, new) && old != new).collect();
        changed.sort_by_key(|(_, _, new)| new.takes_a_place());
        for (id, _, new) in changed {
            self.update(id, &**new).await?;
        }
        let new: Vec<(&Uuid, &Arc<T>)> = after.iter().filter(|(id, _)| !before.contains_key(id)).collect();
        for some in at_once(&new) {
            self.insert(some).await?;
        }
        Ok(())
    }

    async fn delete<T: Definition>(&mut self, ids: &[Uuid]) -> Result<(), StoreError> {
        let text = format!(
            "UPDATE {} SET deleted_at = $1 WHERE deleted_at IS NULL AND workspace_id = $2 AND id IN {}",
            T::TABLE,
            self.kind.elements("$3")
        );
        self.connection.run(query(sql(text), &[&self.now, &self.workspace, &ids])).await.map(drop)
    }

    async fn update<T: Definition>(&mut self, id: Uuid, record: &T) -> Result<(), StoreError> {
        let set: Vec<_> = T::COLUMNS.iter().zip(3..).map(|(column, at)| format!("{column} = ${at}")).collect();
        let text = format!("UPDATE {} SET {} WHERE id = $1 AND workspace_id = $2", T::TABLE, set.join(", "));
        let cells = cells([&id, &self.workspace]).into_iter().chain(record.cells());
        self.connection.run(with_cells(sql(text), cells)).await.map(drop)
    }

    async fn insert<T: Definition>(&mut self, records: &[(&Uuid, &Arc<T>)]) -> Result<(), StoreError> {
        let rows = placeholder_rows(records.len(), T::COLUMNS.len() + 2);
        let text = format!("INSERT INTO {} (id, workspace_id, {}) VALUES {rows}", T::TABLE, T::COLUMNS.join(", "));
        let cells =
            records.iter().flat_map(|(id, record)| cells([id, &self.workspace]).into_iter().chain(record.cells()));
        self.connection.run(with_cells(sql(text), cells)).await.map(drop)
    }
}

/// Removes links that are gone or have other contents; [`links_new`] writes the changed ones again.
async fn links_gone(
    connection: &mut Session,
    kind: Kind,
    before: &Catalogue,
    after: &Catalogue,
) -> Result<(), StoreError> {
    for (key, _) in before.attachments.iter().filter(|(key, link)| after.attachments.get(key) != Some(link)) {
        let text = "DELETE FROM type_property WHERE type_id = $1 AND property_id = $2";
        connection.run(query(text, &[&key.0, &key.1])).await?;
    }
    for (key, _) in before.imports.iter().filter(|(key, link)| after.imports.get(key) != Some(link)) {
        let text = "DELETE FROM type_import WHERE project_id = $1 AND type_id = $2";
        connection.run(query(text, &[&key.0, &key.1])).await?;
    }
    for (id, old) in before.contexts.iter().filter(|(id, old)| other_options(old, after.contexts.get(id))) {
        let gone: Vec<Uuid> = not_in(&old.options, after.contexts.get(id)).map(|link| link.option).collect();
        let text =
            format!("DELETE FROM context_option WHERE context_id = $1 AND option_id IN {}", kind.elements("$2"));
        connection.run(query(sql(text), &[&id, &gone])).await?;
    }
    Ok(())
}

fn other_options(context: &Arc<Context>, counterpart: Option<&Arc<Context>>) -> bool {
    counterpart
        .is_none_or(|counterpart| !Arc::ptr_eq(context, counterpart) && context.options != counterpart.options)
}

/// Returns the `links` that the counterpart of their context does not have, or has with other contents.
fn not_in<'l>(
    links: &'l [ContextOption],
    counterpart: Option<&'l Arc<Context>>,
) -> impl Iterator<Item = &'l ContextOption> {
    let others = counterpart.map(|context| context.options.as_slice()).unwrap_or_default();
    let others: HashMap<Uuid, &ContextOption> = others.iter().map(|link| (link.option, link)).collect();
    links.iter().filter(move |link| others.get(&link.option) != Some(link))
}

async fn links_new(connection: &mut Session, before: &Catalogue, after: &Catalogue) -> Result<(), StoreError> {
    for ((type_id, property), link) in
        after.attachments.iter().filter(|(key, link)| before.attachments.get(key) != Some(link))
    {
        let row: NewRow = &[
            ("type_id", type_id),
            ("property_id", property),
            ("workspace_id", &after.workspace),
            ("sort_order", &link.sort_order),
            ("created_at", &link.created_at),
        ];
        connection.run(insert("type_property", row)).await?;
    }
    for ((project, type_id), since) in
        after.imports.iter().filter(|(key, since)| before.imports.get(key) != Some(since))
    {
        let row: NewRow = &[
            ("project_id", project),
            ("type_id", type_id),
            ("workspace_id", &after.workspace),
            ("created_at", since),
        ];
        connection.run(insert("type_import", row)).await?;
    }
    for (id, context) in after.contexts.iter().filter(|(id, new)| other_options(new, before.contexts.get(id))) {
        let new: Vec<&ContextOption> = not_in(&context.options, before.contexts.get(id)).collect();
        for options in at_once(&new) {
            let rows = placeholder_rows(options.len(), 5);
            let text = format!(
                "INSERT INTO context_option (context_id, option_id, workspace_id, is_default, sort_order) VALUES {rows}"
            );
            let cells = options.iter().flat_map(|option| {
                cells([id, &option.option, &after.workspace, &option.is_default, &option.sort_order])
            });
            connection.run(with_cells(sql(text), cells)).await?;
        }
    }
    Ok(())
}
