//! The end of v1 for its clients: headers on pass-through answers, trial refusals in declared windows, and refusal
//! after the end. By default nothing is set, and answers pass through unchanged.
//!
//! May use: `edge` (the trait of what is done to answers), `plan`, `settings`, `usage` (the names of clients).

use crate::edge::{Notice as Said, Notices};
use crate::plan::routes::LONGEST_SUGGESTION;
use crate::plan::{Fill, Operation, Plan, V1Operation, V1RouteMatch};
use crate::settings::{Brownout, EVERY, Notice, Settings, most_similar};
use crate::usage::client_of;
use http::header::USER_AGENT;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Time between two log lines about windows.
const REPORT: Duration = Duration::from_secs(60);
const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
const SUNSET: HeaderName = HeaderName::from_static("sunset");
const LINK: HeaderName = HeaderName::from_static("link");

/// The announcements and refusals of the settings.
pub struct Retirement {
    plan: Arc<Plan>,
    /// Prefix of v2's paths for clients: the path of the public address.
    before: String,
    notices: Vec<Notice>,
    windows: Vec<Window>,
}

/// A window of trial refusals, and the number of calls in it.
struct Window {
    told: Brownout,
    /// Calls since these settings apply.
    all: AtomicU64,
}

impl Retirement {
    /// Reads `settings`; none when nothing is set. Past windows are left out; the settings warn about them.
    pub fn new(settings: &Settings, plan: &Arc<Plan>) -> Result<Option<Self>, String> {
        let (public, settings) = (&settings.public, &settings.retirement);
        let named = settings.notices.iter().map(|notice| ("retirement", &notice.operation));
        let windows = settings.brownouts.iter().map(|window| ("brownout", &window.operation));
        for (setting, id) in named.chain(windows) {
            if id != EVERY && plan.v1.by_id(id).is_none() {
                let names = plan.v1.all().iter().map(|row| row.id.as_str());
                let near = most_similar(id, names).map(|near| format!("did you mean {near}? ")).unwrap_or_default();
                return Err(format!(
                    "{setting}: v1 has no operation {id}; {near}mappings/v1/operations.toml of the source names \
                     all, and \"{EVERY}\" stands for each"
                ));
            }
        }
        for client in settings.brownouts.iter().flat_map(|window| &window.clients) {
            let named = client_of(Some(client.as_bytes()));
            if named != *client {
                return Err(format!(
                    "brownout: no client is ever called {client}; `causeway migration` names this one {named}"
                ));
            }
        }
        let now = Timestamp::now();
        let ahead = settings.brownouts.iter().filter(|window| window.until > now);
        let window = |told: &Brownout| Window { told: told.clone(), all: AtomicU64::default() };
        let windows: Vec<Window> = ahead.map(window).collect();
        if settings.notices.is_empty() && windows.is_empty() {
            return Ok(None);
        }
        let before = public.url.as_ref().map_or_else(String::new, |address| address.path().to_owned());
        Ok(Some(Self { plan: Arc::clone(plan), before, notices: settings.notices.clone(), windows }))
    }

    /// Logs once a minute how many calls windows have refused, or would have refused.
    pub async fn report(self: Arc<Self>) {
        let mut reported = vec![0; self.windows.len()];
        loop {
            tokio::time::sleep(REPORT).await;
            for (Window { told, all }, reported) in self.windows.iter().zip(&mut reported) {
                let before = std::mem::replace(reported, all.load(Ordering::Relaxed));
                let calls = *reported - before;
                if calls > 0 {
                    let (operation, dry_run) = (told.operation.as_str(), told.dry_run);
                    tracing::info!(calls, operation, dry_run, "calls of the last minute in a brownout");
                }
            }
        }
    }

    /// Returns the number of calls in windows since these settings apply, by operation and whether the window only
    /// counts.
    pub fn figures(&self) -> BTreeMap<(&str, bool), u64> {
        let mut figures = BTreeMap::new();
        for Window { told, all } in &self.windows {
            *figures.entry((told.operation.as_str(), told.dry_run)).or_default() += all.load(Ordering::Relaxed);
        }
        figures
    }

