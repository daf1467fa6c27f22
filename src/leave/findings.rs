//! The task of a run, the findings about each kind of record as numbers and as text lines, and the report of the run.
//!
//! May use: this folder.

use super::ids::Kind;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use strum::VariantArray;

/// Class of a text line, in the order of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, VariantArray)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// The target has a record of the same name with different content.
    Conflict,
    /// The record in the target is missing or different, although it could be carried.
    Left,
    /// The record exists only in the target.
    Extra,
    /// The record is carried with changes.
    Changed,
    /// v2 has no way to write it.
    Impossible,
}

impl Class {
    /// Returns the heading of the class.
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

/// Numbers of one kind of record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Records here.
    pub here: usize,
    /// Records that are equal in the target.
    pub alike: usize,
    /// Records to make or change in the target. In a pass that carries: records made or changed.
    pub carried: usize,
    /// Records with the same name in the target but different content.
    pub conflicts: usize,
    /// Records that are missing or different in the target, although they could be carried.
    pub left: usize,
    /// Records that v2 cannot write.
    pub impossible: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Findings {
    #[serde(skip)]
    pub lines: BTreeMap<Kind, Line>,
    pub told: Vec<(Class, String)>,
}

impl Findings {
    /// Returns the numbers of a kind, for changing them.
    pub(super) fn of(&mut self, kind: Kind) -> &mut Line {
        self.lines.entry(kind).or_default()
    }

    /// Adds a text line, unless it is there already.
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

    /// Counts and reports records that are missing or different in the target.
    pub(super) fn leave(&mut self, kind: Kind, count: usize, words: impl Into<String>) {
        if count > 0 {
            self.of(kind).left += count;
            self.tell(Class::Left, words);
        }
    }

    /// Counts and reports records that v2 has no way to write.
    pub(super) fn never(&mut self, kind: Kind, count: usize, words: impl Into<String>) {
        if count > 0 {
            self.of(kind).impossible += count;
            self.tell(Class::Impossible, words);
        }
    }

    /// Counts the text lines of this class.
    pub fn count(&self, class: Class) -> usize {
        self.told.iter().filter(|(told, _)| *told == class).count()
    }

    /// Checks whether any record was made or changed in the target, or is to be.
    pub fn carries(&self) -> bool {
        self.lines.values().any(|line| line.carried > 0)
    }

    /// Checks whether both sides are equal, except for what v2 cannot write. `with_extra` counts records that exist
    /// only in the target as differences.
    pub fn is_alike(&self, with_extra: bool) -> bool {
        let left = [Class::Conflict, Class::Left].iter().any(|class| self.count(*class) > 0);
        !left && (!with_extra || self.count(Class::Extra) == 0)
    }
}

/// Task of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunMode {
    /// Compare and report; write nothing.
    DryRun,
    /// Carry, then check.
    Carry,
    /// Check the records that were carried.
    Check,
}

/// Parameters of a run.
#[derive(Debug, Clone)]
pub struct RunParameters {
    /// Task of the run.
    pub run_mode: RunMode,
    /// Slugs of the workspaces.
    pub workspaces: Vec<String>,
    /// Whether records of the same name in the target are made equal to ours.
    pub update: bool,
    /// Whether records that exist only in the target do not count as differences.
    pub keep_extra: bool,
    /// Addresses of this gateway.
    pub own_addresses: Vec<String>,
}

/// Result of a run over one workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The sides were only compared.
    Planned,
    /// Nothing was written, because of conflicts.
    #[serde(rename = "conflicts")]
    Stopped,
    /// Both sides are equal.
    Alike,
    /// The sides are not equal.
    Unlike,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceReport {
    pub slug: String,
    pub outcome: Outcome,
    /// Findings of the last comparison of both sides.
    pub findings: Findings,
    /// Findings of the pass that carried; `None` when nothing had to be carried.
    pub carried: Option<Findings>,
}

/// Full report of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Address of the target.
    pub target: String,
    /// Task of the run.
    pub run_mode: RunMode,
    /// Reports of the workspaces.
    pub workspaces: Vec<WorkspaceReport>,
    /// Ids of workspaces with records in the store that the run did not include.
    pub others: Vec<String>,
    /// Error of the workspace that follows the reported ones.
    pub fault: Option<String>,
}

impl Report {
    pub(super) fn new(target: &str, wanted: &RunParameters) -> Self {
        let (workspaces, others) = (Vec::new(), Vec::new());
        Self { target: target.to_owned(), run_mode: wanted.run_mode, workspaces, others, fault: None }
    }

    /// Checks whether all workspaces have the wanted result: all equal, or for a dry run no conflict and nothing of
    /// [`Class::Left`].
    pub fn is_clean(&self) -> bool {
        self.workspaces.iter().all(|one| match one.outcome {
            Outcome::Alike => true,
            Outcome::Planned => one.findings.count(Class::Left) == 0,
            Outcome::Stopped | Outcome::Unlike => false,
        })
    }

    /// Returns the report as JSON.
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
