//! The trace that a request belongs to (W3C Trace Context, level 1): its ids, and the steps of those that are recorded.
//!
//! Every request has one, so that v1 gets a `traceparent` in any case. Few are recorded; for the others a step costs
//! one look. The task of a recorded request knows where its steps go, for work that is not told whom it is for
//! ([`recording`]). May use: nothing of this crate.

use futures_util::future::Either;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

/// Header with the ids.
pub const TRACEPARENT: &str = "traceparent";
/// Header with what other systems add.
pub const TRACESTATE: &str = "tracestate";
/// Longest `tracestate` that is passed on, in bytes.
const LONGEST_STATE: usize = 512;
/// Most steps of one request that are recorded.
const MOST_STEPS: usize = 200;
/// The flag of what is recorded.
const SAMPLED: u8 = 1;

/// What a request says about the trace it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parent {
    /// Id of the trace.
    pub trace: u128,
    /// Id of the caller's span.
    pub span: u64,
    /// Whether the caller records it.
    pub sampled: bool,
    /// What other systems have added.
    pub state: Option<Box<str>>,
}

impl Parent {
    /// Reads both headers; none when the first is not as it should be.
    pub fn read(traceparent: &str, tracestate: Option<&str>) -> Option<Self> {
        let (version, rest) = (number(traceparent.get(..2)?)?, traceparent.get(2..55)?);
        let later = traceparent.get(55..)?;
        // Later versions may say more behind a hyphen; 255 is none.
        let ends = if version == 0 { later.is_empty() } else { later.is_empty() || later.starts_with('-') };
        let mut parts = rest.strip_prefix('-')?.split('-');
        let (trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?);
        if version == 255
            || !ends
            || (trace.len(), span.len(), flags.len()) != (32, 16, 2)
            || parts.next().is_some()
        {
            return None;
        }
        let (trace, span) = (number(trace)?, u64::try_from(number(span)?).ok()?);
        let state = tracestate.filter(|state| !state.is_empty() && state.len() <= LONGEST_STATE).map(Box::from);
        let sampled = number(flags)? as u8 & SAMPLED != 0;
        (trace != 0 && span != 0).then_some(Self { trace, span, sampled, state })
    }
}

/// Lower-case hexadecimal digits alone, as the recommendation wants them.
fn number(hex: &str) -> Option<u128> {
    let plain = hex.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    if plain { u128::from_str_radix(hex, 16).ok() } else { None }
}

/// The trace of one request.
#[derive(Debug)]
pub struct Trace {
    /// Its id.
    pub id: u128,
    /// Id of the request itself among the steps.
    pub span: u64,
    /// Who the request comes from.
    pub parent: Option<Parent>,
    sampled: bool,
    recording: Option<Steps>,
}

/// Where the steps of a recorded request go; all clones are the same.
#[derive(Debug, Clone)]
pub struct Steps(Arc<Recording>);

#[derive(Debug)]
struct Recording {
    at: SystemTime,
    begun: Instant,
    steps: Mutex<Vec<Step>>,
}

/// A step of a request that is recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Its id.
    pub span: u64,
    /// What it is.
    pub name: &'static str,
    /// When it began and ended, by the clock of the wall.
    pub time: (SystemTime, SystemTime),
    /// What more there is to say.
    pub detail: Detail,
}

/// What a step tells beside its name.
#[derive(Debug, Clone, PartialEq)]
pub enum Detail {
    /// Nothing: work of the gateway's own.
    Nothing,
    /// A call to v1.
    Call {
        /// Its method.
        method: String,
        /// Its path without the query.
        path: String,
        /// Status of the answer, 0 when there was none.
        status: u16,
    },
    /// A statement that the store sent to its database.
    Statement {
        /// The database, as OpenTelemetry names it.
        engine: &'static str,
        /// What kind of statement it is; never its text or its values.
        operation: &'static str,
        /// Whether it failed.
        failed: bool,
    },
}

