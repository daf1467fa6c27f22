//! How operations of v1 end: what their clients are told, and windows in which they are refused on trial.
//!
//! May use: `settings::reader`, `settings::source`, `settings::tables`.

use super::reader::Reader;
use super::source::Raw;
use super::tables::{Row, Table, flag, known, optional, text, texts};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// Stands for every operation of v1.
pub const EVERY: &str = "all";

/// The end of operations of v1 (`retirement`, `brownout`); nothing is announced or refused by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetirementSettings {
    /// What is announced.
    pub notices: Vec<Notice>,
    /// Windows of refusal.
    pub brownouts: Vec<Brownout>,
}

/// What is announced of an operation of v1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Its name, or [`EVERY`].
    pub operation: String,
    /// From when on it is deprecated, and the clients are told.
    pub deprecated: Timestamp,
    /// When it ends.
    pub sunset: Option<Timestamp>,
    /// A page about it.
    pub link: Option<String>,
    /// Whether it is refused once it has ended.
    pub refuse: bool,
}

/// A window in which an operation of v1 is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brownout {
    /// Its name, or [`EVERY`].
    pub operation: String,
    /// When it begins.
    pub from: Timestamp,
    /// When it ends.
    pub until: Timestamp,
    /// Clients it is for, as the report names them; all when empty.
    pub clients: Vec<String>,
    /// Whether calls are only counted, and answered as ever.
    pub dry_run: bool,
}

impl RetirementSettings {
    pub(super) fn read(from: &mut Reader, _: &str) -> Self {
        let notices: Vec<Notice> = from.tables("retirement");
        let brownouts: Vec<Brownout> = from.tables("brownout");
        for (index, notice) in notices.iter().enumerate() {
            if notice.sunset.is_some_and(|sunset| sunset < notice.deprecated) {
                let problem = format!("`sunset` of {} lies before `deprecated`", notice.operation);
                from.fault("retirement", &problem, "let it be deprecated first");
            }
            if notice.refuse && notice.sunset.is_none() {
                let problem = format!("`refuse` of {} has no `sunset` after which to refuse", notice.operation);
                from.fault("retirement", &problem, "add `sunset`");
            }
            if notices[..index].iter().any(|other| other.operation == notice.operation) {
                let problem = format!("{} is there twice", notice.operation);
                from.fault("retirement", &problem, "write one table for each");
            }
        }
        for (index, window) in brownouts.iter().enumerate() {
            if window.until <= window.from {
                let problem = format!("the window of {} ends before it begins", window.operation);
                from.fault("brownout", &problem, "let `until` lie after `from`");
            }
            if let Some(other) = brownouts[..index].iter().find(|other| window.overlaps(other)) {
                let problem = format!(
                    "two windows of {} overlap for the same client, from {} on",
                    window.operation, other.from
                );
                from.fault("brownout", &problem, "write one window, or different times or clients");
            }
        }
        Self { notices, brownouts }
    }
}

impl Brownout {
    /// Whether a call can be in both.
    fn overlaps(&self, other: &Self) -> bool {
        let operation = self.operation == other.operation;
        let time = self.from < other.until && other.from < self.until;
        let client = self.clients.is_empty()
            || other.clients.is_empty()
            || self.clients.iter().any(|client| other.clients.contains(client));
        operation && time && client
    }
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

impl Row for Brownout {
    const FORM: &'static str = "one table per window with `operation` (of v1, or \"all\"), `from` and `until` (each a \
                                date or an instant such as 2027-01-31T12:00:00Z), and if wanted `clients` (a list) and `dry_run`";

    fn of(table: &Table) -> Option<Self> {
        known(table, &["operation", "from", "until", "clients", "dry_run"])?;
        Some(Self {
            operation: text(table.get("operation")?)?.to_owned(),
            from: instant(table.get("from")?)?,
            until: instant(table.get("until")?)?,
            clients: optional(table, "clients", texts)?.unwrap_or_default(),
            dry_run: optional(table, "dry_run", flag)?.unwrap_or(false),
        })
    }
}

/// An instant, or a date for the beginning of its day in UTC. A time without its zone is neither.
fn instant(raw: &Raw) -> Option<Timestamp> {
    let written = match raw {
        Raw::Text(text) | Raw::Other(text) => text.trim(),
        _ => return None,
    };
    // Longer ones that can be read as a date have a time, which would be dropped.
    let date = || written.parse::<Date>().ok().filter(|_| written.len() == "2027-01-31".len());
    written.parse().ok().or_else(|| Some(date()?.to_zoned(TimeZone::UTC).ok()?.timestamp()))
}

/// An address that can stand in a header.
fn is_address(link: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_graphic() && !b"<>\"\\".contains(&byte);
    (link.starts_with("https://") || link.starts_with("http://")) && link.bytes().all(legal)
}

#[cfg(test)]
mod tests {
    use super::super::tables::Tables;
    use super::super::value::Setting;
    use super::*;

    fn notices(text: &str) -> Option<Vec<Notice>> {
        Tables::<Notice>::from_raw(&Raw::Bare(text.to_owned())).map(|tables| tables.0)
    }

    #[test]
    fn tables_are_read_strictly() {
        let read = notices(
            "[{ operation = \"all\", deprecated = 2026-12-01, sunset = \"2027-06-01T12:00:00Z\", refuse = true }]",
        );
        let read = read.unwrap().remove(0);
        assert_eq!(read.deprecated.to_string(), "2026-12-01T00:00:00Z");
        assert_eq!((read.sunset.unwrap().to_string().as_str(), read.refuse), ("2027-06-01T12:00:00Z", true));
        for faulty in [
            "[{ operation = \"all\" }]",
            "[{ operation = \"all\", deprecated = \"soon\" }]",
            "[{ operation = \"all\", deprecated = 2026-11-26T22:00:00 }]",
            "[{ operation = \"all\", deprecated = \"2026-11-26T22:00:00\" }]",
            "[{ operation = \"all\", deprecated = \"2027-03-01 22:00\" }]",
            "[{ operation = \"all\", deprecated = \"2026-12-01\", sunset = \"2027-03-01T22:00:00[Europe/Berlin]\" }]",
            "[{ operation = \"all\", deprecated = \"2026-12-01\", sunset = 3 }]",
            "[{ operation = \"all\", deprecated = \"2026-12-01\", link = \"https://a>b\" }]",
            "[{ operation = \"all\", deprecated = \"2026-12-01\", until = \"2026-12-02\" }]",
            "[\"all\"]",
            "all",
        ] {
            assert_eq!(notices(faulty), None, "{faulty}");
        }
    }

    #[test]
    fn windows_overlap_for_the_same_operation_and_client() {
        let at = |hour: i64| Timestamp::from_second(hour * 3600).unwrap();
        let window = |operation: &str, from, until, clients: &[&str]| Brownout {
            operation: operation.into(),
            from: at(from),
            until: at(until),
            clients: clients.iter().map(|client| (*client).to_owned()).collect(),
            dry_run: false,
        };
        let one = window("a", 1, 3, &["x"]);
        assert!(one.overlaps(&window("a", 2, 4, &[])) && one.overlaps(&window("a", 2, 4, &["x", "y"])));
        assert!(!one.overlaps(&window("a", 3, 4, &["x"])) && !one.overlaps(&window("a", 2, 4, &["y"])));
        assert!(!one.overlaps(&window("b", 2, 4, &["x"])));
    }
}
