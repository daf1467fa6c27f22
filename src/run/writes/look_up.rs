//! Looks for the outcome of a write without an answer, by the record that it would have created.
//!
//! A create is looked for among the records that its person created in the time in which it can have run: by name,
//! title, text and external pair, as far as it sent them. If exactly one record shows everything that was sent, it is
//! the record. If it lacks only values that v1 refused, and that a create stores in the overlay at its end, it is
//! completed: v1 has told the attempt so, or an older record of the list has the values. A record with a name of its
//! own is completed also when it lacks only what the create sends or stores after its POST, and nobody has changed it.
//! If there is none, and v1 cannot carry the create out any more, the create was not carried out. Anything else proves
//! nothing. Verbs on one record may be repeated, because the second time changes nothing, with one exception: an item
//! that v1 does not show any more may be archived, or deleted.
//!
//! May use: what `run` may use.

use super::create;
use super::find_out::has_unique_name;
use crate::catalogue::Applicable;
use crate::catalogue::values::ValueKind;
use crate::json::{self, SafeJson};
use crate::plan::{Answer, BodyRule, Input, Keep, Known, Method, OnCreate, OwnRecords, Special, Step};
use crate::refusal::Refusal;
use crate::run::items::fields::{self, Newest, newest};
use crate::run::items::names::{self, ForV1};
use crate::run::job::{InProject, Job};
use crate::run::members::{SKEW, as_id, unless_missing};
use crate::store::TypeChange;
use crate::translate::{comments, work_items, work_items_write};
use crate::units::now_micros;
use crate::v2::body::Given;
use crate::v2::time::{self, ClientInstant, Micros};
use crate::v2::value::trimmed;
use crate::v2::{Parameters, Reply};
use serde_json::{Value, json};
use std::time::Instant;
use uuid::Uuid;

/// Rows requested at once, and most pages of a collection that are read.
const PAGE: usize = 100;
const PAGES: usize = 100;
/// Members that distinguish a new record from others.
const TELLING: [&str; 5] = ["name", "display_name", "comment_html", "external_id", "external_source"];

#[derive(Debug)]
pub enum Looked {
    /// The write was carried out; this is its answer.
    Found(Reply),
    /// It was not carried out and will not be; or repeating it changes nothing.
    Absent,
    /// The outcome is unknown.
    NotKnown,
}

impl Job {
    /// Looks for the outcome of an attempt at this write that began at `began`, and that v1 may carry out until
    /// `until`. If `told` is the record that the attempt is known to have created, no other record is the result. With
    /// `refused`, v1 has refused a value of the attempt, which then sent the rest again. Records for which
    /// `is_anothers` is true belong to other requests; with `ambiguous`, any record found may belong to another
    /// request too.
    ///
    /// # Errors
    /// When v1 or the store cannot be asked, or when a step that the earlier attempt left open fails.
    pub async fn look_up(
        &mut self,
        began: Micros,
        until: Micros,
        told: Option<Uuid>,
        refused: bool,
        is_anothers: &(dyn Fn(&Uuid) -> bool + Sync),
        ambiguous: bool,
    ) -> Result<Looked, Refusal> {
        let now = now_micros();
        if !self.creates() {
            return self.look_at_verb().await;
        }
        self.parse_large_body().await?;
        let Ok(given) = self.given() else { return Ok(Looked::Absent) };
        let sanitised = self.sanitising(self.body_size(), || comments::sanitise(given)).await?;
        let Ok(given) = sanitised else { return Ok(Looked::Absent) };
        if self.is_own() {
            // After this wait, the own store carries out nothing more of the attempt.
            self.runner.store.wait_for_edits(self.workspace_id().await?).await?;
        }
        let refusable = self.refusable_as_a_whole(&given);
        let Fitting { records, taken_at, first_at } =
            match self.in_project().filter(|_| self.resource().is(Known::WorkItems)) {
                Some(within) => Fitting { records: within.new_items(&given, began).await?, ..Fitting::default() },
                None => self.new_records(&given, &refusable).await?,
            };
        // Times of v1's records follow v1's clock, which the reads above have shown.
        let by_clock = |at: Micros| if self.is_own() { at } else { self.runner.client.clock.at(at) };
        let made = by_clock(began) - SKEW..=by_clock(until) + SKEW;
        let mut candidates: Vec<Candidate> = records
            .into_iter()
            .filter(|one| !is_anothers(&one.id))
            .filter(|one| one.created_at.is_none_or(|at| made.contains(&at)))
            .collect();
        if candidates.iter().any(|one| told == Some(one.id)) {
            candidates.retain(|one| told == Some(one.id));
        }
        // A record with everything that was sent comes before one that lacks a part.
        if candidates.iter().any(|one| !one.lacks) {
            candidates.retain(|one| !one.lacks);
        }
        match candidates.as_slice() {
            [] if self.is_own() || now > until => Ok(Looked::Absent),
            [Candidate { id, created_at: Some(created_at), .. }] if told.map_or(!ambiguous, |told| told == *id) => {
                let is_first = first_at.is_none_or(|at| at >= *created_at);
                // Otherwise v1 had no visible reason to refuse what it lacks, and it may be of another request.
                let was_refused = refused || taken_at.is_some_and(|at| at < *created_at);
                self.judge_candidate(*id, &given, &refusable, is_first, was_refused).await
            }
            _ => Ok(Looked::NotKnown),
        }
    }

