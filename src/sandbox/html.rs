//! The treatment v1 gives to `description_html`: parsed leniently, wrapped into one element,
//! cleaned of everything that could run, written back as HTML. Uses nothing.

/// Elements whose content goes with them.
const DROPPED: [&str; 2] = ["script", "style"];
/// Elements that never have content.
const VOID: [&str; 14] =
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"];
/// Elements that are kept; others give way to their content.
const KEPT: [&str; 76] = [
    "a",
    "abbr",
    "acronym",
    "area",
    "article",
    "aside",
    "b",
    "bdi",
    "bdo",
    "blockquote",
    "br",
    "caption",
    "center",
    "cite",
    "code",
    "col",
    "colgroup",
    "data",
    "dd",
    "del",
    "details",
    "dfn",
    "div",
    "dl",
    "dt",
    "em",
    "figcaption",
    "figure",
    "footer",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hgroup",
    "hr",
    "i",
    "img",
    "ins",
    "kbd",
    "li",
    "map",
    "mark",
    "nav",
    "ol",
    "p",
    "pre",
    "q",
    "rp",
    "rt",
    "rtc",
    "ruby",
    "s",
    "samp",
    "small",
    "span",
    "strike",
    "strong",
    "sub",
    "summary",
    "sup",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "time",
    "tr",
    "tt",
    "u",
    "ul",
    "var",
    "wbr",
    "tfoot",
];
/// Elements that make a wrapper a `div` rather than a `span`.
const BLOCKS: [&str; 34] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "center",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
];
/// Attributes that every kept element may have.
const COMMON: [&str; 5] = ["lang", "title", "class", "id", "style"];

#[derive(Debug)]
enum Node {
    Text(String),
    Element { name: String, attributes: Vec<(String, String)>, children: Vec<Node> },
}

/// Cleans a text; `None` is what v1 calls invalid: nothing in it, comments only, or an XML
/// declaration with an encoding (`items_create_html_empty`, `items_create_html_comment_only`,
/// `items_create_html_xml_declaration`).
pub(super) fn clean(text: &str) -> Option<String> {
    let trimmed = text.trim();
    let declared = trimmed
        .strip_prefix("<?xml")
        .is_some_and(|rest| rest.split('>').next().unwrap_or_default().contains("encoding"));
    if trimmed.is_empty() || declared {
        return None;
    }
    let roots = parse(text);
    let is_blank = |node: &Node| matches!(node, Node::Text(text) if text.trim().is_empty());
    let solid = roots.iter().filter(|node| !is_blank(node)).count();
    if solid == 0 {
        return None;
    }
    let mut out = String::with_capacity(text.len() + 16);
    let single = solid == 1 && roots.iter().any(|node| matches!(node, Node::Element { .. }));
    if single {
        for node in roots.iter().filter(|node| !is_blank(node)) {
            write(node, &mut out);
        }
        return Some(out);
    }
    // Several roots or bare text get one element around them (`items_create_html_multi_root`,
    // `items_create_html_plain_text`).
    let wrapper = if roots.iter().any(has_block) { "div" } else { "span" };
    out.push_str(&format!("<{wrapper}>"));
    for node in &roots {
        write(node, &mut out);
    }
    out.push_str(&format!("</{wrapper}>"));
    Some(out)
}

fn has_block(node: &Node) -> bool {
    match node {
        Node::Text(_) => false,
        Node::Element { name, children, .. } => BLOCKS.contains(&name.as_str()) || children.iter().any(has_block),
    }
}

/// An element that is still open while parsing.
struct Open {
    name: String,
    attributes: Vec<(String, String)>,
    children: Vec<Node>,
}

