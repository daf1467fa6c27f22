//! The audit log of a workspace. The query is read as for every list, and the store answers it, because the log has
//! far more entries than fit into memory. Entries may be large, so a page is read, redacted and written as heavy work.
//! The retrieve shares a part of this code. May use: what `run` may use.

use crate::access::{VisibleProjects, WorkspaceRole};
use crate::heavy::Input;
use crate::plan::Resource;
use crate::refusal::Refusal;
use crate::run::Job;
use crate::store::{AuditColumn, AuditFilter, AuditOrder, AuditPage, AuditQuery, AuditRecord, AuditStart};
use crate::v2::Reply;
use crate::v2::cursor::Cursor;
use crate::v2::page;
use crate::v2::query::{Condition, ListCall, PageCall, Test};
use crate::v2::record::Cell;
use std::sync::Arc;
use uuid::Uuid;

pub(super) async fn run(job: &Job) -> Result<Reply, Refusal> {
    let workspace = require_audit_reader(job).await?;
    let list = job.list_call()?;
    let mut query = query_of(job.resource(), &list)?;
    if query.search.is_some()
        || query.filters.iter().any(|filter| matches!(filter, AuditFilter::Is(AuditColumn::TargetId, _)))
    {
        // A search, or a filter by target, must not find entries that the reader may not see.
        query.visible = Some(visible(job).await?.iter().collect());
    }
    let found = job.runner.store.audit_page(workspace, &query).await?;
    let (size, heavy, ctx) = (found.size(), &job.runner.heavy, &job.call.ctx);
    let read = move || found.read().map(|page| (page.rows.iter().any(AuditRecord::names_projects), page));
    let (names_projects, page) = heavy.run(Input::Own, size, ctx, read).await??;
    let visible = visible_if(job, names_projects).await?;
    let answer = move || written(page, visible.as_deref(), &list.page);
    Ok(Reply::json(200, heavy.run(Input::Own, size, ctx, answer).await??))
}

/// Returns the answer, with only the data that the reader may see.
fn written(mut found: AuditPage, visible: Option<&VisibleProjects>, asked: &PageCall) -> Result<Vec<u8>, Refusal> {
    leave_out_hidden(visible, &mut found.rows)?;
    let written: Vec<Vec<u8>> = found.rows.iter().map(json).collect::<Result<_, _>>()?;
    let size = written.iter().map(|json| json.len() + 1).sum();
    let data = page::rows(size, written.iter().map(|json| move |out: &mut Vec<u8>| out.extend_from_slice(json)));
    // Without a count, it is only known whether one more entry follows, and the links need nothing else.
    let total = found.total.unwrap_or(asked.offset() + found.rows.len() + usize::from(found.more));
    let next = found.rows.last().filter(|_| found.more).map(token);
    Ok(page::envelope(data, asked, total, next.as_ref()))
}

fn query_of(resource: &Resource, list: &ListCall) -> Result<AuditQuery, Refusal> {
    let filters = list.conditions.iter().map(|condition| filter(resource, condition)).collect::<Result<_, _>>()?;
    let (start, per_page, count) = match &list.page {
        PageCall::Offset { offset, per_page, count } => (AuditStart::Offset(*offset), *per_page, *count),
        PageCall::Cursor { after: None, per_page, .. } => (AuditStart::Offset(0), *per_page, false),
        PageCall::Cursor { after: Some(cursor), per_page, .. } => (position(cursor)?, *per_page, false),
    };
    let order = if list.order.field == "id" { AuditOrder::Id } else { AuditOrder::CreatedAt };
    Ok(AuditQuery {
        filters,
        search: list.search.as_ref().map(|search| search.needle.clone()),
        order,
        descending: list.order.descending,
        start,
        per_page,
        count,
        visible: None,
    })
}

