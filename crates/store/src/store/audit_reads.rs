//! Reading the audit log: the database filters, orders and pages, so that at most one page is loaded.
//!
//! May use: this folder, `v2` (times).

use super::audit::{BETWEEN, folded};
use super::audit_record::{AuditRecord, size};
use super::engine::{Engine, Kind};
use super::error::StoreError;
use super::rows::{Cell, Cells, Parameter, all, query, sql, value, with_cells};
use super::service::Store;
use super::session::Session;
use crate::v2::time::Micros;
use sqlx::any::AnyRow;
use std::sync::Arc;
use strum::IntoStaticStr;
use uuid::Uuid;

/// A column compared for equality.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum AuditColumn {
    /// The person.
    ActorId,
    /// The event.
    EventName,
    /// Family of the event.
    Category,
    /// Outcome: success or failure.
    Outcome,
    /// Kind of target.
    TargetType,
    /// Id of the target.
    TargetId,
    /// Address that the request came from.
    IpAddress,
}

/// A condition on entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditFilter {
    /// The column is equal to the text.
    Is(AuditColumn, String),
    /// Recorded at this time or later.
    From(Micros),
    /// Recorded at this time or earlier.
    Until(Micros),
}

/// Order of a list; the id breaks ties, in the same direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditOrder {
    /// By the time of recording.
    CreatedAt,
    /// By the id alone.
    Id,
}

/// Beginning of a page within the ordered list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditStart {
    /// After this number of rows.
    Offset(usize),
    /// After a position: the instant and the id of a row.
    After(Micros, Uuid),
}

/// A request for one page of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditQuery {
    /// Conditions; all must hold.
    pub filters: Vec<AuditFilter>,
    /// Text that one of the names must contain, ignoring letter case.
    pub search: Option<String>,
    /// Order.
    pub order: AuditOrder,
    /// Whether the order is descending.
    pub descending: bool,
    /// Beginning of the page.
    pub start: AuditStart,
    /// Maximum number of rows.
    pub per_page: usize,
    /// Whether to count all rows that satisfy the filters.
    pub count: bool,
    /// Projects whose entries may be filtered and searched by their target. Entries of other projects match only by the
    /// members that [`AuditRecord::leave_out_hidden`] leaves. `None`: all projects.
    pub visible: Option<Arc<[Uuid]>>,
}

/// Result of a query, with rows not yet parsed.
pub struct AuditRows {
    rows: Vec<AnyRow>,
    more: bool,
    total: Option<usize>,
}

impl AuditRows {
    /// Returns the number of bytes that must be parsed as JSON.
    pub fn size(&self) -> usize {
        self.rows.iter().map(size).sum()
    }

    /// Parses the entries. The time it takes grows with [`AuditRows::size`].
    pub fn read(self) -> Result<AuditPage, StoreError> {
        let rows: Result<Vec<_>, _> = self.rows.iter().map(|row| AuditRecord::read(&mut Cells::of(row))).collect();
        Ok(AuditPage { rows: rows?, more: self.more, total: self.total })
    }
}

/// Result of a query.
#[derive(Debug, Clone)]
pub struct AuditPage {
    /// The rows.
    pub rows: Vec<AuditRecord>,
    /// Whether more rows follow.
    pub more: bool,
    /// Number of rows of the whole list, when asked for.
    pub total: Option<usize>,
}

impl Store {
    /// Returns a page of a workspace's log.
    pub async fn audit_page(&self, workspace: Uuid, query: &AuditQuery) -> Result<AuditRows, StoreError> {
        // One transaction, so that page and count see the same state of the store.
        let mut reading = self.engine.reading().await?;
        let (text, values) = page_statement(self.engine.kind(), workspace, query);
        let mut rows = with_cells(sql(text), values).fetch_all(&mut reading).await?;
        let more = rows.len() > query.per_page;
        rows.truncate(query.per_page);
        let total = match query.start {
            _ if !query.count => None,
            AuditStart::Offset(offset) if !more && (offset == 0 || !rows.is_empty()) => Some(offset + rows.len()),
            _ => Some(counted(&self.engine, &mut reading, workspace, query).await?),
        };
        Ok(AuditRows { rows, more, total })
    }

