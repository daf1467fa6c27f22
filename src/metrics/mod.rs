//! The operators' figures at `/metrics`, in the text forms of Prometheus and OpenMetrics.
//!
//! The counting happens elsewhere, in `tally` and in the parts themselves; here the figures get names and labels.
//! Labels are words of the gateway alone (operations, kinds, outcomes), so their number is known beforehand.
//!
//! May use: `access`, `admin`, `edge`, `fresh`, `index`, `limits`, `load`, `oauth`, `retirement`, `run`, `shadow`,
//! `store`, `tally`, `v1`.

mod caches;
mod family;
mod page;
mod process;
mod surface;
mod upstream;

pub use page::{MetricsPage, Parts};
