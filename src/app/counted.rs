//! Events of the authorization server, counted on their way to the audit log.
//!
//! May use: `oauth`, `tally`; it is composition.

use crate::oauth::{Event, Events, Origin};
use crate::tally::Counter;
use futures_util::future::BoxFuture;
use std::sync::Arc;
use strum::VariantNames;

/// Counters of all events, by their number.
pub(super) fn counters() -> Arc<[Counter]> {
    Event::VARIANTS.iter().map(|_| Counter::default()).collect()
}

/// Counts events and passes them on.
pub(super) struct Counted<E> {
    pub(super) on: E,
    pub(super) counters: Arc<[Counter]>,
}

impl<E: Events> Events for Counted<E> {
    fn happened<'e>(&'e self, event: &'e Event, from: Option<&'e Origin>) -> BoxFuture<'e, ()> {
        if let Some(counter) = self.counters.get(event.number()) {
            counter.add(1);
        }
        self.on.happened(event, from)
    }
}
