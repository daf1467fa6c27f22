//! v1's treatment of `description_html`: it is parsed leniently, wrapped into one element, cleaned of everything
//! that could run, and written back as HTML. May use: this folder.

use crate::forms::html_tree::{BLOCKS, DROPPED, Node, VOID, listed, parse};

/// Elements that are kept; other elements are replaced by their content.
const KEPT: &str = "a abbr acronym area article aside b bdi bdo blockquote br caption center cite code col \
    colgroup data dd del details dfn div dl dt em figcaption figure footer h1 h2 h3 h4 h5 h6 \
    header hgroup hr i img ins kbd li map mark nav ol p pre q rp rt rtc ruby s samp small \
    span strike strong sub summary sup table tbody td th thead time tr tt u ul var wbr tfoot";
/// Attributes that every kept element may have.
const COMMON: [&str; 5] = ["lang", "title", "class", "id", "style"];

/// Cleans a text. `None` means that v1 calls it invalid: it has no content, only comments, or an XML
/// declaration with an encoding (`items_create_html_empty`, `items_create_html_comment_only`,
/// `items_create_html_xml_declaration`).
pub(crate) fn clean(text: &str) -> Option<String> {
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
    // Several roots or bare text are wrapped into one element (`items_create_html_multi_root`,
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
        Node::Element { name, children, .. } => listed(BLOCKS, name) || children.iter().any(has_block),
    }
}

fn write(node: &Node, out: &mut String) {
    match node {
        Node::Text(text) => escape(text, false, out),
        Node::Element { name, attributes, children } => {
            if listed(DROPPED, name) {
                return;
            }
            let kept = listed(KEPT, name);
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
                    // v1 adds it to every link (`items_create_html_script`).
                    out.push_str(" rel=\"noopener noreferrer\"");
                }
                out.push('>');
            }
            for child in children {
                write(child, out);
            }
            if kept && !listed(VOID, name) {
                out.push_str("</");
                out.push_str(name);
                out.push('>');
            }
        }
    }
}

/// Checks whether an attribute is kept: no handlers, and addresses only with harmless schemes.
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
            ("<SCRIPT>a</b></Script><i>x</i>", Some("<span><i>x</i></span>")),
        ];
        for (sent, kept) in cases {
            assert_eq!(clean(sent).as_deref(), kept, "{sent}");
        }
    }

    #[test]
    fn size_and_depth_do_no_harm() {
        let deep = "<b>".repeat(200_000);
        assert!(clean(&deep).is_some_and(|kept| kept.len() < 2_000));
        let scripts = "<script>x</script>".repeat(100_000);
        assert_eq!(clean(&scripts).as_deref(), Some("<span></span>"));
    }
}
