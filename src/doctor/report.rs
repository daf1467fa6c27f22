//! What was found, one line for each thing, with the remedy below what is not as it should be.
//!
//! May use: `amount`.

use crate::amount::amount;
use serde::Serialize;
use std::fmt;

/// What to look at besides the settings.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// A v1 key to ask v1 with; else the service key of the settings.
    pub key: Option<String>,
    /// The address clients use, when it is no setting.
    pub through: Option<String>,
}

/// How a thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Passed.
    Fine,
    /// It works, and is probably not what is wanted.
    Warning,
    /// It could not be found out; told as a warning, but no proof that all is well.
    #[serde(rename = "warning")]
    Unknown,
    /// It keeps the gateway from serving as it should.
    Fault,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    pub part: &'static str,
    pub state: State,
    pub found: String,
    pub remedy: Option<String>,
}

/// Everything that was looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// In the order it was looked at.
    pub checks: Vec<Check>,
}

impl Report {
    /// How many are in this state.
    pub fn count(&self, state: State) -> usize {
        self.checks.iter().filter(|check| check.state == state).count()
    }

    /// Adds a check that passed.
    pub fn fine(&mut self, part: &'static str, found: impl Into<String>) {
        self.add(part, State::Fine, found.into(), None);
    }

    /// Adds what works and is probably not wanted.
    pub fn warn(&mut self, part: &'static str, found: impl Into<String>, remedy: impl Into<String>) {
        self.add(part, State::Warning, found.into(), Some(remedy.into()));
    }

    /// Adds what could not be found out now.
    pub fn unknown(&mut self, part: &'static str, found: impl Into<String>, remedy: impl Into<String>) {
        self.add(part, State::Unknown, found.into(), Some(remedy.into()));
    }

    /// Adds what has to be put right.
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
