//! Contexts of properties of the workspace.
//!
//! In the target, a new property gets a context that covers everything and offers all its options. It becomes the
//! context that came with the property here. The other contexts are created beside it. Only then does it lose the
//! options that it does not offer here, because an option that no context offers is deleted.
//! May use: `catalogue`, `plan` (the type mode), this folder.

use super::bodies::update;
use super::differences::differences;
use super::findings::Class;
use super::ids::Kind;
use super::scope::text;
use super::seen::Record;
use super::work::{Intended, Verdict, Work};
use crate::catalogue::{Context, Property, shapes};
use crate::plan::TypeMode;
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;
use uuid::Uuid;

/// Returns the name of a context of the property `of` for messages.
fn name_of(context: &Context, of: &str) -> String {
    format!("context `{}` of {of}", context.name)
}

impl Work<'_> {
    /// Counts the contexts of a property that is to be made. A pass that writes nothing reports what they will lack;
    /// the pass that carries reports it with each context.
    pub(super) fn contexts_to_make(&mut self, property: &Property, of: &str) {
        let contexts: Vec<Arc<Context>> = self.catalogue.contexts_of(property.id).into_iter().cloned().collect();
        self.findings.of(Kind::Context).here += contexts.len();
        self.findings.of(Kind::Context).carried += contexts.len();
        if self.carries() {
            return;
        }
        for context in &contexts {
            let untouched = shapes::context(&self.catalogue, context);
            self.context_there(property, context, &untouched, &name_of(context, of), false);
        }
    }

    /// Handles the contexts of a property whose id in the target is `id`. `is_counted` means they are counted already.
    pub(super) async fn contexts(
        &mut self,
        property: &Property,
        id: &str,
        of: &str,
        is_counted: bool,
    ) -> Result<(), String> {
        let mut contexts: Vec<Arc<Context>> =
            self.catalogue.contexts_of(property.id).into_iter().cloned().collect();
        // The context that came with the property first, then the others in the order of creation.
        contexts.sort_by_key(|context| (!context.is_default, context.created_at, context.id));
        let list = format!("{}/work-item-properties/{id}/contexts/", self.scope.there(None));
        let mut unfinished = None;
        for context in &contexts {
            if !is_counted {
                self.findings.of(Kind::Context).here += 1;
            }
            let name = name_of(context, of);
            let untouched = shapes::context(&self.catalogue, context);
            let found = self.context_found(property, context, id);
            let there = self.context_there(property, context, &untouched, &name, found.is_some());
            let Some((ours, missing)) = there else { continue };
            let digest = self.ids.fingerprint(Kind::Context, context.id, &untouched, missing);
            let intended = Intended { kind: Kind::Context, own: context.id, ours, name, digest };
            let mut verdict = self.judge_context(&intended, context.is_default, found.as_ref(), is_counted);
            if !self.carries() {
                continue;
            }
            let theirs = found.as_ref().map(|found| text(found, "id").to_owned());
            let options_wait = match &mut verdict {
                Verdict::Change(unlike) if context.is_default => {
                    unlike.retain(|one| one.field != "options");
                    true
                }
                _ => false,
            };
            let record = self.carry(&intended, TypeMode::Workspace, &list, &verdict, found.as_ref()).await?;
            if options_wait {
                unfinished = theirs.map(|theirs| (intended, theirs));
            } else if let Some(record) = record {
                self.note(intended, text(&record, "id").to_owned()).await?;
                self.keep_context(id, record);
            }
        }
        if let Some((intended, theirs)) = unfinished
            && !self.finish_context(&list, id, intended, theirs).await?
        {
            return Ok(());
        }
        self.contexts_only_there(property, &contexts, id, of, &list).await
    }

    /// Judges a context and reports its findings. A context that was counted with its property is counted again only
    /// when it conflicts.
    fn judge_context(
        &mut self,
        intended: &Intended,
        is_default: bool,
        found: Option<&Record>,
        is_counted: bool,
    ) -> Verdict {
        if let Some(found) = found {
            self.ids.pair_for_this_run(Kind::Context, intended.own, text(found, "id"));
        }
        let verdict = self.judge(Kind::Context, intended.own, &intended.digest, &intended.ours, found);
        if !is_counted || matches!(verdict, Verdict::Conflict(_)) {
            self.count(Kind::Context, &intended.name, &verdict);
        }
        if found.is_some_and(|found| found.get("is_default") != Some(&json!(is_default))) {
            let words = format!("{}: is_default is {is_default} here, which has no effect", intended.name);
            self.findings.tell(Class::Changed, words);
        }
        verdict
    }

    /// Writes the missing parts of the context that came with a property, including its options. Returns false when the
    /// target refused the write.
    async fn finish_context(
        &mut self,
        list: &str,
        property: &str,
        intended: Intended,
        theirs: String,
    ) -> Result<bool, String> {
        let path = format!("{list}{theirs}/");
        let mut record = self.target.read(&path).await?.as_object().cloned().unwrap_or_default();
        if let Some(body) = update(&intended.ours, &differences(Kind::Context, &intended.ours, &record)) {
            self.switch(TypeMode::Workspace).await?;
            let after =
                self.write(Kind::Context, &intended.name, Method::PATCH, &path, &Value::Object(body)).await?;
            let Some(after) = after else { return Ok(false) };
            record = after;
        }
        self.note(intended, theirs).await?;
        self.keep_context(property, record);
        Ok(true)
    }

    fn keep_context(&mut self, property: &str, record: Record) {
        let contexts = self.seen.contexts.entry(property.to_owned()).or_default();
        contexts.retain(|old| text(old, "id") != text(&record, "id"));
        contexts.push(record);
    }

    /// Finds the context in the target: by its noted id, else by name. For a property that this command made, the
    /// target's context that came with the property goes before the name: when our context came with the property
    /// too, or, if none of ours did, when it covers all projects.
    fn context_found(&self, property: &Property, context: &Context, id: &str) -> Option<Record> {
        let there = self.seen.contexts.get(id)?;
        let known = Self::with_id(there, self.ids.theirs(Kind::Context, context.id));
        if known.is_some() || self.ids.is_noted(Kind::Context, context.id) {
            return known.cloned();
        }
        let named = there.iter().find(|record| text(record, "name") == context.name);
        let is_ours = self.ids.is_begun(Kind::Property, property.id);
        let siblings = self.catalogue.contexts_of(property.id);
        let has_seeded = siblings.iter().any(|sibling| sibling.is_default);
        let stands_in = context.is_default || !has_seeded && context.all_projects;
        let seeded = there.iter().find(|record| record.get("is_default") == Some(&Value::Bool(true)));
        match seeded.filter(|_| is_ours && stands_in) {
            Some(seeded) => Some(seeded.clone()),
            None => named.cloned(),
        }
    }

    /// Builds the context for the target, and counts its parts that the target does not have; `None` when the target
    /// has none of its projects, or none of its types, or has the context already (`is_there`) and lacks one of its
    /// projects now.
    fn context_there(
        &mut self,
        property: &Property,
        context: &Context,
        untouched: &Record,
        name: &str,
        is_there: bool,
    ) -> Option<(Record, usize)> {
        let mut ours = untouched.clone();
        let (texts, lost) = self.default_there(property, &context.default_value);
        ours.insert("default_value".to_owned(), texts);
        let words = format!("{name}: its default names people or work items that are not there");
        self.findings.leave(Kind::Context, lost.min(1), words);
        let projects: Vec<Option<Uuid>> =
            context.projects.iter().map(|own| self.scope.projects.get(own).map(|project| project.theirs)).collect();
        let types: Vec<Option<String>> =
            context.types.iter().map(|own| self.ids.theirs(Kind::Type, *own).map(str::to_owned)).collect();
        let unknown: Vec<Uuid> =
            context.projects.iter().filter(|own| !self.scope.projects.contains_key(*own)).copied().collect();
        let without_id = types.iter().filter(|one| one.is_none()).count();
        // In a pass that writes nothing, the types are not made yet.
        let unmade = if self.carries() { without_id } else { 0 };
        let why = |own: &Uuid| {
            let project = self.scope.owner_in_words(Some(*own));
            format!("it lists {project}: {}", self.scope.why_without_place(Some(*own)))
        };
        let mut lacks: Vec<String> = unknown.iter().map(why).collect();
        if unmade > 0 {
            lacks.push(format!("{unmade} types it lists are not there"));
        }
        self.findings.leave(Kind::Context, lacks.len().min(1), format!("{name}: {}", lacks.join("; ")));
        ours.insert("project_ids".to_owned(), json!(projects.iter().flatten().collect::<Vec<_>>()));
        ours.insert("issue_type_ids".to_owned(), json!(types.iter().flatten().collect::<Vec<_>>()));
        let mut links: Vec<_> = context.options.iter().collect();
        links.sort_by(|a, b| a.sort_order.total_cmp(&b.sort_order));
        let options = links.into_iter().filter_map(|link| {
            let id = self.ids.theirs(Kind::Option, link.option)?;
            Some(json!({"id": id, "is_default": link.is_default}))
        });
        ours.insert("options".to_owned(), options.collect());
        let is_empty = |all: bool, known: bool| !all && !known;
        let nothing = is_empty(context.all_projects, projects.iter().any(Option::is_some))
            || self.carries() && is_empty(context.all_types, types.iter().any(Option::is_some));
        // Carried again without a project that it has there, it would lose the project and the values of its items.
        let waits = !unknown.is_empty() && is_there && self.ids.is_noted(Kind::Context, context.id);
        (!nothing && !waits).then_some((ours, lost + unknown.len() + without_id))
    }

    /// Handles contexts that exist only in the target. Removes the context that came with a property made by this
    /// command; reports all others.
    async fn contexts_only_there(
        &mut self,
        property: &Property,
        contexts: &[Arc<Context>],
        id: &str,
        of: &str,
        list: &str,
    ) -> Result<(), String> {
        let ours: HashSet<String> = contexts
            .iter()
            .filter_map(|context| self.ids.theirs(Kind::Context, context.id).map(str::to_owned))
            .collect();
        let there = self.seen.contexts.get(id).cloned().unwrap_or_default();
        for record in there.iter().filter(|record| !ours.contains(text(record, "id"))) {
            let is_seeded = record.get("is_default") == Some(&Value::Bool(true));
            let name = format!("context `{}` of {of}", text(record, "name"));
            if self.carries() && is_seeded && self.ids.is_begun(Kind::Property, property.id) {
                self.switch(TypeMode::Workspace).await?;
                let path = format!("{list}{}/", text(record, "id"));
                self.write(Kind::Context, &name, Method::DELETE, &path, &Value::Null).await?;
            } else {
                self.extra(name);
            }
        }
        Ok(())
    }
}
