//! What was found about each kind of record, in numbers and in words.
//!
//! May use: this folder.

use super::ids::Kind;
use serde::Serialize;
use std::collections::BTreeMap;
use strum::VariantArray;

/// What a line of words is about, in the order of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, VariantArray)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// There under the same name, but not the same.
    Conflict,
    /// It is not there as it is here, although it could be.
    Left,
    /// Only there.
    Extra,
    /// It is carried, but not as it was.
    Changed,
    /// v2 has no way to write it.
    Impossible,
}

impl Class {
    /// Its heading.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Conflict => "Conflicts",
            Self::Left => "Not carried",
            Self::Extra => "Only there",
            Self::Changed => "Changed on the way",
            Self::Impossible => "Impossible through v2",
        }
    }
}

/// Numbers of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Held here.
    pub here: usize,
    /// There as they are here.
    pub alike: usize,
    /// To be made or changed there; when carrying, made or changed.
    pub carried: usize,
    /// There under the same name, but not the same.
    pub conflicts: usize,
    /// Not there as they are here, although they could be.
    pub left: usize,
    /// Impossible through v2.
    pub impossible: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Findings {
    #[serde(skip)]
    pub lines: BTreeMap<Kind, Line>,
    pub told: Vec<(Class, String)>,
}

impl Findings {
    /// The numbers of a kind, to be changed.
    pub(super) fn of(&mut self, kind: Kind) -> &mut Line {
        self.lines.entry(kind).or_default()
    }

    /// Adds words, each once.
    pub(super) fn tell(&mut self, class: Class, words: impl Into<String>) {
        let words = words.into();
        if !self.told.iter().any(|(known, told)| *known == class && *told == words) {
            self.told.push((class, words));
        }
    }

    pub(super) fn conflict(&mut self, kind: Kind, words: impl Into<String>) {
        self.of(kind).conflicts += 1;
        self.tell(Class::Conflict, words);
    }

    /// Something that is not there as it is here.
    pub(super) fn leave(&mut self, kind: Kind, count: usize, words: impl Into<String>) {
        if count > 0 {
            self.of(kind).left += count;
            self.tell(Class::Left, words);
        }
    }

    /// Something that v2 has no way to write.
    pub(super) fn never(&mut self, kind: Kind, count: usize, words: impl Into<String>) {
        if count > 0 {
            self.of(kind).impossible += count;
            self.tell(Class::Impossible, words);
        }
    }

    /// How many lines of words are of this class.
    pub fn count(&self, class: Class) -> usize {
        self.told.iter().filter(|(told, _)| *told == class).count()
    }

    /// Whether anything was, or is to be, made or changed there.
    pub fn carries(&self) -> bool {
        self.lines.values().any(|line| line.carried > 0)
    }

    /// Whether both sides are alike but for what v2 cannot write; `with_extra` says that what is only there counts.
    pub fn is_alike(&self, with_extra: bool) -> bool {
        let left = [Class::Conflict, Class::Left].iter().any(|class| self.count(*class) > 0);
        !left && (!with_extra || self.count(Class::Extra) == 0)
    }
}
