//! Announcements to clients that an operation of v1 ends, and when they begin.
//!
//! May use: `settings::raw`, `settings::tables`.

use super::super::tables::{Row, Table, flag, instant, known, optional, text};
use jiff::Timestamp;

/// The announcement about an operation of v1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Name of the operation, or [`EVERY`](super::EVERY).
    pub operation: String,
    /// Instant from which it is deprecated, and its clients get the announcement.
    pub deprecated: Timestamp,
    /// Instant at which it ends.
    pub sunset: Option<Timestamp>,
    /// Address of a page about it.
    pub link: Option<String>,
    /// Whether it is refused after its end.
    pub refuse: bool,
}

impl Row for Notice {
    const FORM: &'static str = "one table per operation of v1, or for \"all\", with `operation` and `deprecated` (a date or \
                                an instant such as 2027-01-31T12:00:00Z), and if wanted `sunset`, `link` (an https address) \
                                and `refuse`";

    fn of(table: &Table) -> Option<Self> {
        known(table, &["operation", "deprecated", "sunset", "link", "refuse"])?;
        let link = optional(table, "link", |raw| text(raw).filter(|link| is_address(link)).map(str::to_owned))?;
        Some(Self {
            operation: text(table.get("operation")?)?.to_owned(),
            deprecated: instant(table.get("deprecated")?)?,
            sunset: optional(table, "sunset", instant)?,
            link,
            refuse: optional(table, "refuse", flag)?.unwrap_or(false),
        })
    }
}

/// Checks whether an address may stand in a header.
fn is_address(link: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_graphic() && !b"<>\"\\".contains(&byte);
    (link.starts_with("https://") || link.starts_with("http://")) && link.bytes().all(legal)
}