    /// Returns one entry of a workspace's log by its record id.
    pub async fn audit_record(&self, workspace: Uuid, id: Uuid) -> Result<Option<AuditRecord>, StoreError> {
        let text = format!("SELECT {} FROM audit_log WHERE workspace_id = $1 AND id = $2", AuditRecord::COLUMNS);
        let reading = query(sql(text), &[&workspace, &id]);
        Ok(all::<_, Vec<_>>(self.engine.pool(), reading, AuditRecord::read).await?.pop())
    }
}

async fn counted(
    engine: &Engine,
    reading: &mut Session,
    workspace: Uuid,
    query: &AuditQuery,
) -> Result<usize, StoreError> {
    let mut values = Vec::new();
    let conditions = conditions(engine.kind(), workspace, query, &mut values);
    let text = count_text(engine.kind(), query, &conditions);
    let count: Option<i64> = value(reading, with_cells(sql(text), values)).await?;
    Ok(count.and_then(|count| usize::try_from(count).ok()).unwrap_or_default())
}

fn count_text(kind: Kind, query: &AuditQuery, conditions: &str) -> String {
    format!("SELECT COUNT(*) FROM audit_log{} WHERE {conditions}", by_filters(kind, query))
}

/// Adds a parameter to `values` and returns its placeholder in the statement.
fn named(parameter: &dyn Parameter, values: &mut Vec<Cell>) -> String {
    values.push(parameter.cell());
    format!("${}", values.len())
}

/// Builds the statement for a page. It reads one row more than the page, to find out whether more rows follow.
fn page_statement(kind: Kind, workspace: Uuid, query: &AuditQuery) -> (String, Vec<Cell>) {
    let query = &with_one_bound(query);
    let mut values = Vec::new();
    let mut conditions = conditions(kind, workspace, query, &mut values);
    let (beyond, way) = if query.descending { ('<', "DESC") } else { ('>', "ASC") };
    let mut skipped = String::new();
    match query.start {
        AuditStart::Offset(0) => {}
        AuditStart::Offset(offset) => {
            skipped = format!(" OFFSET {}", named(&number(offset), &mut values));
        }
        AuditStart::After(at, id) => {
            let at = (query.order == AuditOrder::CreatedAt).then(|| named(&at, &mut values));
            let id = named(&id, &mut values);
            conditions.push_str(&match at {
                Some(at) => format!(" AND (created_at, id) {beyond} ({at}, {id})"),
                None => format!(" AND id {beyond} {id}"),
            });
        }
    }
    let order = match query.order {
        AuditOrder::CreatedAt => format!("created_at {way}, id {way}"),
        AuditOrder::Id => format!("id {way}"),
    };
    let limit = named(&number(query.per_page.saturating_add(1)), &mut values);
    let text = format!(
        "SELECT {} FROM audit_log{} WHERE {conditions} ORDER BY {order} LIMIT {limit}{skipped}",
        AuditRecord::COLUMNS,
        hint(kind, query)
    );
    (text, values)
}

/// Keeps only the narrower of two bounds: a page after a position has a bound at its beginning, and a filter may set
/// another one. With both, the database may begin at the wider one and read all rows between them, on every page.
fn with_one_bound(query: &AuditQuery) -> AuditQuery {
    let mut query = query.clone();
    let (AuditOrder::CreatedAt, AuditStart::After(at, _)) = (query.order, query.start) else { return query };
    let descending = query.descending;
    let beyond = |filter: &AuditFilter| match filter {
        AuditFilter::From(from) if !descending => Some(*from > at),
        AuditFilter::Until(until) if descending => Some(*until < at),
        _ => None,
    };
    if query.filters.iter().any(|filter| beyond(filter) == Some(true)) {
        query.start = AuditStart::Offset(0);
    } else {
        query.filters.retain(|filter| beyond(filter).is_none());
    }
    query
}

