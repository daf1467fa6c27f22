//! The first pages for people: the page at `/`, a page for each code of a problem, and a page for unknown paths.
//!
//! Machines get JSON at `/` and the usual problems elsewhere: a page is sent only to clients that ask for HTML.
//! Neither version nor state is shown to strangers.
//!
//! May use: `context`, `edge`, `html`, `plan` (the codes), `refusal`.

mod codes;
mod page;
mod service;

pub use service::Front;
pub(crate) use service::is_page;
