//! What a verification is given and what it found. May use: nothing of this crate.

use serde::Serialize;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What to verify with.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Slug of the workspace.
    pub workspace: Option<String>,
    /// Id of the project that is read; the first one the key belongs to when absent.
    pub project: Option<String>,
    /// Whether a project may be made, written to and deleted, and the mode of the workspace switched meanwhile.
    pub write: bool,
    /// Set when it is to end early; what writes made and switched is put back first.
    pub stop: Arc<AtomicBool>,
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
pub(super) type Checked = Result<String, Finding>;

impl From<String> for Finding {
    fn from(broken: String) -> Self {
        Self::Broken(broken)
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

    pub(super) fn add(&mut self, operation: &str, checked: Checked) {
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
