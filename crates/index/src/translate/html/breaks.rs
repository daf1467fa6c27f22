//! Keeps the cost of writing sanitised text linear.
//!
//! html5ever 0.40 writes a text node by searching its whole rest for `<` and `>`, again for every `&`
//! and every character from U+0080 to U+00BF before them. A node of n such characters costs n² (1 MiB of `&` took
//! 6 s). So a `>` with a private mark is put into long stretches of text before the sanitiser reads it, and removed
//! from the result. Inside attributes nothing is ever removed: text that the sanitiser has judged stays as it is. A text
//! in whose attributes a mark is found is refused.
//!
//! May use: nothing of this crate.

use std::borrow::Cow;

/// Longest stretch of text in which costly characters are written without a mark.
pub(super) const STRETCH: usize = 256;
/// Number of costly characters times bytes up to which no marks are needed (about a millisecond).
const CHEAP: usize = 16 * 1024 * 1024;
/// Number of costly characters times bytes allowed inside the tags of a text, where marks cannot be put.
const IN_TAGS: usize = 512 * 1024 * 1024;
/// Possible marks: private characters. One that the text does not contain is chosen.
const MARKS: std::ops::RangeInclusive<char> = '\u{10ff00}'..='\u{10fffd}';

/// A text that is cheap to write, and its mark, if it has one.
#[derive(Debug)]
pub(super) struct Broken<'t> {
    /// The text to be sanitised.
    pub text: Cow<'t, str>,
    mark: Option<char>,
}

/// Puts marks into `html` where it has long stretches of text with costly characters.
///
/// # Errors
/// The end of a sentence when marks cannot help: thousands of such characters inside one tag.
pub(super) fn put(html: &str) -> Result<Broken<'_>, &'static str> {
    if costly(html).saturating_mul(html.len()) <= CHEAP {
        return Ok(Broken { text: Cow::Borrowed(html), mark: None });
    }
    put_every(html, STRETCH)
}

pub(super) fn put_every(html: &str, stretch: usize) -> Result<Broken<'_>, &'static str> {
    let mark = MARKS.into_iter().find(|mark| !html.contains(*mark)).ok_or("holds too many private characters")?;
    let mut out = String::with_capacity(html.len() + html.len() / 32);
    let (mut since, mut in_tags, mut rest) = (0, 0_usize, html);
    while let Some(begin) = rest.find('<') {
        let (text, behind) = rest.split_at(begin);
        push_text(&mut out, text, mark, stretch, &mut since);
        let (tag, behind) = behind.split_at(length_of_tag(behind));
        out.push_str(tag);
        in_tags = in_tags.saturating_add(costly(tag).saturating_mul(tag.len()));
        if in_tags > IN_TAGS {
            return Err("holds tags with too many characters that have to be escaped");
        }
        rest = behind;
    }
    push_text(&mut out, rest, mark, stretch, &mut since);
    Ok(Broken { text: Cow::Owned(out), mark: Some(mark) })
}

/// Returns the length of the tag or comment that begins with the `<` at the start of `html`: up to the first `>` that
/// is not in a quoted value. Only the `<` itself counts when no tag or comment can begin like this.
fn length_of_tag(html: &str) -> usize {
    let behind = |end: &str| html[2..].find(end).map_or(html.len(), |at| 2 + at + end.len());
    match html.as_bytes().get(1) {
        Some(b'!') if html.starts_with("<!--") => return behind("-->"),
        Some(b'/' | b'!' | b'?') => return behind(">"),
        Some(first) if first.is_ascii_alphabetic() => {}
        _ => return 1,
    }
    let (mut quote, mut begins_value, mut is_unquoted) = (None, false, false);
    for (at, byte) in html.bytes().enumerate().skip(1) {
        match byte {
            _ if quote == Some(byte) => quote = None,
            _ if quote.is_some() => {}
            b'>' => return at + 1,
            b'"' | b'\'' if begins_value => quote = Some(byte),
            _ if byte.is_ascii_whitespace() => is_unquoted = false,
            _ => is_unquoted |= begins_value,
        }
        // Blanks may stand between the sign and the value.
        begins_value = !is_unquoted && (byte == b'=' || begins_value && byte.is_ascii_whitespace());
    }
    html.len()
}

