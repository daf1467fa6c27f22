//! Audit entries of every kind, written past the gateway.

use causeway::store::{AuditActor, AuditEntry, AuditOrder, AuditQuery, AuditRecord, AuditStart, Kind, Store};
use serde_json::json;
use sqlx::AssertSqlSafe;
use std::ops::Range;
use uuid::Uuid;

/// Id of the workspace `acme`.
pub const ACME: Uuid = Uuid::from_u128(0x00000000_0000_4000_b000_000000000001);

/// The project `WEB`, which all members of the workspace see.
const WEB: Uuid = Uuid::from_u128(0x00000000_0000_4000_c000_000000000001);

const CATEGORIES: [&str; 8] =
    ["auth", "member", "role", "settings", "integration", "webhook", "security", "instance"];

/// An entry that differs from its neighbours in every member that lists use.
pub fn entry(n: usize) -> AuditEntry {
    let person = n % 4;
    AuditEntry {
        event_name: ["settings.features_updated", "member.role_updated", "auth.sign_in"][n % 3],
        category: CATEGORIES[n % 8],
        success: !n.is_multiple_of(5),
        source: "api",
        actor: AuditActor {
            kind: if person == 3 { "anonymous" } else { "api_token" },
            id: (person != 3).then(|| Uuid::from_u128(0x00000000_0000_4000_a000_000000000001 + person as u128)),
            display_name: ["ada", "bob", "kim", ""][person].into(),
            email: ["ada@acme.test", "bob@acme.test", "kim@acme.test", ""][person].into(),
            ip_address: (person != 3).then(|| format!("203.0.113.{}", n % 3)),
            user_agent: "curl/8.6.0".into(),
        },
        target_type: ["workspace", "role", "user"][n % 3],
        target_id: format!("target {}", n % 5),
        target_display_name: format!("Row {n:03}"),
        old_value: n.is_multiple_of(2).then(|| json!({"n": n})),
        new_value: n.is_multiple_of(3).then(|| json!([n, null, "ü"])),
        reason: if n.is_multiple_of(5) { "insufficient_permissions" } else { "" },
        metadata: json!({"n": n}),
        project: n.is_multiple_of(7).then_some(WEB),
    }
}

/// Writes [`entry`] for each number and returns the ids of the entries, in the same order.
pub async fn written(store: &Store, workspace: Uuid, numbers: Range<usize>) -> Vec<String> {
    let entries: Vec<AuditEntry> = numbers.map(entry).collect();
    store.record(workspace, &entries).await.expect("written");
    let query = AuditQuery { per_page: entries.len(), descending: true, ..oldest_first() };
    let page = store.audit_page(workspace, &query).await.expect("found").read().expect("read");
    page.rows.iter().rev().map(|row: &AuditRecord| row.id.to_string()).collect()
}

/// A query for all entries from the beginning, 200 at a time.
pub fn oldest_first() -> AuditQuery {
    AuditQuery {
        filters: Vec::new(),
        search: None,
        order: AuditOrder::CreatedAt,
        descending: false,
        start: AuditStart::Offset(0),
        per_page: 200,
        count: false,
        visible: None,
    }
}

/// Writes many entries at once, three with the same instant, past the interface.
pub async fn fill(store: &Store, how_many: usize) {
    let (series, id) = match store.engine().kind() {
        Kind::Sqlite => (
            "WITH RECURSIVE series (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < $2)",
            "lower(substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-' || substr(h, 13, 4) || '-' || substr(h, 17, 4) \
             || '-' || substr(h, 21, 12)) FROM (SELECT n, hex(randomblob(16)) AS h FROM series)",
        ),
        Kind::Postgres => {
            ("WITH series AS (SELECT generate_series(1, $2) AS n)", "gen_random_uuid()::text FROM series")
        }
    };
    let text = format!(
        "{series} INSERT INTO audit_log (workspace_id, sequence_number, event_name, category, outcome, source, \
         actor_type, actor_display_name, actor_email, target_type, target_id, target_display_name, reason, \
         metadata, user_agent, search_text, created_at, event_id, id) SELECT $1, n, 'auth.sign_in', 'auth', \
         'success', 'api', 'api_token', 'ada', 'ada@acme.test', 'user', 'x', 'x', '', '{{}}', 'curl', 'x', \
         1700000000000000 + n / 3, '00000000-0000-4000-8000-' || substr('000000000000' || n, \
         length('000000000000' || n) - 11), {id}"
    );
    let mut writing = store.engine().writing().await.unwrap();
    let fill = sqlx::query(AssertSqlSafe(text)).bind(ACME.to_string()).bind(how_many as i64);
    fill.execute(&mut *writing).await.unwrap();
    let end = "INSERT INTO audit_end (workspace_id, sequence_number, created_at) VALUES ($1, $2, 1700000000000000)";
    sqlx::query(end).bind(ACME.to_string()).bind(how_many as i64).execute(&mut *writing).await.unwrap();
    writing.commit().await.unwrap();
}
