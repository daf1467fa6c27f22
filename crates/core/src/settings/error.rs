//! What is wrong with the settings: every fault with its setting, where the value came from and the
//! remedy. May use: nothing of this crate.

use std::fmt;
use std::path::PathBuf;

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The compiled-in defaults.
    Default,
    /// A settings file.
    File {
        /// The file as it was named.
        path: PathBuf,
        /// Line, counted from 1.
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
    /// Where the value came from; `None` when there is no value.
    pub origin: Option<Origin>,
    /// What is wrong.
    pub problem: String,
    /// What to do about it.
    pub remedy: String,
}

impl SettingFault {
    /// A fault of `setting`, or of a file, that no value is the origin of.
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
