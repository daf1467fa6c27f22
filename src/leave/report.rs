//! What a run is asked for, and the report of it.
//!
//! May use: this folder.

use super::findings::{Class, Findings};
use super::ids::Kind;
use serde::Serialize;
use serde_json::{Map, Value, json};
use strum::VariantArray;

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
pub enum Result {
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
    pub outcome: Result,
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
            Result::Alike => true,
            Result::Planned => one.findings.count(Class::Left) == 0,
            Result::Stopped | Result::Unlike => false,
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
