//! Options of custom properties.
//!
//! May use: `catalogue`, this folder.

use super::ids::{Carried, Kind, digest};
use super::scope::text;
use super::seen::Record;
use super::types::mode_of;
use super::work::{Intended, Verdict, Work};
use crate::catalogue::{Property, PropertyOption, distinct_prefix_len, shapes};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;
use uuid::Uuid;

impl Work<'_> {
    /// Pairs options with the target's options: by noted id, else by name. Of equal names, the first pairs with the
    /// first.
    pub(super) fn suppose_options(&mut self, options: &[Arc<PropertyOption>], there: &Record) {
        let rows = records(there);
        let noted: HashSet<String> = options
            .iter()
            .filter_map(|option| self.ids.theirs(Kind::Option, option.id).map(str::to_owned))
            .collect();
        let mut free: Vec<&Record> = rows.iter().filter(|row| !noted.contains(text(row, "id"))).collect();
        for option in options {
            if self.ids.theirs(Kind::Option, option.id).is_some() {
                continue;
            }
            if let Some(at) = free.iter().position(|row| text(row, "name") == option.name) {
                self.ids.pair_for_this_run(Kind::Option, option.id, text(free.remove(at), "id"));
            }
        }
    }

    /// Notes options that were made with their property.
    pub(super) async fn note_options(&mut self, options: &[Arc<PropertyOption>]) -> Result<(), String> {
        if !self.carries() {
            return Ok(());
        }
        let carried = |option: &Arc<PropertyOption>| {
            let theirs = self.ids.theirs(Kind::Option, option.id)?.to_owned();
            let digest = digest(&json!([shapes::option(&self.catalogue, option)]));
            Some(Carried { own: option.id, theirs, digest })
        };
        let done: Vec<Carried> = options.iter().filter_map(carried).collect();
        self.ids.end(Kind::Option, &done).await
    }

    /// Builds the option for the target. For an option of the workspace, its contexts decide whether it is preselected.
    fn intended_option(&self, owner: Option<Uuid>, option: &PropertyOption, of: &str) -> Intended {
        let mut ours = shapes::option(&self.catalogue, option);
        let digest = digest(&json!([ours]));
        if owner.is_none() {
            ours.remove("is_default");
        }
        let name = format!("option `{}` of {of}", option.name);
        Intended { kind: Kind::Option, own: option.id, ours, name, digest }
    }

    /// Handles the options of a property that the target has.
    pub(super) async fn options(
        &mut self,
        owner: Option<Uuid>,
        property: &Property,
        options: &[Arc<PropertyOption>],
        there: &Record,
        name: &str,
    ) -> Result<(), String> {
        let Some(base) = self.scope.base(owner) else { return Ok(()) };
        let list = format!("{base}/work-item-properties/{}/options/", text(there, "id"));
        let rows: Vec<Record> = records(there);
        // Options that came with a property that this command began belong to this command.
        let is_begun =
            self.ids.is_begun(Kind::Property, property.id) && !self.ids.is_noted(Kind::Property, property.id);
        let mut done = Vec::new();
        let mut is_changed = false;
        for option in options {
            let intended = self.intended_option(owner, option, name);
            if is_begun && self.carries() {
                self.ids.begin(Kind::Option, &[option.id]).await?;
            }
            let found = Self::with_id(&rows, self.ids.theirs(Kind::Option, option.id));
            let verdict = self.judge(Kind::Option, option.id, &intended.digest, &intended.ours, found);
            self.count(Kind::Option, &intended.name, &verdict);
            if !self.carries() {
                continue;
            }
            if let Some(record) = self.carry(&intended, mode_of(owner), &list, &verdict, found).await? {
                is_changed |= verdict != Verdict::Alike;
                let theirs = text(&record, "id").to_owned();
                self.ids.pair_for_this_run(Kind::Option, option.id, &theirs);
                done.push(Carried { own: option.id, theirs, digest: intended.digest });
            }
        }
        self.ids.end(Kind::Option, &done).await?;
        self.order_and_extra(options, &rows, name);
        if is_changed {
            let path = format!("{base}/work-item-properties/{}/", text(there, "id"));
            self.read_again(owner, &path).await?;
        }
        Ok(())
    }

    /// Reports options that exist only in the target, and options in another order.
    fn order_and_extra(&mut self, options: &[Arc<PropertyOption>], rows: &[Record], name: &str) {
        let place = |id: &str| rows.iter().position(|row| text(row, "id") == id);
        let ours: Vec<usize> =
            options.iter().filter_map(|option| place(self.ids.theirs(Kind::Option, option.id)?)).collect();
        if !ours.is_sorted() {
            self.findings.leave(Kind::Option, 1, format!("options of {name} are in another order there"));
        }
        for (at, row) in rows.iter().enumerate() {
            if !ours.contains(&at) {
                self.extra(format!("option `{}` of {name}", text(row, "name")));
            }
        }
    }

    /// Makes, one by one, the options that could not be made with their property. Returns the property after that.
    pub(super) async fn make_remaining_options(
        &mut self,
        owner: Option<Uuid>,
        options: &[Arc<PropertyOption>],
        made: Record,
        name: &str,
    ) -> Result<Record, String> {
        let together = made_together(options);
        let (true, Some(base)) = (together < options.len() && self.carries(), self.scope.base(owner)) else {
            return Ok(made);
        };
        let path = format!("{base}/work-item-properties/{}/", text(&made, "id"));
        for option in &options[together..] {
            let intended = self.intended_option(owner, option, name);
            let (list, make) = (format!("{path}options/"), Verdict::Make);
            if let Some(record) = self.carry(&intended, mode_of(owner), &list, &make, None).await? {
                self.ids.pair_for_this_run(Kind::Option, option.id, text(&record, "id"));
            }
        }
        self.read_again(owner, &path).await
    }
}

/// Counts the options that can be made with their property: all before the first repeated name, regardless of case. The
/// others follow one by one, so that the order is kept.
pub(super) fn made_together(options: &[Arc<PropertyOption>]) -> usize {
    distinct_prefix_len(options.iter().map(|option| option.name.as_str()))
}

/// Returns the options of a property in their order.
fn records(property: &Record) -> Vec<Record> {
    let options = property.get("options").and_then(Value::as_array);
    options.into_iter().flatten().filter_map(Value::as_object).cloned().collect()
}
