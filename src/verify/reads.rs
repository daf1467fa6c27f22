//! Reads: lists with their envelopes, cursors and refusals; single records. May use: `amount`, `outgoing`,
//! `plan`, this folder.

use super::client::Gateway;
use super::place::Place;
use super::report::{Checked, Finding};
use super::{doors, shape};
use crate::amount::amount;
use crate::outgoing::Answer;
use crate::plan::{Operation, Plan};
use serde_json::Value;

/// Checks a read of existing records.
pub(super) async fn check(plan: &Plan, gateway: &Gateway, place: &Place, operation: &Operation) -> Checked {
    match operation.is_list() {
        true => list(plan, gateway, place, operation).await,
        false => record(plan, gateway, place, operation).await,
    }
}

async fn record(plan: &Plan, gateway: &Gateway, place: &Place, operation: &Operation) -> Checked {
    let mut told = Vec::new();
    let named = operation.path.variables().any(|name| !["slug", "project_id"].contains(&name));
    if named {
        let nothing = gateway.get(&place.path_to_nothing(operation)?).await?;
        if nothing.code() != "forbidden" {
            doors::is_problem(&nothing, 404, "resource_not_found", "a random id")?;
            told.push("404 for a random id");
        }
    }
    let path = place.path(plan, operation)?;
    let answer = gateway.get(&path).await?;
    doors::is_success(&answer, operation)?;
    doors::has_shape(plan, operation, &answer)?;
    told.insert(0, "read");
    Ok(told.join(", "))
}

async fn list(plan: &Plan, gateway: &Gateway, place: &Place, operation: &Operation) -> Checked {
    let path = place.path(plan, operation)?;
    let page = gateway.get(&format!("{path}?per_page=2")).await?;
    doors::is_success(&page, operation)?;
    shape::check(plan, "OffsetEnvelope", &page.json)?;
    let rows = rows_of(plan, operation, &page)?;
    if rows.len() > 2 {
        return Err(format!("per_page=2 gave {} rows", rows.len()).into());
    }
    if let Some(total) = page.json["total_count"].as_u64().filter(|total| *total < rows.len() as u64) {
        return Err(format!("total_count is {total} beside {} rows", rows.len()).into());
    }
    for (query, field) in [("per_page=none", "per_page"), ("offset=-1", "offset"), ("expand=nonsense", "expand")] {
        let answer = gateway.get(&format!("{path}?{query}")).await?;
        doors::is_problem(&answer, 400, "validation_error", query)?;
        if answer.json["errors"][0]["field"] != field {
            return Err(format!("{query}: the refusal does not name {field}").into());
        }
    }
    let walked = walk(plan, gateway, operation, &path).await?;
    let total = page.json["total_count"].as_u64().unwrap_or_default();
    Ok(format!("{}, {walked} by cursor, 400 for wrong parameters", amount(total, "row")))
}

/// Reads the first two pages of one row each by cursor; returns their number of rows.
async fn walk(plan: &Plan, gateway: &Gateway, operation: &Operation, path: &str) -> Result<usize, Finding> {
    let Some(field) = operation.order.as_ref().and_then(|order| order.cursor.first()) else { return Ok(0) };
    let query = format!("{path}?paginate=cursor&per_page=1&order_by={field}");
    let first = gateway.get(&query).await?;
    doors::is_success(&first, operation)?;
    shape::check(plan, "CursorEnvelope", &first.json)?;
    let seen = rows_of(plan, operation, &first)?;
    let Some(token) = first.json["next_cursor"].as_str() else { return Ok(seen.len()) };
    let token: String = form_urlencoded::byte_serialize(token.as_bytes()).collect();
    let second = gateway.get(&format!("{query}&cursor={token}")).await?;
    doors::is_success(&second, operation)?;
    shape::check(plan, "CursorEnvelope", &second.json)?;
    let next = rows_of(plan, operation, &second)?;
    if next.iter().any(|row| seen.iter().any(|known| known["id"] == row["id"])) {
        return Err("the second page of a cursor walk repeats the first".to_owned().into());
    }
    Ok(seen.len() + next.len())
}

fn rows_of<'a>(plan: &Plan, operation: &Operation, page: &'a Answer) -> Result<&'a [Value], Finding> {
    let name = operation.response.as_deref().unwrap_or_default();
    page.rows().iter().try_for_each(|row| shape::check(plan, name, row))?;
    Ok(page.rows())
}
