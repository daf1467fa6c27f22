//! Rules of property contexts (chapter 15): scope, name, pair, choices. May use: `refusal`, `v2`, this folder.

use super::defaults;
use super::edit::{Edit, Effect, STEP};
use super::entries::entries;
use super::entry::Entry;
use super::entry_form::EntryForm;
use super::faults::{self, Faults, flag, nullable_text, take, text};
use super::meant::Meant;
use super::model::{Context, ContextOption, Property, PropertyType};
use super::properties::{FIRST, SEEDED, judge_kind};
use super::scope;
use crate::refusal::Refusal;
use crate::v2::body::Given;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;
use uuid::Uuid;

impl Edit {
    /// Creates a context of a workspace property and returns its id. `projects` are the projects named in the body
    /// that belong to the workspace.
    ///
    /// # Errors
    /// 404 for the property; 400 with every member that breaks a rule.
    pub fn create_context(
        &mut self,
        property: Uuid,
        given: &Given,
        projects: &HashSet<Uuid>,
    ) -> Result<Uuid, Refusal> {
        let owner = self.workspace_property(property)?;
        let places = self.after.contexts_of(property).into_iter().map(|context| context.sort_order);
        let last = places.reduce(f64::max);
        let context = Context {
            id: Uuid::new_v4(),
            property,
            name: SEEDED.to_owned(),
            settings: json!({}),
            sort_order: last.map_or(FIRST, |last| last + STEP),
            created_at: self.stamp(),
            ..Context::default()
        };
        let id = context.id;
        self.write_context(&owner, context, given, projects)?;
        Ok(id)
    }

    /// Changes a context.
    ///
    /// # Errors
    /// 404; 400 with every member that breaks a rule.
    pub fn update_context(&mut self, id: Uuid, given: &Given, projects: &HashSet<Uuid>) -> Result<(), Refusal> {
        let context = self.after.contexts.get(&id).ok_or_else(Refusal::not_found)?;
        let context = Context::clone(context);
        let owner = self.workspace_property(context.property)?;
        self.write_context(&owner, context, given, projects)
    }

    /// Deletes a context and the options that only it offers. Its items get the next matching context.
    pub fn delete_context(&mut self, id: Uuid) -> Result<(), Refusal> {
        let context = self.after.contexts.remove(&id).ok_or_else(Refusal::not_found)?;
        self.drop_options(context.property, self.unlinked(context.property));
        self.effects.push(Effect::Rescoped(context.property));
        Ok(())
    }

    /// Removes a project that was deleted at v1 from every context that listed it. A context that listed nothing else
    /// is deleted (O84). The project's own definitions are deleted too, because no request can reach them any more.
    /// Values on its work items stay with the items until a sweep.
    pub fn forget_project(&mut self, project: Uuid) {
        let after = &mut self.after;
        after.types.retain(|_, kind| kind.project != Some(project));
        after.properties.retain(|_, property| property.project != Some(project));
        let (types, properties) = (&after.types, &after.properties);
        after.options.retain(|_, option| properties.contains_key(&option.property));
        after
            .attachments
            .retain(|(kind, property), _| types.contains_key(kind) && properties.contains_key(property));
        after.imports.retain(|(of, _), _| *of != project);
        self.forget_listed(|context| &mut context.projects, project);
    }

    /// Removes a deleted type or project from every context that listed it. Deletes contexts that listed nothing else
    /// (O84).
    pub(super) fn forget_listed(&mut self, axis: fn(&mut Context) -> &mut Vec<Uuid>, id: Uuid) {
        let mut emptied = Vec::new();
        let mut touched = Vec::new();
        for context in self.after.contexts.values_mut() {
            // Only contexts that list it are copied.
            if !context.types.contains(&id) && !context.projects.contains(&id) {
                continue;
            }
            let list = axis(Arc::make_mut(context));
            if list.contains(&id) {
                list.retain(|listed| *listed != id);
                if list.is_empty() { emptied.push(context.id) } else { touched.push(context.property) }
            }
        }
        for context in emptied {
            // The context was found above, so this cannot fail.
            let _ = self.delete_context(context);
        }
        self.effects.extend(touched.into_iter().map(Effect::Rescoped));
    }

    fn workspace_property(&self, id: Uuid) -> Result<Property, Refusal> {
        self.property(id).ok().filter(|property| property.project.is_none()).ok_or_else(Refusal::not_found)
    }