    /// Judges the only record that can be the result: returns the answer if it is, and completes it if it lacks only a
    /// part that v1 has refused or that comes later. `is_first` tells whether it is the oldest of its list;
    /// `was_refused`, whether v1 is known to have refused values of the attempt.
    async fn judge_candidate(
        &self,
        id: Uuid,
        given: &Given,
        refusable: &Refusable<'_>,
        is_first: bool,
        was_refused: bool,
    ) -> Result<Looked, Refusal> {
        let Some(reply) = self.read_created_record(id).await? else { return Ok(Looked::NotKnown) };
        let shown = json::members(reply.body.as_deref().unwrap_or_default()).map_err(Refusal::internal)?;
        let mut stored = given.clone();
        stored.retain(|name, _| !lacks(name, shown.get(name), refusable));
        let whole = stored.len() == given.len();
        if let Some(within) = self.in_project() {
            within.leave_out_blank_texts(&mut stored, &shown).await?;
        }
        // Otherwise it is another record of the same name, or lacks more of what was sent.
        let fits = self.shows_all(&shown, &stored, is_first) && self.has_unshown(id, given, &shown).await?;
        match (fits, whole) {
            (true, true) => {
                let reply = self.make_sole_flag_holder(id, given, reply).await?;
                // A client with the answer sees the record in the next read through any process.
                self.announce_found().await;
                Ok(Looked::Found(reply))
            }
            (true, false) if was_refused => Ok(Looked::Found(self.complete(id).await?)),
            // Its later steps may be missing. The create itself checks that nothing else is.
            (false, _) if (whole || was_refused) && has_unique_name(self.resource()) => {
                Ok(Looked::Found(self.complete(id).await?))
            }
            _ => Ok(Looked::NotKnown),
        }
    }

    /// Checks whether the write creates a record that a list shows.
    fn creates(&self) -> bool {
        self.operation().method == Method::Post
            && self.sibling(Method::Get, Answer::Page, "").is_some()
            && self.retrieve().is_some()
            && self.resource().records != Some(OwnRecords::Attachments)
    }

    /// Returns the operation with this method at the path of this one plus `suffix`.
    fn sibling(&self, method: Method, answer: Answer, suffix: &str) -> Option<usize> {
        let path = format!("{}{suffix}", self.operation().path.as_str());
        self.runner
            .plan
            .operations
            .iter()
            .position(|known| known.method == method && known.answer == answer && known.path.as_str() == path)
    }

    fn retrieve(&self) -> Option<usize> {
        self.sibling(Method::Get, Answer::Record, "{pk}/")
    }

    async fn look_at_verb(&self) -> Result<Looked, Refusal> {
        let archives = self.operation().step == Step::Special(Special::WorkItemArchive);
        let Some(within) = self.in_project().filter(|_| archives) else { return Ok(Looked::Absent) };
        match within.read_item(self.pk()?).await {
            Ok(_) => Ok(Looked::Absent),
            Err(Refusal::NotFound { .. }) => Ok(Looked::NotKnown),
            Err(refusal) => Err(refusal),
        }
    }

