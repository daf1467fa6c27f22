//! Parameters and results of a verification. May use: nothing of this crate.

use serde::Serialize;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Parameters of a verification.
#[derive(Debug, Clone, Default)]
pub struct VerificationParameters {
    /// Slug of the workspace.
    pub workspace: Option<String>,
    /// Id of the project to read; when absent, the first one that the key's owner is a member of.
    pub project: Option<String>,
    /// Whether it may create, write and delete a project, and switch the mode of the workspace meanwhile.
    pub write: bool,
    /// Set to end early; everything that writes have created or switched is undone first.
    pub stop: Arc<AtomicBool>,
}

/// Result for an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// All checks passed.
    Pass,
    /// A check failed.
    Fail,
    /// Could not be checked.
    Skipped,
}

/// One operation, or a task around the operations.
#[derive(Debug, Clone, Serialize)]
pub struct Line {
    /// Id of the operation.
    pub operation: String,
    /// Its result.
    pub verdict: Verdict,
    /// Description of the passed checks, of the failure, or of the reason why it could not be checked.
    pub told: String,
}

/// Results of a verification.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// One line per operation, in plan order, then failures of tasks around the operations.
    pub lines: Vec<Line>,
}

/// Reason why a check failed or was not possible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Finding {
    /// The check failed.
    Broken(String),
    /// The check was not possible.
    Impossible(String),
}

/// Result of a check: a text that says what was proven.
pub(super) type Checked = Result<String, Finding>;

impl From<String> for Finding {
    fn from(broken: String) -> Self {
        Self::Broken(broken)
    }
}

impl Report {
    /// Counts the lines with this verdict.
    pub fn count(&self, verdict: &Verdict) -> usize {
        self.lines.iter().filter(|line| line.verdict == *verdict).count()
    }

    /// Checks that nothing failed.
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
