//! What a run is asked for, what was found about each kind of record, in numbers and in words, and the report of it.
//!
//! May use: this folder.

use super::ids::Kind;
use serde::Serialize;
use serde_json::{Map, Value, json};
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

/// What a run is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// Look and tell, write nothing.
    DryRun,
    /// Carry, then check.
    Carry,
    /// Check what was carried.
    Check,
}

/// What a run is asked for.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// What to do.
    pub wish: Wish,
    /// Slugs of the workspaces.
    pub workspaces: Vec<String>,
    /// Makes alike what is there under the same name.
    pub update: bool,
    /// Records that are only there do not count as unlike.
    pub keep_extra: bool,
    /// Addresses of this gateway.
    pub own_addresses: Vec<String>,
}

/// What a run over one workspace came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It was looked at only.
    Planned,
    /// Nothing was written, because of conflicts.
    #[serde(rename = "conflicts")]
    Stopped,
    /// Both sides are alike.
    Alike,
    /// They are not.
    Unlike,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceReport {
    pub slug: String,
    pub outcome: Outcome,
    /// What was found when both sides were looked at last.
    pub findings: Findings,
    /// What was carried; none when nothing was to be.
    pub carried: Option<Findings>,
}

/// All about a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Address of the target.
    pub target: String,
    /// What was asked for.
    pub wish: Wish,
    /// By workspace.
    pub workspaces: Vec<WorkspaceReport>,
    /// Ids of workspaces of which something is held and that were not asked for.
    pub others: Vec<String>,
    /// What went wrong with the workspace after those told of.
    pub fault: Option<String>,
}

impl Report {
    pub(super) fn new(target: &str, wanted: &Wanted) -> Self {
        let (workspaces, others) = (Vec::new(), Vec::new());
        Self { target: target.to_owned(), wish: wanted.wish, workspaces, others, fault: None }
    }

    /// Whether all workspaces came to what was asked for: all alike, or for a dry run nothing in the way.
    pub fn is_clean(&self) -> bool {
        self.workspaces.iter().all(|one| match one.outcome {
            Outcome::Alike => true,
            Outcome::Planned => one.findings.count(Class::Left) == 0,
            Outcome::Stopped | Outcome::Unlike => false,
        })
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        let lines = |findings: &Findings| -> Value {
            let lines = Kind::VARIANTS.iter().filter_map(|kind| Some((kind.word(), findings.lines.get(kind)?)));
            Value::Object(lines.map(|(word, line)| (word.to_owned(), json!(line))).collect::<Map<_, _>>())
        };
        let one = |one: &WorkspaceReport| {
            let told: Vec<Value> =
                one.findings.told.iter().map(|(class, words)| json!({"class": class, "words": words})).collect();
            let refused = one.carried.iter().flat_map(|carried| &carried.told);
            let refused: Vec<&String> =
                refused.filter(|(class, _)| *class == Class::Left).map(|(_, words)| words).collect();
            json!({
                "workspace": one.slug, "outcome": one.outcome, "found": lines(&one.findings), "told": told,
                "carried": one.carried.as_ref().map(lines), "refused": refused,
            })
        };
        let workspaces: Vec<Value> = self.workspaces.iter().map(one).collect();
        let mut report = json!({"target": self.target, "workspaces": workspaces, "other_workspaces": self.others});
        if let Some(fault) = &self.fault {
            report["error"] = json!(fault);
        }
        report
    }
}
