//! Text as searches of the audit log compare it.
//!
//! Databases fold letter case differently or not at all (SQLite knows ASCII only), so folding is done here,
//! once when an entry is written and once for what is searched. Pure. May use: nothing of this crate.

/// Stands between the texts of one entry, so that nothing is found across them.
pub(super) const BETWEEN: char = '\u{1f}';

/// What searches of an entry look at; the last text is the name of what the entry is about.
pub(super) fn search_text(texts: [&str; 4]) -> String {
    let folded = texts.map(folded);
    folded.join(BETWEEN.encode_utf8(&mut [0; 4]))
}

/// Text without letter case. Letter by letter, because a word's end must not matter (a Greek sigma), and by
/// way of capitals, because only there are some letters the same (`ß` and `SS`, `ſ` and `S`).
pub(super) fn folded(text: &str) -> String {
    let capitals = text.chars().flat_map(char::to_uppercase);
    let small = capitals.flat_map(char::to_lowercase);
    small.map(|c| if c == BETWEEN { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letter_case_does_not_matter_in_any_script() {
        for (one, other) in [
            ("ÄRGER", "ärger"),
            ("STRASSE", "straße"),
            ("ЖУК", "жук"),
            ("ΟΔΟΣ", "οδος"),
            ("ΟΔΟΣ", "οδοσ"),
            ("Ǆ", "ǆ"),
            ("K", "k"),
        ] {
            assert_eq!(folded(one), folded(other));
        }
        assert_ne!(folded("a"), folded("ä"));
    }

    #[test]
    fn what_is_searched_may_have_been_put_into_small_letters_before() {
        for text in ["ΟΔΟΣ", "İzmir", "Straße", "ÅSE", "ﬁn"] {
            assert_eq!(folded(&text.to_lowercase()), folded(text));
        }
    }

    #[test]
    fn nothing_is_found_across_two_texts() {
        let text = search_text(["a.b", "x\u{1f}y", "", "z"]);
        assert!(text.contains(&folded("X\u{1f}Y")) && !text.contains(&folded("y\u{1f}")));
        assert_eq!(text, "a.b\u{1f}x y\u{1f}\u{1f}z");
    }
}
