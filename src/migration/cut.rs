//! Texts of strangers, made fit for a terminal.
//!
//! May use: nothing of this crate.

/// The text without what could move the cursor, hide or turn around what stands beside it.
pub fn shown(text: &str) -> String {
    text.chars().map(|c| if is_harmful(c) { '\u{fffd}' } else { c }).collect()
}

fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{61c}')
}

/// At most `width` characters of it.
pub(super) fn cut(text: &str, width: usize) -> String {
    let text = shown(text);
    if text.chars().count() <= width {
        return text;
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_moves_the_cursor_or_turns_the_text() {
        assert_eq!(shown("a\u{1b}[2J\u{202e}b\r\n\u{200b}é"), "a\u{fffd}[2J\u{fffd}b\u{fffd}\u{fffd}\u{fffd}é");
        assert_eq!((cut("abcdef", 4).as_str(), cut("abcd", 4).as_str()), ("abc…", "abcd"));
    }
}
