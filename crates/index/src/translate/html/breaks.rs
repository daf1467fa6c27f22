//! Keeps the cost of writing sanitised text linear.
//!
//! html5ever 0.40 writes a text node by searching its whole rest for `<` and `>`, again for every `&`
//! and every character from U+0080 to U+00BF before them. A node of n such characters costs n² (1 MiB of `&` took
//! 6 s). So a `>` with a private mark is put into long stretches of text before the sanitiser reads it, and removed
//! from the result. Inside attributes nothing is ever removed: text that the sanitiser has judged stays as it is.
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
    let (mut since, mut in_tags) = (0, 0_usize);
    for (index, piece) in html.split('<').enumerate() {
        let (tag, text) = if index == 0 { ("", piece) } else { split_tag(piece) };
        if index > 0 {
            out.push('<');
        }
        out.push_str(tag);
        in_tags = in_tags.saturating_add(costly(tag).saturating_mul(tag.len()));
        if in_tags > IN_TAGS {
            return Err("holds tags with too many characters that have to be escaped");
        }
        push_text(&mut out, text, mark, stretch, &mut since);
    }
    Ok(Broken { text: Cow::Owned(out), mark: Some(mark) })
}

/// Splits the text after a `<` behind the first `>`. All of it is text when no tag or comment can begin like this.
fn split_tag(piece: &str) -> (&str, &str) {
    if !piece.starts_with(|first: char| first.is_ascii_alphabetic() || "/!?".contains(first)) {
        return ("", piece);
    }
    piece.split_at(piece.find('>').map_or(piece.len(), |at| at + 1))
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
    pub fn take_out(&self, clean: String) -> String {
        let Some(mark) = self.mark else { return clean };
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
        out
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
        let broken = put_every("<a title=\"&&&\">&&&</a>&", 1).unwrap();
        let mark = broken.mark.unwrap();
        assert!(broken.text.starts_with("<a title=\"&&&\">&"));
        let clean = format!("<a title=\"&gt;{mark}\">x&gt;{mark}y</a>&gt;{mark}");
        assert_eq!(broken.take_out(clean), format!("<a title=\"&gt;{mark}\">xy</a>"));
        assert!(put(&format!("<a title={}>", "&".repeat(100_000))).is_err());
    }
}
