//! Translates the body of a v1 call to v2. May use: `plan`, this folder.

use super::request::Call;
use super::told::Replacement;
use crate::plan::{BodyRule, Input, Operation, Resource};
use serde_json::{Map, Value};

impl Call<'_> {
    /// Returns the body of the v2 request; `None` when v2 takes no body.
    pub(super) fn body(
        &self,
        operation: &Operation,
        resource: &Resource,
        members: Map<String, Value>,
        told: &mut Replacement,
    ) -> Option<Value> {
        let BodyRule::Members(inputs) = &operation.body else {
            for name in members.keys() {
                told.lose("body", name, format!("{} {} takes no body", operation.method, operation.path));
            }
            return None;
        };
        let mut body = Map::new();
        for (name, value) in members {
            if let Some(why) = self.plan.v1.lost(&resource.name, &name) {
                told.lose("body", name, why);
                continue;
            }
            match self.input(resource, inputs, &name) {
                Some(input) if value.is_null() && !input.spec.nullable => {
                    told.lose("body", name, format!("v2 refuses null as `{}`", input.name));
                }
                Some(input) => {
                    if input.name != name {
                        told.rename("body", name, &input.name);
                    }
                    body.insert(input.name.clone(), value);
                }
                None => {
                    // A record's own member may have the name of a variable: a state has a slug, as a workspace has.
                    let in_path = self.variables.iter().any(|(variable, _)| *variable == name)
                        && !self.plan.v1.hidden(&resource.name).contains(&name);
                    let read_only =
                        || resource.fields.iter().any(|f| f.spec.v1.as_deref() == Some(&name) && f.spec.read_only);
                    let why = if in_path {
                        "the path says it"
                    } else if read_only() {
                        "v2 sets it itself"
                    } else {
                        "v2 has no such member"
                    };
                    told.lose("body", name, why);
                }
            }
        }
        Some(Value::Object(body))
    }

    /// Finds the member of v2's body that corresponds to v1's `name`.
    fn input<'i>(&self, resource: &Resource, inputs: &'i [Input], name: &str) -> Option<&'i Input> {
        let called = |wanted: &str| inputs.iter().find(|input| input.name == wanted);
        if let Some(wanted) = self.plan.v1.input(&resource.name, name) {
            return called(wanted);
        }
        let named = |input: &&Input| {
            let field = input.field.map(|index| &resource.fields[index]);
            field.is_some_and(|field| field.spec.v1.as_deref() == Some(name))
        };
        // A v2 field with the same name as the v1 member, but with another v1 name, means something else. So only
        // members that are no fields are found by the name alone.
        let alone = || called(name).filter(|input| input.field.is_none());
        inputs.iter().find(named).or_else(alone)
    }
}
