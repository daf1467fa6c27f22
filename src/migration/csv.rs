//! The counts for spreadsheets.
//!
//! A cell that a spreadsheet would take for a formula gets an apostrophe in front.
//! May use: `printable`, `store`, this folder.

use super::counts::{Counts, date};
use crate::printable::printable;

/// Returns the counts as CSV, one line each.
pub fn csv(counts: &Counts) -> String {
    let mut text = "date,api,operation,status,caller,kind,person,title,client,calls\r\n".to_owned();
    for row in &counts.rows {
        let caller = counts.caller(&row.caller);
        let known = |of: fn(&crate::store::UsageCaller) -> &str| caller.map_or("", of);
        let cells = [
            date(row.day),
            if counts.is_v1(&row.operation) { "v1" } else { "v2" }.into(),
            row.operation.clone(),
            format!("{}xx", row.class),
            row.caller.clone(),
            known(|caller| &caller.kind).into(),
            known(|caller| &caller.person).into(),
            known(|caller| &caller.title).into(),
            row.client.clone(),
            row.calls.to_string(),
        ];
        text.push_str(&cells.iter().map(|text| cell(text)).collect::<Vec<_>>().join(","));
        text.push_str("\r\n");
    }
    text
}

fn cell(text: &str) -> String {
    let formula = text.trim_start().starts_with(['=', '+', '-', '@', '\t', '\r', '|', '%']);
    let text = format!("{}{}", if formula { "'" } else { "" }, printable(text));
    if text.contains(['"', ',', ';', '\n', '\'']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_never_a_formula() {
        for (text, expected) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("=cmd|' /C calc'!A0", "\"'=cmd|' /C calc'!A0\""),
            (" @SUM(1)", "\"' @SUM(1)\""),
            ("+1", "\"'+1\""),
            ("a\nb", "a\u{fffd}b"),
        ] {
            assert_eq!(cell(text), expected);
        }
    }
}
