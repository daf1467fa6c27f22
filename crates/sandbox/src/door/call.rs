//! One request during its view: the caller, the place and the parameters. May use: `forms`, `records`, this
//! folder.

use std::cell::Cell;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::door::body::{Body, Datum};
use crate::door::http::{Query, Reply};
use crate::door::route::Place;
use crate::forms::fields::{Row, Shape, View};
use crate::forms::validate::{Form, SentValue, Text};
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
    /// Time zone of the person.
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

    /// The caller's view of values.
    pub(crate) fn view(&self) -> View<'_> {
        View { zone: &self.zone, unwritable: &self.unwritable }
    }

    /// The keys that the request asks for.
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
    source: SentValue<String>,
    id: SentValue<String>,
}

impl SentExternal {
    /// Reads and checks both halves.
    pub(crate) fn read(form: &mut Form<'_>) -> Self {
        Self { source: form.text("external_source", Text::NULL), id: form.text("external_id", Text::NULL) }
    }

    /// Stores the values that were sent.
    pub(crate) fn store(self, external: &mut External) {
        self.source.store_optional(&mut external.source);
        self.id.store_optional(&mut external.id);
    }
}

/// Returns the record that already has the pair that a create sends. Half pairs are not checked
/// (`states_create_half_external_again`).
pub(crate) fn pair_holder<'w>(body: &Body, mut records: impl Iterator<Item = (Id, &'w External)>) -> Option<Id> {
    let source = body.truthy("external_source")?;
    let id = body.truthy("external_id")?;
    let holds = |external: &External| {
        external.source.as_deref() == Some(source.as_str()) && external.id.as_deref() == Some(id.as_str())
    };
    records.find(|(_, external)| holds(external)).map(|(holder, _)| holder)
}

/// Checks whether an update would take the pair of another record. Only a changed `external_id` is checked
/// (`items_patch_source_to_duplicate_pair_accepted`). A missing source is the source of the record itself. v1 leaves
/// the comparison to its database, for which no source is the same as no source.
pub(crate) fn pair_taken<'w>(
    body: &Body,
    own: &External,
    mut records: impl Iterator<Item = (Id, &'w External)>,
) -> bool {
    let Some(id) = changed_id(body, own) else {
        return false;
    };
    let source = match body.get("external_source") {
        None => own.source.clone(),
        Some(Datum::Json(Value::Null)) => None,
        Some(sent) => Some(sent.text()),
    };
    records.any(|(_, external)| external.source == source && external.id.as_deref() == Some(id.as_str()))
}

/// Like [`pair_taken`], for a label: v1 checks only a pair of which the body has both halves
/// (`labels_patch_external_duplicate`, `labels_patch_external_id_only_to_duplicate`).
pub(crate) fn label_pair_taken<'w>(
    body: &Body,
    own: &External,
    records: impl Iterator<Item = (Id, &'w External)>,
) -> bool {
    changed_id(body, own).is_some() && pair_holder(body, records).is_some()
}

/// Returns the `external_id` of an update that differs from the record's own.
fn changed_id(body: &Body, own: &External) -> Option<String> {
    body.truthy("external_id").filter(|id| own.id.as_deref() != Some(id.as_str()))
}

/// Returns the refusal of a name that another record of the project has. v1 finds the conflict under the trimmed name,
/// but then looks for the record with the untrimmed name; if there is none, the answer is a 500
/// (`states_create_duplicate_name_padded`, `labels_create_duplicate_padded`).
pub(crate) fn name_taken<'w>(kind: &str, body: &Body, mut records: impl Iterator<Item = (Id, &'w str)>) -> Reply {
    let sent = body.truthy("name").unwrap_or_default();
    let Some((holder, _)) = records.find(|(_, name)| *name == sent) else {
        return Reply::crash();
    };
    let message = format!("{kind} with the same name already exists in the project");
    Reply::json(409, json!({ "error": message, "id": holder }))
}

/// Reads the `created_at` of a body. Without an offset it is in UTC, whatever the caller's zone
/// (`tz_naive_in_body_by_kim`).
pub(crate) fn sent_created_at(body: &Body) -> Result<Option<Timestamp>, Reply> {
    match body.get("created_at") {
        None => Ok(None),
        Some(Datum::Json(Value::String(text))) => {
            values::instant(text, &TimeZone::UTC).map(Some).ok_or_else(Reply::bad_detail)
        }
        Some(_) => Err(Reply::bad_detail()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn external(source: Option<&str>, id: &str) -> External {
        External { source: source.map(str::to_owned), id: Some(id.to_owned()) }
    }

    #[test]
    fn a_half_of_a_pair_in_an_update_is_completed_by_the_record_but_not_for_a_label() {
        let others = [external(None, "e"), external(Some(""), "b"), external(Some("gh"), "z")];
        for (own, sent, taken, label_taken) in [
            (None, json!({"external_id": "e"}), true, false),
            (Some("gh"), json!({"external_id": "e", "external_source": null}), true, false),
            (None, json!({"external_id": "b", "external_source": ""}), true, false),
            (None, json!({"external_id": "b"}), false, false),
            (Some("gh"), json!({"external_id": "z"}), true, false),
            (None, json!({"external_id": "z", "external_source": "gh"}), true, true),
            (None, json!({"external_id": "z", "external_source": "gl"}), false, false),
            (None, json!({"external_source": "gh"}), false, false),
            (None, json!({"external_id": "own"}), false, false),
        ] {
            let own = external(own, "own");
            let body = Body::parse(sent.to_string().as_bytes(), Some("application/json")).expect("a body");
            let others = || others.iter().map(|external| (Id::nil(), external));
            assert_eq!(pair_taken(&body, &own, others()), taken, "{own:?} {sent}");
            assert_eq!(label_pair_taken(&body, &own, others()), label_taken, "label {own:?} {sent}");
        }
    }
}