    /// Returns the records of the list at this path that show the sent members.
    async fn new_records(&self, given: &Given, refusable: &Refusable<'_>) -> Result<Fitting, Refusal> {
        let list =
            self.sibling(Method::Get, Answer::Page, "").ok_or_else(|| Refusal::internal("no list to look in"))?;
        let v1 = self.resource().v1.as_ref().is_some_and(|v1| v1.collection.is_some());
        if v1 {
            self.load_since(self.resource(), Instant::now()).await?;
        }
        let mut fitting = Fitting::default();
        for page in 0..PAGES {
            let query = format!("per_page={PAGE}&offset={}", page * PAGE);
            let reading = self.as_operation(list, Parameters::parse(&query));
            let body = Box::pin(reading.run_operation()).await?.body.unwrap_or_default();
            let SafeJson(body) = serde_json::from_slice(&body).map_err(Refusal::internal)?;
            let rows = body.get("data").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            let lacking = |row: &Value| given.keys().any(|name| lacks(name, row.get(name), refusable));
            let showing = rows.iter().filter(|row| self.shows(row, given, refusable));
            fitting.records.extend(showing.filter_map(|row| Candidate::of(row, lacking(row))));
            let holders = rows.iter().filter(|row| holds_all(row, refusable));
            fitting.taken_at = fitting.taken_at.into_iter().chain(holders.filter_map(created_at)).min();
            fitting.first_at = fitting.first_at.into_iter().chain(rows.iter().filter_map(created_at)).min();
            if body.get("next").is_none_or(Value::is_null) {
                fitting.records = self.with_times_of_options(fitting.records).await?;
                return Ok(fitting);
            }
        }
        Err(Refusal::upstream("The list is too long to be looked through.", "looking for what a write made"))
    }

    /// Adds the creation times of options, which their read shape does not contain.
    async fn with_times_of_options(&self, mut found: Vec<Candidate>) -> Result<Vec<Candidate>, Refusal> {
        if self.resource().records == Some(OwnRecords::Options) {
            let catalogue = self.runner.store.catalogue(self.workspace_id().await?).await?;
            for one in &mut found {
                one.created_at = catalogue.options.get(&one.id).map(|option| option.created_at);
            }
        }
        Ok(found)
    }

    /// Checks whether a record of a list can be the result of `given`.
    fn shows(&self, row: &Value, given: &Given, refusable: &Refusable<'_>) -> bool {
        let nobody = Uuid::nil().to_string();
        let me = self.call.caller.user.id.to_string();
        let maker = row.get("created_by_id").and_then(Value::as_str).filter(|maker| *maker != nobody);
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(|text| trimmed(text).to_owned());
        let mut told = TELLING.iter().filter_map(|name| Some((name, text(given.get(*name))?)));
        let differs = |(name, sent): (&&str, String)| {
            let shown = row.get(*name);
            shown.is_some() && text(shown).unwrap_or_default() != sent && !lacks(name, shown, refusable)
        };
        maker.is_none_or(|maker| maker == me) && !told.any(differs)
    }

