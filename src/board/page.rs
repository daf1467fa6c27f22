//! The pages of the board, as templates.
//!
//! May use: `migration`, `printable`, `shadow`, `board::chart`.

use super::chart::chart;
use crate::migration::{CountSelection, RemainingOperation, Report, date, moved};
use crate::printable::printable;
use crate::shadow::{self, Line, ReportedDifference};
use askama::Template;
use std::collections::BTreeSet;

/// Most rows of a table; the CSV has all.
const MOST: usize = 200;

/// A row of a table of clients or callers.
pub(super) struct Row {
    pub(super) name: String,
    /// Further description.
    pub(super) about: String,
    /// Address of its own page.
    pub(super) link: String,
    pub(super) v1: i64,
    pub(super) v2: i64,
    pub(super) moved: i64,
    pub(super) last: String,
    /// A chart, made of numbers alone.
    pub(super) chart: String,
}

/// Returns the shown part of the results of comparisons with the deployment's own v2.
fn shown(report: &shadow::Report) -> shadow::Report {
    let line = |line: &Line| Line { operation: printable(&line.operation), ..line.clone() };
    let told = |told: &ReportedDifference| ReportedDifference {
        operation: printable(&told.operation),
        place: printable(&told.place),
        ours: printable(&told.ours),
        theirs: printable(&told.theirs),
        ..told.clone()
    };
    shadow::Report {
        since: report.since.clone(),
        operations: report.operations.iter().take(MOST).map(line).collect(),
        differences: report.differences.iter().take(MOST).map(told).collect(),
    }
}

#[derive(Template)]
#[template(path = "migration.html")]
pub(super) struct Page<'r> {
    pub(super) report: &'r Report,
    /// Description of the filter; empty when everything is shown.
    pub(super) filter: String,
    pub(super) some_days: bool,
    /// The selected client, as its form field shows it.
    pub(super) client: String,
    /// Hidden values of the form.
    pub(super) kept: Vec<(&'static str, String)>,
    /// The query that returns the same as CSV.
    pub(super) csv: String,
    pub(super) since: String,
    pub(super) today: String,
    pub(super) clients: Vec<Row>,
    pub(super) callers: Vec<Row>,
    pub(super) left: Vec<RemainingOperation>,
    pub(super) ready: Vec<String>,
    pub(super) days: Vec<(i64, bool)>,
    pub(super) compared: shadow::Report,
}

impl<'r> Page<'r> {
    pub(super) fn of(report: &'r Report, wanted: &CountSelection, compared: &shadow::Report) -> Self {
        let last = |day: Option<i64>| day.map_or_else(|| "never".to_owned(), date);
        let left = |left: &RemainingOperation| RemainingOperation {
            does: printable(&left.does),
            call: printable(&left.call),
            ..left.clone()
        };
        let clients = report.clients.iter().take(MOST).map(|line| Row {
            name: printable(&line.client),
            about: String::new(),
            link: link("client", &line.client, wanted.days),
            v1: line.v1,
            v2: line.v2,
            moved: moved(line.v1, line.v2),
            last: last(line.last_v1),
            chart: chart(&line.days),
        });
        let callers = report.callers.iter().take(MOST).map(|line| {
            let name = if line.person.is_empty() { &line.fingerprint } else { &line.person };
            let about: Vec<&str> =
                [line.title.as_str(), line.kind.as_str()].into_iter().filter(|text| !text.is_empty()).collect();
            Row {
                name: printable(name),
                about: printable(&about.join(", ")),
                link: link("caller", &line.fingerprint, wanted.days),
                v1: line.v1,
                v2: line.v2,
                moved: moved(line.v1, line.v2),
                last: last(line.last_v1),
                chart: String::new(),
            }
        });
        let filter: Vec<String> =
            asked(wanted).iter().map(|(name, value)| format!("{name} {}", printable(value))).collect();
        let (client, kept) = fields(wanted);
        Self {
            report,
            filter: filter.join(", "),
            some_days: wanted.days.is_some(),
            client,
            kept,
            csv: query(wanted),
            since: report.since.map(date).unwrap_or_default(),
            today: date(report.today),
            clients: clients.collect(),
            callers: callers.collect(),
            left: report.left.iter().take(MOST).map(left).collect(),
            ready: report.ready.iter().map(|operation| printable(operation)).collect(),
            days: days(wanted.days),
            compared: shown(compared),
        }
    }
}

/// Returns all filters but the days.
fn asked(wanted: &CountSelection) -> Vec<(&'static str, &String)> {
    let all = [("client", &wanted.client), ("caller", &wanted.caller), ("operation", &wanted.operation)];
    all.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?))).collect()
}

/// Returns the form's field for a client, and the hidden values, so that another choice of days keeps the filter. A
/// client whose name the field would show differently is a hidden value too, until another client is entered.
fn fields(wanted: &CountSelection) -> (String, Vec<(&'static str, String)>) {
    let shown = |name: &str, value: &str| name == "client" && printable(value) == value;
    let (client, kept): (Vec<_>, Vec<_>) = asked(wanted).into_iter().partition(|(name, value)| shown(name, value));
    let client = client.first().map(|(_, value)| (*value).clone()).unwrap_or_default();
    (client, kept.into_iter().map(|(name, value)| (name, value.clone())).collect())
}

/// Returns the numbers of days to choose from, and marks the selected one.
fn days(chosen: Option<i64>) -> Vec<(i64, bool)> {
    let all: BTreeSet<i64> = [7, 30, 90].into_iter().chain(chosen).collect();
    all.into_iter().map(|days| (days, chosen == Some(days))).collect()
}

/// Returns the link to the page of one client or caller, with the same days.
fn link(name: &str, value: &str, days: Option<i64>) -> String {
    let mut query = form_urlencoded::Serializer::for_suffix("?".to_owned(), 1);
    if let Some(days) = days {
        query.append_pair("days", &days.to_string());
    }
    query.append_pair(name, value);
    query.finish()
}

/// Returns the query for the same filter.
fn query(wanted: &CountSelection) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    if let Some(days) = wanted.days {
        query.append_pair("days", &days.to_string());
    }
    query.extend_pairs(asked(wanted));
    query.finish()
}
