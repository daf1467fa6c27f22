//! The start page of the operators' listener: what there is.
//!
//! May use: `admin::page`.

use super::page::{AdminPage, rendered};
use askama::Template;
use bytes::Bytes;
use http::Response;
use std::sync::Arc;

#[derive(Template)]
#[template(path = "operators.html")]
struct Home {
    /// Where each page is and what it is called.
    pages: Vec<(&'static str, &'static str)>,
}

/// Links to `pages`.
pub(super) fn home(pages: &[Arc<dyn AdminPage>]) -> Response<Bytes> {
    rendered(&Home { pages: pages.iter().map(|page| (page.path(), page.title())).collect() })
}