    fn at(&self, now: Timestamp, method: &str, asked: &Uri, headers: &HeaderMap) -> Option<Said> {
        let V1RouteMatch::Operation { operation: index, .. } = self.plan.v1.find(method, asked.path()) else {
            return None;
        };
        let row = &self.plan.v1.all()[index];
        let of = |id: &str| id == row.id || id == EVERY;
        let successor = row.successors.first().map(|&successor| {
            let variables = self.plan.v1.variables(index, asked.path());
            Successor::of(row, &self.plan.operations[successor], &variables, asked.query()).below(&self.before)
        });
        let by_name = |a: &&Notice| a.operation == EVERY;
        // A notice for this operation has priority over a notice for all, even before its own time has begun.
        let notice = self.notices.iter().filter(|notice| of(&notice.operation)).min_by_key(by_name);
        let notice = notice.filter(|notice| notice.deprecated <= now);
        let mut said =
            Said { headers: notice.map(|notice| told(notice, successor.as_ref())).unwrap_or_default(), gone: None };
        let instead = successor
            .map_or("v2 has no successor for it".to_owned(), |successor| format!("use {}", successor.target));
        if let Some(sunset) =
            notice.and_then(|notice| notice.sunset.filter(|sunset| *sunset <= now && notice.refuse))
        {
            said.gone = Some(format!("This operation of v1 ended on {sunset}; {instead}."));
        }
        let (mut client, mut ends) = (None, None);
        for Window { told: window, all } in &self.windows {
            if !of(&window.operation) || now < window.from || now >= window.until {
                continue;
            }
            let client =
                client.get_or_insert_with(|| client_of(headers.get(USER_AGENT).map(HeaderValue::as_bytes)));
            if !window.clients.is_empty() && !window.clients.contains(client) {
                continue;
            }
            all.fetch_add(1, Ordering::Relaxed);
            if !window.dry_run {
                // A window for all operations may exist beside one for this operation.
                ends = ends.max(Some(window.until));
            }
        }
        if let (None, Some(until)) = (&said.gone, ends) {
            said.gone = Some(format!(
                "This operation of v1 is switched off on trial until {until}, before it ends for good; {instead}."
            ));
        }
        Some(said)
    }
}

impl Notices for Retirement {
    fn of(&self, method: &Method, asked: &Uri, headers: &HeaderMap) -> Option<Said> {
        self.at(Timestamp::now(), method.as_str(), asked, headers)
    }
}

/// The address in v2 that replaces a call of v1.
struct Successor {
    target: String,
    /// Whether the call gives all values of the address; otherwise the address still contains variables.
    whole: bool,
}

impl Successor {
    /// Fills in `operation` for a call of `row` with these path `variables`. Values that v1 has in the path and v2 in
    /// the query go into the query.
    fn of(row: &V1Operation, operation: &Operation, variables: &[(String, String)], query: Option<&str>) -> Self {
        let query: Vec<(String, String)> =
            form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned().collect();
        let value = |name: &str| row.filled(name, variables, &query);
        let (path, whole) = (&operation.path, operation.path.variables().all(|name| value(name).is_some()));
        let mut target = path.fill_known(value);
        let filters = row.fills.iter().filter(|(name, fill)| {
            matches!(fill, Fill::Variable(_)) && operation.params.iter().any(|param| param.name == *name)
        });
        let filters: Vec<(&str, &str)> =
            filters.filter_map(|(name, _)| Some((name.as_str(), value(name)?))).collect();
        if !filters.is_empty() {
            let filters = form_urlencoded::Serializer::new(String::new()).extend_pairs(filters).finish();
            target.extend(["?", &filters]);
        }
        // A text of the client that no id can be is not repeated.
        if target.len() > LONGEST_SUGGESTION {
            return Self { target: path.as_str().to_owned(), whole: false };
        }
        Self { target, whole }
    }

    /// Puts the path of the public address before the target.
    fn below(self, before: &str) -> Self {
        Self { target: format!("{before}/{}", self.target.trim_start_matches('/')), ..self }
    }
}

/// Builds the headers of a notice (RFC 9745, RFC 8594).
fn told(notice: &Notice, successor: Option<&Successor>) -> Vec<(HeaderName, HeaderValue)> {
    let mut headers = Vec::new();
    let mut add = |name: HeaderName, value: String| {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.push((name, value));
        }
    };
    add(DEPRECATION, format!("@{}", notice.deprecated.as_second()));
    if let Some(sunset) = notice.sunset
        && let Ok(date) = DateTimePrinter::new().timestamp_to_rfc9110_string(&sunset)
    {
        add(SUNSET, date);
    }
    // An address with a variable in it is no valid link.
    if let Some(Successor { target, .. }) = successor.filter(|successor| successor.whole) {
        add(LINK, format!("<{target}>; rel=\"successor-version\""));
    }
    if let Some(link) = &notice.link {
        add(LINK, format!("<{link}>; rel=\"deprecation\"; type=\"text/html\""));
    }
    headers
}
