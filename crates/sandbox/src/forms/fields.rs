//! `fields` and `expand`: the keys of a record that an answer has, and those that become objects. A value that is not
//! wanted is not computed. May use: `door`, `records`.

use std::cell::Cell;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::{Map, Number, Value, json};

use crate::door::http::Query;
use crate::records::kinds::{External, Stamp, User};
use crate::records::store::World;
use crate::records::table::Id;

/// The keys that a request asks for.
#[derive(Debug)]
pub(crate) struct Shape<'q> {
    fields: Option<Vec<&'q str>>,
    expand: Vec<&'q str>,
}

/// All keys, none expanded: the shape of all answers to writes.
pub(crate) static FULL: Shape<'static> = Shape { fields: None, expand: Vec::new() };

impl<'q> Shape<'q> {
    /// Reads the shape that a query asks for. Names are not trimmed (`lists_fields_spaces`); an empty list
    /// means all keys (`lists_fields_empty`).
    pub(crate) fn of(query: &'q Query) -> Self {
        let list = |name: &str| -> Vec<&'q str> {
            query.get(name).unwrap_or_default().split(',').filter(|part| !part.is_empty()).collect()
        };
        let fields = list("fields");
        Self { fields: (!fields.is_empty()).then_some(fields), expand: list("expand") }
    }

    /// Whether a key is kept.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.fields.as_ref().is_none_or(|fields| fields.contains(&name))
    }

    /// Whether all keys are kept.
    pub(crate) fn is_whole(&self) -> bool {
        self.fields.is_none()
    }

    /// Whether a key is to be expanded.
    pub(crate) fn expands(&self, name: &str) -> bool {
        self.expand.contains(&name)
    }
}

/// The caller's view of values: the zone for instants, and a mark for values that cannot be sent.
#[derive(Debug)]
pub(crate) struct View<'c> {
    /// The caller's zone (`tz_list_kim`).
    pub(crate) zone: &'c TimeZone,
    /// Set when a number cannot be written as JSON; the answer then is a crash page.
    pub(crate) unwritable: &'c Cell<bool>,
}

impl View<'_> {
    /// Writes an instant in the caller's zone: `Z` for UTC, six fraction digits or none
    /// (`tz_list_ada`).
    pub(crate) fn instant(&self, at: Timestamp) -> Value {
        let local = self.zone.to_datetime(at);
        let offset = self.zone.to_offset(at).seconds();
        let micros = local.subsec_nanosecond() / 1000;
        let fraction = if micros == 0 { String::new() } else { format!(".{micros:06}") };
        let zone = if offset == 0 {
            "Z".to_owned()
        } else {
            let sign = if offset < 0 { '-' } else { '+' };
            let (minutes, seconds) = (offset.abs() / 60, offset.abs() % 60);
            // Historical zones have offsets with seconds; Python then writes the seconds.
            let seconds = if seconds == 0 { String::new() } else { format!(":{seconds:02}") };
            format!("{sign}{:02}:{:02}{seconds}", minutes / 60, minutes % 60)
        };
        Value::String(format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{fraction}{zone}",
            local.year(),
            local.month(),
            local.day(),
            local.hour(),
            local.minute(),
            local.second()
        ))
    }

    fn float(&self, number: f64) -> Value {
        Number::from_f64(number).map_or_else(
            || {
                self.unwritable.set(true);
                Value::Null
            },
            Value::Number,
        )
    }
}

/// A record being written.
#[derive(Debug)]
pub(crate) struct Row<'s> {
    shape: &'s Shape<'s>,
    view: &'s View<'s>,
    world: &'s World,
    map: Map<String, Value>,
}

impl<'s> Row<'s> {
    /// An empty record.
    pub(crate) fn new(shape: &'s Shape<'s>, view: &'s View<'s>, world: &'s World) -> Self {
        Self { shape, view, world, map: Map::new() }
    }

    /// The caller's view of values.
    pub(crate) fn view(&self) -> &'s View<'s> {
        self.view
    }

    /// Adds a value that has an expanded form of its own. `value` gets whether it is to be expanded.
    pub(crate) fn expandable(&mut self, name: &str, value: impl FnOnce(bool) -> Value) -> &mut Self {
        if self.shape.wants(name) {
            self.always(name, value);
        }
        self
    }

    /// The finished record.
    pub(crate) fn done(self) -> Value {
        Value::Object(self.map)
    }

    /// Adds a value that is expensive to compute.
    pub(crate) fn with(&mut self, name: &str, value: impl FnOnce() -> Value) -> &mut Self {
        if self.shape.wants(name) {
            let value = if self.shape.expands(name) {
                // v1 replaces the value of a field it cannot expand by null
                // (`types_get_expand`, key `type_id`).
                Value::Null
            } else {
                value()
            };
            self.map.insert(name.to_owned(), value);
        }
        self
    }

