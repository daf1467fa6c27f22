//! The start page of the operators' listener: what there is.
//!
//! May use: `admin::page`.

use super::page::{AdminPage, html};
use bytes::Bytes;
use http::{Response, StatusCode};
use std::sync::Arc;

/// Links to `pages`; their titles and paths are the gateway's own words.
pub(super) fn home(pages: &[Arc<dyn AdminPage>]) -> Response<Bytes> {
    let links = pages.iter().map(|page| format!("<li><a href=\"{}\">{}</a></li>\n", page.path(), page.title()));
    let links: String = links.collect();
    html(
        StatusCode::OK,
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>Causeway, for operators</title>\n\
             <style>body{{font:1rem/1.5 system-ui,sans-serif;max-width:40rem;margin:2rem auto;padding:0 1rem}}</style>\n\
             </head>\n<body>\n<h1>Causeway, for operators</h1>\n<ul>\n{links}</ul>\n</body>\n</html>\n"
        ),
    )
}
