//! HTML that clients send: made harmless, and read as plain text.
//!
//! v1 stores the HTML of comments as sent, scripts included (trap 32, `comments_create_script_kept`), so the
//! gateway sanitises before it writes. The allowlist is that of the sanitiser with what rich-text editors
//! keep their structure in (`class`, `data-*`) added. Links carry `rel="noopener noreferrer"`, as v1 adds it.
//!
//! May use: nothing of this crate.

mod breaks;
mod work;

use ammonia::Builder;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use std::cell::RefCell;
use std::sync::LazyLock;

/// Largest text that is sanitised (O48).
pub const MAX_BYTES: usize = 1024 * 1024;
/// Most elements: reading HTML takes time with the square of the nesting.
const MAX_TAGS: usize = 10_000;
/// Most elements one within the other. The parser of v1 cuts a text off, and all that follows, a little above 250.
const MAX_DEPTH: usize = 200;
/// Elements without content.
const VOID: [&str; 8] = ["area", "br", "col", "hr", "img", "input", "source", "wbr"];
/// Most elements times styled formatting elements: HTML opens the latter again in every paragraph.
const MAX_REOPENED: usize = 100_000;
/// How often the result is sanitised again until it stays as it is.
const MAX_PASSES: usize = 6;

const TOO_DEEP: &str = "cannot be sanitised: it nests more than 200 elements";

/// Addresses that links and pictures may have, relative ones aside.
const SCHEMES: [&str; 4] = ["http", "https", "mailto", "tel"];

/// Formatting elements of HTML, which are opened again after a misplaced end.
const FORMATTING: [&str; 14] =
    ["a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"];

/// Elements that do not part the words on their two sides.
const INLINE: [&str; 33] = [
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i",
    "ins", "kbd", "mark", "nobr", "q", "ruby", "s", "samp", "small", "span", "strike", "strong", "sub", "sup",
    "time", "tt", "u", "wbr",
];

static CLEANER: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let mut cleaner = Builder::default();
    cleaner
        .add_generic_attributes(&["class", "dir"])
        .add_generic_attribute_prefixes(&["data-"])
        .add_tag_attributes("a", &["target"])
        .add_tags(&["tfoot"])
        // A name such as `data-<math` is one to HTML, but a tag to readers that are less exact.
        .attribute_filter(|_, name, value| is_plain_name(name).then(|| value.into()))
        .url_schemes(SCHEMES.into_iter().collect());
    cleaner
});

/// Whether the name of an attribute has letters, digits and the usual signs only.
fn is_plain_name(name: &str) -> bool {
    name.bytes().all(|byte| !byte.is_ascii() || byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
}

/// Keeps what rich text needs and drops everything that could run; sanitising the result again changes nothing.
///
/// # Errors
/// A sentence for the client when the text cannot be sanitised: a NUL byte, more than [`MAX_BYTES`], or more
/// elements than any text written by people has.
pub fn sanitise(html: &str) -> Result<String, String> {
    check(html)?;
    let mut clean = pass(html)?;
    for _ in 0..MAX_PASSES {
        check(&clean)?;
        let again = pass(&clean)?;
        if again == clean {
            return if depth(&clean) <= MAX_DEPTH { Ok(clean) } else { Err(TOO_DEEP.into()) };
        }
        clean = again;
    }
    Err("cannot be sanitised: its elements are nested in contradictory ways".into())
}

/// Steps the parser takes to read `html`, where they are counted: short texts take few.
///
/// # Errors
/// The end of a sentence when it would take more than the length allows.
pub fn steps(html: &str) -> Result<usize, &'static str> {
    work::steps(html)
}

/// One pass of the sanitiser, of a cost that grows with the length of `html` and no faster.
fn pass(html: &str) -> Result<String, String> {
    work::steps(html).map_err(|why| format!("cannot be sanitised: it {why}"))?;
    let broken = breaks::put(html).map_err(|why| format!("cannot be sanitised: it {why}"))?;
    Ok(broken.take_out(CLEANER.clean(&broken.text).to_string()))
}

fn check(html: &str) -> Result<(), String> {
    if html.contains('\0') {
        return Err("cannot be sanitised: it holds a NUL byte".into());
    }
    if html.len() > MAX_BYTES {
        return Err("cannot be sanitised: it is longer than 1 MiB".into());
    }
    let (tags, styled) = count(html);
    if tags > MAX_TAGS || tags.saturating_mul(styled) > MAX_REOPENED {
        return Err("cannot be sanitised: it holds too many elements".into());
    }
    Ok(())
}

/// How deep the elements of a text nest that was written anew, so that each of them is closed.
fn depth(clean: &str) -> usize {
    let (mut open, mut deepest) = (0_usize, 0);
    for rest in clean.split('<').skip(1) {
        let name = &rest[..rest.bytes().take_while(u8::is_ascii_alphanumeric).count()];
        if rest.starts_with('/') {
            open = open.saturating_sub(1);
        } else if !name.is_empty() && !VOID.contains(&name) {
            open += 1;
            deepest = deepest.max(open);
        }
    }
    deepest
}

/// At least as many tags as the text opens, and how many of them are formatting elements with attributes
/// (links aside: one inside another closes it).
fn count(html: &str) -> (usize, usize) {
    let mut counted = (0, 0);
    for rest in html.split('<').skip(1) {
        let name = &rest[..rest.bytes().take_while(u8::is_ascii_alphanumeric).count()];
        if !name.starts_with(|first: char| first.is_ascii_alphabetic()) {
            continue;
        }
        counted.0 += 1;
        let formats = FORMATTING.iter().skip(1).any(|known| name.eq_ignore_ascii_case(known));
        counted.1 += usize::from(formats && !rest[name.len()..].starts_with('>'));
    }
    counted
}

/// The text without its markup: entities decoded, whitespace as a reader sees it (one space at most, also
/// between blocks), trimmed. Content of scripts and styles is no text.
pub fn strip(html: &str) -> String {
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(html));
    let tokenizer = Tokenizer::new(PlainText::default(), TokenizerOpts::default());
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    tokenizer.sink.text.into_inner().out
}

/// Collects text between tags.
#[derive(Default)]
struct PlainText {
    text: RefCell<Words>,
}

#[derive(Default)]
struct Words {
    out: String,
    gap: bool,
    hidden: bool,
}

impl Words {
    fn push(&mut self, text: &str) {
        if self.hidden {
            return;
        }
        for letter in text.chars() {
            if letter.is_whitespace() {
                self.gap = true;
                continue;
            }
            if self.gap && !self.out.is_empty() {
                self.out.push(' ');
            }
            self.gap = false;
            self.out.push(letter);
        }
    }

    fn tag(&mut self, tag: &Tag) -> Option<RawKind> {
        let raw = match &*tag.name {
            "script" => Some(RawKind::ScriptData),
            "style" => Some(RawKind::Rawtext),
            _ => None,
        };
        self.gap |= !INLINE.contains(&&*tag.name);
        self.hidden = raw.is_some() && tag.kind == TagKind::StartTag;
        raw.filter(|_| self.hidden)
    }
}

impl TokenSink for PlainText {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut words = self.text.borrow_mut();
        match token {
            Token::CharacterTokens(text) => words.push(&text),
            Token::TagToken(tag) => {
                if let Some(raw) = words.tag(&tag) {
                    return TokenSinkResult::RawData(raw);
                }
            }
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

#[cfg(test)]
mod tests;
