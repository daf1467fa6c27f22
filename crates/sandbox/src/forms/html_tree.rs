//! A lenient reader of HTML fragments. May use: nothing of this crate.

/// Elements that are removed with their content.
pub(crate) const DROPPED: &str = "script style";
/// Elements that never have content.
pub(crate) const VOID: &str = "area base br col embed hr img input link meta param source track wbr";
/// Elements for which the wrapper is a `div` instead of a `span`.
pub(crate) const BLOCKS: &str = "address article aside blockquote center dd details div dl dt figure footer form h1 h2 h3 \
    h4 h5 h6 header hr li nav ol p pre section table tbody td th thead tr ul";

/// Elements nested deeper than this number lose their tags.
const DEEPEST: usize = 256;

/// Whether a name is in a list of names.
pub(crate) fn listed(list: &str, name: &str) -> bool {
    list.split(' ').any(|entry| entry == name)
}

/// A piece of a document.
#[derive(Debug)]
pub(crate) enum Node {
    /// Text, unescaped.
    Text(String),
    /// An element.
    Element {
        /// Its name in lower case.
        name: String,
        /// Its attributes: names and values.
        attributes: Vec<(String, String)>,
        /// Its content.
        children: Vec<Node>,
    },
}

/// An element that is still open while parsing.
struct Open {
    name: String,
    attributes: Vec<(String, String)>,
    children: Vec<Node>,
}

/// Parses any text into a tree. Unclosed elements are closed (`items_create_html_unclosed`); comments and
/// declarations are dropped.
pub(crate) fn parse(text: &str) -> Vec<Node> {
    let mut stack = vec![Open { name: String::new(), attributes: Vec::new(), children: Vec::new() }];
    let mut rest = text;
    while !rest.is_empty() {
        let Some(at) = rest.find('<') else {
            push_text(&mut stack, rest);
            break;
        };
        push_text(&mut stack, &rest[..at]);
        rest = &rest[at..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.find("-->").map_or("", |end| &comment[end + 3..]);
        } else if rest.starts_with("<!") || rest.starts_with("<?") {
            rest = rest.find('>').map_or("", |end| &rest[end + 1..]);
        } else if let Some(closing) = rest.strip_prefix("</") {
            let end = closing.find('>').unwrap_or(closing.len());
            let name = closing[..end].trim().to_ascii_lowercase();
            rest = closing.get(end + 1..).unwrap_or_default();
            if let Some(depth) = stack.iter().rposition(|open| open.name == name)
                && depth > 0
            {
                while stack.len() > depth {
                    close(&mut stack);
                }
            }
        } else if rest[1..].starts_with(|c: char| c.is_ascii_alphabetic()) {
            rest = open(&mut stack, rest);
        } else {
            push_text(&mut stack, "<");
            rest = &rest[1..];
        }
    }
    while stack.len() > 1 {
        close(&mut stack);
    }
    stack.pop().map(|root| root.children).unwrap_or_default()
}

fn push_text(stack: &mut [Open], text: &str) {
    if text.is_empty() {
        return;
    }
    let Some(open) = stack.last_mut() else { return };
    let text = unescape(text);
    if let Some(Node::Text(last)) = open.children.last_mut() {
        last.push_str(&text);
    } else {
        open.children.push(Node::Text(text));
    }
}

fn close(stack: &mut Vec<Open>) {
    let Some(done) = stack.pop() else { return };
    let Some(parent) = stack.last_mut() else {
        return;
    };
    parent.children.push(Node::Element { name: done.name, attributes: done.attributes, children: done.children });
}

/// Opens the element at the start of `text` and returns the text after its tag.
fn open<'t>(stack: &mut Vec<Open>, text: &'t str) -> &'t str {
    let name_end =
        text[1..].find(|c: char| c.is_whitespace() || c == '>' || c == '/').map_or(text.len(), |end| end + 1);
    let name = text[1..name_end].to_ascii_lowercase();
    let (attributes, mut rest) = attributes(&text[name_end..]);
    // Paragraphs, items and cells end where the next one starts.
    let ends: &[&str] = match name.as_str() {
        "li" => &["li"],
        "td" | "th" => &["td", "th"],
        "tr" => &["td", "th", "tr"],
        "dt" | "dd" => &["dt", "dd"],
        block if listed(BLOCKS, block) => &["p"],
        _ => &[],
    };
    while stack.len() > 1 && stack.last().is_some_and(|open| ends.contains(&open.name.as_str())) {
        close(stack);
    }
    // Rows directly in a table get a body (`items_create_html_rich`).
    if name == "tr" && stack.last().is_some_and(|open| open.name == "table") {
        stack.push(Open { name: "tbody".to_owned(), attributes: Vec::new(), children: Vec::new() });
    }
    let void = listed(VOID, &name);
    let raw = listed(DROPPED, &name) || name == "iframe";
    let closing = format!("</{name}");
    if stack.len() > DEEPEST {
        return rest;
    }
    stack.push(Open { name, attributes, children: Vec::new() });
    if raw {
        let is_closing = |at: &usize| {
            let tag = rest.as_bytes().get(*at..*at + closing.len());
            tag.is_some_and(|tag| tag.eq_ignore_ascii_case(closing.as_bytes()))
        };
        let mut candidates = rest.match_indices("</").map(|(at, _)| at);
        let end = candidates.find(is_closing).unwrap_or(rest.len());
        push_text(stack, &rest[..end]);
        rest = &rest[end..];
    }
    if void {
        close(stack);
    }
    rest
}

/// Returns the attributes of a tag, and the text after the tag.
fn attributes(text: &str) -> (Vec<(String, String)>, &str) {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/');
        if rest.is_empty() {
            return (found, rest);
        }
        if let Some(after) = rest.strip_prefix('>') {
            return (found, after);
        }
        let end =
            rest.find(|c: char| c.is_whitespace() || matches!(c, '=' | '>' | '/')).unwrap_or(rest.len()).max(1);
        let end = (end..=rest.len()).find(|&e| rest.is_char_boundary(e)).unwrap_or(rest.len());
        let name = rest[..end].to_ascii_lowercase();
        rest = rest[end..].trim_start();
        let mut value = String::new();
        if let Some(after) = rest.strip_prefix('=') {
            let after = after.trim_start();
            let (raw, left) = match after.chars().next() {
                Some(quote @ ('"' | '\'')) => {
                    let inner = &after[1..];
                    let end = inner.find(quote).unwrap_or(inner.len());
                    (&inner[..end], inner.get(end + 1..).unwrap_or_default())
                }
                _ => {
                    let end = after.find(|c: char| c.is_whitespace() || c == '>').unwrap_or(after.len());
                    (&after[..end], &after[end..])
                }
            };
            value = unescape(raw);
            rest = left;
        }
        if !found.iter().any(|(known, _)| *known == name) {
            found.push((name, value));
        }
    }
}

fn unescape(text: &str) -> String {
    if !text.contains('&') {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.find(';').filter(|&end| end < 12);
        let known = end.and_then(|end| match &rest[1..end] {
            "amp" => Some('&'),
            "lt" => Some('<'),
            "gt" => Some('>'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            "nbsp" => Some('\u{a0}'),
            code => {
                let code = code.strip_prefix('#')?;
                let number = match code.strip_prefix(['x', 'X']) {
                    Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                    None => code.parse().ok()?,
                };
                char::from_u32(number)
            }
        });
        match (known, end) {
            (Some(c), Some(end)) => {
                out.push(c);
                rest = &rest[end + 1..];
            }
            _ => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}
