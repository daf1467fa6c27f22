//! A request from its bytes to its answer, in v1's order of checks: body size, slash redirect, route,
//! content negotiation, key, permission, throttle, method, and only then the view. Uses every part of
//! the sandbox.

use std::cell::Cell;

use bytes::Bytes;
use http::header::{HeaderName, HeaderValue};
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use jiff::tz::TimeZone;

use crate::door::auth::{identify, permitted};
use crate::door::call::Call;
use crate::door::gzip;
use crate::door::http::{Answer, Payload, Query, Reply};
use crate::door::route::{Place, Target, resolve};
use crate::door::shared::Inner;
use crate::door::throttle::Rate;
use crate::lists::item_lists;
use crate::records::saving::{self, Held};
use crate::records::store::World;
use crate::views::activities;
use crate::views::attachments;
use crate::views::comments;
use crate::views::cycle_items;
use crate::views::cycles;
use crate::views::intake;
use crate::views::items;
use crate::views::labels;
use crate::views::links;
use crate::views::members;
use crate::views::module_items;
use crate::views::modules;
use crate::views::projects;
use crate::views::relations;
use crate::views::states;
use crate::views::users;

/// The largest body in bytes (`errors_body_too_large`, `errors_body_just_below_limit`).
const LARGEST_BODY: usize = 5_242_880;
/// Bodies from this size on are offered in compressed form.
const COMPRESSED_FROM: usize = 200;

/// An answer with what the headers need to know.
struct Finished {
    reply: Reply,
    allow: Option<&'static str>,
    rate: Option<Rate>,
    retry_after: Option<i64>,
    location: Option<String>,
    /// Whether `Vary` names the cookie; it does not when the key failed or the body was too large.
    cookie: bool,
    /// What is saved later, if writes take their time.
    held: Option<Box<dyn Held>>,
}

impl From<Reply> for Finished {
    fn from(reply: Reply) -> Self {
        Self { reply, allow: None, rate: None, retry_after: None, location: None, cookie: true, held: None }
    }
}

/// Answers one request; with what is to be saved before the answer is sent.
pub(crate) fn answer(inner: &Inner, request: &Request<Bytes>) -> (Response<Bytes>, Option<Box<dyn Held>>) {
    let headers = request.headers();
    if request.method() == Method::OPTIONS
        && headers.contains_key(header::ORIGIN)
        && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
    {
        return (preflight(headers), None);
    }
    let mut finished = finish(inner, request);
    let held = finished.held.take();
    (respond(finished, request), held)
}

/// The checks and the view.
fn finish(inner: &Inner, request: &Request<Bytes>) -> Finished {
    if request.body().len() > LARGEST_BODY {
        return Finished { cookie: false, ..too_large().into() };
    }
    let path = request.uri().path();
    let raw_query = request.uri().query();
    let Some((target, place)) = resolve(path) else {
        let with_slash = format!("{path}/");
        if !path.ends_with('/') && resolve(&with_slash).is_some() {
            // For every method, and before the key is looked at (`errors_slash_missing_post`,
            // `errors_slash_missing_no_key`).
            let location = raw_query.map_or(with_slash.clone(), |q| format!("{with_slash}?{q}"));
            return Finished { location: Some(location), ..Reply { status: 301, body: Payload::Html("") }.into() };
        }
        return Reply::no_page().into();
    };
    let query = Query::parse(raw_query.unwrap_or_default());
    let mut finished = routed(inner, request, target, place, query);
    finished.allow = match finished.reply.body {
        Payload::Html(_) => None,
        _ => Some(target.allow()),
    };
    finished
}

fn too_large() -> Reply {
    Reply::json(
        413,
        serde_json::json!({
            "error": "REQUEST_BODY_TOO_LARGE",
            "detail": "The size of the request body exceeds the maximum allowed size.",
        }),
    )
}

/// The checks after the route was found.
fn routed(inner: &Inner, request: &Request<Bytes>, target: Target, place: Place, query: Query) -> Finished {
    if let Err(reply) = negotiate(request.headers(), &query) {
        return reply.into();
    }
    let method = request.method();
    let reading = method == Method::GET || !target.has(method.as_str());
    let (mut rate, mut held) = (None, None);
    let reply = if reading {
        let world = inner.world.read();
        match admit(inner, request, &world, target, place, query, &mut rate) {
            Err(finished) => return *finished,
            Ok(call) => seal(&call, read_view(target, &call, &world)),
        }
    } else {
        let mut world = inner.world.write();
        match admit(inner, request, &world, target, place, query, &mut rate) {
            Err(finished) => return *finished,
            Ok(call) => {
                world.revision += 1;
                let watched = inner.pace.get().and_then(|_| saving::watch(target, method, &call.place, &mut world));
                let answer = write_view(target, method, &call, &mut world);
                if answer.is_ok() {
                    held = watched.and_then(|row| row.hold(&mut world));
                }
                seal(&call, answer)
            }
        }
    };
    let rate = match reply.body {
        Payload::Html(_) => None,
        _ => rate,
    };
    Finished { rate, held, ..reply.into() }
}

