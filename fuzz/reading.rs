//! Properties that must hold for everything that is read from a v2 request, an answer of v1 or a mapping file: one
//! function a target, called by the fuzzer with generated inputs and by `tests/hostile/corpora.rs` with the corpora. A
//! property that does not hold panics.
//!
//! May use: the public interface of the crate.

use causeway::app::compile_plan;
use causeway::edge::{Peer, forwarded_headers};
use causeway::idempotency::{Key, answer};
use causeway::mapping::{Files, Texts};
use causeway::plan::Special;
use causeway::plan::{self, BodyRule, Operation, Plan, Rows};
use causeway::refusal::{FieldError, Refusal};
use causeway::settings::PublicSettings;
use causeway::store::KeptAnswer;
use causeway::translate::work_items;
use causeway::translate::work_items_text::{self, CustomFields};
use causeway::translate::{Held, ReadShape, html, incoming};
use causeway::v2::cursor::{Cursor, MAX_TOKEN};
use causeway::v2::query::{PageCall, read_list, read_single};
use causeway::v2::{NamedVersions, Parameters, Reply, body};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use serde_json::value::RawValue;
use std::pin::pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, Waker};

/// The plan of the embedded mappings.
pub static PLAN: LazyLock<Arc<Plan>> = LazyLock::new(|| compile_plan(None).expect("the embedded mappings compile"));

/// Resources whose v1 records go through the general translation.
pub const TRANSLATED: [&str; 5] = ["states", "labels", "cycles", "modules", "work_item_comments"];

/// Chooses one of `all` by the first byte; the other bytes are the input.
pub fn chosen<'a, 'd, T>(all: &'a [T], data: &'d [u8]) -> Option<(&'a T, &'d [u8])> {
    let (first, rest) = data.split_first()?;
    (!all.is_empty()).then(|| (&all[usize::from(*first) % all.len()], rest))
}

/// A refusal of a client's input is a 400 that does not grow with the input.
fn is_small(refusal: &Refusal) {
    assert_eq!(refusal.status(), 400, "{refusal:?}");
    if let Refusal::Validation { detail, errors } = refusal {
        assert!(errors.len() <= 100 && detail.chars().count() < 1_500, "{refusal:?}");
        for error in errors {
            assert!(error.field.chars().count() <= 301 && error.message.chars().count() <= 1_001);
        }
    }
}

/// The query string of an operation: the values read from it are within the bounds the contract names.
pub fn query_string(data: &[u8]) {
    let Some((operation, rest)) = chosen(&PLAN.operations, data) else { return };
    let Some(parameters) = std::str::from_utf8(rest).ok().map(Parameters::parse) else { return };
    if operation.order.is_none() {
        let read = read_single(operation, &parameters);
        return read
            .map_or_else(|refusal| is_small(&refusal), |expand| assert!(expand.len() <= operation.expand.len()));
    }
    let resource = PLAN.resource_of(operation);
    match read_list(operation, resource, &parameters, true) {
        Err(refusal) => is_small(&refusal),
        Ok(call) => {
            let (PageCall::Offset { per_page, .. } | PageCall::Cursor { per_page, .. }) = call.page;
            assert!((1..=1000).contains(&per_page));
            assert!(call.order.cell < resource.cells.len() && call.expand.len() <= operation.expand.len());
            assert!(call.conditions.iter().all(|condition| condition.cell < resource.cells.len()));
            let lax = read_list(operation, resource, &parameters, false);
            assert_eq!(lax.as_ref(), Ok(&call), "what passes the strict reading passes the lax one");
        }
    }
}

/// The body of a write: only declared members pass, in a form that passes again as it is.
pub fn request_body(data: &[u8]) {
    let writes: Vec<&Operation> =
        PLAN.operations.iter().filter(|operation| matches!(operation.body, BodyRule::Members(_))).collect();
    let Some((operation, rest)) = chosen(&writes, data) else { return };
    let BodyRule::Members(inputs) = &operation.body else { return };
    let members = match body::parse(Some("application/json"), rest) {
        Ok(members) => members,
        Err(refusal) => return is_small(&refusal),
    };
    match body::check(operation, &members) {
        Err(refusal) => is_small(&refusal),
        Ok(given) => {
            assert!(given.keys().all(|name| inputs.iter().any(|input| input.name == *name)));
            assert_eq!(body::check(operation, &given).as_ref(), Ok(&given), "what passed, passes as it is");
        }
    }
}

/// A token is read as a position or refused.
pub fn cursor(data: &[u8]) {
    let Some(position) = std::str::from_utf8(data).ok().and_then(Cursor::decode) else { return };
    assert!(data.len() <= MAX_TOKEN);
    assert_eq!(Cursor::decode(&position.encode()), Some(position));
}

