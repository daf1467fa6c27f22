//! What changes in the answer. May use: `plan`, this folder.

use super::told::{Lost, Renamed, Replacement};
use crate::plan::{Answer, Operation, Plan, Rows};

/// Tells what is different about the answer to `operation` against the one v1 gives.
pub(super) fn tell(plan: &Plan, operation: &Operation, told: &mut Replacement) {
    let resource = plan.resource_of(operation);
    if operation.answer != Answer::Empty {
        for field in resource.fields.iter().filter(|field| !field.hidden) {
            if let Some(v1) = field.v1.as_ref().filter(|v1| **v1 != field.name) {
                told.renamed.push(Renamed { place: "answer", v1: v1.clone(), v2: field.name.clone() });
            }
        }
        for name in plan.v1.hidden(&resource.name) {
            let why = "v2 does not show it".to_owned();
            told.lost.push(Lost { place: "answer", name: name.clone(), why });
        }
    }
    if operation.is_list() {
        let before = match resource.v1.as_ref().map(|v1| v1.rows) {
            Some(Rows::Paged) => "v1's `results` with `next_cursor` and `total_results`",
            _ => "v1's bare array",
        };
        told.changes.push(format!(
            "The rows are in `data`, with `next`, `previous`, `total_count` and `pagination`, in place of {before}."
        ));
        if let Some(order) = &operation.order {
            told.changes.push(format!("Without `order_by` v2 orders by `{}`.", order.default));
        }
    }
    told.changes.push(format!("A success is {}.", operation.status));
    told.changes.push(
        "Errors are problems (`application/problem+json`) with `code`, `detail` and, for bad input, `errors` by field, in \
         place of v1's `{\"error\"}`, `{\"detail\"}` and objects of fields. What the key may not see is 404, where v1 \
         says 403; a wrong key is 401, where v1 says 403."
            .into(),
    );
}