    /// Returns the sent values that v1 may refuse, and that the overlay keeps then. v1 refuses no half of a pair
    /// (`comments_create_half_external`).
    fn refusable_as_a_whole<'g>(&'g self, given: &'g Given) -> Vec<(&'g str, &'g Value)> {
        let fields = self.resource().fields.iter().filter(|field| field.spec.keep == Keep::OverlayIfRefused);
        let sent = fields.map(|field| {
            let sent = given.get(&field.name).filter(|sent| !is_shown_as(sent, &Value::Null))?;
            Some((field.name.as_str(), sent))
        });
        sent.collect::<Option<Vec<_>>>().unwrap_or_default()
    }

    /// Checks whether the members of an answer show everything that was sent. It compares the members that are shown in
    /// the form in which they are written, and that only the writer decides; `is_first` tells whether the record is the
    /// oldest of its list.
    fn shows_all(&self, shown: &Given, given: &Given, is_first: bool) -> bool {
        let BodyRule::Members(inputs) = &self.operation().body else { return true };
        let fields = &self.resource().fields;
        // A flag that only one record has is moved to this record afterwards.
        let moved = self.flag_asked_for(given);
        let is_decided =
            |field: usize| moved == Some(field) || !is_first && fields[field].spec.on_create == OnCreate::IfFirst;
        let decided = |input: &Input| input.field.is_some_and(is_decided);
        let compared = inputs.iter().filter(|input| !input.spec.write_only && !decided(input));
        let mut both = compared.filter_map(|input| Some((given.get(&input.name)?, shown.get(&input.name)?)));
        both.all(|(sent, shown)| is_shown_as(sent, shown))
    }

    /// Returns the index of the flag's field (`exclusive`), if `given` sets the flag.
    fn flag_asked_for(&self, given: &Given) -> Option<usize> {
        let field = self.resource().exclusive.as_ref()?.field;
        let asked = given.get(&self.resource().fields[field].name) == Some(&Value::Bool(true));
        asked.then_some(field)
    }

    /// Sets the flag that only one record has (`exclusive`) on the record `id`, when `given` asks for it; returns the
    /// answer afterwards. An interrupted create may have left the flag on the previous record too.
    async fn make_sole_flag_holder(&self, id: Uuid, given: &Given, reply: Reply) -> Result<Reply, Refusal> {
        let Some(field) = self.flag_asked_for(given) else { return Ok(reply) };
        let flag = &self.resource().fields[field].name;
        let update = self.sibling(Method::Patch, Answer::Record, "{pk}/");
        let update = update.ok_or_else(|| Refusal::internal("nothing updates the record"))?;
        let mut writing = self.on_record(update, id);
        writing.call.body = Ok(json!({ flag: true }).to_string().into());
        let reply = Box::pin(writing.run()).await?;
        Ok(Reply { status: self.operation().status, ..reply })
    }

    /// Ends the create of the record `id`, which lacks only values that v1 refused, or the later steps; returns its
    /// answer.
    async fn complete(&self, id: Uuid) -> Result<Reply, Refusal> {
        let mut creating = self.as_operation(self.call.operation, self.call.parameters.clone());
        creating.call.body = self.call.body.clone();
        creating.call.content_type = self.call.content_type.clone();
        creating.waiting = self.waiting.clone();
        creating.half_made = Some(id);
        Box::pin(creating.run()).await.map_err(|refusal| match refusal {
            // Its check came before the look at the record; the answer must not say that there is none.
            Refusal::Validation { .. } | Refusal::Conflict { .. } => create::may_be_the_result(id),
            refusal => refusal,
        })
    }

    /// Checks whether the work item has the sent values that v2 shows in another form (names) or never. Descriptions are
    /// not compared, because v1 rewrites them.
    async fn has_unshown(&self, id: Uuid, given: &Given, shown: &Given) -> Result<bool, Refusal> {
        let within = self.in_project().filter(|_| self.resource().is(Known::WorkItems));
        let (Some(within), BodyRule::Members(inputs)) = (within, &self.operation().body) else { return Ok(true) };
        let is_unshown = |name: &str| inputs.iter().any(|input| input.spec.write_only && input.name == name);
        let mut sent = given.clone();
        sent.retain(|name, _| is_unshown(name) && name != "description_html");
        if sent.is_empty() {
            return Ok(true);
        }
        let definitions = within.definitions().await?;
        let type_id = match fields::asked_type(&definitions, within.card.id, &sent, None) {
            Ok(TypeChange::Set(type_id)) => type_id,
            Ok(TypeChange::Kept) => shown.get("type_id").and_then(as_id),
            Err(_) => return Ok(false),
        };
        let ForV1 { body, wrong, .. } = Box::pin(names::for_v1(&within, &sent, None)).await?;
        if !wrong.is_empty() || type_id != shown.get("type_id").and_then(as_id) {
            return Ok(false);
        }
        let item = self.read_record_fields(id, work_items::WHOLE).await?;
        let checked = work_items_write::check(self.resource(), &body, &item);
        Ok(checked.lost.is_empty() && checked.missing.is_empty())
    }

    /// Returns a job for another operation on the record `id`.
    fn on_record(&self, operation: usize, id: Uuid) -> Self {
        let mut job = self.as_operation(operation, self.call.parameters.clone());
        job.call.variables.push(("pk".to_owned(), id.to_string()));
        job.waiting = self.waiting.clone();
        job
    }

    /// Returns the answer that this write would have if it had just created the record `id`.
    async fn read_created_record(&self, id: Uuid) -> Result<Option<Reply>, Refusal> {
        let retrieve = self.retrieve().ok_or_else(|| Refusal::internal("nothing shows the record"))?;
        let shown = unless_missing(Box::pin(self.on_record(retrieve, id).run_operation()).await)?;
        Ok(shown.map(|reply| Reply { status: self.operation().status, ..reply }))
    }
}

impl InProject<'_> {
    async fn new_items(&self, given: &Given, began: Micros) -> Result<Vec<Candidate>, Refusal> {
        let name = trimmed(given.get("name").and_then(Value::as_str).unwrap_or_default());
        let me = self.call.caller.user.id;
        let mine = |item: &Newest| item.created_by == Some(me) && trimmed(&item.name) == name;
        let items = newest(self, self.runner.client.clock.at(began) - SKEW).await?;
        let candidate = |item: Newest| Candidate { id: item.id, created_at: Some(item.created_at), lacks: false };
        Ok(items.into_iter().filter(mine).map(candidate).collect())
    }

    /// Removes blank rich texts from the custom fields of the body whose item is `shown`: they are stored as no value.
    async fn leave_out_blank_texts(&self, given: &mut Given, shown: &Given) -> Result<(), Refusal> {
        let Some(Value::Object(fields)) = given.get_mut("custom_fields") else { return Ok(()) };
        let Some(type_id) = shown.get("type_id").and_then(as_id) else { return Ok(()) };
        let applicable = self.definitions().await?.applicable(self.card.id, type_id);
        let is_rich = |one: &Applicable| ValueKind::of(&one.property) == ValueKind::Html;
        let takes_rich = |name: &str| applicable.iter().any(|one| one.property.name == name && is_rich(one));
        let is_blank = |value: &Value| value.as_str().is_some_and(|text| text.trim().is_empty());
        fields.retain(|name, value| !(is_blank(value) && takes_rich(name)));
        Ok(())
    }
}

