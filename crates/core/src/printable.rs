//! Makes texts from outside safe for a terminal.
//!
//! May use: nothing of this crate.

/// Removes the characters that could move the cursor, or hide or reverse the text beside them.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if is_harmful(c) { '\u{fffd}' } else { c }).collect()
}

/// Returns at most `width` characters of the text, safe for a terminal.
pub fn cut(text: &str, width: usize) -> String {
    let text = printable(text);
    match text.chars().count() > width {
        true => text.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
        false => text,
    }
}

fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{61c}')
}

#[cfg(test)]
mod tests {
    use super::{cut, printable};

    #[test]
    fn a_text_that_is_too_long_says_so() {
        assert_eq!((cut("abcdef", 4).as_str(), cut("abcd", 4).as_str()), ("abc…", "abcd"));
    }

    #[test]
    fn nothing_moves_the_cursor_or_turns_the_text() {
        let text = "a\u{1b}[2J\u{202e}b\r\n\u{200b}é";
        assert_eq!(printable(text), "a\u{fffd}[2J\u{fffd}b\u{fffd}\u{fffd}\u{fffd}é");
    }
}
