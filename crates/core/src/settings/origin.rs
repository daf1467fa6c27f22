//! Where a setting came from. May use: nothing of this crate.

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
