//! Which v2 requests replace a call of v1.
//!
//! May use: `plan`.

use super::answer;
use super::call::Call;
use super::told::{Lost, Replacement, Successor};
use crate::plan::{Extent, Fill, Operation};
use serde_json::{Map, Value};

impl Call<'_> {
    pub(super) fn told(&self, body: Option<&Value>) -> Result<Replacement, String> {
        let row = self.row;
        let (extent, reason) = match &row.extent {
            Extent::All => ("all", None),
            Extent::Part(what) => ("part", Some(what.clone())),
            Extent::None(why) => ("none", Some(why.clone())),
        };
        let call = format!("{} /api/v1/{}", row.method, row.path);
        let mut told = Replacement { reason, ..Replacement::without(call, &row.does, extent, String::new()) };
        told.v1_operation = Some(row.id.clone());
        told.changes.clone_from(&row.differs);
        if !row.served {
            told.changes.push("v1 has no such path and answers 404.".into());
        }
        let mut members = members(body)?;
        let mut operations: Vec<&Operation> = Vec::new();
        for (member, [set, cleared]) in &row.instead {
            if let Some(value) = members.remove(member) {
                operations.push(&self.plan.operations[if value.is_null() { *cleared } else { *set }]);
            }
        }
        if (operations.is_empty() || !members.is_empty())
            && let Some(&usual) = row.successors.first()
        {
            operations.insert(0, &self.plan.operations[usual]);
        }
        for (index, operation) in operations.iter().enumerate() {
            let body = if index == 0 { std::mem::take(&mut members) } else { Map::new() };
            let request = self.request(operation, body, &mut told);
            told.requests.push(request);
        }
        if let Some(first) = operations.first() {
            answer::tell(self.plan, first, &mut told);
        }
        Ok(told)
    }

    /// The v2 request, with what is lost and renamed on the way told.
    fn request(&self, operation: &Operation, members: Map<String, Value>, told: &mut Replacement) -> Successor {
        let resource = self.plan.resource_of(operation);
        let filled = operation.path.fill_known(|name| self.filled(name));
        for name in operation.path.variables().filter(|name| self.filled(name).is_none()) {
            let asked = self.row.fills.iter().find(|(known, _)| known == name);
            let why = match asked {
                Some((_, Fill::Parameter(parameter))) => format!("v2 needs it; v1 was not given `{parameter}`"),
                _ => "v2 needs it, and v1's call does not tell it".into(),
            };
            told.lost.push(Lost { place: "path", name: name.into(), why });
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
}

/// Members of a body.
fn members(body: Option<&Value>) -> Result<Map<String, Value>, String> {
    match body {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(members)) => Ok(members.clone()),
        Some(_) => Err("the body is no JSON object, which v1 and v2 refuse alike".into()),
    }
}
