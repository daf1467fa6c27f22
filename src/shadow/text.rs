//! The report for a terminal. May use: `amount`, `printable`, this folder.

use super::report::Report;
use crate::amount::amount;
use crate::printable::cut;
use std::fmt::Write;

/// Most rows of a table for a terminal.
const MOST: usize = 40;
/// Widest column for the value of one side, in characters.
const WIDE: usize = 24;

/// Formats the report for a terminal.
pub fn text(report: &Report) -> String {
    let Some(since) = &report.since else {
        return "Nothing was compared yet. Set native.base_url, and mode = \"shadow\" in [[native.serve]] for some \
                operations; counts are written every few seconds (usage.flush).\n"
            .into();
    };
    let mut text = format!("Compared since {since}.\n\n");
    let _ = writeln!(
        text,
        "{:<44} {:>8} {:>9} {:>8} {:>8} {:>8}",
        "OPERATION", "EQUAL", "DIFFERENT", "NOT COMP", "DROPPED", "FAILED"
    );
    for line in report.operations.iter().take(MOST) {
        let _ = writeln!(
            text,
            "{:<44} {:>8} {:>9} {:>8} {:>8} {:>8}",
            cut(&line.operation, 44),
            line.equal,
            line.different,
            line.not_comparable,
            line.dropped,
            line.failed
        );
    }
    more(&mut text, report.operations.len());
    text.push_str("\nDIFFERENCES, the last seen first\n");
    if report.differences.is_empty() {
        text.push_str("none\n");
    }
    for told in report.differences.iter().take(MOST) {
        let _ = writeln!(
            text,
            "{} {}\n  ours {}, theirs {}; in {}, last {}",
            cut(&told.operation, 44),
            cut(&told.place, 54),
            cut(&told.ours, WIDE),
            cut(&told.theirs, WIDE),
            amount(told.requests, "request"),
            told.last
        );
    }
    more(&mut text, report.differences.len());
    text
}

fn more(text: &mut String, lines: usize) {
    if lines > MOST {
        let _ = writeln!(text, "… and {} more; --json has all", lines - MOST);
    }
}
