//! What is logged, and in which form. May use: this folder.

use super::reader::Reader;
use super::source::Raw;
use super::value::Setting;
use std::time::Duration;
use strum::EnumString;
use tracing_subscriber::filter::{LevelFilter, Targets};

/// Form of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

impl Setting for LogFormat {
    const FORM: &'static str = "\"text\" or \"json\"";

    fn from_raw(raw: &Raw) -> Option<Self> {
        String::from_raw(raw)?.parse().ok()
    }
}

/// The log (`[log]`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSettings {
    /// Form of the lines.
    pub format: LogFormat,
    /// What is logged: a level, and levels for parts of the program; valid.
    pub filter: String,
    /// Waiting for an answer from which a request is told as a warning; zero for none.
    pub slow: Duration,
    /// Whether lines name the person behind a credential.
    pub owner: bool,
}

impl LogSettings {
    pub(super) fn read(from: &mut Reader) -> Self {
        let form = "levels such as \"info\" or \"info,causeway=debug\"";
        // A word alone would be taken for a part of the program, and switch all others off.
        let is_level = |part: &str| part.contains('=') || part.trim().parse::<LevelFilter>().is_ok();
        let valid = |filter: &String| filter.split(',').all(is_level) && filter.parse::<Targets>().is_ok();
        Self {
            format: from.get("log.format"),
            filter: from.get_where("log.filter", form, valid),
            slow: from.get("log.slow"),
            owner: from.get("log.owner"),
        }
    }
}
