//! Conversion of HTML to plain text. May use: nothing of this crate.

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use std::cell::RefCell;

/// Elements that do not separate the words on their two sides.
const INLINE: [&str; 33] = [
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i",
    "ins", "kbd", "mark", "nobr", "q", "ruby", "s", "samp", "small", "span", "strike", "strong", "sub", "sup",
    "time", "tt", "u", "wbr",
];

/// Returns the text without its markup: entities decoded, whitespace as a reader sees it (at most one space, also
/// between blocks), trimmed. The content of scripts and styles is left out.
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