    /// A plain value.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<Value>) -> &mut Self {
        if self.shape.wants(name) {
            self.with(name, || value.into());
        }
        self
    }

    /// An id.
    pub(crate) fn id(&mut self, id: Id) -> &mut Self {
        self.with("id", || json!(id))
    }

    /// An instant or null.
    pub(crate) fn instant(&mut self, name: &str, at: Option<Timestamp>) -> &mut Self {
        let view = self.view;
        self.with(name, || at.map_or(Value::Null, |at| view.instant(at)))
    }

    /// A calendar day or null.
    pub(crate) fn day(&mut self, name: &str, day: Option<Date>) -> &mut Self {
        self.with(name, || day.map_or(Value::Null, |day| json!(day.to_string())))
    }

    /// A number with a fraction.
    pub(crate) fn float(&mut self, name: &str, number: f64) -> &mut Self {
        let view = self.view;
        self.with(name, || view.float(number))
    }

    /// The instants of creation, change and deletion.
    pub(crate) fn stamps(&mut self, stamp: &Stamp, deleted_at: Option<Timestamp>) -> &mut Self {
        self.instant("created_at", Some(stamp.created_at))
            .instant("updated_at", Some(stamp.updated_at))
            .instant("deleted_at", deleted_at)
    }

    /// The external pair.
    pub(crate) fn external(&mut self, external: &External) -> &mut Self {
        self.set("external_source", external.source.clone()).set("external_id", external.id.clone())
    }

    /// Author, last changer, project and workspace.
    pub(crate) fn origin(&mut self, stamp: &Stamp, project: Id, workspace: Id) -> &mut Self {
        self.person("created_by", stamp.created_by)
            .person("updated_by", stamp.updated_by)
            .project(Some(project))
            .workspace(workspace)
    }

    /// Adds a related record without an expanded form: `expand` leaves its id in place
    /// (`modules_get_expand_lead`).
    pub(crate) fn reference(&mut self, name: &str, id: Option<Id>) -> &mut Self {
        if self.shape.wants(name) {
            self.map.insert(name.to_owned(), json!(id));
        }
        self
    }

    /// Adds a related record with an expanded form. An expanded null is not null but an empty object, as in v1
    /// (`items_get_expand_nulls`).
    pub(crate) fn related(
        &mut self,
        name: &str,
        id: Option<Id>,
        expanded: impl FnOnce(Id) -> Option<Value>,
    ) -> &mut Self {
        if self.shape.wants(name) {
            let value = if self.shape.expands(name) {
                id.and_then(expanded).unwrap_or_else(|| json!({}))
            } else {
                json!(id)
            };
            self.map.insert(name.to_owned(), value);
        }
        self
    }

    /// Adds a value in any case, whatever `fields` says. `value` gets whether it is to be expanded.
    pub(crate) fn always(&mut self, name: &str, value: impl FnOnce(bool) -> Value) -> &mut Self {
        let value = value(self.shape.expands(name));
        self.map.insert(name.to_owned(), value);
        self
    }

    /// A person, expandable.
    pub(crate) fn person(&mut self, name: &str, id: Option<Id>) -> &mut Self {
        let world = self.world;
        self.related(name, id, |id| world.users.get(id).map(person))
    }

    /// The project, expandable.
    pub(crate) fn project(&mut self, id: Option<Id>) -> &mut Self {
        let world = self.world;
        self.related("project", id, |id| {
            let project = world.projects.any(id)?;
            Some(json!({
                "id": project.id,
                "identifier": project.identifier,
                "name": project.name,
                "cover_image": project.cover_image,
                "icon_prop": null,
                "emoji": project.emoji,
                "description": project.description,
                "cover_image_url": null,
            }))
        })
    }

    /// The workspace, expandable.
    pub(crate) fn workspace(&mut self, id: Id) -> &mut Self {
        let world = self.world;
        self.related("workspace", Some(id), |id| {
            let workspace = world.workspace_by_id(id)?;
            Some(json!({ "name": workspace.name, "slug": workspace.slug, "id": workspace.id }))
        })
    }
}

/// Writes a person as rosters and expansions show it.
pub(crate) fn person(user: &User) -> Value {
    json!({
        "id": user.id,
        "first_name": user.first_name,
        "last_name": user.last_name,
        "email": user.email,
        "avatar": "",
        "avatar_url": null,
        "display_name": user.display_name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Historical zones have offsets with seconds, and v1 writes them as Python does.
    #[test]
    fn an_instant_before_there_were_zones_keeps_its_seconds() {
        let (zone, unwritable) = (TimeZone::get("Asia/Kolkata").expect("a zone"), Cell::new(false));
        let view = View { zone: &zone, unwritable: &unwritable };
        let at = |text: &str| view.instant(text.parse().expect("an instant"));
        assert_eq!(at("1850-01-01T00:00:00Z"), "1850-01-01T05:53:28+05:53:28");
        assert_eq!(at("2026-01-01T00:00:00Z"), "2026-01-01T05:30:00+05:30");
    }
}