/// Puts marks only before costly characters, so that no mark splits a character reference.
fn push_text(out: &mut String, text: &str, mark: char, stretch: usize, since: &mut usize) {
    let bytes = text.as_bytes();
    let mut begin = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        *since += 1;
        if is_costly(byte) && *since > stretch {
            out.push_str(&text[begin..at]);
            out.push('>');
            out.push(mark);
            (begin, *since) = (at, 0);
        }
    }
    out.push_str(&text[begin..]);
}

/// `&`, and the first byte of the characters from U+0080 to U+00BF, of which the no-break space is escaped.
fn is_costly(byte: u8) -> bool {
    byte == b'&' || byte == 0xC2
}

fn costly(text: &str) -> usize {
    text.bytes().filter(|byte| is_costly(*byte)).count()
}

impl Broken<'_> {
    /// Removes the marks from the text of a sanitised document. Its tags contain no `<` and `>`, so the text is
    /// everything between a `>` and the next `<`.
    ///
    /// # Errors
    /// The end of a sentence when a mark is in an attribute, which may happen when the markup is malformed.
    pub fn take_out(&self, clean: String) -> Result<String, &'static str> {
        let Some(mark) = self.mark else { return Ok(clean) };
        let marked = format!("&gt;{mark}");
        let mut out = String::with_capacity(clean.len());
        for (index, piece) in clean.split('<').enumerate() {
            let (tag, text) = match piece.find('>') {
                Some(end) if index > 0 => piece.split_at(end + 1),
                _ => ("", piece),
            };
            if index > 0 {
                out.push('<');
            }
            out.push_str(tag);
            text.split(marked.as_str()).for_each(|part| out.push_str(part));
        }
        if out.contains(mark) { Err("holds a long text with malformed tags") } else { Ok(out) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes searched in writing this text node: up to the next `<` or `>`, for every costly character.
    fn cost(text: &str) -> usize {
        let (mut cost, mut end) = (0, text.len());
        for (at, byte) in text.bytes().enumerate().rev() {
            if byte == b'<' || byte == b'>' {
                end = at;
            } else if is_costly(byte) {
                cost += end - at;
            }
        }
        cost
    }

    #[test]
    fn the_cost_of_writing_doubles_with_the_length() {
        for unit in ["&", "a&", "°", "&nbsp;", "text &amp; more text ", "a&a°", "&amp</x>", "& < &"] {
            let costs: Vec<usize> = (0..3)
                .map(|doubled| {
                    let html = unit.repeat(((128 * 1024) << doubled) / unit.len());
                    cost(&put(&html).unwrap().text)
                })
                .collect();
            for pair in costs.windows(2) {
                assert!(pair[1] <= pair[0] * 21 / 10, "{unit}: {costs:?}");
            }
        }
    }

    #[test]
    fn a_tail_without_costly_characters_costs_no_more_than_a_stretch_of_them() {
        let html = format!("{}{}", "&".repeat(10_000), "a".repeat(1_000_000));
        assert!(cost(&put(&html).unwrap().text) <= (STRETCH + 2) * html.len());
    }

    #[test]
    fn short_and_plain_texts_are_left_alone() {
        for html in ["a & b".to_owned(), "a".repeat(1_000_000), "<p>Tom &amp; Jerry</p>".repeat(20)] {
            assert!(matches!(put(&html).unwrap().text, Cow::Borrowed(_)));
        }
    }

    #[test]
    fn marks_are_not_put_into_tags_and_taken_out_of_text_only() {
        for tag in [
            "<a title=\"&&&\">",
            "<a title = '&>&<b>&' id=\"&>&\">",
            "<a title=&\"&>",
            "<a href=/?q=\"&>",
            "<!-- x=\"&>&& -->",
        ] {
            let broken = put_every(&format!("{tag}&&&</a>&"), 1).map(|broken| broken.text.into_owned()).unwrap();
            assert!(broken.starts_with(&format!("{tag}&")) && broken.len() > tag.len() + 8, "{broken}");
        }
        let broken = put_every("<a>&&&</a>&", 1).unwrap();
        let mark = broken.mark.unwrap();
        let clean = format!("<a title=\"&gt;\">x&gt;{mark}y</a>&gt;{mark}");
        assert_eq!(broken.take_out(clean).unwrap(), "<a title=\"&gt;\">xy</a>");
        assert!(broken.take_out(format!("<a title=\"&gt;{mark}\">x</a>")).is_err());
        assert!(put(&format!("<a title={}>", "&".repeat(100_000))).is_err());
    }
}
