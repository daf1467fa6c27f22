//! Limits of a text's length, number of elements and nesting: the time to read HTML grows with the square of the
//! nesting. May use: nothing of this crate.

/// Largest text that is sanitised (O48).
pub const MAX_BYTES: usize = 1024 * 1024;
/// Largest number of elements: the time to read HTML grows with the square of the nesting.
pub(super) const MAX_TAGS: usize = 10_000;

/// Elements without content.
const VOID: [&str; 8] = ["area", "br", "col", "hr", "img", "input", "source", "wbr"];
/// Largest number of elements times styled formatting elements: HTML opens formatting elements again in every
/// paragraph.
const MAX_REOPENED: usize = 100_000;

/// Formatting elements of HTML. The parser opens them again after a misplaced end tag.
const FORMATTING: [&str; 14] =
    ["a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"];

pub(super) fn check(html: &str) -> Result<(), String> {
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

/// Depth of nesting of the elements of a sanitised text, in which every element is closed.
pub(super) fn depth(clean: &str) -> usize {
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

/// Counts at least as many tags as the text opens, and the formatting elements with attributes among them
/// (without links: a link inside another one closes it).
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