/// Key, permission, throttle and method.
fn admit<'r>(
    inner: &'r Inner,
    request: &'r Request<Bytes>,
    world: &World,
    target: Target,
    place: Place,
    query: Query,
    rate: &mut Option<Rate>,
) -> Result<Call<'r>, Box<Finished>> {
    let (value, key) =
        identify(request.headers(), world).map_err(|reply| Box::new(Finished { cookie: false, ..reply.into() }))?;
    let method = request.method().as_str();
    if !permitted(world, key.user, target, &place, method) {
        // Costs nothing (`throttle_forbidden_is_not_counted`).
        return Err(Box::new(Reply::forbidden().into()));
    }
    let passed = inner.throttle.pass(value, key.service, inner.clock.now());
    let passed = passed.map_err(|wait| {
        let body = serde_json::json!({
            "error_code": 5900,
            "error_message": "RATE_LIMIT_EXCEEDED",
        });
        Box::new(Finished { retry_after: Some(wait), ..Reply::json(429, body).into() })
    })?;
    *rate = Some(passed);
    if !target.has(method) {
        let message = format!("Method \"{method}\" not allowed.");
        return Err(Box::new(Finished { rate: Some(passed), ..Reply::detail(405, &message).into() }));
    }
    let zone = world.users.get(key.user).and_then(|user| TimeZone::get(&user.zone).ok()).unwrap_or(TimeZone::UTC);
    Ok(Call {
        user: key.user,
        zone,
        place,
        query,
        raw: request.body(),
        content_type: request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()),
        clock: &inner.clock,
        unwritable: Cell::new(false),
    })
}

/// Turns a view's result into the reply, or into the crash page when it cannot be written: a number
/// that is not finite (`errors_poison_get`) or a NUL in the query, which fails in v1's request log
/// (`errors_null_byte_in_query`).
fn seal(call: &Call<'_>, answer: Answer) -> Reply {
    let reply = answer.unwrap_or_else(|refusal| refusal);
    if call.unwritable.get() || call.query.has_nul() {
        return Reply::crash_page();
    }
    reply
}

/// `Accept` must allow JSON; `format` must be JSON if given (`errors_accept_xml_no_key`,
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

/// The views that read.
fn read_view(target: Target, call: &Call<'_>, world: &World) -> Answer {
    match target {
        Target::Me => users::me(call, world),
        Target::Projects => projects::list(call, world),
        Target::Project => projects::read(call, world),
        Target::ProjectSummary => projects::summary(call, world),
        Target::WorkspaceMembers => members::workspace_roster(call, world),
        Target::ProjectMembers => members::list(call, world),
        Target::ProjectMember => members::read(call, world),
        Target::States => states::list(call, world),
        Target::State => states::read(call, world),
        Target::Labels => labels::list(call, world),
        Target::Label => labels::read(call, world),
        Target::Cycles => cycles::list(call, world),
        Target::Cycle => cycles::read(call, world),
        Target::ArchivedCycles => cycles::list_archived(call, world),
        Target::CycleItems => cycle_items::list(call, world),
        Target::CycleItem => cycle_items::read(call, world),
        Target::Modules => modules::list(call, world),
        Target::Module => modules::read(call, world),
        Target::ArchivedModules => modules::list_archived(call, world),
        Target::ModuleItems => module_items::list(call, world),
        Target::Items => item_lists::list(call, world),
        Target::Item => items::read(call, world),
        Target::ItemByKey => item_lists::by_key(call, world),
        Target::ItemSearch => item_lists::search(call, world),
        Target::Comments => comments::list(call, world),
        Target::Comment => comments::read(call, world),
        Target::Links => links::list(call, world),
        Target::Link => links::read(call, world),
        Target::Relations => relations::list(call, world),
        Target::Activities => activities::list(call, world),
        Target::Activity => activities::read(call, world),
        Target::Attachments => attachments::list(call, world),
        Target::Attachment => attachments::read(call, world),
        Target::Intake => intake::list(call, world),
        Target::IntakeEntry => intake::read(call, world),
        Target::ProjectArchive
        | Target::CycleArchive
        | Target::CycleUnarchive
        | Target::CycleTransfer
        | Target::ModuleArchive
        | Target::ModuleUnarchive
        | Target::ModuleItem => Err(Reply::crash()),
    }
}

