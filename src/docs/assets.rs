//! The files of the page, from `src/docs/assets/page/`, compiled in; debug builds too, so that tests see what a
//! release serves.
//!
//! May use: nothing of this crate.

use bytes::Bytes;
use rust_embed::RustEmbed;
use std::borrow::Cow;

#[derive(RustEmbed)]
#[folder = "src/docs/assets/page/"]
struct Files;

/// The file called `name`; the page itself when it is empty.
pub(super) fn find(name: &str) -> Option<Part> {
    let name = if name.is_empty() { "index.html" } else { name };
    let file = Files::get(name)?;
    let hash = hex::encode(&file.metadata.sha256_hash()[..8]);
    let bytes = match file.data {
        Cow::Borrowed(bytes) => Bytes::from_static(bytes),
        Cow::Owned(bytes) => Bytes::from(bytes),
    };
    Some(Part { bytes, media: media(name), tag: format!("\"{hash}\"") })
}

fn media(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "text/plain; charset=utf-8",
    }
}

/// The document, below the page.
pub(super) const DOCUMENT: &str = "openapi.json";

/// One file as it is sent.
pub(super) struct Part {
    pub(super) bytes: Bytes,
    pub(super) media: &'static str,
    pub(super) tag: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_the_page_names_is_in_the_program() {
        let page = find("").expect("the page");
        let text = String::from_utf8(page.bytes.to_vec()).unwrap();
        let named: Vec<&str> = ["src=\"", "href=\""]
            .iter()
            .flat_map(|attribute| text.split(attribute).skip(1))
            .filter_map(|rest| rest.split('"').next())
            .filter(|name| *name != DOCUMENT)
            .collect();
        assert!(named.len() >= 5, "{named:?}");
        for name in named {
            assert!(!name.contains(':') && !name.starts_with('/'), "{name} is not beside the page");
            assert!(find(name).is_some(), "{name} is missing");
        }
    }

    #[test]
    fn no_style_loads_anything_from_elsewhere() {
        for name in ["page.css", "swagger-ui/swagger-ui.css"] {
            let text = String::from_utf8(find(name).unwrap().bytes.to_vec()).unwrap();
            assert!(!text.contains("@import"), "{name}");
            for target in text.split("url(").skip(1) {
                let target = target.trim_start_matches(['"', '\'']);
                assert!(target.starts_with("data:"), "{name}: {}", target.chars().take(40).collect::<String>());
            }
        }
    }
}