fn filter(resource: &Resource, condition: &Condition) -> Result<AuditFilter, Refusal> {
    let name = resource.fields[resource.cells[condition.cell]].name.as_str();
    match (name, &condition.test) {
        ("created_at", Test::AtLeast(Cell::Instant(at))) => Ok(AuditFilter::From(*at)),
        ("created_at", Test::AtMost(Cell::Instant(at))) => Ok(AuditFilter::Until(*at)),
        (name, Test::AnyOf(cells)) => match (column(name), cells.as_slice()) {
            (Some(column), [Cell::Text(text)]) => Ok(AuditFilter::Is(column, value(column, text))),
            _ => Err(unexpected(name)),
        },
        (name, _) => Err(unexpected(name)),
    }
}

fn unexpected(name: &str) -> Refusal {
    Refusal::internal(format!("the audit log cannot be filtered by {name} in this way"))
}

fn column(name: &str) -> Option<AuditColumn> {
    Some(match name {
        "actor_id" => AuditColumn::ActorId,
        "event_name" => AuditColumn::EventName,
        "category" => AuditColumn::Category,
        "outcome" => AuditColumn::Outcome,
        "target_type" => AuditColumn::TargetType,
        "target_id" => AuditColumn::TargetId,
        "ip_address" => AuditColumn::IpAddress,
        _ => return None,
    })
}

/// Normalises a filter value: ids of people ignore case; ids of targets are free texts.
fn value(column: AuditColumn, text: &str) -> String {
    match column {
        AuditColumn::ActorId => Uuid::try_parse(text).map_or_else(|_| text.to_owned(), |id| id.to_string()),
        _ => text.to_owned(),
    }
}

/// Returns the position of a cursor. Each cursor of this list has both keys, so either order can go on from it (O19).
fn position(cursor: &Cursor) -> Result<AuditStart, Refusal> {
    match cursor.key("created_at") {
        Some(Cell::Instant(at)) => Ok(AuditStart::After(*at, cursor.id)),
        _ => Err(Refusal::field("cursor", "is not a token of this list")),
    }
}

fn token(record: &AuditRecord) -> Cursor {
    Cursor { id: record.id, keys: vec![("created_at".into(), Cell::Instant(record.created_at))] }
}

/// Returns the workspace whose log may be read: v1 has no audit log, so the role alone decides (O13).
pub(super) async fn require_audit_reader(job: &Job) -> Result<Uuid, Refusal> {
    let (access, call) = (&job.runner.access, &job.call);
    let card = access.workspace(&call.caller, job.slug(), &call.ctx).await?;
    if card.role != WorkspaceRole::Admin {
        return Err(Refusal::Forbidden {
            detail: "Only administrators of the workspace may read its audit log.".into(),
        });
    }
    access.workspace_id(&call.caller, job.slug(), &call.ctx).await
}

pub(super) async fn visible(job: &Job) -> Result<Arc<VisibleProjects>, Refusal> {
    let call = &job.call;
    job.runner.access.visible_projects(&call.caller, job.slug(), &call.ctx).await
}

/// Returns the projects that the reader sees, if entries name any project; otherwise v1 is not asked.
pub(super) async fn visible_if(job: &Job, named: bool) -> Result<Option<Arc<VisibleProjects>>, Refusal> {
    if named { visible(job).await.map(Some) } else { Ok(None) }
}

/// Removes data of invisible projects from the entries; `visible` is `None` when no entry names a project.
pub(super) fn leave_out_hidden(
    visible: Option<&VisibleProjects>,
    records: &mut [AuditRecord],
) -> Result<(), Refusal> {
    let Some(visible) = visible else { return Ok(()) };
    for record in records {
        record.leave_out_hidden(&|project| visible.contains(project))?;
    }
    Ok(())
}

/// Writes the read shape of an entry.
pub(super) fn json(record: &AuditRecord) -> Result<Vec<u8>, Refusal> {
    serde_json::to_vec(record).map_err(Refusal::internal)
}