    fn write_context(
        &mut self,
        owner: &Property,
        mut context: Context,
        given: &Given,
        projects: &HashSet<Uuid>,
    ) -> Result<(), Refusal> {
        let mut faults = Faults::default();
        assign(&mut context, given, &mut faults);
        scope::assign(&self.after, &mut context, given, projects, &mut faults);
        let mut meant = self.meant_by_defaults(owner.id);
        let entries = entries(given, EntryForm::IN_CONTEXT, &mut faults);
        if let Some(entries) = &entries {
            judge_kind(owner, entries, &mut faults);
            context.options = self.link_entries(owner.id, entries, &mut faults);
            if !given.contains_key("default_value") {
                self.keep_offered_defaults(owner, &mut context, &meant);
            }
        }
        meant.forget(context.id);
        defaults::judge_preselected(&context, entries.is_some(), &mut faults);
        self.judge_unique(&context, &mut faults);
        let (id, property) = (context.id, context.property);
        let offered = self.after.choices_in(&context);
        if given.contains_key("default_value") || given.contains_key("is_multi") {
            defaults::judge(owner, &offered, context.is_multi, &context.default_value, &mut faults);
        }
        scope::judge_overlap(&self.after, &context, &mut faults);
        faults.or(())?;
        let before = self.after.contexts.insert(id, Arc::new(context));
        self.remove_options(property, self.unlinked(property));
        self.keep_meant(property, &meant);
        let resolves_anew =
            |before: Arc<Context>| !self.after.contexts.get(&id).is_some_and(|now| now.reaches_as(&before));
        if before.is_none_or(resolves_anew) {
            self.effects.push(Effect::Rescoped(property));
        }
        Ok(())
    }

    /// Returns links to options in the order of the entries. An entry without an id creates a new option.
    fn link_entries(&mut self, property: Uuid, entries: &[Entry], faults: &mut Faults) -> Vec<ContextOption> {
        let mut links = Vec::with_capacity(entries.len());
        let mut places = self.option_places(property);
        for (place, entry) in entries.iter().enumerate() {
            let option = match entry.id {
                Some(id) if self.after.option_of(property, id).is_none() => {
                    faults.add(format!("options.{}.id", entry.index), "is not an option of this property");
                    continue;
                }
                Some(id) => {
                    self.amend_option(id, entry);
                    id
                }
                None => self.unlinked_option(&mut places, entry),
            };
            let is_default = entry.is_default.unwrap_or(false);
            links.push(ContextOption { option, is_default, sort_order: STEP * (place as f64 + 1.0) });
        }
        links
    }

    /// Adapts the stored default to the options that were sent: it takes their new names and loses options that are no
    /// choice any more.
    fn keep_offered_defaults(&self, owner: &Property, context: &mut Context, meant: &Meant) {
        if owner.property_type == PropertyType::Option {
            let (offered, all) = (self.after.choices_in(context), self.after.choices_of(owner.id));
            let mut texts = meant.kept(&self.after, Some(context.id), &context.default_value, &offered, &all);
            texts.retain(|text| offered.first(text).is_some());
            context.default_value = texts;
        }
    }

    /// Returns the options of the property that no context offers any more; they are to be deleted (O73).
    fn unlinked(&self, property: Uuid) -> Vec<Uuid> {
        let contexts = self.after.contexts_of(property).into_iter();
        let linked: HashSet<Uuid> =
            contexts.flat_map(|context| context.options.iter().map(|link| link.option)).collect();
        let options = self.after.options_of(property).into_iter().map(|option| option.id);
        options.filter(|id| !linked.contains(id)).collect()
    }

    /// Checks that name and external pair are unique within the property; a duplicate is rejected with 400, not 409.
    fn judge_unique(&self, context: &Context, faults: &mut Faults) {
        let siblings = self.after.contexts_of(context.property);
        let mut others = siblings.into_iter().filter(|other| other.id != context.id);
        if others.clone().any(|other| other.name == context.name) {
            faults.add("name", format!("another context of the property is named `{}`", context.name));
        }
        let pair = context.external_pair();
        if pair.is_some() && others.any(|other| pair == other.external_pair()) {
            faults.add("external_id", "another context of the property has this external_id and external_source");
        }
    }
}

impl Context {
    /// Checks whether both contexts cover the same items and offer the same choices. If not, values may have to be
    /// deleted (15.14). A value on an item that only has another type at present must stay (O38).
    fn reaches_as(&self, other: &Self) -> bool {
        let choices = |context: &Self| context.options.iter().map(|link| link.option).collect::<HashSet<_>>();
        (self.all_projects, self.all_types) == (other.all_projects, other.all_types)
            && (&self.projects, &self.types) == (&other.projects, &other.types)
            && choices(self) == choices(other)
    }
}

fn assign(context: &mut Context, given: &Given, faults: &mut Faults) {
    take(&mut context.name, text(given, "name"));
    context.is_required = flag(given, "is_required").unwrap_or(context.is_required);
    context.is_multi = flag(given, "is_multi").unwrap_or(context.is_multi);
    take(&mut context.default_value, faults::strings(given, "default_value", faults));
    take(&mut context.settings, faults::object(given, "settings", faults));
    take(&mut context.sort_order, given.get("sort_order").and_then(Value::as_f64));
    let (id, source) = (nullable_text(given, "external_id"), nullable_text(given, "external_source"));
    // None: not sent. False: null or empty. True: has text.
    let filled = |half: &Option<Option<String>>| {
        half.as_ref().map(|text| text.as_ref().is_some_and(|text| !text.is_empty()))
    };
    match (filled(&id), filled(&source)) {
        (None, None) => {}
        (one, other) if one == other => {
            let pair = id.flatten().zip(source.flatten());
            (context.external_id, context.external_source) = pair.unzip();
        }
        (one, other) if one < other => faults.add("external_id", "is sent together with external_source"),
        _ => faults.add("external_source", "is sent together with external_id"),
    }
}
