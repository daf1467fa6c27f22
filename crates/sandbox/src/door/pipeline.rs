//! A request from its bytes to its answer, in v1's order of checks: body size, slash redirect, route, content
//! negotiation, key, permission, throttle, method, and only then the view. May use: `records`, this folder.

use std::cell::Cell;
use std::time::Duration;

use bytes::Bytes;
use http::header::{HeaderName, HeaderValue};
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use jiff::tz::TimeZone;
use serde_json::json;

use crate::door::auth::identify;
use crate::door::call::Call;
use crate::door::gzip;
use crate::door::http::{Answer, Payload, Query, Reply};
use crate::door::route::Place;
use crate::door::routes::{Route, View, resolve};
use crate::door::shared::Inner;
use crate::door::throttle::Rate;
use crate::records::saving::Held;
use crate::records::store::World;

/// The largest body in bytes (`errors_body_too_large`, `errors_body_just_below_limit`).
const LARGEST_BODY: usize = 5_242_880;
/// Size from which bodies are offered in compressed form.
const COMPRESSED_FROM: usize = 200;

/// An answer with the data for its headers.
struct Finished {
    reply: Reply,
    allow: Option<String>,
    rate: Option<Rate>,
    retry_after: Option<i64>,
    location: Option<String>,
    /// Whether `Vary` names the cookie. It does not when the key failed or the body was too large.
    cookie: bool,
    /// The row to save later, when writes take time.
    held: Option<Box<dyn Held>>,
    /// The time that a real v1 takes.
    takes: Duration,
}

/// An answer, with the work that is done before it is sent.
pub(crate) struct Answered {
    pub(crate) response: Response<Bytes>,
    /// The row to save.
    pub(crate) held: Option<Box<dyn Held>>,
    /// The time that a real v1 takes for the call.
    pub(crate) takes: Duration,
}

impl From<Reply> for Finished {
    fn from(reply: Reply) -> Self {
        Self {
            reply,
            allow: None,
            rate: None,
            retry_after: None,
            location: None,
            cookie: true,
            held: None,
            takes: Duration::ZERO,
        }
    }
}

/// Answers one request.
pub(crate) fn answer(inner: &Inner, request: &Request<Bytes>) -> Answered {
    let headers = request.headers();
    if request.method() == Method::OPTIONS
        && headers.contains_key(header::ORIGIN)
        && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
    {
        return Answered { response: preflight(headers), held: None, takes: Duration::ZERO };
    }
    let mut finished = finish(inner, request);
    let (held, takes) = (finished.held.take(), finished.takes);
    Answered { response: respond(finished, request), held, takes }
}

/// Runs the checks and the view.
fn finish(inner: &Inner, request: &Request<Bytes>) -> Finished {
    if request.body().len() > LARGEST_BODY {
        return Finished { cookie: false, ..too_large().into() };
    }
    let path = request.uri().path();
    let raw_query = request.uri().query();
    let Some((route, place)) = resolve(path) else {
        let with_slash = format!("{path}/");
        if !path.ends_with('/') && resolve(&with_slash).is_some() {
            // For every method, and before the key is checked (`errors_slash_missing_post`,
            // `errors_slash_missing_no_key`).
            let location = raw_query.map_or(with_slash.clone(), |q| format!("{with_slash}?{q}"));
            return Finished { location: Some(location), ..Reply { status: 301, body: Payload::Html("") }.into() };
        }
        return Reply::no_page().into();
    };
    let query = || Query::parse(raw_query.unwrap_or_default());
    let mut finished = routed(inner, request, route, place, query());
    if inner.workers.is_some() {
        finished.takes = route.routes.cost.time(request.method().as_str(), &query(), &finished.reply);
    }
    finished.allow = match finished.reply.body {
        Payload::Html(_) => None,
        _ => Some(route.allow()),
    };
    finished
}

fn too_large() -> Reply {
    let detail = "The size of the request body exceeds the maximum allowed size.";
    Reply::json(413, json!({ "error": "REQUEST_BODY_TOO_LARGE", "detail": detail }))
}

/// Runs the checks that follow the search for the route.
fn routed(inner: &Inner, request: &Request<Bytes>, route: Route, place: Place, query: Query) -> Finished {
    if let Err(reply) = negotiate(request.headers(), &query) {
        return reply.into();
    }
    let method = request.method().as_str();
    let admitted = |world: &World| admit(inner, request, world, route, place, query);
    let finished = match route.view(method) {
        Some(View::Reads(view)) => {
            let world = inner.world.read();
            admitted(&world).map(|(call, rate)| answered(seal(&call, view(&call, &world)), rate))
        }
        Some(View::Writes(view)) => {
            let mut world = inner.world.write();
            admitted(&world).map(|(call, rate)| {
                world.revision += 1;
                let saved = inner.pace.get().and(route.routes.saved);
                let watched = saved.map(|watch| watch(call.place.id, &mut world));
                let answer = view(&call, &mut world);
                let held = watched.filter(|_| answer.is_ok()).and_then(|row| row.hold(&mut world));
                Finished { held, ..answered(seal(&call, answer), rate) }
            })
        }
        None => admitted(&inner.world.read()).map(|(_, rate)| {
            let message = format!("Method \"{method}\" not allowed.");
            answered(Reply::detail(405, &message), rate)
        }),
    };
    finished.unwrap_or_else(|refused| *refused)
}

/// Adds the quota to an answer, for its headers. HTML pages never show it.
fn answered(reply: Reply, rate: Rate) -> Finished {
    let rate = (!matches!(reply.body, Payload::Html(_))).then_some(rate);
    Finished { rate, ..reply.into() }
}

