//! The cost of one hostile request: its answer stays small, and it never blocks the thread that serves other requests.
//!
//! The gateway runs on one thread, which also carries the connections, and whose processor time the kernel reports.
//! Clients, v1 and the pool for heavy work have other threads. The everyday run checks sizes and statuses; the long run
//! (built for release) measures and prints. Both check that this thread has answered.

use crate::support::gateway::{Gateway, UNLIMITED, WEB, serve_sandbox};
use bytes::Bytes;
use causeway::app::compile_plan;
use causeway::plan::{BodyRule, Plan};
use causeway::sandbox::{Config, Sandbox, Seed};
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::oneshot;

/// Limit of the processor time of one request on a worker.
const MOST: Duration = Duration::from_millis(50);
/// An item of `WEB`.
pub const ITEM: &str = "00000000-0000-4000-e000-000000000001";

/// Checks whether this run measures.
pub fn is_long() -> bool {
    std::env::var_os("LONG_TESTS").is_some()
}

/// A request and its name in the table.
pub struct Hostile {
    name: String,
    method: String,
    path: String,
    body: Vec<u8>,
    /// Whether the answer shows existing data and may therefore be larger than a small multiple of the request.
    shows_data: bool,
}

impl Hostile {
    /// A request whose answer is small compared with it.
    pub fn new(name: impl Into<String>, method: &str, path: impl Into<String>, body: impl Into<Vec<u8>>) -> Self {
        let (name, path, body) = (name.into(), path.into(), body.into());
        Self { name, method: method.to_owned(), path, body, shows_data: false }
    }

    /// The same request, answered with existing data.
    pub fn showing_data(self) -> Self {
        Self { shows_data: true, ..self }
    }
}

/// Repeats `unit` up to the size of a body in this run.
pub fn filled(unit: &str) -> String {
    let size = if is_long() { 1_000_000 } else { 60_000 };
    unit.repeat(size / unit.len())
}

/// Rich text that is costly to read or to write.
fn texts() -> Vec<(String, String)> {
    let units = [
        "a&",
        "&",
        "&amp",
        "&nbsp;",
        "§",
        "<",
        "<p>",
        "</p>",
        "<b>",
        "</h1>",
        "<b><p>",
        "</x>",
        "<i><p></i>",
        "<a href=x>",
        "<table>",
        "<svg>",
        "<!---->",
        "<option>",
        "<ul><li>",
        "&#13;",
        "\r\n",
        " ",
        "x",
    ];
    let nested = ["<table>", "<div>", "<b>", "<svg><g>", "<xmp>"].map(|beginning| {
        let deep = beginning.repeat(3_000 / beginning.matches('<').count());
        (format!("{beginning}… </h1>"), format!("{deep}{}", filled("</h1>")))
    });
    let attributes = (0..).map(|n| format!(" a{n}=x")).take(filled("123456789").len() / 9).collect::<String>();
    let texts = units.map(|unit| (unit.escape_debug().to_string(), filled(unit)));
    let one = [
        ("attributes".to_owned(), format!("<p{attributes}>x</p>")),
        ("styled".to_owned(), (0..30).map(|n| format!("<b title={n}>")).collect::<String>() + &filled("<p>x</p>")),
    ];
    texts.into_iter().chain(nested).chain(one).collect()
}

/// JSON that is costly to read, check or refuse, as the value of `member`.
fn values(member: &str) -> Vec<(String, String)> {
    let array = |unit: &str| format!("[{}]", filled(&format!("{unit},")).trim_end_matches(','));
    let distinct = |count: usize| {
        let names: Vec<String> = (0..count).map(|n| format!("\"name{n}@x.test\"")).collect();
        format!("[{}]", names.join(","))
    };
    let keys: Vec<String> = (0..filled("1234567890123").len() / 13).map(|n| format!("\"key{n}\":{n}")).collect();
    [
        ("empty texts", array("\"\"")),
        ("nulls", array("null")),
        ("arrays", array("[]")),
        ("objects", array("{\"name\":\"a\"}")),
        ("a thousand names", distinct(1_000)),
        ("a thousand objects", format!("[{}]", vec!["{\"name\":\"é\"}"; 1_000].join(","))),
        ("nesting", filled("[")),
        ("keys", format!("{{{}}}", keys.join(","))),
        ("one key", format!("{{{}}}", filled("\"k\":1,") + "\"k\":1")),
        ("a long text", format!("\"{}\"", filled("x"))),
        ("escapes", format!("\"{}\"", filled("\\u00e9"))),
        ("digits", filled("9")),
        ("unicode", format!("\"{}\"", filled("ﷺ"))),
        ("deep", format!("{}1{}", "[".repeat(120), "]".repeat(120))),
        ("deep objects", format!("{}1{}", "{\"a\":".repeat(120), "}".repeat(120))),
        ("wide", array(&format!("[{}0]", "0,".repeat(999)))),
        ("wide and empty", array(&format!("[{}[]]", "{},".repeat(999)))),
        ("wide objects", array(&format!("{{{}}}", small_keys(1_000)))),
        ("short texts", array(&format!("[{}\"\"]", "\"\",".repeat(999)))),
    ]
    .map(|(name, value)| (name.to_owned(), format!("{{\"name\":\"n\",\"{member}\":{value}}}")))
    .into()
}

