//! Tests of the sanitiser: kept and removed markup, and hostile texts. May use: this folder.

use super::limits::MAX_TAGS;
use super::*;
use html5ever::Attribute;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};
use proptest::prelude::*;
use std::cell::RefCell;
use std::time::{Duration, Instant};

#[test]
fn rich_text_stays_and_what_runs_goes() {
    for (sent, kept) in [
        ("<p>Hello <b>world</b></p>", "<p>Hello <b>world</b></p>"),
        ("plain text", "plain text"),
        ("<p>a</p><script>alert(1)</script>", "<p>a</p>"),
        ("<p onclick=\"x()\">a</p>", "<p>a</p>"),
        ("<style>p{}</style><p style=\"color:red\" class=\"note\">a</p>", "<p class=\"note\">a</p>"),
        ("<a href=\"javascript:x()\">a</a>", "<a rel=\"noopener noreferrer\">a</a>"),
        ("<a href=\" JAVA\tscript:x()\">a</a>", "<a rel=\"noopener noreferrer\">a</a>"),
        ("<a href=\"data:text/html,x\">a</a>", "<a rel=\"noopener noreferrer\">a</a>"),
        (
            "<a href=\"https://a.test/?a=1&b=2\" target=\"_blank\">a</a>",
            "<a href=\"https://a.test/?a=1&amp;b=2\" target=\"_blank\" rel=\"noopener noreferrer\">a</a>",
        ),
        ("<a href=\"/web/1\">a</a>", "<a href=\"/web/1\" rel=\"noopener noreferrer\">a</a>"),
        ("<img src=x onerror=alert(1)>", "<img src=\"x\">"),
        ("<iframe src=\"https://a.test\"></iframe>b", "b"),
        ("<form action=\"/x\"><input name=a>c</form>", "c"),
        ("<svg><script>x</script></svg>d", "d"),
        ("<math><mi//xlink:href=\"data:x,<script>\">", ""),
        (
            "<ul data-type=\"taskList\"><li data-checked=\"true\">e</li></ul>",
            "<ul data-type=\"taskList\"><li data-checked=\"true\">e</li></ul>",
        ),
        ("<p data-<math=1 data-é=2 data-a.b-c=3>a</p>", "<p data-a.b-c=\"3\" data-é=\"2\">a</p>"),
        ("<p>open <b>bold", "<p>open <b>bold</b></p>"),
        ("<!-- gone -->f &amp; g < h", "f &amp; g &lt; h"),
    ] {
        assert_eq!(sanitise(sent).as_deref(), Ok(kept), "{sent}");
    }
}

#[test]
fn unsanitisable_html_is_refused_with_the_reason() {
    for (sent, why) in [
        ("a\0b".to_owned(), "NUL byte"),
        ("x".repeat(MAX_BYTES + 1), "1 MiB"),
        ("&".repeat(MAX_BYTES), "4 MiB when"),
        (format!("a<p title=\"{}\">", "x".repeat(200_000)), "128 KiB"),
        (format!("{}{}", "<div>".repeat(3_000), "</h1>".repeat(20_000)), "nests too many"),
        ("<b>".repeat(MAX_TAGS + 1), "too many elements"),
        (format!("<p>a</p>{}x", "<div>".repeat(MAX_DEPTH + 1)), "more than 200"),
        (format!("a<p {}>", "a b c d ".repeat(20_000)), "too many attributes"),
        (format!("{}{}", "<b title=x>".repeat(200), "<p>x</p>".repeat(9_000)), "too many elements"),
    ] {
        let told = sanitise(&sent).unwrap_err();
        assert!(told.starts_with("cannot be sanitised: ") && told.contains(why), "{told}");
    }
}

#[test]
fn the_escapes_do_not_count_for_the_length() {
    let clean = sanitise(&"&".repeat(300_000)).expect("sanitised");
    assert_eq!(clean.len(), 1_500_000);
    assert_eq!(readable(&clean), Some(clean));
}

/// Plane's editor gives each inline code a class.
#[test]
fn many_closed_formatting_elements_with_attributes_are_kept() {
    let codes = "<p class=\"a\">x <code class=\"rounded px-1\">y</code> <b style=\"b\">z</b></p>".repeat(2_000);
    let kept = sanitise(&codes).expect("sanitised");
    assert_eq!(kept.matches("<code").count(), 2_000);
}

/// An end tag inside `<object>` closes no element outside of it. So each of these elements stays open, although each has
/// an end tag, and is opened again in every paragraph.
#[test]
fn formatting_elements_that_misplaced_end_tags_leave_open_are_refused() {
    let open: String = (0..300).map(|number| format!("<b title=\"{number}\"><object></b></object>")).collect();
    let text = "a long text that has no markup ".repeat(20_000);
    let refused = sanitise(&format!("<p>{open}</p>{text}{}", "<p>x</p>".repeat(3_000))).unwrap_err();
    assert!(refused.contains("holds too many elements"), "{refused}");
}

