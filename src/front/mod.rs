//! What a person meets first: the page at `/`, a page for each code of a problem, and a page where there is nothing.
//!
//! Machines get JSON at `/` and the same problems as ever elsewhere: a page is only for those that ask for HTML.
//! Strangers learn neither version nor state.
//!
//! May use: `context`, `edge`, `html`, `plan` (the codes), `refusal`.

mod codes;
mod page;
mod service;

pub use service::Front;