fn parse(text: &str) -> Vec<Node> {
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

/// Opens the element at the start of `text` and returns what follows its tag.
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
        block if BLOCKS.contains(&block) => &["p"],
        _ => &[],
    };
    while stack.len() > 1 && stack.last().is_some_and(|open| ends.contains(&open.name.as_str())) {
        close(stack);
    }
    // Rows directly in a table get a body (`items_create_html_rich`).
    if name == "tr" && stack.last().is_some_and(|open| open.name == "table") {
        stack.push(Open { name: "tbody".to_owned(), attributes: Vec::new(), children: Vec::new() });
    }
    let void = VOID.contains(&name.as_str());
    let raw = DROPPED.contains(&name.as_str()) || name == "iframe";
    let closing = format!("</{name}");
    stack.push(Open { name, attributes, children: Vec::new() });
    if raw {
        let end = rest.to_ascii_lowercase().find(&closing).unwrap_or(rest.len());
        push_text(stack, &rest[..end]);
        rest = &rest[end..];
    }
    if void {
        close(stack);
    }
    rest
}

/// The attributes of a tag and what follows it.
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

fn write(node: &Node, out: &mut String) {
    match node {
        Node::Text(text) => escape(text, false, out),
        Node::Element { name, attributes, children } => {
            if DROPPED.contains(&name.as_str()) {
                return;
            }
            let kept = KEPT.contains(&name.as_str());
            if kept {
                out.push('<');
                out.push_str(name);
                for (key, value) in attributes {
                    if allowed(name, key, value) {
                        out.push(' ');
                        out.push_str(key);
                        out.push_str("=\"");
                        escape(value, true, out);
                        out.push('"');
                    }
                }
                if name == "a" {
                    // Every link gets it (`items_create_html_script`).
                    out.push_str(" rel=\"noopener noreferrer\"");
                }
                out.push('>');
            }
            for child in children {
                write(child, out);
            }
            if kept && !VOID.contains(&name.as_str()) {
                out.push_str("</");
                out.push_str(name);
                out.push('>');
            }
        }
    }
}

/// Whether an attribute stays: no handlers, and addresses only of harmless schemes.
fn allowed(element: &str, name: &str, value: &str) -> bool {
    let fits = COMMON.contains(&name)
        || name.starts_with("data-")
        || match element {
            "a" => matches!(name, "href" | "hreflang" | "target"),
            "img" => matches!(name, "src" | "alt" | "width" | "height" | "align"),
            "blockquote" | "q" | "del" | "ins" => matches!(name, "cite" | "datetime"),
            "td" | "th" => matches!(name, "colspan" | "rowspan" | "align" | "headers" | "scope"),
            "col" | "colgroup" => matches!(name, "span" | "align"),
            "ol" => name == "start",
            "time" => name == "datetime",
            _ => false,
        };
    let is_address = matches!(name, "href" | "src" | "cite");
    fits && !(is_address && unsafe_scheme(value))
}

fn unsafe_scheme(address: &str) -> bool {
    let address: String = address.chars().filter(|c| !c.is_whitespace() && !c.is_control()).collect();
    let head = address.split(['/', '?', '#']).next().unwrap_or_default();
    head.split_once(':').is_some_and(|(scheme, _)| {
        !["http", "https", "mailto", "tel"].contains(&scheme.to_ascii_lowercase().as_str())
    })
}

fn escape(text: &str, in_attribute: bool, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '\u{a0}' => out.push_str("&nbsp;"),
            '<' if !in_attribute => out.push_str("&lt;"),
            '>' if !in_attribute => out.push_str("&gt;"),
            '"' if in_attribute => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::clean;

    #[test]
    fn roots_are_wrapped_and_scripts_go() {
        let cases = [
            ("<p>a</p>", Some("<p>a</p>")),
            ("text", Some("<span>text</span>")),
            ("<p>a</p><p>b</p>", Some("<div><p>a</p><p>b</p></div>")),
            ("<p>open <b>bold", Some("<p>open <b>bold</b></p>")),
            ("<p>n</p><script>x</script>", Some("<div><p>n</p></div>")),
            ("<!-- only -->", None),
            ("  ", None),
        ];
        for (sent, kept) in cases {
            assert_eq!(clean(sent).as_deref(), kept, "{sent}");
        }
    }
}