#[test]
fn closed_elements_do_not_count_as_nesting() {
    let flat = "<p>a<br>b<img src=\"https://a.test/x\"></p>".repeat(MAX_DEPTH);
    let deep = format!("{}x{}", "<div>".repeat(MAX_DEPTH), "</div>".repeat(MAX_DEPTH));
    assert!(sanitise(&flat).is_ok() && sanitise(&deep).as_deref() == Ok(&deep));
}

#[test]
fn nesting_costs_no_time() {
    let begun = Instant::now();
    for piece in ["<div>", "<b>", "<table><td>", "<a href=x><p>", "<p><b>", "<ul><li>", "</p><i>", "<span></div>"] {
        let tags = piece.matches('<').count();
        let _ = sanitise(&piece.repeat(2_000 / tags));
    }
    let styled = (0..10).map(|n| format!("<b title={n}>")).collect::<String>() + &"<p>x</p>".repeat(4_000);
    let _ = sanitise(&styled);
    let _ = strip(&"<div>".repeat(MAX_TAGS));
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
}

/// Beginnings that make the text after them costly; below, texts that may follow.
const BEGINNINGS: [&str; 14] = [
    "",
    "<table>",
    "<div>",
    "<b>",
    "<b><i><u>",
    "<svg>",
    "<select>",
    "<xmp>",
    "<template>",
    "<a href=x>",
    "<ul><li>",
    "<math><mi>",
    "<button>",
    "<p title='",
];
const UNITS: [&str; 30] = [
    "&",
    "a&",
    "a",
    "°",
    "<",
    "</p>",
    "</br>",
    "</b>",
    "</x>",
    "<p>",
    "<b>",
    "<b></p>",
    "<i><p></i>",
    "</a>",
    "<a>",
    "<!---->",
    "<!x>",
    "</div>",
    "&nbsp;",
    "&#13;",
    "\r\n",
    "<tr>",
    "<option>",
    "<a b>",
    "</form>",
    "<nobr>",
    "</h1>",
    "<body a>",
    "x=y ",
    "]]>",
];

#[test]
fn the_work_of_reading_stays_below_a_line_over_the_length() {
    let doubled = if std::env::var_os("LONG_TESTS").is_some() { 6 } else { 2 };
    for beginning in BEGINNINGS {
        for unit in UNITS {
            for size in (0..doubled).map(|times| (4 * 1024) << times) {
                let html = format!("{beginning}{}", unit.repeat(size / unit.len()));
                let steps = work::steps(&html);
                assert!(steps.is_err() || steps <= Ok(100_000 + 45 * html.len()), "{beginning} {unit}: {steps:?}");
            }
        }
    }
}

#[test]
fn plain_text_is_what_a_reader_sees() {
    for (html, text) in [
        ("<p>Done.</p>", "Done."),
        ("<p>one</p><p>two</p>", "one two"),
        ("wo<b>rd</b>s and <i>more</i>", "words and more"),
        ("a<br>b<br/>c", "a b c"),
        ("<ul><li>a</li><li>b</li></ul><table><tr><td>c</td><td>d</td></tr></table>", "a b c d"),
        ("  <p> spaced \n\t out&nbsp;&nbsp;here </p> ", "spaced out here"),
        ("a &amp; b &lt;c&gt; &eacute; &#x41; &bogus; d&", "a & b <c> é A &bogus; d&"),
        ("<p>a</p><script>alert('<p>x</p>')</script>b<style>p{}</style>c", "a b c"),
        ("<!-- x --><!doctype html>a<!-- y -->b", "ab"),
        ("5 < 6 and 7 > 6", "5 < 6 and 7 > 6"),
        ("<p title=\"a > b\">c</p>", "c"),
        ("<p></p>", ""),
        ("", ""),
    ] {
        assert_eq!(strip(html), text, "{html}");
    }
}

/// Collects every tag of a text with its attributes.
#[derive(Default)]
struct Tags(RefCell<Vec<(String, Vec<Attribute>)>>);

impl TokenSink for Tags {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        if let Token::TagToken(tag) = token {
            self.0.borrow_mut().push((tag.name.to_string(), tag.attrs));
        }
        TokenSinkResult::Continue
    }
}

fn tags(html: &str) -> Vec<(String, Vec<Attribute>)> {
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(html));
    let tokenizer = Tokenizer::new(Tags::default(), TokenizerOpts::default());
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    tokenizer.sink.0.into_inner()
}

fn assert_harmless(html: &str) {
    for (name, attributes) in tags(html) {
        assert!(!["script", "style", "iframe", "object", "form", "svg", "math"].contains(&&*name), "{html}");
        for attribute in attributes {
            let (key, value) = (&*attribute.name.local, attribute.value.trim().to_ascii_lowercase());
            assert!(!key.starts_with("on") && key != "style", "{html}");
            let scheme = value.split_once(':').map(|(scheme, _)| scheme.replace(['\t', '\n', '\r'], ""));
            assert!(
                !["javascript", "data", "vbscript"].contains(&&*scheme.unwrap_or_default())
                    || key.starts_with("data-")
                    || !["href", "src", "cite"].contains(&key),
                "{html}"
            );
        }
    }
}

