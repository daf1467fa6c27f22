//! `projects/{project_id}/work-items/` and below.

mod archive;
mod comments;
mod list;
mod one;
mod write;

use crate::operations::scene::{ADA, BOB, ONE, P, THEN, TWO, but};
use crate::support::scripted::Exchange;
use serde_json::{Value, json};

/// The query to v1 for one work item.
pub const WHOLE: &str = "fields=id,name,sequence_id,priority,state,parent,assignees,labels,start_date,target_date,\
                         is_draft,archived_at,created_at,updated_at,created_by,sort_order,external_id,external_source,\
                         description_html,estimate_point,point";
/// The query to v1 for a page of work items.
pub const FIELDS: &str = "fields=id,name,sequence_id,priority,state,parent,assignees,labels,start_date,target_date,\
                          is_draft,archived_at,created_at,updated_at,created_by,sort_order,external_id,external_source";
/// A state of the project.
pub const UNSTARTED: &str = "00000000-0000-4000-d000-000000000102";
/// A label of the project.
pub const BUG: &str = "33333333-3333-4333-8333-333333333333";

/// A work item at v1.
pub fn first() -> Value {
    json!({"id": ONE, "name": "First", "sequence_id": 7, "priority": "high", "state": UNSTARTED, "parent": null,
        "assignees": [BOB], "labels": [BUG], "start_date": null, "target_date": "2026-12-24", "is_draft": false,
        "archived_at": null, "created_at": "2026-11-21T16:06:12.630235+05:30", "updated_at": THEN,
        "created_by": ADA, "sort_order": 65535.0, "external_id": "e-1", "external_source": "tracker"})
}

/// Another work item, a child of the first.
pub fn second() -> Value {
    let changes = json!({"id": TWO, "name": "Second", "sequence_id": 8, "parent": ONE, "assignees": [], "labels": [],
        "target_date": null, "external_id": null, "external_source": null,
        "created_at": "2026-11-21T10:36:13Z", "updated_at": "2026-11-21T10:36:13Z"});
    but(&first(), changes)
}

/// The first work item as v2 shows it, alone or in a list.
pub fn shown(custom_fields: Value) -> Value {
    json!({"id": ONE, "name": "First", "identifier": "WEB-7", "sequence_id": 7, "priority": "high", "state_id": UNSTARTED,
        "type_id": null, "assignee_ids": [BOB], "label_ids": [BUG], "parent_id": null, "start_date": null,
        "target_date": "2026-12-24", "is_draft": false, "archived_at": null, "created_at": THEN,
        "created_by_id": ADA, "custom_fields": custom_fields})
}

/// v1's path of the first work item.
pub fn record() -> String {
    format!("{P}/work-items/{ONE}/")
}

/// The read of the first work item.
pub fn read() -> Exchange {
    Exchange::get(&format!("{}?{WHOLE}", record())).reply(200, first())
}

/// The read of an item that v1 does not show.
pub fn hidden() -> Exchange {
    Exchange::get(&format!("{}?{WHOLE}", record()))
        .reply(404, json!({"error": "The requested resource does not exist."}))
}

/// A page of work items at v1.
pub fn page(query: &str, rows: &[&Value]) -> Exchange {
    let page = json!({"total_count": rows.len(), "next_page_results": false, "results": rows});
    Exchange::get(&format!("{P}/work-items/?{query}&{FIELDS}")).reply(200, page)
}

/// The states of the project.
pub fn states() -> Exchange {
    let row = |id: &str, name: &str, group: &str, default: bool| {
        json!({"id": id, "name": name, "description": "", "color": "#1", "group": group, "sequence": 15000.0,
            "default": default, "is_triage": false, "external_id": null, "external_source": null,
            "created_at": THEN, "created_by": ADA})
    };
    let rows = [
        row("00000000-0000-4000-d000-000000000101", "Backlog", "backlog", true),
        row(UNSTARTED, "Todo", "unstarted", false),
    ];
    let fields = "id,name,description,color,group,sequence,default,is_triage,external_id,external_source,\
                  created_at,created_by";
    crate::operations::scene::list("states", fields, &rows.iter().collect::<Vec<_>>())
}

/// The labels of the project.
pub fn labels() -> Exchange {
    let row = json!({"id": BUG, "name": "bug", "description": "", "color": "#e5484d", "sort_order": 65535.0,
        "parent": null, "external_id": null, "external_source": null, "created_at": THEN, "created_by": ADA});
    let fields = "id,name,description,color,sort_order,parent,external_id,external_source,created_at,created_by";
    crate::operations::scene::list("labels", fields, &[&row])
}
