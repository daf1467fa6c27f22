//! Walks through two answers at once and notes where they differ.
//!
//! May use: this folder.

use super::found::Difference;
use super::values::{exact, kinds, same};
use super::words::MemberNames;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Longest name of a member that is stored, in characters.
const LONGEST: usize = 60;
/// Most differences noted for one answer.
const MOST: usize = 20;

/// Rules of a comparison.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'r> {
    /// Names that may be shown.
    pub words: &'r MemberNames,
    /// The field by which the rows of a list are ordered; none without a list or an order.
    pub order: Option<&'r str>,
    /// Whether values are shown themselves.
    pub values: bool,
}

pub(super) struct Walk<'r> {
    pub(super) rules: Rules<'r>,
    found: BTreeSet<Difference>,
}

impl<'r> Walk<'r> {
    pub(super) fn new(rules: Rules<'r>) -> Self {
        Self { rules, found: BTreeSet::new() }
    }

    /// Returns the differences, each once.
    pub(super) fn found(self) -> Vec<Difference> {
        self.found.into_iter().collect()
    }

    pub(super) fn note(&mut self, place: &str, ours: &str, theirs: &str) {
        if self.found.len() < MOST {
            let place = if place.is_empty() { "/".to_owned() } else { place.to_owned() };
            self.found.insert(Difference { place, ours: ours.into(), theirs: theirs.into() });
        }
    }

    fn differ(&mut self, place: &str, ours: Option<&Value>, theirs: Option<&Value>) {
        let (ours, theirs) = match self.rules.values {
            true => (exact(ours), exact(theirs)),
            false => kinds(ours, theirs),
        };
        self.note(place, &ours, &theirs);
    }

    /// Compares the two values at one place; none for a missing value.
    pub(super) fn values(&mut self, place: &str, ours: Option<&Value>, theirs: Option<&Value>) {
        match (ours, theirs) {
            (None, None) => {}
            (Some(Value::Object(one)), Some(Value::Object(other))) => {
                let are_memberships = person(ours).is_some() && person(theirs).is_some();
                let but: &[&str] = if are_memberships { &["id"] } else { &[] };
                self.objects(place, one, other, but);
            }
            (Some(Value::Array(ours)), Some(Value::Array(theirs))) => self.sets(place, ours, theirs),
            (Some(one), Some(other)) if same(one, other) => {}
            _ => self.differ(place, ours, theirs),
        }
    }

    /// Compares the members of two objects, except those in `but`.
    pub(super) fn objects(
        &mut self,
        place: &str,
        ours: &Map<String, Value>,
        theirs: &Map<String, Value>,
        but: &[&str],
    ) {
        let more = theirs.keys().filter(|name| !ours.contains_key(*name));
        for name in ours.keys().chain(more).filter(|name| !but.contains(&name.as_str())) {
            let inner = format!("{place}/{}", self.named(name));
            self.values(&inner, ours.get(name), theirs.get(name));
        }
    }

    /// Compares two lists without an order: memberships are matched by their person, other elements with an id by it,
    /// and the rest by their whole value.
    fn sets(&mut self, place: &str, ours: &[Value], theirs: &[Value]) {
        let inner = format!("{place}/*");
        let (mut ours, mut theirs) = (by_key(ours), by_key(theirs));
        for (key, mine) in &mut ours {
            let Some(other) = theirs.get_mut(key) else { continue };
            for _ in 0..mine.len().min(other.len()) {
                self.values(&inner, mine.pop(), other.pop());
            }
        }
        for left in ours.values().flatten() {
            self.differ(&inner, Some(left), None);
        }
        for left in theirs.values().flatten() {
            self.differ(&inner, None, Some(left));
        }
    }

    fn named(&self, name: &str) -> String {
        match self.rules.values {
            true => name.chars().take(LONGEST).collect(),
            false if self.rules.words.has(name) => name.to_owned(),
            false => "*".to_owned(),
        }
    }
}

/// Groups values by their key: their person, their id, or the whole value.
pub(super) fn by_key(values: &[Value]) -> BTreeMap<String, Vec<&Value>> {
    let mut all: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for value in values {
        all.entry(key(value)).or_default().push(value);
    }
    all
}

/// Returns the text that identifies a value in a list without an order.
pub(super) fn key(value: &Value) -> String {
    let id = person(Some(value)).or_else(|| value.get("id").and_then(Value::as_str));
    id.map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns the person of a membership. v1 shows no id of a membership (`members_workspace_admin`), so the gateway
/// derives one, and the other side has its own.
pub(super) fn person(value: Option<&Value>) -> Option<&str> {
    value?.get("member_id")?.as_str()
}
