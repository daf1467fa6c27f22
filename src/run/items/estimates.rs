//! Points of a project's estimate.
//!
//! v1 lists no points; a value is only seen by expanding the point on an item that has it (trap 55,
//! `estimates_list_expanded`). A value no item shows cannot be resolved: a known gap with a 400 of its own. May use:
//! what `run` may use.

use crate::refusal::Refusal;
use crate::run::in_project::InProject;
use crate::run::items::looked_up::LookedUp;
use crate::v2::body::Given;
use crate::v2::value::small_letters;
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

const QUERY: &str = "fields=id,estimate_point&expand=estimate_point";

/// A row of the list; an item without a point shows one without id (trap 49, `items_get_expand_nulls`).
#[derive(Deserialize)]
struct Row {
    estimate_point: Option<Point>,
}

#[derive(Deserialize)]
struct Point {
    id: Option<Uuid>,
    value: Option<String>,
    estimate: Option<Uuid>,
}

/// The point that `estimate_point_id` or `estimate` names, null included; none when neither was sent.
pub(in crate::run) async fn resolve(job: &InProject<'_>, given: &Given) -> Result<LookedUp, Refusal> {
    let id = given.get("estimate_point_id");
    if id.is_some_and(Value::is_null) {
        return Ok(LookedUp::Found(Value::Null));
    }
    let value = given.get("estimate").and_then(Value::as_str);
    let member = if value.is_some() { "estimate" } else { "estimate_point_id" };
    if id.is_none() && value.is_none() {
        return Ok(LookedUp::NotSent);
    }
    let Some(estimate) = job.card.estimate else {
        return Ok(LookedUp::wrong(member, "this project has no active estimate"));
    };
    match (value, id) {
        (Some(value), _) => by_value(job, estimate, value).await,
        // v1 says whether the point belongs to the project (`estimates_create_foreign_point`).
        (None, Some(id)) => Ok(LookedUp::Found(id.clone())),
        (None, None) => Ok(LookedUp::NotSent),
    }
}

async fn by_value(job: &InProject<'_>, estimate: Uuid, value: &str) -> Result<LookedUp, Refusal> {
    let wanted = small_letters(value.trim());
    let mut hits: Vec<Uuid> = Vec::new();
    for point in shown_points(job).await? {
        let of_value = point.value.is_some_and(|value| small_letters(value.trim()) == wanted);
        if let Some(id) = point.id.filter(|id| of_value && point.estimate == Some(estimate) && !hits.contains(id)) {
            hits.push(id);
        }
    }
    Ok(match hits.as_slice() {
        [id] => LookedUp::Found(id.to_string().into()),
        [] => LookedUp::wrong(
            "estimate",
            "no work item shows a point of this value, so it cannot be looked up; use estimate_point_id",
        ),
        _ => LookedUp::wrong("estimate", "names several points; use estimate_point_id"),
    })
}

async fn shown_points(job: &InProject<'_>) -> Result<Vec<Point>, Refusal> {
    let rows: Vec<Row> = job.all_records(job.work_items()?, QUERY).await?;
    Ok(rows.into_iter().filter_map(|row| row.estimate_point).filter(|point| point.id.is_some()).collect())
}
