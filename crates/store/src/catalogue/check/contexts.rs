//! Faults of the contexts of properties. May use: this folder.

use super::super::model::{Catalogue, Context, Property};
use super::super::scope::overlap;
use super::repeated;

impl Catalogue {
    pub(super) fn check_contexts(&self, property: &Property, faults: &mut Vec<String>) {
        let contexts = self.contexts_of(property.id);
        for name in repeated(contexts.iter().map(|context| &context.name)) {
            faults.push(format!("property {} has several contexts named `{name}`", property.id));
        }
        for (id, source) in repeated(contexts.iter().filter_map(|context| context.external_pair())) {
            faults.push(format!("property {}: several contexts with the pair `{id}`, `{source}`", property.id));
        }
        if contexts.iter().filter(|context| context.all_projects).count() > 1 {
            faults.push(format!("property {} has several contexts for all projects", property.id));
        }
        for (index, context) in contexts.iter().enumerate() {
            self.check_context(context, faults);
            for other in contexts[index + 1..].iter().filter(|other| overlap(context, other)) {
                faults.push(format!("contexts {} and {} overlap with equal specificity", context.id, other.id));
            }
        }
    }

    pub(super) fn check_context(&self, context: &Context, faults: &mut Vec<String>) {
        let id = context.id;
        for (all, list, axis) in
            [(context.all_projects, &context.projects, "project"), (context.all_types, &context.types, "type")]
        {
            if all != list.is_empty() {
                faults.push(format!("context {id}: the {axis} axis needs either its wildcard or a list"));
            }
            if !repeated(list).is_empty() {
                faults.push(format!("context {id} lists a {axis} twice"));
            }
        }
        for type_id in
            context.types.iter().filter(|id| self.types.get(id).is_none_or(|kind| kind.project.is_some()))
        {
            faults.push(format!("context {id} lists {type_id}, which is no live type of the workspace"));
        }
        if context.external_id.is_some() != context.external_source.is_some() {
            faults.push(format!("context {id} holds half an external pair"));
        }
        if !context.is_multi && context.options.iter().filter(|link| link.is_default).count() > 1 {
            faults.push(format!("context {id} takes one value but has several default options"));
        }
        if !repeated(context.options.iter().map(|link| link.option)).is_empty() {
            faults.push(format!("context {id} offers an option twice"));
        }
        for link in context.options.iter().filter(|link| self.option_of(context.property, link.option).is_none()) {
            faults.push(format!("context {id} offers {}, which is no option of its property", link.option));
        }
    }
}
