//! The end of operations of v1: notices to their clients, and windows in which they are refused on trial.
//!
//! May use: `settings::reader`, this folder.

mod brownout;
mod notice;

pub use brownout::Brownout;
pub use notice::Notice;

use super::reader::Reader;
use jiff::Timestamp;

/// The word that means every operation of v1.
pub const EVERY: &str = "all";

/// The end of operations of v1 (`retirement`, `brownout`); nothing is announced or refused by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetirementSettings {
    /// The announcements.
    pub notices: Vec<Notice>,
    /// Windows of refusal.
    pub brownouts: Vec<Brownout>,
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

    /// Returns a sentence for each entry that has passed by `now` and has no effect any more.
    pub(super) fn passed(&self, now: Timestamp) -> impl Iterator<Item = String> {
        let windows = self.brownouts.iter().filter(move |window| window.until <= now);
        let windows = windows.map(|Brownout { operation, until, .. }| {
            format!("the brownout of {operation} until {until} has passed and is ignored; take it out")
        });
        let sunset = move |notice: &Notice| notice.sunset.filter(|sunset| *sunset <= now && !notice.refuse);
        let sunsets = self.notices.iter().filter_map(move |notice| {
            let (operation, sunset) = (&notice.operation, sunset(notice)?);
            Some(format!(
                "the sunset of {operation}, {sunset}, has passed, and it is served all the same; `refuse = true` ends it"
            ))
        });
        windows.chain(sunsets)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tables::Tables;
    use super::super::value::Setting;
    use super::*;
    use crate::settings::raw::Raw;

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

    #[test]
    fn expired_brownouts_and_sunsets_are_reported() {
        let at = |day: i64| Timestamp::from_second(day * 86_400).unwrap();
        let window = |operation: &str, until| Brownout {
            operation: operation.into(),
            from: at(0),
            until: at(until),
            clients: Vec::new(),
            dry_run: false,
        };
        let notice = |operation: &str, sunset, refuse| Notice {
            operation: operation.into(),
            deprecated: at(0),
            sunset: Some(at(sunset)),
            link: None,
            refuse,
        };
        let settings = RetirementSettings {
            notices: vec![notice("served", 2, false), notice("refused", 2, true), notice("ahead", 3, false)],
            brownouts: vec![window("over", 2), window("on", 3)],
        };
        let told: Vec<String> = settings.passed(at(2)).collect();
        assert_eq!(
            told,
            [
                "the brownout of over until 1970-01-03T00:00:00Z has passed and is ignored; take it out",
                "the sunset of served, 1970-01-03T00:00:00Z, has passed, and it is served all the same; `refuse = true` \
                 ends it",
            ]
        );
    }
}
