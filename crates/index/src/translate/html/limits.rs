//! Limits of a text's length, number of elements and nesting: the time to read HTML grows with the square of the
//! nesting. May use: nothing of this crate.

/// Largest text that a client may send (O48).
pub const MAX_BYTES: usize = 1024 * 1024;
/// Largest sanitised text, in which `&` takes five bytes: v1 takes bodies of at most 5,242,880 bytes.
pub(super) const MAX_CLEAN_BYTES: usize = 4 * 1024 * 1024;
/// Largest number of elements: the time to read HTML grows with the square of the nesting.
pub(super) const MAX_TAGS: usize = 10_000;

/// Elements without content.
const VOID: [&str; 8] = ["area", "br", "col", "hr", "img", "input", "source", "wbr"];
/// Largest number of elements that HTML may create by itself: it opens formatting elements again in every paragraph
/// that begins while they are open.
pub(super) const MAX_REOPENED: usize = 100_000;

/// Formatting elements of HTML. The parser opens them again after a misplaced end tag. Links are left out,
/// because a link inside another one closes it.
const FORMATTING: [&str; 13] =
    ["b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"];

pub(super) fn check(html: &str) -> Result<(), String> {
    if html.contains('\0') {
        return Err("cannot be sanitised: it holds a NUL byte".into());
    }
    if html.len() > MAX_CLEAN_BYTES {
        return Err("cannot be sanitised: it is longer than 4 MiB when `&`, `<` and `>` are escaped".into());
    }
    let counted = count(html);
    if counted.tags > MAX_TAGS || counted.reopened > MAX_REOPENED {
        return Err("cannot be sanitised: it holds too many elements".into());
    }
    Ok(())
}

/// Returns the depth of nesting of the elements of a sanitised text, in which every element is closed.
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

/// Checks whether reading the text might create more than [`MAX_REOPENED`] elements when its end tags are misplaced. A
/// misplaced end tag does not close an element, but moves it.
pub(super) fn may_reopen_many(html: &str) -> bool {
    let counted = count(html);
    counted.tags.saturating_mul(counted.styled) > MAX_REOPENED
}

/// Counts of tags.
#[derive(Default)]
struct Counted {
    /// At least the number of tags that the text opens.
    tags: usize,
    /// Formatting elements with attributes among them. Links do not count: a link inside another one closes it.
    /// Elements without attributes do not count either: HTML keeps at most three equal ones open.
    styled: usize,
    /// Number of elements that HTML opens again, if each end tag closes the element that it names.
    reopened: usize,
}

fn count(html: &str) -> Counted {
    let mut counted = Counted::default();
    // By formatting element: how many are open without attributes, and with.
    let (mut plain, mut styled) = ([0_usize; FORMATTING.len()], [0_usize; FORMATTING.len()]);
    let mut open = 0_usize;
    for rest in html.split('<').skip(1) {
        let (is_end, rest) = rest.strip_prefix('/').map_or((false, rest), |rest| (true, rest));
        let name = &rest[..rest.bytes().take_while(u8::is_ascii_alphanumeric).count()];
        if !name.starts_with(|first: char| first.is_ascii_alphabetic()) {
            continue;
        }
        let kind = FORMATTING.iter().position(|known| name.eq_ignore_ascii_case(known));
        if !is_end {
            counted.tags += 1;
            counted.reopened = counted.reopened.saturating_add(open);
        }
        let Some(kind) = kind else { continue };
        let is_styled = !rest[name.len()..].starts_with('>');
        match (is_end, is_styled) {
            (false, false) => plain[kind] += 1,
            (false, true) => {
                counted.styled += 1;
                styled[kind] += 1;
                open += 1;
            }
            // The inner one of two is closed; that without attributes is taken first, so that none is counted too few.
            (true, _) if plain[kind] > 0 => plain[kind] -= 1,
            (true, _) if styled[kind] > 0 => {
                styled[kind] -= 1;
                open -= 1;
            }
            (true, _) => {}
        }
    }
    counted
}
