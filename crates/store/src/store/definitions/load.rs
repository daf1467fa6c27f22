//! Reading the definitions of a workspace.
//!
//! May use: `catalogue`, `v2` (times), this folder.

use super::super::error::StoreError;
use super::super::rows::{Cells, all, query, sql};
use super::super::session::Session;
use super::tables::Definition;
use crate::catalogue::{Attachment, Catalogue, Context, ContextOption, FLAGS, Features};
use crate::v2::time::Micros;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;
use uuid::Uuid;

/// Returns all definitions of the workspace; none when nothing was written for it. Must be called in a transaction, so
/// that all tables are read at one moment.
pub(super) async fn everything(connection: &mut Session, workspace: Uuid) -> Result<Option<Catalogue>, StoreError> {
    let text = "SELECT version, flags, default_level, created_at FROM workspace WHERE id = $1";
    let row = query(text, &[&workspace]).fetch_optional(&mut *connection).await?;
    let Some(row) = row else { return Ok(None) };
    let mut cells = Cells::of(&row);
    let (version, flags) = (cells.next()?, cells.next::<Map<String, Value>>()?);
    let features = Features {
        id: Catalogue::empty(workspace, 0).features.id,
        flags: FLAGS.map(|name| flags.get(name).and_then(Value::as_bool).unwrap_or(false)),
        default_level: cells.next()?,
        created_at: cells.next()?,
    };
    let mut contexts: BTreeMap<Uuid, Context> = definitions(connection, workspace).await?;
    for (context, option) in context_options(connection, workspace).await? {
        if let Some(context) = contexts.get_mut(&context) {
            context.options.push(option);
        }
    }
    let catalogue = Catalogue {
        workspace,
        version,
        features: Arc::new(features),
        types: shared(definitions(connection, workspace).await?),
        properties: shared(definitions(connection, workspace).await?),
        options: shared(definitions(connection, workspace).await?),
        contexts: shared(contexts),
        attachments: attachments(connection, workspace).await?,
        imports: imports(connection, workspace).await?,
    };
    Ok(Some(catalogue))
}

fn shared<T>(records: BTreeMap<Uuid, T>) -> BTreeMap<Uuid, Arc<T>> {
    records.into_iter().map(|(id, record)| (id, Arc::new(record))).collect()
}

async fn definitions<T: Definition>(
    connection: &mut Session,
    workspace: Uuid,
) -> Result<BTreeMap<Uuid, T>, StoreError> {
    let text = format!(
        "SELECT id, {} FROM {} WHERE workspace_id = $1 AND deleted_at IS NULL",
        T::COLUMNS.join(", "),
        T::TABLE
    );
    all(connection, query(sql(text), &[&workspace]), |cells| {
        let id = cells.next()?;
        Ok((id, T::read(id, cells)?))
    })
    .await
}

async fn context_options(
    connection: &mut Session,
    workspace: Uuid,
) -> Result<Vec<(Uuid, ContextOption)>, StoreError> {
    let text = "SELECT context_id, option_id, is_default, sort_order FROM context_option WHERE workspace_id = $1 \
                ORDER BY context_id, sort_order, option_id";
    all(connection, query(text, &[&workspace]), |cells| {
        let context = cells.next()?;
        let option = ContextOption { option: cells.next()?, is_default: cells.next()?, sort_order: cells.next()? };
        Ok((context, option))
    })
    .await
}

async fn attachments(
    connection: &mut Session,
    workspace: Uuid,
) -> Result<BTreeMap<(Uuid, Uuid), Attachment>, StoreError> {
    let text = "SELECT type_id, property_id, sort_order, created_at FROM type_property WHERE workspace_id = $1";
    all(connection, query(text, &[&workspace]), |cells| {
        let key = (cells.next()?, cells.next()?);
        Ok((key, Attachment { sort_order: cells.next()?, created_at: cells.next()? }))
    })
    .await
}

async fn imports(connection: &mut Session, workspace: Uuid) -> Result<BTreeMap<(Uuid, Uuid), Micros>, StoreError> {
    let text = "SELECT project_id, type_id, created_at FROM type_import WHERE workspace_id = $1";
    all(connection, query(text, &[&workspace]), |cells| Ok(((cells.next()?, cells.next()?), cells.next()?))).await
}