/// Pieces that are hostile in combination.
fn markup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("<p>"),
        Just("</p>"),
        Just("<b title=1>"),
        Just("<b>"),
        Just("</b>"),
        Just("<a href='javascript:x'>"),
        Just("<a href=\"java&#10;script:x\">"),
        Just("</a>"),
        Just("<table>"),
        Just("<td>"),
        Just("</table>"),
        Just("<script>"),
        Just("</script>"),
        Just("<svg>"),
        Just("<style>"),
        Just("</style>"),
        Just("<math>"),
        Just("<mtext>"),
        Just("<img src=x onerror=y>"),
        Just("<img src='javascript:x'"),
        Just("<!--"),
        Just("-->"),
        Just("<pre>"),
        Just("\n"),
        Just("</pre>"),
        Just("&lt;"),
        Just("&#106;"),
        Just("<"),
        Just(">"),
        Just("\""),
        Just("text"),
        Just(" "),
        Just("<textarea>"),
        Just("<title>"),
        Just("<noscript>"),
        Just("<template>"),
        Just("<li>"),
        Just("<select>"),
        Just("<ruby><rt>"),
        Just("<h1>"),
        Just("<i>"),
        Just("</i>"),
        Just("<xmp>"),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// Pieces between which marks can be put at any place.
fn texts_and_tags() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("&"),
        Just("&amp;"),
        Just("&lt"),
        Just("&nbsp;"),
        Just("°"),
        Just("é"),
        Just("a"),
        Just("&#38;"),
        Just("<p>"),
        Just("</p>"),
        Just("<b>"),
        Just("</b>"),
        Just("<table>"),
        Just("<td>"),
        Just("</table>"),
        Just("<a href='/x?a&b'>"),
        Just("</a>"),
        Just("<!-- & -->"),
        Just("< "),
        Just("<i>"),
        Just("<li>"),
        Just("<h1>"),
        Just("&notit;"),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// A `>` in an attribute once ended the tag, and a mark stayed in the value for good.
#[test]
fn attributes_of_long_texts_stay_as_they_are() {
    let text = format!("<p>{}</p>", format!("{}&nbsp;", "x".repeat(300)).repeat(300));
    for (tag, expected) in [
        ("<a href=\"https://h.test/?q=a>b&amp;c=1\">", "href=\"https://h.test/?q=a&gt;b&amp;c=1\""),
        ("<a href='https://h.test/' title='a<b>c & \"d\"'>", "title=\"a&lt;b&gt;c &amp; &quot;d&quot;\""),
    ] {
        let clean = sanitise(&format!("{text}<p>{}{tag}t</a></p>", "x".repeat(300))).unwrap();
        let alone = sanitise(&format!("<p>{tag}t</a></p>")).unwrap();
        assert!(clean.ends_with(alone.trim_start_matches("<p>")), "{alone}");
        assert!(alone.contains(expected), "{alone}");
    }
}

proptest! {
    #[test]
    fn marks_against_costly_texts_leave_no_trace(html in texts_and_tags(), stretch in 0_usize..3) {
        let broken = breaks::put_every(&html, stretch).unwrap();
        let clean = broken.take_out(CLEANER.clean(&broken.text).to_string()).unwrap();
        prop_assert_eq!(clean, CLEANER.clean(&html).to_string());
    }

    #[test]
    fn marks_put_into_anything_at_all_are_harmless(html in markup(), stretch in 0_usize..3) {
        let broken = breaks::put_every(&html, stretch).unwrap();
        if let Ok(clean) = broken.take_out(CLEANER.clean(&broken.text).to_string()) {
            assert_harmless(&clean);
        }
    }

    #[test]
    fn sanitised_markup_is_harmless_and_stays_as_it_is(html in markup()) {
        if let Ok(clean) = sanitise(&html) {
            assert_harmless(&clean);
            prop_assert_eq!(sanitise(&clean), Ok(clean.clone()));
            let text = strip(&clean);
            prop_assert_eq!(text.trim(), &text);
        }
    }

    #[test]
    fn any_text_at_all_is_taken_without_panic(text in any::<String>()) {
        let _ = strip(&text);
        if let Ok(clean) = sanitise(&text) {
            assert_harmless(&clean);
            prop_assert_eq!(sanitise(&clean), Ok(clean.clone()));
        }
    }

    #[test]
    fn escaped_text_comes_back_as_it_was(text in "[a-zé<>&\"' ]{0,40}") {
        let escaped = text.replace('&', "&amp;").replace('<', "&lt;");
        let words: Vec<&str> = text.split_whitespace().collect();
        prop_assert_eq!(strip(&escaped), words.join(" "));
    }
}
