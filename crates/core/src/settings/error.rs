//! Faults of the settings. Each names its setting, the origin of the value and the remedy. May use: nothing of this
//! crate.

use std::fmt;
use std::path::PathBuf;

/// The origin of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The compiled-in defaults.
    Default,
    /// A settings file.
    File {
        /// Path of the file, as it was given.
        path: PathBuf,
        /// Line number, counted from 1.
        line: usize,
    },
    /// An environment variable, by name.
    Environment(String),
    /// The command line.
    Flag,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("built-in default"),
            Self::File { path, line } => write!(f, "{}, line {line}", path.display()),
            Self::Environment(variable) => write!(f, "environment variable {variable}"),
            Self::Flag => f.write_str("command line"),
        }
    }
}

/// One fault in the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingFault {
    /// Dotted name of the setting, or the file when it cannot be read at all.
    pub setting: String,
    /// Origin of the value; `None` when there is no value.
    pub origin: Option<Origin>,
    /// Description of the fault.
    pub problem: String,
    /// Advice to the operator.
    pub remedy: String,
}

impl SettingFault {
    /// Creates a fault of `setting`, or of a file, without the origin of a value.
    pub(super) fn new(setting: impl Into<String>, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { setting: setting.into(), origin: None, problem: problem.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for SettingFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.setting)?;
        if let Some(origin) = &self.origin {
            write!(f, " ({origin})")?;
        }
        write!(f, ": {}; {}", self.problem, self.remedy)
    }
}

/// All faults found in the settings, in one report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsError {
    /// At least one fault.
    pub faults: Vec<SettingFault>,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the settings cannot be used:")?;
        self.faults.iter().try_for_each(|fault| write!(f, "\n  - {fault}"))
    }
}

impl std::error::Error for SettingsError {}

impl From<SettingFault> for SettingsError {
    fn from(fault: SettingFault) -> Self {
        Self { faults: vec![fault] }
    }
}