/// Returns `count` members of an object.
fn small_keys(count: usize) -> String {
    (0..count).map(|n| format!("\"{n:x}\":{{}}")).collect::<Vec<_>>().join(",")
}

/// Long query strings.
fn queries() -> Vec<(String, String)> {
    let many = |of: &dyn Fn(usize) -> String, count: usize| (0..count).map(of).collect::<Vec<_>>();
    let ids = many(&|n| format!("00000000-0000-4000-8000-{n:012}"), 1_500).join(",");
    [
        ("ids", format!("parent_id__in={ids}")),
        ("states", format!("state_id__in={ids}&assignee_id__in=x")),
        ("types", format!("type_id__in={ids}")),
        ("bad ids", format!("state_id__in={}", "x,".repeat(25_000))),
        ("expands", format!("expand={}", "statx,".repeat(9_000))),
        ("parameters", many(&|n| format!("p{n}=1"), 8_000).join("&")),
        ("near misses", many(&|n| format!("state_group__i{n}=1"), 480).join("&")),
        ("one parameter", "a&".repeat(25_000)),
        ("a cursor", format!("paginate=cursor&cursor={}", "e".repeat(55_000))),
        ("a search", format!("search={}", "%C3%A9".repeat(9_000))),
        ("a long name", format!("{}=1", "state_group__i".repeat(3_900))),
        ("long names", many(&|n| format!("{}{n}=1", "state_group__i".repeat(9)), 400).join("&")),
        ("orders", format!("order_by={}", "-created_at,".repeat(4_500))),
        ("fields", format!("fields={}", "name,".repeat(11_000))),
        ("priorities", format!("priority__in={}", "urgent,high,".repeat(4_500))),
        ("labels", format!("label_id__in={ids}")),
        ("assignees", format!("assignee_id__in={ids}")),
        ("cycles", many(&|n| format!("cycle_id=00000000-0000-4000-8000-{n:012}"), 480).join("&")),
        ("the longest cursor", format!("paginate=cursor&cursor={}", "W".repeat(512))),
        ("escapes", format!("search={}", "%".repeat(50_000))),
    ]
    .map(|(name, query)| (name.to_owned(), query))
    .into()
}

fn corpus(plan: &Plan) -> Vec<Hostile> {
    let items = format!("{WEB}/work-items/");
    let comments = format!("{items}{ITEM}/comments/");
    let mut corpus = Vec::new();
    for (name, text) in texts() {
        let body = |member: &str| json!({"name": "n", member: text}).to_string();
        corpus.push(Hostile::new(format!("comment {name}"), "POST", &comments, body("comment_html")));
        if is_long() {
            corpus.push(Hostile::new(format!("item {name}"), "POST", &items, body("description_html")));
        }
    }
    let properties = format!("{WEB}/work-item-properties/");
    for member in ["settings", "validation_rules", "options", "default_value"] {
        for (name, body) in values(member) {
            let body = body.replacen("{\"name\":\"n\"", "{\"display_name\":\"n\",\"property_type\":\"OPTION\"", 1);
            corpus.push(Hostile::new(format!("property {member}: {name}"), "POST", &properties, body));
        }
    }
    for member in ["assignees", "labels", "assignee_ids", "custom_fields", "unknown"] {
        for (name, body) in values(member) {
            corpus.push(Hostile::new(format!("item {member}: {name}"), "POST", &items, body));
        }
    }
    for (name, query) in queries() {
        corpus.push(Hostile::new(format!("list {name}"), "GET", format!("{items}?{query}"), ""));
    }
    for operation in &plan.operations {
        let BodyRule::Members(inputs) = &operation.body else { continue };
        let path = operation.path.fill(|name| match name {
            "slug" => Some("acme"),
            "project_id" => Some("00000000-0000-4000-c000-000000000001"),
            _ => Some(ITEM),
        });
        let path = format!("/{}", path.expect("all variables are known").trim_start_matches('/'));
        let method = operation.method.as_str();
        let texts: Vec<String> = (0..1_000).map(|n| format!("\"{n}\"")).collect();
        let hostile = ["\"\"", "{\"name\":\"\"}"].map(|unit| filled(&format!("{unit},")));
        let arrays = hostile.map(|array| format!("[{}]", array.trim_end_matches(',')));
        for (name, value) in
            [("array", &arrays[0]), ("objects", &arrays[1]), ("texts", &format!("[{}]", texts.join(",")))]
        {
            for input in inputs.iter().take(if is_long() { 40 } else { 1 }) {
                let body = format!("{{\"{}\":{value}}}", input.name);
                corpus.push(Hostile::new(format!("{} {}: {name}", operation.id, input.name), method, &path, body));
            }
        }
    }
    corpus
}

