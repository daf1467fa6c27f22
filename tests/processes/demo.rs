//! `causeway demo` as a person uses it: the link to allow an app ends on a page that shows the finished flow.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// The demo; killed when dropped.
struct Demo(Child);

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the demo on a port that is free, and returns its first output.
fn demo() -> (Demo, String) {
    let mut process = Command::new(env!("CARGO_BIN_EXE_causeway"))
        .args(["demo", "--listen", "127.0.0.1:0"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let told = BufReader::new(process.stdout.take().expect("what it prints"));
    let mut text = String::new();
    for line in told.lines() {
        let line = line.expect("a line");
        let last = line.starts_with("Everything is in memory");
        text.push_str(&format!("{line}\n"));
        if last {
            break;
        }
    }
    (Demo(process), text)
}

/// Returns the text between `before` and the next quote.
fn value<'t>(text: &'t str, before: &str) -> &'t str {
    let rest = text.split_once(before).unwrap_or_else(|| panic!("{before} is not in {text}")).1;
    rest.split('"').next().expect("a value")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn its_link_to_allow_an_app_ends_on_the_finished_flow() {
    let (_demo, told) = demo();
    let link = told.lines().map(str::trim).find(|line| line.contains("/auth/o/authorize/")).expect("the link");
    for (decision, says) in [("allow", "ada@acme.test"), ("deny", "has not been allowed")] {
        super::client();
        let client =
            reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().expect("a client");
        let page = client.get(link).send().await.expect("the page to allow it");
        let cookie =
            page.headers()["set-cookie"].to_str().expect("a cookie").split(';').next().expect("it").to_owned();
        let page = page.text().await.expect("a page");
        let (action, request) = (value(&page, "action=\""), value(&page, "name=\"request\" value=\""));
        let origin = link.split("/auth/").next().expect("an origin");
        let form = form_urlencoded::Serializer::new(String::new())
            .append_pair("request", request)
            .append_pair("api_key", "demo-admin-key")
            .append_pair("decision", decision)
            .finish();
        let sent = client
            .post(format!("{origin}{action}"))
            .header("cookie", cookie)
            .header("origin", origin)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(form)
            .send()
            .await
            .expect("an answer");
        let back = sent.headers().get("location").unwrap_or_else(|| panic!("not sent back: {sent:?}"));
        let finished = client.get(back.to_str().expect("an address")).send().await.expect("the app's page");
        assert_eq!(finished.status(), 200);
        let finished = finished.text().await.expect("a page");
        assert!(finished.contains(says), "{decision}: {finished}");
    }
}
