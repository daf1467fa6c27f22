//! The trace that a request belongs to (W3C Trace Context, level 1): its ids, and the steps of recorded requests.
//!
//! Every request has a trace, so that v1 gets a `traceparent` in any case. Few are recorded; for the others a step
//! costs one check. The task of a recorded request knows where its steps are recorded, for work that does not know its
//! request ([`recording`]). May use: this folder.

mod headers;
mod steps;
mod task;

pub use headers::{Parent, TRACEPARENT, TRACESTATE};
pub use steps::{Detail, Step, Steps};
pub use task::{carried, current, recording};

use std::fmt;
use std::time::{Instant, SystemTime};

/// The trace of one request.
#[derive(Debug)]
pub struct Trace {
    /// Its id.
    pub id: u128,
    /// Id of the request itself among the steps.
    pub span: u64,
    /// Trace context that the caller sent.
    pub parent: Option<Parent>,
    sampled: bool,
    recording: Option<Steps>,
}

impl Trace {
    /// Continues the trace of `parent`, or begins a new one. A `sampled` trace is recorded when it is `exported`; v1 is
    /// told that it is sampled in any case.
    pub fn new(parent: Option<Parent>, sampled: bool, exported: bool) -> Self {
        let id = parent.as_ref().map_or_else(|| fastrand::u128(1..), |parent| parent.trace);
        let recording = (sampled && exported).then(Steps::begin);
        Self { id, span: new_span(), parent, sampled, recording }
    }

    /// Returns the additions of other systems, which are passed on to v1 unchanged.
    pub fn state(&self) -> Option<&str> {
        self.parent.as_ref()?.state.as_deref()
    }

    /// Checks whether its steps are recorded.
    pub fn is_recorded(&self) -> bool {
        self.recording.is_some()
    }

    /// Returns the `traceparent` of a call that is the step `span`.
    pub fn header(&self, span: u64) -> [u8; 55] {
        headers::traceparent(self.id, span, self.sampled)
    }

    /// Returns the recording of its steps, if it is recorded.
    pub fn steps(&self) -> Option<Steps> {
        self.recording.clone()
    }

    /// Adds a step that began at `begun` and ends now, if the trace is recorded.
    pub fn step(&self, name: &'static str, begun: Instant) {
        if let Some(steps) = &self.recording {
            steps.add(new_span(), name, begun, Detail::Nothing);
        }
    }

    /// Adds a call. `what` describes the call, and runs only if the trace is recorded.
    pub fn call(&self, span: u64, begun: Instant, what: impl FnOnce() -> Detail) {
        if let Some(steps) = &self.recording {
            steps.add(span, "v1", begun, what());
        }
    }

    /// Returns the start of the recording, and the steps so far; `None` when the trace is not recorded.
    pub fn recorded(&self) -> Option<(SystemTime, Vec<Step>)> {
        self.recording.as_ref().map(Steps::so_far)
    }
}

impl fmt::Display for Trace {
    /// Writes the id as in headers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.id)
    }
}

/// Creates an id for a step. The id is no secret, so it comes from a fast generator.
pub fn new_span() -> u64 {
    fastrand::u64(1..)
}

#[cfg(test)]
mod tests {
    use super::steps::MOST_STEPS;
    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_parent_is_read_as_the_recommendation_says() {
        let parent = Parent::read(GOOD, Some("a=b")).unwrap();
        assert_eq!((parent.trace, parent.span), (0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736, 0x00f0_67aa_0ba9_02b7));
        assert!(parent.sampled && parent.state.as_deref() == Some("a=b"));
        assert!(!Parent::read(&GOOD.replace("-01", "-00"), None).unwrap().sampled);
        assert!(Parent::read(&format!("cc{}-more", &GOOD[2..]), None).is_some());
        assert!(Parent::read(GOOD, Some(&"x".repeat(513))).unwrap().state.is_none());
    }

    #[test]
    fn an_invalid_traceparent_is_ignored() {
        for bad in [
            "",
            "00",
            &GOOD[..54],
            &format!("{GOOD}-more"),
            &format!("ff{}", &GOOD[2..]),
            &format!("cc{}more", &GOOD[2..]),
            &GOOD.to_uppercase(),
            &GOOD.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
            &GOOD.replace("00f067aa0ba902b7", &"0".repeat(16)),
            &GOOD.replace('b', "ä"),
            &GOOD.replace('f', "+"),
        ] {
            assert_eq!(Parent::read(bad, None), None, "{bad}");
        }
    }

    #[test]
    fn the_outgoing_header_continues_the_same_trace() {
        let trace = Trace::new(Parent::read(GOOD, None), false, true);
        assert_eq!(&trace.header(0xab), b"00-4bf92f3577b34da6a3ce929d0e0e4736-00000000000000ab-00");
        assert!(Trace::new(None, true, false).header(1).ends_with(b"-0000000000000001-01"));
        assert_eq!(trace.to_string(), GOOD[3..35]);
        assert_ne!(Trace::new(None, true, true).id, Trace::new(None, true, true).id);
    }

    #[test]
    fn steps_are_kept_where_they_are_recorded_and_not_without_end() {
        let (begun, one) = (Instant::now(), Trace::new(None, true, true));
        for _ in 0..MOST_STEPS + 5 {
            one.step("checks", begun);
        }
        assert_eq!(one.recorded().unwrap().1.len(), MOST_STEPS);
        let other = Trace::new(None, true, false);
        other.call(new_span(), begun, || unreachable!("nobody wants to know"));
        assert_eq!(other.recorded(), None);
    }

    #[tokio::test]
    async fn a_task_and_those_it_begins_know_where_their_steps_go() {
        let trace = Trace::new(None, true, true);
        let store = async {
            let work = carried(async {
                current().expect("recorded").add(new_span(), "store", Instant::now(), Detail::Nothing);
            });
            tokio::spawn(work).await.expect("the work ends");
        };
        recording(trace.steps(), store).await;
        assert_eq!(trace.recorded().unwrap().1.len(), 1);
        assert!(current().is_none(), "outside there is none");
        assert!(recording(Trace::new(None, true, false).steps(), async { current() }).await.is_none());
    }
}