/// Returns the index for finding a page.
fn hint(kind: Kind, query: &AuditQuery) -> &'static str {
    if query.order == AuditOrder::Id { "" } else { by_filters(kind, query) }
}

/// Returns the index that the filters need. SQLite has no statistics of a table unless it is asked to collect them.
/// Without them it takes a time bound for more selective than a person, so it is given the index. PostgreSQL has them.
fn by_filters(kind: Kind, query: &AuditQuery) -> &'static str {
    if kind == Kind::Postgres {
        return "";
    }
    let indexed = query.filters.iter().find_map(|filter| match filter {
        AuditFilter::Is(AuditColumn::ActorId, _) => Some(" INDEXED BY audit_log_by_actor"),
        AuditFilter::Is(AuditColumn::TargetId, _) => Some(" INDEXED BY audit_log_by_target"),
        AuditFilter::Is(AuditColumn::EventName, _) => Some(" INDEXED BY audit_log_by_event_name"),
        _ => None,
    });
    indexed.unwrap_or(" INDEXED BY audit_log_by_time")
}

fn number(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn conditions(kind: Kind, workspace: Uuid, query: &AuditQuery, values: &mut Vec<Cell>) -> String {
    let mut all = vec![format!("workspace_id = {}", named(&workspace, values))];
    let shown = query.visible.as_ref().map(|visible| {
        let visible = named(&&**visible, values);
        format!("(project_id IS NULL OR project_id IN {})", kind.elements(&visible))
    });
    for filter in &query.filters {
        if matches!(filter, AuditFilter::Is(AuditColumn::TargetId, _)) {
            all.extend(shown.clone());
        }
        all.push(match filter {
            AuditFilter::Is(column, text) => equals(*column, text, values),
            AuditFilter::From(at) => format!("created_at >= {}", named(at, values)),
            AuditFilter::Until(at) => format!("created_at <= {}", named(at, values)),
        });
    }
    all.extend(query.search.as_deref().map(|wanted| {
        let wanted = folded(wanted);
        if !is_storable(&wanted) {
            return NOTHING.into();
        }
        let wanted = named(&wanted, values);
        match &shown {
            Some(shown) => contains_shown(kind, shown, &wanted),
            None => format!("{} > 0", place(kind, "search_text", &wanted)),
        }
    }));
    all.join(" AND ")
}

/// Condition that no row satisfies.
const NOTHING: &str = "1 = 0";

/// Checks for NUL: PostgreSQL rejects texts with this character, also as parameters, so no row contains one.
fn is_storable(text: &str) -> bool {
    !text.contains('\0')
}

fn equals(column: AuditColumn, text: &str, values: &mut Vec<Cell>) -> String {
    if !is_storable(text) {
        return NOTHING.into();
    }
    let name: &str = column.into();
    format!("{name} = {}", named(&text, values))
}

/// Builds an expression for the position of `wanted` in a text, 0 if absent; `wanted` has no wildcard characters.
fn place(kind: Kind, text: &str, wanted: &str) -> String {
    match kind {
        Kind::Sqlite => format!("instr({text}, {wanted})"),
        Kind::Postgres => format!("strpos({text}, {wanted})"),
    }
}

/// Builds the search condition: entries that are shown match anywhere in their text, others match except in the name of
/// the target. The name is the last text, so a match before it has a separator somewhere behind it.
fn contains_shown(kind: Kind, shown: &str, wanted: &str) -> String {
    let found = place(kind, "search_text", wanted);
    let rest = format!("substr(search_text, {found})");
    let between = format!("'{BETWEEN}'");
    format!("{found} > 0 AND ({shown} OR {} > 0)", place(kind, &rest, &between))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqlx::Row;

    fn query(order: AuditOrder, descending: bool, start: AuditStart) -> AuditQuery {
        AuditQuery {
            filters: Vec::new(),
            search: None,
            order,
            descending,
            start,
            per_page: 200,
            count: false,
            visible: None,
        }
    }

    async fn plan_of(store: &Store, query: &AuditQuery) -> String {
        let (text, values) = page_statement(Kind::Sqlite, Uuid::nil(), query);
        explained(store, &text, values).await
    }

    async fn explained(store: &Store, text: &str, values: Vec<Cell>) -> String {
        let rows = with_cells(sql(format!("EXPLAIN QUERY PLAN {text}")), values)
            .fetch_all(store.engine.pool())
            .await
            .unwrap();
        rows.iter().map(|row| row.get::<String, _>(3) + "\n").collect()
    }

    #[tokio::test]
    async fn every_walk_goes_along_an_index_and_sorts_nothing() {
        let store = Store::open("sqlite::memory:", "https://v1.example").await.unwrap();
        for descending in [false, true] {
            for start in [AuditStart::Offset(0), AuditStart::Offset(9000), AuditStart::After(5, Uuid::nil())] {
                for (order, index) in [
                    (AuditOrder::CreatedAt, "audit_log_by_time (workspace_id=?"),
                    (AuditOrder::Id, "audit_log_by_id (workspace_id=?"),
                ] {
                    let plan = plan_of(&store, &query(order, descending, start)).await;
                    assert!(plan.contains(index) && !plan.contains("TEMP B-TREE"), "{plan}");
                }
                for (column, index) in [
                    (AuditColumn::ActorId, "audit_log_by_actor (workspace_id=? AND actor_id=?"),
                    (AuditColumn::EventName, "audit_log_by_event_name (workspace_id=? AND event_name=?"),
                    (AuditColumn::TargetId, "audit_log_by_target (workspace_id=? AND target_id=?"),
                ] {
                    let mut query = query(AuditOrder::CreatedAt, descending, start);
                    query.filters = vec![AuditFilter::Is(column, "x".into()), AuditFilter::From(3)];
                    let plan = plan_of(&store, &query).await;
                    assert!(plan.contains(index) && !plan.contains("TEMP B-TREE"), "{plan}");
                }
            }
        }
        // A filter on a column without its own index does not read the rows of entries.
        for column in [AuditColumn::Category, AuditColumn::Outcome, AuditColumn::TargetType, AuditColumn::IpAddress]
        {
            let mut query = query(AuditOrder::CreatedAt, true, AuditStart::Offset(0));
            query.filters = vec![AuditFilter::Is(column, "x".into())];
            let mut values = Vec::new();
            let conditions = conditions(Kind::Sqlite, Uuid::nil(), &query, &mut values);
            let plan = explained(&store, &count_text(Kind::Sqlite, &query, &conditions), values).await;
            assert!(plan.contains("COVERING INDEX audit_log_by_time (workspace_id=?"), "{plan}");
        }
        let after = AuditStart::After(5, Uuid::nil());
        let plan = plan_of(&store, &query(AuditOrder::CreatedAt, false, after)).await;
        assert!(plan.contains("(created_at,id)>(?,?)"), "the position is found in the index: {plan}");
    }
    #[test]
    fn of_a_position_and_a_bound_the_narrower_one_is_left() {
        let after = AuditStart::After(5, Uuid::nil());
        let left = |descending, filter: AuditFilter| {
            let given = AuditQuery { filters: vec![filter], ..query(AuditOrder::CreatedAt, descending, after) };
            let left = with_one_bound(&given);
            (left.filters.len(), left.start == after)
        };
        assert_eq!(left(false, AuditFilter::From(5)), (0, true));
        assert_eq!(left(false, AuditFilter::From(6)), (1, false));
        assert_eq!(left(false, AuditFilter::Until(6)), (1, true));
        assert_eq!(left(true, AuditFilter::Until(5)), (0, true));
        assert_eq!(left(true, AuditFilter::Until(4)), (1, false));
        assert_eq!(left(true, AuditFilter::From(4)), (1, true));
        assert_eq!(left(true, AuditFilter::Is(AuditColumn::Outcome, "x".into())), (1, true));
    }
}