tokio::task_local! {
    static CURRENT: Steps;
}

/// `work`, with the steps of whatever it asks recorded in `steps`.
pub fn recording<F: Future>(steps: Option<Steps>, work: F) -> impl Future<Output = F::Output> {
    match steps {
        Some(steps) => Either::Left(CURRENT.scope(steps, work)),
        None => Either::Right(work),
    }
}

/// `work` for a task of its own, recorded where the present task is.
pub fn carried<F: Future>(work: F) -> impl Future<Output = F::Output> {
    recording(current(), work)
}

/// Where the steps of the present task are recorded, when they are.
pub fn current() -> Option<Steps> {
    CURRENT.try_with(Clone::clone).ok()
}

impl Steps {
    /// Adds a step that began at `begun` and ends now.
    pub fn add(&self, span: u64, name: &'static str, begun: Instant, detail: Detail) {
        let Recording { at, begun: since, steps } = &*self.0;
        let mut steps = steps.lock();
        if steps.len() < MOST_STEPS {
            let at = |instant: Instant| *at + instant.saturating_duration_since(*since);
            steps.push(Step { span, name, time: (at(begun), at(Instant::now())), detail });
        }
    }
}

impl Trace {
    /// The trace that `parent` began, or a new one. A trace that is `sampled` is recorded when it is `exported`; v1 is
    /// told that it is sampled in any case.
    pub fn new(parent: Option<Parent>, sampled: bool, exported: bool) -> Self {
        let id = parent.as_ref().map_or_else(|| fastrand::u128(1..), |parent| parent.trace);
        let recording = || Recording { at: SystemTime::now(), begun: Instant::now(), steps: Mutex::default() };
        let recording = (sampled && exported).then(|| Steps(Arc::new(recording())));
        Self { id, span: new_span(), parent, sampled, recording }
    }

    /// What other systems have added; passed on to v1 as it came.
    pub fn state(&self) -> Option<&str> {
        self.parent.as_ref()?.state.as_deref()
    }

    /// Whether its steps are recorded.
    pub fn is_recorded(&self) -> bool {
        self.recording.is_some()
    }

    /// `traceparent` of a call that is the step `span`.
    pub fn header(&self, span: u64) -> [u8; 55] {
        let mut text = *b"00-00000000000000000000000000000000-0000000000000000-00";
        for (digits, bytes) in [(3..35, &self.id.to_be_bytes()[..]), (36..52, &span.to_be_bytes())] {
            hex::encode_to_slice(bytes, &mut text[digits]).expect("two digits a byte");
        }
        text[54] += u8::from(self.sampled);
        text
    }

    /// Where its steps are recorded, when they are.
    pub fn steps(&self) -> Option<Steps> {
        self.recording.clone()
    }

    /// Adds a step that began at `begun` and ends now, when it is recorded.
    pub fn step(&self, name: &'static str, begun: Instant) {
        if let Some(steps) = &self.recording {
            steps.add(new_span(), name, begun, Detail::Nothing);
        }
    }

    /// Adds a call: `what` tells of it, and is asked only when it is recorded.
    pub fn call(&self, span: u64, begun: Instant, what: impl FnOnce() -> Detail) {
        if let Some(steps) = &self.recording {
            steps.add(span, "v1", begun, what());
        }
    }

    /// When it began, and its steps so far; none when it is not recorded.
    pub fn recorded(&self) -> Option<(SystemTime, Vec<Step>)> {
        self.recording.as_ref().map(|Steps(recording)| (recording.at, recording.steps.lock().clone()))
    }
}

impl fmt::Display for Trace {
    /// Its id, as it stands in headers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.id)
    }
}

/// An id for a step. It is no secret, so it comes from a quick generator.
pub fn new_span() -> u64 {
    fastrand::u64(1..)
}

#[cfg(test)]
mod tests {
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
    fn what_is_none_is_not_believed() {
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
    fn what_goes_on_is_of_the_same_trace() {
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