/// The views that write.
fn write_view(target: Target, method: &Method, call: &Call<'_>, world: &mut World) -> Answer {
    match (target, method.as_str()) {
        (Target::Projects, "POST") => projects::create(call, world),
        (Target::Project, "PATCH") => projects::update(call, world),
        (Target::Project, "DELETE") => projects::delete(call, world),
        (Target::ProjectArchive, "POST") => projects::archive(call, world),
        (Target::ProjectArchive, "DELETE") => projects::unarchive(call, world),
        (Target::ProjectMembers, "POST") => members::create(call, world),
        (Target::ProjectMember, "PATCH") => members::update(call, world),
        (Target::ProjectMember, "DELETE") => members::delete(call, world),
        (Target::States, "POST") => states::create(call, world),
        (Target::State, "PATCH") => states::update(call, world),
        (Target::State, "DELETE") => states::delete(call, world),
        (Target::Labels, "POST") => labels::create(call, world),
        (Target::Label, "PATCH") => labels::update(call, world),
        (Target::Label, "DELETE") => labels::delete(call, world),
        (Target::Cycles, "POST") => cycles::create(call, world),
        (Target::Cycle, "PATCH") => cycles::update(call, world),
        (Target::Cycle, "DELETE") => cycles::delete(call, world),
        (Target::CycleArchive, "POST") => cycles::archive(call, world),
        (Target::CycleUnarchive, "DELETE") => cycles::unarchive(call, world),
        (Target::CycleItems, "POST") => cycle_items::add(call, world),
        (Target::CycleItem, "DELETE") => cycle_items::remove(call, world),
        (Target::CycleTransfer, "POST") => cycle_items::transfer(call, world),
        (Target::Modules, "POST") => modules::create(call, world),
        (Target::Module, "PATCH") => modules::update(call, world),
        (Target::Module, "DELETE") => modules::delete(call, world),
        (Target::ModuleArchive, "POST") => modules::archive(call, world),
        (Target::ModuleUnarchive, "DELETE") => modules::unarchive(call, world),
        (Target::ModuleItems, "POST") => module_items::add(call, world),
        (Target::ModuleItem, "DELETE") => module_items::remove(call, world),
        (Target::Items, "POST") => items::create(call, world),
        (Target::Item, "PATCH") => items::update(call, world),
        (Target::Item, "DELETE") => items::delete(call, world),
        (Target::Comments, "POST") => comments::create(call, world),
        (Target::Comment, "PATCH") => comments::update(call, world),
        (Target::Comment, "DELETE") => comments::delete(call, world),
        (Target::Links, "POST") => links::create(call, world),
        (Target::Link, "PATCH") => links::update(call, world),
        (Target::Link, "DELETE") => links::delete(call, world),
        (Target::Relations, "POST") => relations::create(call, world),
        (Target::Attachments, "POST") => attachments::create(call, world),
        (Target::Attachment, _) => attachments::read(call, world),
        (Target::Intake, "POST") => intake::create(call, world),
        (Target::IntakeEntry, "PATCH") => intake::update(call, world),
        (Target::IntakeEntry, "DELETE") => intake::delete(call, world),
        _ => Err(Reply::crash()),
    }
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

/// Adds headers and writes the body.
fn respond(finished: Finished, request: &Request<Bytes>) -> Response<Bytes> {
    let sent = request.headers();
    let mut headers = HeaderMap::new();
    let mut body = match finished.reply.body {
        Payload::Json(value) => {
            set(&mut headers, header::CONTENT_TYPE, "application/json");
            serde_json::to_vec(&value).unwrap_or_default()
        }
        Payload::Html(page) => {
            set(&mut headers, header::CONTENT_TYPE, "text/html; charset=utf-8");
            page.as_bytes().to_vec()
        }
        Payload::Empty => Vec::new(),
    };
    if request.method() == Method::HEAD {
        body.clear();
    }
    let mut vary = String::new();
    if body.len() >= COMPRESSED_FROM && finished.reply.status != 301 {
        vary.push_str("Accept-Encoding, ");
        let asked = sent
            .get(header::ACCEPT_ENCODING)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|value| value.contains("gzip"));
        if asked {
            set(&mut headers, header::CONTENT_ENCODING, "gzip");
            body = gzip::wrap(&body);
        }
    }
    if finished.cookie {
        vary.push_str("Cookie, ");
    }
    vary.push_str("origin");
    set(&mut headers, header::VARY, &vary);
    if let Some(allow) = finished.allow {
        set(&mut headers, header::ALLOW, allow);
    }
    if let Some(rate) = finished.rate {
        let remaining = HeaderName::from_static("x-ratelimit-remaining");
        let reset = HeaderName::from_static("x-ratelimit-reset");
        set(&mut headers, remaining, &rate.remaining.to_string());
        set(&mut headers, reset, &rate.reset.to_string());
    }
    if let Some(wait) = finished.retry_after {
        set(&mut headers, header::RETRY_AFTER, &wait.to_string());
    }
    if let Some(location) = finished.location {
        set(&mut headers, header::LOCATION, &location);
    }
    if let Some(origin) = sent.get(header::ORIGIN) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        let name = header::ACCESS_CONTROL_ALLOW_CREDENTIALS;
        set(&mut headers, name, "true");
    }
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() =
        StatusCode::from_u16(finished.reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    *response.headers_mut() = headers;
    response
}

/// The answer to a browser's question before a cross-origin request (`errors_options_preflight`).
fn preflight(sent: &HeaderMap) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    let headers = response.headers_mut();
    set(headers, header::CONTENT_TYPE, "text/html; charset=utf-8");
    set(headers, header::VARY, "origin");
    if let Some(origin) = sent.get(header::ORIGIN) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    }
    for (name, value) in [
        (header::ACCESS_CONTROL_ALLOW_CREDENTIALS, "true"),
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
