//! One request on its way through a view: who asks, for what, with which parameters. May use: `forms`, `records`, this
//! folder.

use std::cell::Cell;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::door::body::{Body, Datum};
use crate::door::http::{Query, Reply};
use crate::door::route::Place;
use crate::forms::fields::{Row, Shape, View};
use crate::forms::validate::{Form, Sent, Text};
use crate::forms::values;
use crate::records::clock::Clock;
use crate::records::kinds::External;
use crate::records::store::World;
use crate::records::table::Id;

/// A request that passed all checks before the view.
#[derive(Debug)]
pub(crate) struct Call<'r> {
    /// The person behind the key.
    pub(crate) user: Id,
    /// Their zone.
    pub(crate) zone: TimeZone,
    /// The ids and names in the path.
    pub(crate) place: Place,
    /// The query.
    pub(crate) query: Query,
    /// The body's bytes.
    pub(crate) raw: &'r [u8],
    /// The body's type.
    pub(crate) content_type: Option<&'r str>,
    /// The clock.
    pub(crate) clock: &'r Clock,
    /// Set when the answer cannot be written.
    pub(crate) unwritable: Cell<bool>,
}

impl Call<'_> {
    /// The current instant.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The parsed body.
    pub(crate) fn body(&self) -> Result<Body, Reply> {
        Body::parse(self.raw, self.content_type)
    }

    /// How the caller sees values.
    pub(crate) fn view(&self) -> View<'_> {
        View { zone: &self.zone, unwritable: &self.unwritable }
    }

    /// The keys asked for.
    pub(crate) fn shape(&self) -> Shape<'_> {
        Shape::of(&self.query)
    }

    /// Writes one record in a shape.
    pub(crate) fn write<T>(
        &self,
        shape: &Shape<'_>,
        world: &World,
        record: &T,
        render: impl FnOnce(&mut Row<'_>, &World, &T),
    ) -> Value {
        let view = self.view();
        let mut row = Row::new(shape, &view, world);
        render(&mut row, world, record);
        row.done()
    }
}

/// The external pair of a body.
pub(crate) struct SentExternal {
    source: Sent<String>,
    id: Sent<String>,
}

impl SentExternal {
    /// Reads and checks both halves.
    pub(crate) fn read(form: &mut Form<'_>) -> Self {
        Self { source: form.text("external_source", Text::NULL), id: form.text("external_id", Text::NULL) }
    }

    /// Writes what was sent.
    pub(crate) fn store(self, external: &mut External) {
        self.source.store_optional(&mut external.source);
        self.id.store_optional(&mut external.id);
    }
}

/// The record that already has the pair a create sends. Half pairs are not checked
/// (`states_create_half_external_again`).
pub(crate) fn pair_holder<'w>(body: &Body, records: impl Iterator<Item = (Id, &'w External)>) -> Option<Id> {
    let source = body.truthy("external_source")?;
    let id = body.truthy("external_id")?;
    holder(&source, &id, records)
}

/// Whether an update would take another record's pair. Only a changed `external_id` is looked at
/// (`items_patch_source_to_duplicate_pair_accepted`); a missing source is that of the record itself,
/// and without any source there is no clash (`labels_patch_external_id_only_to_duplicate`).
pub(crate) fn pair_taken<'w>(
    body: &Body,
    own: &External,
    records: impl Iterator<Item = (Id, &'w External)>,
) -> bool {
    let Some(id) = body.truthy("external_id") else {
        return false;
    };
    if own.id.as_deref() == Some(id.as_str()) {
        return false;
    }
    let source =
        if body.get("external_source").is_some() { body.truthy("external_source") } else { own.source.clone() };
    source.is_some_and(|source| holder(&source, &id, records).is_some())
}

fn holder<'w>(source: &str, id: &str, mut records: impl Iterator<Item = (Id, &'w External)>) -> Option<Id> {
    records
        .find(|(_, external)| external.source.as_deref() == Some(source) && external.id.as_deref() == Some(id))
        .map(|(holder, _)| holder)
}

/// The refusal of a name that another record of the project has. The clash is found under the trimmed name but
/// explained by looking for the untrimmed one; finding nothing is a 500 (`states_create_duplicate_name_padded`,
/// `labels_create_duplicate_padded`).
pub(crate) fn name_taken<'w>(kind: &str, body: &Body, mut records: impl Iterator<Item = (Id, &'w str)>) -> Reply {
    let sent = body.truthy("name").unwrap_or_default();
    let Some((holder, _)) = records.find(|(_, name)| *name == sent) else {
        return Reply::crash();
    };
    let message = format!("{kind} with the same name already exists in the project");
    Reply::json(409, json!({ "error": message, "id": holder }))
}

/// The `created_at` of a body: without an offset it is UTC, whoever sends it (`tz_naive_in_body_by_kim`).
pub(crate) fn sent_created_at(body: &Body) -> Result<Option<Timestamp>, Reply> {
    match body.get("created_at") {
        None => Ok(None),
        Some(Datum::Json(Value::String(text))) => {
            values::instant(text, &TimeZone::UTC).map(Some).ok_or_else(Reply::bad_detail)
        }
        Some(_) => Err(Reply::bad_detail()),
    }
}
