//! Translates the query of a v1 call to v2. May use: `plan`, this folder.

use super::request::Call;
use super::told::Replacement;
use crate::plan::{Fill, Operation, Param, ParamRole, Resource, Rows};

/// Rows in a page of v1, unless the request asks for fewer.
const V1_PAGE: u64 = 1000;

impl Call<'_> {
    /// Returns the parameters of the v2 request.
    pub(super) fn query(
        &self,
        operation: &Operation,
        resource: &Resource,
        told: &mut Replacement,
    ) -> Vec<(String, String)> {
        let mut query = self.fixed(operation, told);
        let mut seen: Vec<&str> = Vec::new();
        // v1 uses the last of a repeated parameter.
        for (name, value) in self.query.iter().rev() {
            if seen.contains(&name.as_str()) {
                continue;
            }
            seen.push(name);
            if self.row.fills.iter().any(|(_, fill)| *fill == Fill::Parameter(name.clone())) {
                continue;
            }
            self.parameter(operation, resource, (name, value), told, &mut query);
        }
        if operation.is_list() && !seen.contains(&"per_page") && !self.names_one() {
            let is_paged = resource.v1.as_ref().is_some_and(|v1| v1.rows == Rows::Paged);
            let v1 = if is_paged && self.row.shows.is_empty() { "; v1's has 1,000" } else { "" };
            told.changes
                .push(format!("A page of v2 has 50 rows unless `per_page` says otherwise, and 200 at most{v1}."));
        }
        query
    }

    /// Returns the parameters that v2 needs and that v1 has in its path or under another name.
    fn fixed(&self, operation: &Operation, told: &mut Replacement) -> Vec<(String, String)> {
        let mut query = Vec::new();
        for (name, fill) in &self.row.fills {
            let Some(param) = operation.params.iter().find(|param| param.name == *name) else { continue };
            let Some(value) = self.filled(name) else { continue };
            query.push((name.clone(), within(param, value, told)));
            if let Fill::Parameter(v1) = fill
                && v1 != name
            {
                told.rename("query", v1, name);
            }
        }
        query
    }

    fn parameter(
        &self,
        operation: &Operation,
        resource: &Resource,
        (name, value): (&str, &str),
        told: &mut Replacement,
        query: &mut Vec<(String, String)>,
    ) {
        let has = |wanted: &str| operation.params.iter().find(|param| param.name == wanted);
        let mut lost = |why: &str| told.lose("query", name, why);
        let listed = operation.is_list();
        let paged = listed && resource.v1.as_ref().is_some_and(|v1| v1.rows == Rows::Paged);
        match name {
            "fields" => lost("v2 always answers with all fields"),
            "expand" => self.expand(operation, value, told, query),
            "order_by" if self.reads(name) && listed => {
                let (sign, field) = value.strip_prefix('-').map_or(("", value), |field| ("-", field));
                let allowed = |field: &&str| {
                    operation.order.as_ref().is_some_and(|order| order.allowed.iter().any(|known| known == field))
                };
                match v2_field(resource, field).filter(allowed) {
                    Some(field) => query.push((name.into(), format!("{sign}{field}"))),
                    None => lost("v2 does not order by it"),
                }
            }
            "per_page" if paged => match (has(name), value.trim().parse::<u64>()) {
                (Some(param), Ok(1..)) => query.push((name.into(), within(param, value.trim(), told))),
                _ => lost("it is no number of rows"),
            },
            "cursor" if paged => match self.offset(value) {
                Some(0) => {}
                Some(offset) => {
                    query.push(("offset".into(), offset.to_string()));
                    told.rename("query", name, "offset");
                }
                None => lost("it is no cursor of v1, or beyond what `offset` reaches; v2's own cursors do"),
            },
            _ if self.row.together.iter().any(|known| known == name) && !self.names_one() => {
                let others: Vec<&str> =
                    self.row.together.iter().map(String::as_str).filter(|other| *other != name).collect();
                lost(&format!("v1 reads it only beside {}, and v2 would filter by it", others.join(", ")));
            }
            _ if self.reads(name) => match has(name) {
                Some(_) => query.push((name.into(), value.into())),
                None => lost("v2 has no such parameter"),
            },
            _ if has(name).is_some_and(|param| param.role != ParamRole::Paging) => {
                lost("v1 ignores it here; v2 has a parameter of this name, which would change what is answered");
            }
            _ => lost("v1 ignores it here"),
        }
    }

    /// Checks whether v1 answers with a single record, because the query has all parameters that identify it.
    pub(super) fn names_one(&self) -> bool {
        let has = |name: &String| {
            self.query.iter().rfind(|(known, _)| known == name).is_some_and(|(_, it)| !it.is_empty())
        };
        !self.row.together.is_empty() && self.row.together.iter().all(has)
    }

    fn reads(&self, name: &str) -> bool {
        self.row.reads.iter().any(|known| known == name)
    }

    fn expand(
        &self,
        operation: &Operation,
        value: &str,
        told: &mut Replacement,
        query: &mut Vec<(String, String)>,
    ) {
        let (kept, lost): (Vec<&str>, Vec<&str>) = value
            .split(',')
            .filter(|name| !name.is_empty())
            .partition(|name| operation.expand.iter().any(|known| known == name));
        if !kept.is_empty() {
            query.push(("expand".into(), kept.join(",")));
            told.changes.push(
                "`expand` of v1 puts the record in place of its id; v2 keeps the id (`…_id`, `…_ids`) and adds the \
                 record beside it."
                    .into(),
            );
        }
        for name in lost {
            told.lose("query", format!("expand={name}"), "v2 does not expand it");
        }
    }

    /// Returns the number of rows before the page of a v1 cursor (`rows:page:flag`).
    fn offset(&self, cursor: &str) -> Option<u64> {
        let mut parts = cursor.split(':');
        let (_, page, _) = (parts.next()?, parts.next()?.parse::<u64>().ok()?, parts.next()?);
        let rows = self.query.iter().rfind(|(name, _)| name == "per_page");
        let rows = rows.map_or(Some(V1_PAGE), |(_, rows)| rows.trim().parse().ok())?;
        page.checked_mul(rows).filter(|offset| *offset <= 10_000 && parts.next().is_none())
    }
}

/// Limits a value to the parameter's maximum. Reports when it was larger.
fn within(param: &Param, value: &str, told: &mut Replacement) -> String {
    match (param.spec.max, value.parse::<u64>()) {
        (Some(max), Ok(asked)) if asked > max => {
            told.changes.push(format!("`{}` is {max} at most in v2; the rest is on further pages.", param.name));
            max.to_string()
        }
        _ => value.into(),
    }
}

/// Returns the v2 name of a field of v1's records.
fn v2_field<'r>(resource: &'r Resource, v1: &str) -> Option<&'r str> {
    let named = |hidden: bool| {
        let mut fields = resource.fields.iter();
        fields.find(|field| {
            field.spec.v1.as_deref() == Some(v1) && field.spec.hidden == hidden && !field.spec.plain_text
        })
    };
    named(false).or_else(|| named(true)).map(|field| field.name.as_str())
}