/// Checks key, permission and throttle.
fn admit<'r>(
    inner: &'r Inner,
    request: &'r Request<Bytes>,
    world: &World,
    route: Route,
    place: Place,
    query: Query,
) -> Result<(Call<'r>, Rate), Box<Finished>> {
    let (value, key) =
        identify(request.headers(), world).map_err(|reply| Box::new(Finished { cookie: false, ..reply.into() }))?;
    if !route.routes.may.permits(request.method().as_str(), world, key.user, &place) {
        // Does not count for the quota (`throttle_forbidden_is_not_counted`).
        return Err(Box::new(Reply::forbidden().into()));
    }
    let rate = inner.throttle.pass(value, key.service, inner.clock.now()).map_err(|wait| {
        let body = json!({ "error_code": 5900, "error_message": "RATE_LIMIT_EXCEEDED" });
        Box::new(Finished { retry_after: Some(wait), ..Reply::json(429, body).into() })
    })?;
    let zone = world.users.get(key.user).and_then(|user| TimeZone::get(&user.zone).ok()).unwrap_or(TimeZone::UTC);
    let call = Call {
        user: key.user,
        zone,
        place,
        query,
        raw: request.body(),
        content_type: text(request.headers(), header::CONTENT_TYPE),
        clock: &inner.clock,
        unwritable: Cell::new(false),
    };
    Ok((call, rate))
}

/// Turns a view's result into the reply. Returns the crash page when the reply cannot be written: because of a number
/// that is not finite (`errors_poison_get`), or a NUL in the query, on which v1's request log fails
/// (`errors_null_byte_in_query`).
fn seal(call: &Call<'_>, answer: Answer) -> Reply {
    let reply = answer.unwrap_or_else(|refusal| refusal);
    if call.unwritable.get() || call.query.has_nul() {
        return Reply::crash_page();
    }
    reply
}

/// Checks that `Accept` allows JSON, and that `format` is JSON if given (`errors_accept_xml_no_key`,
/// `errors_format_param`).
fn negotiate(headers: &HeaderMap, query: &Query) -> Result<(), Reply> {
    if query.get("format").is_some_and(|format| !format.is_empty() && format != "json") {
        return Err(Reply::detail(404, "Not found."));
    }
    let accept: Vec<&str> = headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|part| part.split(';').next().unwrap_or_default().trim())
        .filter(|part| !part.is_empty())
        .collect();
    let fits = |kind: &&str| matches!(*kind, "*/*" | "application/*" | "application/json");
    if accept.is_empty() || accept.iter().any(fits) {
        return Ok(());
    }
    let message = "Could not satisfy the request Accept header.";
    Err(Reply::detail(406, message))
}

/// A header as text.
fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

/// Adds headers and writes the body.
fn respond(finished: Finished, request: &Request<Bytes>) -> Response<Bytes> {
    let Finished { reply, allow, rate, retry_after, location, cookie, .. } = finished;
    let mut headers = HeaderMap::new();
    let mut body = write(reply.body, &mut headers);
    if request.method() == Method::HEAD {
        body.clear();
    }
    let mut vary = Vec::new();
    if body.len() >= COMPRESSED_FROM && reply.status != 301 {
        vary.push("Accept-Encoding");
        if text(request.headers(), header::ACCEPT_ENCODING).is_some_and(|value| value.contains("gzip")) {
            set(&mut headers, header::CONTENT_ENCODING, "gzip");
            body = gzip::wrap(&body);
        }
    }
    if cookie {
        vary.push("Cookie");
    }
    vary.push("origin");
    let others = [
        (header::VARY, Some(vary.join(", "))),
        (header::ALLOW, allow),
        (HeaderName::from_static("x-ratelimit-remaining"), rate.map(|rate| rate.remaining.to_string())),
        (HeaderName::from_static("x-ratelimit-reset"), rate.map(|rate| rate.reset.to_string())),
        (header::RETRY_AFTER, retry_after.map(|seconds| seconds.to_string())),
        (header::LOCATION, location),
    ];
    for (name, value) in others {
        if let Some(value) = value {
            set(&mut headers, name, &value);
        }
    }
    allow_origin(request.headers(), &mut headers);
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    *response.headers_mut() = headers;
    response
}

/// Returns the bytes of a body, and sets their type in the headers.
fn write(body: Payload, headers: &mut HeaderMap) -> Vec<u8> {
    match body {
        Payload::Json(value) => {
            set(headers, header::CONTENT_TYPE, "application/json");
            serde_json::to_vec(&value).unwrap_or_default()
        }
        Payload::Html(page) => {
            set(headers, header::CONTENT_TYPE, "text/html; charset=utf-8");
            page.as_bytes().to_vec()
        }
        Payload::Empty => Vec::new(),
    }
}

/// Allows the browser page that sent the request to read the answer.
fn allow_origin(sent: &HeaderMap, headers: &mut HeaderMap) {
    if let Some(origin) = sent.get(header::ORIGIN) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        set(headers, header::ACCESS_CONTROL_ALLOW_CREDENTIALS, "true");
    }
}

/// Answers the preflight request of a browser before a cross-origin request (`errors_options_preflight`).
fn preflight(sent: &HeaderMap) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    let headers = response.headers_mut();
    set(headers, header::CONTENT_TYPE, "text/html; charset=utf-8");
    set(headers, header::VARY, "origin");
    allow_origin(sent, headers);
    for (name, value) in [
        (
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            "accept, authorization, content-type, user-agent, x-csrftoken, x-requested-with, X-API-Key",
        ),
        (header::ACCESS_CONTROL_ALLOW_METHODS, "DELETE, GET, OPTIONS, PATCH, POST, PUT"),
        (header::ACCESS_CONTROL_MAX_AGE, "86400"),
    ] {
        set(headers, name, value);
    }
    response
}