/// A gateway on one thread, and the kernel's file with that thread's processor time.
pub struct Watched {
    /// Ends the thread when dropped.
    _release: oneshot::Sender<()>,
    /// The gateway.
    pub gateway: Gateway,
    schedstat: PathBuf,
}

impl Watched {
    /// Starts it before a v1 in the recorded situation.
    pub async fn start() -> Self {
        let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
        let base = serve_sandbox(&sandbox).await;
        let (begun, started) = oneshot::channel();
        let (_release, released) = oneshot::channel();
        std::thread::spawn(move || {
            // On a runtime of several threads the gateway would start others for the connections.
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let thread = std::fs::read_link("/proc/thread-self").expect("the kernel's name of this thread");
                let mut settings = UNLIMITED.to_vec();
                settings.push(("limits.deadline", "120s"));
                let gateway = Gateway::with(&base, &settings).await;
                drop(begun.send((gateway, PathBuf::from("/proc").join(thread).join("schedstat"))));
                let _ = released.await;
            });
            runtime.shutdown_background();
        });
        let (gateway, schedstat) = started.await.expect("a gateway");
        Self { _release, gateway, schedstat }
    }

    /// Returns the processor time of the thread so far, and how often it was scheduled.
    fn spent(&self) -> (Duration, u64) {
        let told = std::fs::read_to_string(&self.schedstat).expect("schedstat");
        let numbers: Vec<u64> = told.split_whitespace().map(|number| number.parse().expect("a number")).collect();
        (Duration::from_nanos(numbers[0]), numbers[2])
    }

    /// Returns status, bytes of the answer, and processor time on the worker.
    async fn ask(&self, hostile: &Hostile) -> (u16, usize, Duration) {
        let request = Request::builder()
            .method(hostile.method.as_str())
            .uri(format!("{}{}", self.gateway.base(), hostile.path))
            .header("X-Api-Key", "ada")
            .header("Content-Type", "application/json")
            .body(Full::new(Bytes::from(hostile.body.clone())));
        let (before, _) = self.spent();
        let answer = self.gateway.request(request.expect("a request")).await;
        (answer.status, answer.bytes.len(), self.spent().0.saturating_sub(before))
    }
}

/// Sends each request (a second time when the first was expensive), checks its answer, and prints the costs; in the
/// long run no request may cost more than [`MOST`].
pub async fn judge(watched: &Watched, corpus: Vec<Hostile>) {
    let mut measured = Vec::new();
    let (_, turns) = watched.spent();
    for hostile in corpus {
        let (status, bytes, mut spent) = watched.ask(&hostile).await;
        if is_long() && spent > MOST {
            // Once more: a page fault or a first look-up is not the request's own cost.
            spent = spent.min(watched.ask(&hostile).await.2);
        }
        let sent = hostile.body.len() + hostile.path.len();
        assert!(status < 500 || status == 502, "{}: {status}", hostile.name);
        assert!(
            hostile.shows_data || bytes <= 6 * sent + 64 * 1024,
            "{}: {sent} bytes in, {bytes} out",
            hostile.name
        );
        assert!(status < 400 || bytes <= 256 * 1024, "{}: a refusal of {bytes} bytes", hostile.name);
        measured.push((spent, status, bytes, hostile.name));
    }
    // The thread sleeps between requests, so each request schedules it again.
    let turns = watched.spent().1 - turns;
    assert!(
        turns >= measured.len() as u64 / 2,
        "{} requests, and the watched thread ran {turns} times",
        measured.len()
    );
    measured.sort_by_key(|one| std::cmp::Reverse(one.0));
    if !is_long() {
        return;
    }
    let mut table = format!("{} requests; processor time on the worker, the longest:\n", measured.len());
    for (spent, status, bytes, name) in measured.iter().take(25) {
        let _ = writeln!(table, "{:8.1} ms  {status}  {bytes:8} bytes  {name}", spent.as_secs_f64() * 1e3);
    }
    println!("{table}");
    assert!(measured[0].0 <= MOST, "{table}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn costly_requests_hold_no_worker_and_are_answered_in_few_bytes() {
    let plan = compile_plan(None).expect("the embedded mappings compile");
    judge(&Watched::start().await, corpus(&plan)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_thousand_faults_are_told_in_few_bytes() {
    let watched = Watched::start().await;
    let faults = vec![Value::from(""); 900];
    let items = format!("{WEB}/work-items/");
    let many = json!({"name": "n", "assignees": faults, "labels": vec![Value::from(1); 900]});
    let answer = watched.gateway.post("ada", &items, many).await.expect_problem(400, "validation_error");
    assert_eq!(answer.error_fields().len(), 100);
    assert!(answer.text("detail").ends_with("99 more in errors, and 1700 more"), "{}", answer.text("detail"));
    let body = json!({"name": "n", "assignees": vec![""; 200_000]});
    let answer = watched.gateway.post("ada", &items, body).await.expect_problem(400, "validation_error");
    assert_eq!(answer.error_fields(), ["assignees"]);
    assert!(answer.bytes.len() < 1_000, "{} bytes", answer.bytes.len());
}