/// An answer of v1, as a page, a list and a record: an object that is accepted as a record has an id and is written as
/// JSON.
pub fn v1_answer(data: &[u8]) {
    let Some((name, rest)) = chosen(&TRANSLATED, data) else { return };
    let Some(resource) = PLAN.resource(name) else { return };
    let shape = ReadShape::of(resource);
    for form in [Rows::Paged, Rows::Array] {
        for row in incoming::rows(form, rest).unwrap_or_default() {
            read_row(&shape, row.get());
        }
        read_page(&shape, form, rest);
    }
    if let Ok(row) = std::str::from_utf8(rest) {
        read_row(&shape, row);
    }
}

/// A page read in one pass gives the same as its records cut out and read one by one. It may only refuse more where
/// the name of a first member contains a brace or begins with a colon, which no name of v1 does.
pub fn read_page(shape: &ReadShape, form: Rows, page: &[u8]) {
    // A list in place of the page's object would be read as its members in order.
    let is_list = page.trim_ascii_start().starts_with(b"[");
    let rows = incoming::rows(form, page).ok().filter(|_| is_list == (form == Rows::Array));
    let one_by_one: Option<Vec<Held>> =
        rows.as_ref().and_then(|rows| rows.iter().map(|row| shape.read(row.get(), &[]).ok()).collect());
    let odd = |row: &&RawValue| {
        let members: serde_json::Map<String, Value> = serde_json::from_str(row.get()).unwrap_or_default();
        members.keys().next().is_none_or(|name| name.contains('{') || name.trim_start().starts_with(':'))
    };
    match shape.read_page(form, page) {
        Err(_) if rows.iter().flatten().any(odd) => {}
        read => assert_eq!(read.ok(), one_by_one),
    }
}

fn read_row(shape: &ReadShape, row: &str) {
    if let Ok(held) = shape.read(row, &[]) {
        let written: serde_json::Value = serde_json::from_slice(&held.record.json).expect("a record is JSON");
        // v1 writes ids in one form; any other form is passed on unchanged.
        let digits = |text: &str| text.to_ascii_lowercase().replace('-', "");
        let id = digits(&held.record.id.to_string());
        assert!(written["id"].as_str().is_some_and(|written| digits(written).contains(&id)), "{row}");
        assert!(written.as_object().expect("an object").values().all(|value| value.as_str() != Some("\0")));
    }
    if let Ok(item) = work_items::read(row) {
        let mut text = Vec::new();
        work_items_text::write(&mut text, &item, "WEB", None, CustomFields::Hidden, &[]);
        let written: serde_json::Value = serde_json::from_slice(&text).expect("a record is JSON");
        assert_eq!(written["sequence_id"], item.sequence_id);
    }
}

/// HTML of a client: the accepted part is harmless, stays unchanged, and costs no more steps than its length allows.
pub fn sanitised_html(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let _ = html::strip(text);
    let clean = match html::sanitise(text) {
        Ok(clean) => clean,
        Err(why) => return assert!(why.starts_with("cannot be sanitised: ") && why.len() < 200, "{why}"),
    };
    let steps = html::steps(&clean).expect("what was sanitised can be read again");
    assert!(steps <= 100_000 + 45 * (clean.len() + 1024), "{steps} steps for {} bytes", clean.len());
    let again = html::readable(&clean).unwrap_or_default();
    assert_eq!(again.trim(), clean.trim(), "sanitising again changes nothing");
    let lower = clean.to_ascii_lowercase();
    for tag in
        ["script", "style", "iframe", "object", "embed", "form", "svg", "math", "template", "base", "link", "meta"]
    {
        for (at, _) in lower.match_indices(&format!("<{tag}")) {
            let next = lower.as_bytes().get(at + 1 + tag.len());
            assert!(next.is_some_and(u8::is_ascii_alphanumeric), "{clean}");
        }
    }
    let plain = html::strip(&clean);
    assert_eq!(plain.trim(), plain);
}

/// A mapping file that an operator puts in place of an embedded one: it compiles, or every fault is reported.
pub fn mapping_file(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (name, text) = text.split_once('\n').unwrap_or(("states.toml", text));
    let mut texts = Texts::embedded();
    let known: Vec<String> = texts.sorted().iter().map(|(name, _)| (*name).to_owned()).collect();
    let name = known.iter().find(|known| known.as_str() == name).map_or("states.toml", String::as_str);
    texts.insert(name, text);
    if let Err(faults) = plan::compile(&Files::read(&texts), Special::all()) {
        assert!(!faults.to_string().is_empty(), "a refusal says why");
    }
}