/// Checks whether a sent member is shown with its value. Objects, and arrays of objects, are shown in other forms.
fn is_shown_as(sent: &Value, shown: &Value) -> bool {
    let unset = |value: &Value| value.is_null() || value.as_str().is_some_and(str::is_empty);
    match (sent, shown) {
        (Value::String(sent), Value::String(shown)) => {
            let (sent, shown) = (trimmed(sent), trimmed(shown));
            match (time::read(sent), time::read(shown)) {
                // A day is shown as the instant of its beginning in a time zone.
                (Some(ClientInstant::Day(_)), Some(ClientInstant::Instant(_))) => true,
                (Some(sent), Some(shown)) => sent == shown,
                _ => sent == shown,
            }
        }
        (Value::Number(sent), Value::Number(shown)) => sent.as_f64() == shown.as_f64(),
        (Value::Array(sent), Value::Array(shown)) => {
            let objects = sent.iter().chain(shown).any(|element| element.is_object());
            let within = |some: &[Value], others: &[Value]| some.iter().all(|one| others.contains(one));
            objects || within(sent, shown) && within(shown, sent)
        }
        (Value::Object(sent), Value::Object(shown)) => {
            let clears = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
            sent.values().all(clears) || !shown.is_empty()
        }
        (sent, shown) => sent == shown || unset(sent) && unset(shown),
    }
}

/// Records of a list that may be the result.
#[derive(Debug, Default)]
struct Fitting {
    records: Vec<Candidate>,
    /// When the first record of the list was created that shows all sent values that v1 may refuse.
    taken_at: Option<Micros>,
    /// When the first record of the list was created.
    first_at: Option<Micros>,
}

/// Sent values that v1 may refuse together, by the names of their members.
type Refusable<'g> = [(&'g str, &'g Value)];

/// Checks whether a record that shows `shown` may lack the sent member `name` because v1 refused it: the overlay keeps
/// such a value, and a create may have ended before.
fn lacks(name: &str, shown: Option<&Value>, refusable: &Refusable<'_>) -> bool {
    shown.is_some_and(Value::is_null) && refusable.iter().any(|(refusable, _)| *refusable == name)
}

/// Checks whether a record of a list shows all sent values that v1 may refuse, so that v1 refuses them in another.
fn holds_all(row: &Value, refusable: &Refusable<'_>) -> bool {
    let shows = |(name, sent): &(&str, &Value)| row.get(*name).is_some_and(|shown| is_shown_as(sent, shown));
    !refusable.is_empty() && refusable.iter().all(shows)
}

/// A record that may be the result.
#[derive(Debug)]
struct Candidate {
    id: Uuid,
    /// None where v2 does not show it; then a new record cannot be told from an old one.
    created_at: Option<Micros>,
    /// Whether it shows no value for a sent member that v1 may have refused.
    lacks: bool,
}

impl Candidate {
    fn of(row: &Value, lacks: bool) -> Option<Self> {
        let id = as_id(row.get("id")?)?;
        Some(Self { id, created_at: created_at(row), lacks })
    }
}

fn created_at(row: &Value) -> Option<Micros> {
    row.get("created_at").and_then(Value::as_str).and_then(time::read_instant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_that_only_clears_is_shown_by_an_empty_one() {
        for cleared in [json!({}), json!({"a": null}), json!({"a": []}), json!({"a": null, "b": []})] {
            assert!(is_shown_as(&cleared, &json!({})), "{cleared}");
            assert!(is_shown_as(&cleared, &json!({"c": 1})), "{cleared}");
        }
        for set in [json!({"a": 0}), json!({"a": null, "b": false}), json!({"a": [1]}), json!({"a": ""})] {
            assert!(!is_shown_as(&set, &json!({})), "{set}");
            assert!(is_shown_as(&set, &json!({"a": 1})), "{set}");
        }
    }
}
