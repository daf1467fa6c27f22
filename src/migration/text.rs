//! The report for a terminal.
//!
//! May use: `amount`, `printable`, this folder.

use super::counts::date;
use super::left::RemainingOperation;
use super::report::{Report, moved};
use crate::amount::amount;
use crate::printable::{cut, printable};
use std::fmt::Write;

/// Largest number of lines in a table.
const MOST: usize = 30;
/// Width of the column of successors.
const SUCCESSOR: usize = 35;
/// Beginnings of paths that say nothing about a successor, because most have them.
const SHARED: [&str; 2] = ["/api/v2/workspaces/{slug}/projects/{project_id}/", "/api/v2/workspaces/{slug}/"];

/// Returns the report as text, at most 100 characters wide.
pub fn text(report: &Report) -> String {
    let mut text = String::new();
    let Some(since) = report.since else {
        return "No calls were counted yet. Let clients call the gateway; counts are written every few seconds \
                (usage.flush), and not at all with usage.count = false.\n"
            .into();
    };
    let _ = writeln!(
        text,
        "Since {}: {} of v1, {} of v2; {} % moved.",
        date(since),
        amount(report.v1, "call"),
        report.v2,
        report.moved()
    );
    let clients = report.clients.iter().map(|line| (line.client.clone(), line.v1, line.v2, line.last_v1));
    table(&mut text, "CLIENT", clients);
    let callers = report.callers.iter().map(|line| {
        let kind = if line.kind.is_empty() { "" } else { &format!(" ({})", line.kind) };
        let name = match (line.person.as_str(), line.title.as_str()) {
            ("", _) => line.fingerprint.clone(),
            (person, "") => format!("{person}{kind}"),
            (person, title) => format!("{person}, {title}{kind}"),
        };
        (name, line.v1, line.v2, line.last_v1)
    });
    table(&mut text, "CALLER", callers);
    if !report.left.is_empty() {
        let _ = writeln!(text, "\n{:<40} {:>10}  {:<10}  SUCCESSOR", "LEFT ON V1", "CALLS", "LAST");
        for line in report.left.iter().take(MOST) {
            let successor = line.v2.first().map_or_else(|| "none".into(), |v2| tail(v2));
            let _ = writeln!(
                text,
                "{:<40} {:>10}  {:<10}  {}",
                cut(&line.operation, 40),
                line.calls,
                line.last_date(),
                cut(&successor, SUCCESSOR)
            );
        }
        more(&mut text, report.left.len());
    }
    let _ = writeln!(
        text,
        "\nREADY TO BE SWITCHED OFF: called once, and not in the last {}",
        amount(report.quiet, "day")
    );
    if report.ready.is_empty() {
        text.push_str("none\n");
    }
    for operation in &report.ready {
        let _ = writeln!(text, "{}", printable(operation));
    }
    let never = report.never.len();
    let (were, them) = if never == 1 { ("was", "it") } else { ("were", "them") };
    let _ = writeln!(text, "\n{} of v1 {were} never called; --json names {them}.", amount(never, "operation"));
    text
}

/// Returns a method and path without the beginning that most paths have. A long path begins later, after a variable.
fn tail(request: &str) -> String {
    let Some((method, mut tail)) = SHARED.iter().find_map(|shared| request.split_once(shared)) else {
        return request.to_owned();
    };
    while method.len() + "…/".chars().count() + tail.len() > SUCCESSOR
        && let Some((_, later)) = tail.split_once("}/").filter(|(_, later)| !later.is_empty())
    {
        tail = later;
    }
    format!("{method}…/{tail}")
}

/// Writes a table of callers: their v1 and v2 calls, and the date of their last v1 call.
fn table(text: &mut String, of: &str, rows: impl ExactSizeIterator<Item = (String, i64, i64, Option<i64>)>) {
    let _ = writeln!(text, "\n{of:<40} {:>10} {:>10} {:>6}  LAST V1", "V1", "V2", "MOVED");
    let all = rows.len();
    for (name, v1, v2, last) in rows.take(MOST) {
        let (name, share, last) = (cut(&name, 40), moved(v1, v2), last.map_or_else(|| "never".into(), date));
        let _ = writeln!(text, "{name:<40} {v1:>10} {v2:>10} {share:>4} %  {last}");
    }
    more(text, all);
}

fn more(text: &mut String, lines: usize) {
    if lines > MOST {
        let _ = writeln!(text, "… and {} more; --json and --csv have all", lines - MOST);
    }
}

/// Lists the v1 operations that one client still calls, each with its replacement.
pub fn client_text(client: &str, left: &[RemainingOperation]) -> String {
    if left.is_empty() {
        return format!("{} calls nothing of v1.\n", printable(client));
    }
    let mut text = String::new();
    for line in left {
        let _ = writeln!(
            text,
            "{}, the last on {}: {}",
            amount(line.calls, "call"),
            line.last_date(),
            printable(&line.does)
        );
        let _ = writeln!(text, "  v1  {}", printable(&line.call));
        for (index, successor) in line.v2.iter().enumerate() {
            let _ = writeln!(text, "  {}  {successor}", if index == 0 { "v2" } else { "or" });
        }
        if let Some(reason) = &line.reason {
            let _ = writeln!(text, "      {reason}");
        }
    }
    text
}
