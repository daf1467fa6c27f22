//! A parsed v1 call, the v2 requests that replace it, and the differences of their answer.
//!
//! May use: `plan`, this folder.

use super::told::{Replacement, Successor};
use crate::plan::{Answer, Extent, Fill, Operation, Plan, Rows, V1Operation};
use serde_json::{Map, Value};

/// A parsed v1 call.
pub(super) struct Call<'c> {
    pub(super) plan: &'c Plan,
    pub(super) row: &'c V1Operation,
    pub(super) variables: Vec<(String, String)>,
    pub(super) query: Vec<(String, String)>,
}

impl Call<'_> {
    /// Returns the value for a variable or parameter of a successor.
    pub(super) fn filled(&self, name: &str) -> Option<&str> {
        self.row.filled(name, &self.variables, &self.query)
    }

    pub(super) fn told(&self, body: Option<&Value>) -> Result<Replacement, String> {
        let row = self.row;
        let (extent, reason) = match &row.extent {
            Extent::All => ("all", None),
            Extent::Part(what) => ("part", Some(what.clone())),
            Extent::None(why) => ("none", Some(why.clone())),
        };
        let mut told = Replacement {
            v1_operation: Some(row.id.clone()),
            call: format!("{} /api/v1/{}", row.method, row.path),
            does: row.does.clone(),
            extent,
            reason,
            changes: row.differs.clone(),
            ..Replacement::default()
        };
        if !row.served {
            told.changes.push("v1 has no such path and answers 404.".into());
        }
        let mut members = members(body)?;
        // An archived record can be changed only after it is restored, and a record to be archived only before that.
        let (mut before, mut after): (Vec<&Operation>, Vec<&Operation>) = Default::default();
        for (member, [set, cleared]) in &row.instead {
            match members.remove(member) {
                Some(Value::Null) => before.push(&self.plan.operations[*cleared]),
                Some(_) => after.push(&self.plan.operations[*set]),
                None => {}
            }
        }
        let alone = before.is_empty() && after.is_empty();
        let usual = row.successors.first().filter(|_| alone || !members.is_empty());
        let usual = usual.map(|&usual| &self.plan.operations[usual]);
        let all: Vec<&Operation> = before.into_iter().chain(usual).chain(after).collect();
        for &operation in &all {
            let is_usual = usual.is_some_and(|usual| usual.id == operation.id);
            let body = if is_usual { std::mem::take(&mut members) } else { Map::new() };
            let request = self.request(operation, body, &mut told);
            told.requests.push(request);
        }
        if let Some(first) = usual.or(all.first().copied()) {
            self.tell(first, &mut told);
        }
        Ok(told)
    }

    /// Builds the v2 request, and reports the lost and renamed parts.
    fn request(&self, operation: &Operation, members: Map<String, Value>, told: &mut Replacement) -> Successor {
        let resource = self.plan.resource_of(operation);
        let filled = operation.path.fill_known(|name| self.filled(name));
        for name in operation.path.variables().filter(|name| self.filled(name).is_none()) {
            let asked = self.row.fills.iter().find(|(known, _)| known == name);
            let why = match asked {
                Some((_, Fill::Parameter(parameter))) => format!("v2 needs it; v1 was not given `{parameter}`"),
                _ => "v2 needs it, and v1's call does not tell it".to_owned(),
            };
            told.lose("path", name, why);
        }
        let query = if operation.method.writes() { Vec::new() } else { self.query(operation, resource, told) };
        let mut target = format!("/{}", filled.trim_start_matches('/'));
        if !query.is_empty() {
            let mut text = form_urlencoded::Serializer::new(String::new());
            text.extend_pairs(query);
            target = format!("{target}?{}", text.finish());
        }
        let body = self.body(operation, resource, members, told);
        Successor { operation: operation.id.clone(), method: operation.method.as_str(), target, body }
    }

    /// Reports how the answer to `operation` differs from v1's answer.
    fn tell(&self, operation: &Operation, told: &mut Replacement) {
        let (row, resource) = (self.row, self.plan.resource_of(operation));
        if operation.answer != Answer::Empty {
            let is_shown = |name: &str| row.shows.is_empty() || row.shows.iter().any(|shown| shown == name);
            let fields = || resource.fields.iter().filter(|field| !field.spec.hidden);
            // A member that v2 also shows under v1's name has not been renamed.
            let stays = |v1: &String| fields().any(|field| field.name == *v1 && field.spec.v1.as_ref() == Some(v1));
            for field in fields() {
                let v1 = field.spec.v1.as_ref().filter(|v1| **v1 != field.name && is_shown(v1) && !stays(v1));
                if let Some(v1) = v1 {
                    told.rename("answer", v1, &field.name);
                }
            }
            let hidden = self.plan.v1.hidden(&resource.name);
            let is_kept =
                |name: &String| fields().any(|field| field.name == *name || field.spec.v1.as_ref() == Some(name));
            let others = row.shows.iter().filter(|name| !hidden.contains(name) && !is_kept(name));
            for name in hidden.iter().filter(|name| is_shown(name)).chain(others) {
                told.lose("answer", name, "v2 does not show it");
            }
        }
        if operation.is_list() {
            let before = match (&row.rows, resource.v1.as_ref().map(|v1| v1.rows)) {
                _ if self.names_one() => "the one record by itself, or v1's 404 where there is none".to_owned(),
                (Some(rows), _) => format!("v1's {rows}"),
                (None, Some(Rows::Paged)) => "v1's `results` with `next_cursor` and `total_results`".to_owned(),
                (None, _) => "v1's bare array".to_owned(),
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
}

fn members(body: Option<&Value>) -> Result<Map<String, Value>, String> {
    match body {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(members)) => Ok(members.clone()),
        Some(_) => Err("the body is no JSON object, which v1 and v2 refuse alike".into()),
    }
}
