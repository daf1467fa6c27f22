//! Acceptance of a running gateway: each operation of the plan asked over HTTP, as a client would.
//!
//! Without permission to write, reads are asked with what exists, and of writes it is proven that they are
//! there and refuse: without a credential, for a record that is not there, for a body that is wrong. With
//! permission every operation is carried out once in a project made for it and deleted afterwards.
//!
//! May use: `plan`. Nothing of what serves, so that it proves the gateway and not itself.

mod bodies;
mod client;
mod doors;
mod place;
mod project;
mod reads;
mod shape;
mod writes;

pub use client::{Answer, Gateway};

use crate::plan::{Operation, Plan};
use place::Place;
use serde::Serialize;
use std::fmt;

/// What to verify with.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Slug of the workspace.
    pub workspace: Option<String>,
    /// Id of the project that is read; the first one the key belongs to when absent.
    pub project: Option<String>,
    /// Whether a project may be made, written to and deleted, and the mode of the workspace switched meanwhile.
    pub write: bool,
}

/// What became of an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// All checks held.
    Pass,
    /// A check did not hold.
    Fail,
    /// Could not be checked.
    Skipped,
}

/// One operation, or what had to be done around them.
#[derive(Debug, Clone, Serialize)]
pub struct Line {
    /// Id of the operation.
    pub operation: String,
    /// What became of it.
    pub verdict: Verdict,
    /// What held, did not hold, or kept it from being checked.
    pub told: String,
}

/// What a verification found.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// One line for each operation, in plan order, then what failed around them.
    pub lines: Vec<Line>,
}

/// Why a check did not hold, or why it could not be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Finding {
    /// It did not hold.
    Broken(String),
    /// It could not be made.
    Impossible(String),
}

/// What a check ends with: what was proven.
type Checked = Result<String, Finding>;

impl Finding {
    fn broken(text: impl Into<String>) -> Self {
        Self::Broken(text.into())
    }
}

impl Report {
    /// How many lines have this verdict.
    pub fn count(&self, verdict: &Verdict) -> usize {
        self.lines.iter().filter(|line| line.verdict == *verdict).count()
    }

    /// Whether nothing failed.
    pub fn is_good(&self) -> bool {
        self.count(&Verdict::Fail) == 0
    }

    fn add(&mut self, operation: &str, checked: Checked) {
        let (verdict, told) = match checked {
            Ok(told) => (Verdict::Pass, told),
            Err(Finding::Broken(told)) => (Verdict::Fail, told),
            Err(Finding::Impossible(told)) => (Verdict::Skipped, told),
        };
        self.lines.push(Line { operation: operation.into(), verdict, told });
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.lines.iter().map(|line| line.operation.len()).max().unwrap_or(0);
        for line in &self.lines {
            let word = match line.verdict {
                Verdict::Pass => "pass",
                Verdict::Fail => "FAIL",
                Verdict::Skipped => "skipped",
            };
            writeln!(f, "{word:<8}{:<width$}  {}", line.operation, line.told)?;
        }
        let counts = [Verdict::Pass, Verdict::Fail, Verdict::Skipped].map(|verdict| self.count(&verdict));
        write!(f, "\n{} passed, {} failed, {} skipped", counts[0], counts[1], counts[2])
    }
}

/// Verifies the gateway behind `gateway`.
///
/// # Errors
/// A sentence for people when it cannot be reached at all or the key is not accepted.
pub async fn verify(plan: &Plan, gateway: &Gateway, wanted: &Wanted) -> Result<Report, String> {
    let me = gateway.send("GET", "/api/v2/users/me/", None).await?;
    if me.status == 401 {
        return Err("the gateway does not accept the key; check --key".into());
    }
    let mut report = Report::default();
    if wanted.write {
        writes::verify(plan, gateway, wanted, &mut report).await?;
    } else {
        let place = Place::found(plan, gateway, wanted).await?;
        for operation in &plan.operations {
            report.add(&operation.id, read_or_prove(plan, gateway, &place, operation).await);
        }
    }
    let position = |line: &Line| plan.operations.iter().position(|operation| operation.id == line.operation);
    report.lines.sort_by_key(|line| position(line).unwrap_or(usize::MAX));
    Ok(report)
}

async fn read_or_prove(plan: &Plan, gateway: &Gateway, place: &Place, operation: &Operation) -> Checked {
    place.is_reachable(operation)?;
    let doors = doors::check(gateway, place, operation).await?;
    let rest = match operation.method.writes() {
        false => reads::check(plan, gateway, place, operation).await?,
        true => doors::refuses_harmlessly(gateway, place, operation).await?,
    };
    Ok(format!("{rest}; {doors}"))
}
