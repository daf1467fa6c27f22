//! Time of calls at a real v1: how long each kind of call takes, and how many run at once. The figures are medians
//! of a real deployment with two worker processes and no other load. May use: `forms`, this folder.

use std::time::Duration;

use crate::door::http::{Payload, Query, Reply};
use crate::forms::fields::Shape;

/// Number of calls that a real v1 carries out at once; the other calls wait in the order of arrival.
pub(crate) const WORKERS: usize = 2;

/// Time that calls take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Costs {
    /// Only the time that the sandbox needs.
    #[default]
    None,
    /// The time of a real v1, two calls at once.
    Real,
}

/// Time of the calls of some paths, in milliseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    read: u64,
    create: u64,
    change: u64,
    /// Whether lists return work items.
    of_items: bool,
}

const fn cost(read: u64, create: u64, change: u64) -> Cost {
    Cost { read, create, change, of_items: false }
}

/// The caller's own account.
pub(crate) const ME: Cost = cost(46, 83, 83);
/// Projects.
pub(crate) const PROJECTS: Cost = cost(84, 83, 83);
/// People of the workspace.
pub(crate) const WORKSPACE: Cost = cost(45, 83, 83);
/// People of a project.
pub(crate) const ROSTERS: Cost = cost(50, 83, 83);
/// Labels.
pub(crate) const LABELS: Cost = cost(80, 65, 65);
/// Work items; a list takes additional time for its rows.
pub(crate) const ITEMS: Cost = Cost { of_items: true, ..cost(70, 102, 92) };
/// Work items inside cycles and modules.
pub(crate) const ITEMS_WITHIN: Cost = Cost { of_items: true, ..OTHERS };
/// Comments.
pub(crate) const COMMENTS: Cost = cost(76, 83, 83);
/// Calls that were not measured: reads take as long as those of states, writes as long as those of comments.
pub(crate) const OTHERS: Cost = cost(70, 83, 83);

/// Time that each work item of a project or cycle adds to any list of them, in microseconds: v1 counts and orders all.
const COUNTED: u64 = 86;
/// Time that each row of a page adds, in microseconds.
const ROW: u64 = 440;
/// Additional time of a row with all fields, in microseconds.
const ALL_FIELDS: u64 = 720;
/// Additional time of each row, in microseconds, for the fields that v1 queries once for each row.
const QUERIES: [(&str, u64); 2] = [("assignees", 1_080), ("labels", 1_330)];

impl Cost {
    /// Time of a call with this answer.
    pub(crate) fn time(self, method: &str, query: &Query, reply: &Reply) -> Duration {
        let call = match method {
            "GET" | "HEAD" | "OPTIONS" => self.read,
            "POST" => self.create,
            _ => self.change,
        };
        let rows = if self.of_items { rows(query, reply) } else { 0 };
        Duration::from_micros(call * 1_000 + rows)
    }
}

/// Time that a list of work items adds to the call, in microseconds; 0 when the answer is no list.
fn rows(query: &Query, reply: &Reply) -> u64 {
    let Payload::Json(page) = &reply.body else {
        return 0;
    };
    let (Some(counted), Some(rows)) = (page["total_count"].as_u64(), page["count"].as_u64()) else {
        return 0;
    };
    let shape = Shape::of(query);
    let queries = QUERIES.iter().filter(|(field, _)| shape.wants(field)).map(|(_, each)| each);
    let all_fields = if shape.is_whole() { ALL_FIELDS } else { 0 };
    counted * COUNTED + rows * (ROW + queries.sum::<u64>() + all_fields)
}
