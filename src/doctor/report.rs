//! Results of the checks: one line each, with the remedy below each problem.
//!
//! May use: `amount`.

use crate::amount::amount;
use serde::Serialize;
use std::fmt;

/// Inputs of the checks besides the settings.
#[derive(Debug, Clone, Default)]
pub struct CheckInputs {
    /// A v1 key for requests to v1; without it, the service key of the settings is used.
    pub key: Option<String>,
    /// The address that clients use, when it is not in the settings.
    pub through: Option<String>,
}

/// Result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Passed.
    Fine,
    /// It works, but is probably not intended.
    Warning,
    /// The check gave no result. It is reported as a warning, but does not prove that all is well.
    #[serde(rename = "warning")]
    Unknown,
    /// It prevents the gateway from serving as it should.
    Fault,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    pub part: &'static str,
    pub state: State,
    pub found: String,
    pub remedy: Option<String>,
}

/// All checks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The checks in the order in which they ran.
    pub checks: Vec<Check>,
}

impl Report {
    /// Counts the checks in this state.
    pub fn count(&self, state: State) -> usize {
        self.checks.iter().filter(|check| check.state == state).count()
    }

    /// Adds a check that passed.
    pub fn fine(&mut self, part: &'static str, found: impl Into<String>) {
        self.add(part, State::Fine, found.into(), None);
    }

    /// Adds a check of something that works but is probably not intended.
    pub fn warn(&mut self, part: &'static str, found: impl Into<String>, remedy: impl Into<String>) {
        self.add(part, State::Warning, found.into(), Some(remedy.into()));
    }

    /// Adds a check that gave no result.
    pub fn unknown(&mut self, part: &'static str, found: impl Into<String>, remedy: impl Into<String>) {
        self.add(part, State::Unknown, found.into(), Some(remedy.into()));
    }

    /// Adds a check of something that must be corrected.
    pub fn fault(&mut self, part: &'static str, found: impl Into<String>, remedy: impl Into<String>) {
        self.add(part, State::Fault, found.into(), Some(remedy.into()));
    }

    fn add(&mut self, part: &'static str, state: State, found: String, remedy: Option<String>) {
        self.checks.push(Check { part, state, found, remedy });
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for check in &self.checks {
            let word = match check.state {
                State::Fine => "fine",
                State::Warning | State::Unknown => "warning",
                State::Fault => "FAULT",
            };
            writeln!(f, "{word:<8} {:<9} {}", check.part, check.found.replace('\n', "\n                   "))?;
            if let Some(remedy) = &check.remedy {
                writeln!(f, "{:<18} -> {remedy}", "")?;
            }
        }
        let warnings = self.count(State::Warning) + self.count(State::Unknown);
        let (fine, faults) = (self.count(State::Fine), self.count(State::Fault));
        write!(f, "\n{fine} fine, {}, {}", amount(warnings, "warning"), amount(faults, "fault"))
    }
}