/// The head of a request that passes through: hop-by-hop headers are not forwarded, and neither is a stranger's
/// statement about its origin.
pub fn pass_through_head(data: &[u8]) {
    let mut request = http::Request::builder().uri("/api/v1/users/me/");
    for line in data.split(|byte| *byte == b'\n').take(100) {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        request = request.header(&line[..colon], &line[colon + 1..]);
    }
    let Ok(request) = request.body(()) else { return };
    let (mut head, ()) = request.into_parts();
    head.extensions.insert(Peer("203.0.113.9:5".parse().expect("an address")));
    let headers = forwarded_headers(&head, &PublicSettings::default());
    for name in ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "host", "expect"] {
        assert!(!headers.contains_key(name), "{name} went on");
    }
    let told: Vec<_> = headers.get_all("x-forwarded-for").iter().collect();
    assert_eq!(told, ["203.0.113.9"]);
    assert!(headers.get_all("te").iter().all(|value| value == "trailers"));
}

/// Builds one header with each line as a value, as far as lines can be values.
pub fn headers(name: &'static str, data: &[u8]) -> HeaderMap {
    let lines = data.split(|byte| *byte == b'\n').take(100);
    let values = lines.filter_map(|line| HeaderValue::from_bytes(line).ok());
    values.fold(HeaderMap::new(), |mut headers, value| {
        headers.append(HeaderName::from_static(name), value);
        headers
    })
}

/// The stored record of a request with an `Idempotency-Key`, and the headers that request it: only a record that the
/// gateway stored is an answer; it comes back unchanged, only to a caller with the key, and only in its place.
pub fn idempotency_record(data: &[u8]) {
    let one = |text: &'static str| Key::read(&headers("idempotency-key", text.as_bytes())).ok().flatten();
    let (mine, other) = (one("mine").expect("a key"), one("other").expect("a key"));
    let sealer = answer::Sealer::new(None);
    let open = |kept: &KeptAnswer, key: &Key, place: &str| at_once(sealer.open(kept, key, place));
    let text = String::from_utf8_lossy(data);
    // The text inside the seal, as a faulty store or another version could have it.
    let mut answers: Vec<_> = answer::read(&text).into_iter().collect();
    // And every kind of stored answer, with this text in it.
    let detail = text.clone().into_owned();
    let (field, message) = text.split_once('\n').unwrap_or((&text, &text));
    answers.extend([
        Ok(Reply::json(201, detail.clone()).of_version(Some(detail.clone()))),
        Ok(Reply { status: 200, ..Reply::no_content() }),
        Err(Refusal::Validation { detail: detail.clone(), errors: vec![FieldError::new(field, message)] }),
        Err(Refusal::Conflict { detail: detail.clone() }),
        Err(Refusal::NotFound { detail }),
    ]);
    for answer in &answers {
        assert!(answer.as_ref().map_or_else(Refusal::status, |reply| reply.status) < 500, "{answer:?}");
        let kept = sealer.seal(answer, &mine, "place").expect("such an answer is kept");
        assert_eq!(open(&kept, &mine, "place"), *answer);
        cannot_be_opened(&open(&kept, &other, "place"));
        cannot_be_opened(&open(&kept, &mine, "elsewhere"));
        let with = KeptAnswer { with: "AAAAAAAAAAAA".into(), ..kept };
        cannot_be_opened(&open(&with, &mine, "place"));
    }
    let sealed = KeptAnswer { sealed: text.clone().into_owned(), with: "client".into() };
    cannot_be_opened(&open(&sealed, &mine, "place"));
    match Key::read(&headers("idempotency-key", data)) {
        Ok(None) => assert!(headers("idempotency-key", data).is_empty()),
        Ok(Some(_)) => assert!(data.split(|byte| *byte == b'\n').any(|line| !line.is_empty())),
        Err(refusal) => is_small(&refusal),
    }
    match NamedVersions::if_match(data.split(|byte| *byte == b'\n')) {
        Err(refusal) => is_small(&refusal),
        Ok(None) => panic!("a header that was sent demands something"),
        Ok(Some(NamedVersions::Any)) => assert_eq!(data.trim_ascii(), b"*"),
        Ok(Some(NamedVersions::OneOf(tags))) => {
            let again = NamedVersions::if_match(std::iter::once(tags.join(" , ").as_bytes()));
            let named = NamedVersions::OneOf(tags.clone());
            assert!(tags.iter().all(|tag| is_encoded(tag) || named.has(tag)));
            assert!(tags.is_empty() || again == Ok(Some(named)), "{data:?}");
        }
    }
}

/// Checks whether `tag` is of an answer in another encoding, which is compared without the name of the encoding.
fn is_encoded(tag: &str) -> bool {
    [".gzip\"", ".zstd\""].iter().any(|ending| tag.ends_with(ending))
}

/// Returns the result of `work`, which never has to wait.
fn at_once<T>(work: impl Future<Output = T>) -> T {
    match pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(brought) => brought,
        Poll::Pending => panic!("something was waited for"),
    }
}

fn cannot_be_opened(answer: &Result<Reply, Refusal>) {
    assert!(matches!(answer, Err(Refusal::UpstreamError { .. })), "{answer:?}");
}
