//! Custom properties with their options.
//!
//! A property is made together with its options, so that their order is kept and none is made twice. From the first
//! option with a repeated name on, options are made one by one. The name of a property is the key of its values. The
//! service derives it from the label, as a slug. Where the label has changed since, the property is made under its name
//! and gets its label afterwards. May use: `catalogue`, this folder.

use super::bodies::{create, update};
use super::differences::{Difference, differences};
use super::ids::Kind;
use super::options::made_together;
use super::scope::text;
use super::seen::{self, Record};
use super::types::{mode_of, pair_of};
use super::work::{Intended, Verdict, Work};
use crate::catalogue::{Property, PropertyOption, shapes, slug};
use reqwest::Method;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::sync::Arc;
use uuid::Uuid;

impl Work<'_> {
    /// Handles the properties of an owner in their order.
    pub(super) async fn properties(&mut self, owner: Option<Uuid>) -> Result<(), String> {
        let properties: Vec<Arc<Property>> = self.catalogue.properties_of(owner).into_iter().cloned().collect();
        for property in &properties {
            let name = format!("property `{}` of {}", property.display_name, self.scope.owner_in_words(owner));
            let options: Vec<Arc<PropertyOption>> =
                self.catalogue.options_of(property.id).into_iter().cloned().collect();
            self.findings.of(Kind::Property).here += 1;
            self.findings.of(Kind::Option).here += options.len();
            if self.scope.base(owner).is_none() {
                let words = format!("{name}: {}", self.scope.why_without_place(owner));
                self.findings.leave(Kind::Property, 1, words);
                self.findings.of(Kind::Option).left += options.len();
                continue;
            }
            self.one_property(owner, property, &options, &name).await?;
        }
        let ours: Vec<Uuid> = properties.iter().map(|property| property.id).collect();
        let there = self.seen.owned.get(&owner).map(|owned| owned.properties.clone()).unwrap_or_default();
        self.only_there(Kind::Property, "property", "display_name", owner, &ours, &there);
        Ok(())
    }

    async fn one_property(
        &mut self,
        owner: Option<Uuid>,
        property: &Property,
        options: &[Arc<PropertyOption>],
        name: &str,
    ) -> Result<(), String> {
        let untouched = shapes::property(&self.catalogue, property);
        let mut found = self.found(owner, property);
        if let Some(found) = &found {
            self.ids.pair_for_this_run(Kind::Property, property.id, text(found, "id"));
            self.suppose_options(options, found);
        }
        let (ours, lost) = self.with_target_ids(property, &untouched);
        let words = format!("{name}: its default names people or work items that are not there");
        self.findings.leave(Kind::Property, lost.min(1), words);
        let digest = self.ids.fingerprint(Kind::Property, property.id, &untouched, lost);
        let verdict = self.judge(Kind::Property, property.id, &digest, &ours, found.as_ref());
        self.count(Kind::Property, name, &verdict);
        if verdict == Verdict::Make {
            self.findings.of(Kind::Option).carried += options.len();
            if owner.is_none() {
                self.contexts_to_make(property, name);
            }
        }
        if self.carries() && verdict == Verdict::Make {
            found = self.make_property(owner, property, options, &ours, name).await?;
        }
        let Some(mut there) = found else { return Ok(()) };
        if verdict == Verdict::Make {
            there = self.make_remaining_options(owner, options, there, name).await?;
            self.note_options(options).await?;
        } else {
            if self.carries() && differs_in_type(&verdict) {
                there = self.change_type(owner, &ours, there, name).await?;
            }
            self.options(owner, property, options, &there, name).await?;
        }
        // A default may name options, which are known now.
        let (ours, _) = self.with_target_ids(property, &untouched);
        let intended = Intended { kind: Kind::Property, own: property.id, ours, name: name.to_owned(), digest };
        self.finish_property(owner, property, intended, &verdict, there).await
    }

    /// Makes a property with its options, and reads what came with it. Returns `None` when the target refused it.
    async fn make_property(
        &mut self,
        owner: Option<Uuid>,
        property: &Property,
        options: &[Arc<PropertyOption>],
        ours: &Record,
        name: &str,
    ) -> Result<Option<Record>, String> {
        let Some(base) = self.scope.base(owner) else { return Ok(None) };
        self.ids.begin(Kind::Property, &[property.id]).await?;
        let contexts: Vec<Uuid> =
            self.catalogue.contexts_of(property.id).iter().map(|context| context.id).collect();
        self.ids.begin(Kind::Context, &contexts).await?;
        self.switch(mode_of(owner)).await?;
        let (list, body) = (format!("{base}/work-item-properties/"), self.body(owner, property, options, ours));
        let made = self.write(Kind::Property, name, Method::POST, &list, &Value::Object(body)).await?;
        let Some(made) = made else { return Ok(None) };
        self.seen.of(owner).properties.push(made.clone());
        if owner.is_none() {
            let contexts = seen::contexts(self.target, self.scope, text(&made, "id")).await?;
            self.seen.contexts.insert(text(&made, "id").to_owned(), contexts);
        }
        self.ids.pair_for_this_run(Kind::Property, property.id, text(&made, "id"));
        self.suppose_options(options, &made);
        Ok(Some(made))
    }

    /// Reads a property and its contexts again after its options were written, because defaults and contexts name
    /// options.
    pub(super) async fn read_again(&mut self, owner: Option<Uuid>, path: &str) -> Result<Record, String> {
        let record = self.target.read(path).await?.as_object().cloned().unwrap_or_default();
        self.replace_property(owner, &record);
        if owner.is_none() {
            let id = text(&record, "id").to_owned();
            let contexts = seen::contexts(self.target, self.scope, &id).await?;
            self.seen.contexts.insert(id, contexts);
        }
        Ok(record)
    }

    /// Changes the type of a property before its options are written, because only one type has options. The default is
    /// written later, because it may name an option.
    async fn change_type(
        &mut self,
        owner: Option<Uuid>,
        ours: &Record,
        there: Record,
        name: &str,
    ) -> Result<Record, String> {
        let Some(base) = self.scope.base(owner) else { return Ok(there) };
        let fields = ["property_type", "relation_type"].into_iter();
        let mut body: Map<String, Value> =
            fields.filter_map(|field| Some((field.to_owned(), ours.get(field)?.clone()))).collect();
        body.insert("default_value".to_owned(), json!([]));
        self.switch(mode_of(owner)).await?;
        let path = format!("{base}/work-item-properties/{}/", text(&there, "id"));
        let after = self.write(Kind::Property, name, Method::PATCH, &path, &Value::Object(body)).await?;
        match after {
            Some(_) => self.read_again(owner, &path).await,
            None => Ok(there),
        }
    }

    /// Writes the missing parts of a property that the target has, and its contexts.
    async fn finish_property(
        &mut self,
        owner: Option<Uuid>,
        property: &Property,
        intended: Intended,
        verdict: &Verdict,
        there: Record,
    ) -> Result<(), String> {
        let (is_made, id) = (*verdict == Verdict::Make, text(&there, "id").to_owned());
        let mut is_done = *verdict == Verdict::Alike;
        if self.carries() && matches!(verdict, Verdict::Make | Verdict::Change(_)) {
            let left = self.change_property(owner, &intended, there).await?;
            // The next run tries again what the target refused.
            is_done = left.is_some();
            if is_made {
                self.leave_unwritable(Kind::Property, &intended.name, &left.unwrap_or_default());
            }
        }
        if owner.is_none() && (self.carries() || !is_made) {
            self.contexts(property, &id, &intended.name, is_made).await?;
        }
        if self.carries() && is_done {
            self.note(intended, id).await?;
        }
        Ok(())
    }

    /// Changes a property to its wanted state. Returns the remaining differences, or `None` when the target refused it.
    async fn change_property(
        &mut self,
        owner: Option<Uuid>,
        intended: &Intended,
        there: Record,
    ) -> Result<Option<Vec<Difference>>, String> {
        let Some(base) = self.scope.base(owner) else { return Ok(None) };
        let mut record = there;
        if let Some(body) = update(&intended.ours, &differences(Kind::Property, &intended.ours, &record)) {
            self.switch(mode_of(owner)).await?;
            let path = format!("{base}/work-item-properties/{}/", text(&record, "id"));
            let after =
                self.write(Kind::Property, &intended.name, Method::PATCH, &path, &Value::Object(body)).await?;
            let Some(after) = after else { return Ok(None) };
            self.replace_property(owner, &after);
            record = after;
        }
        Ok(Some(differences(Kind::Property, &intended.ours, &record)))
    }

    /// Finds the property in the target: by noted id, else by name, else, when its carrying had begun, by its label.
    fn found(&mut self, owner: Option<Uuid>, property: &Property) -> Option<Record> {
        let noted = self.ids.is_noted(Kind::Property, property.id);
        let begun = self.ids.is_begun(Kind::Property, property.id);
        let known = self.ids.theirs(Kind::Property, property.id).map(str::to_owned);
        let there = &self.seen.owned.get(&owner)?.properties;
        let known = Self::with_id(there, known.as_deref());
        let named = there.iter().find(|record| text(record, "name") == property.name);
        let mut labelled = there.iter().filter(|record| text(record, "display_name") == property.display_name);
        let only = match (labelled.next(), labelled.next()) {
            (Some(one), None) if begun => Some(one),
            _ => None,
        };
        known.or(if noted { None } else { named.or(only) }).cloned()
    }

    /// Builds the body that creates a property with its options.
    fn body(
        &mut self,
        owner: Option<Uuid>,
        property: &Property,
        options: &[Arc<PropertyOption>],
        ours: &Record,
    ) -> Map<String, Value> {
        let mut body = create(Kind::Property, ours);
        let taken: Vec<String> =
            self.seen.of(owner).properties.iter().map(|record| text(record, "name").to_owned()).collect();
        let taken: HashSet<&str> = taken.iter().map(String::as_str).collect();
        if slug(&property.display_name, &taken) != property.name {
            body.insert("display_name".to_owned(), json!(property.name));
        }
        if !options.is_empty() {
            // A default may name an option by its id, which is known only afterwards.
            body.remove("default_value");
            let entries = options[..made_together(options)].iter().map(|option| {
                let mut entry = Map::from_iter([("name".to_owned(), json!(option.name))]);
                entry.insert("description".to_owned(), json!(option.description));
                if owner.is_some() && option.is_default {
                    entry.insert("is_default".to_owned(), json!(true));
                }
                entry.extend(pair_of(&option.external_id, &option.external_source));
                Value::Object(entry)
            });
            body.insert("options".to_owned(), entries.collect());
        }
        body
    }

    /// Returns the record with its default in the target's ids, and how many texts of the default are lost.
    fn with_target_ids(&self, property: &Property, record: &Record) -> (Record, usize) {
        let mut record = record.clone();
        let (texts, lost) = self.default_there(property, &property.default_value);
        record.insert("default_value".to_owned(), texts);
        (record, lost)
    }

    fn replace_property(&mut self, owner: Option<Uuid>, record: &Record) {
        let properties = &mut self.seen.of(owner).properties;
        if let Some(old) = properties.iter_mut().find(|old| text(old, "id") == text(record, "id")) {
            old.clone_from(record);
        }
    }
}

fn differs_in_type(verdict: &Verdict) -> bool {
    let is_type = |one: &Difference| matches!(one.field, "property_type" | "relation_type");
    matches!(verdict, Verdict::Change(unlike) if unlike.iter().any(is_type))
}
