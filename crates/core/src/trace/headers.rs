//! The headers that name the trace of a request: those of a client are read, those for v1 are written.
//!
//! May use: nothing of this crate.

/// Header with the ids.
pub const TRACEPARENT: &str = "traceparent";
/// Header with the additions of other systems.
pub const TRACESTATE: &str = "tracestate";
/// Longest `tracestate` that is passed on, in bytes.
const LONGEST_STATE: usize = 512;

/// The flag of a trace that is recorded.
const SAMPLED: u8 = 1;

/// The trace context that a request sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parent {
    /// Id of the trace.
    pub trace: u128,
    /// Id of the caller's span.
    pub span: u64,
    /// Whether the caller records the trace.
    pub sampled: bool,
    /// Additions of other systems.
    pub state: Option<Box<str>>,
}

impl Parent {
    /// Reads both headers; `None` when the first is malformed.
    pub fn read(traceparent: &str, tracestate: Option<&str>) -> Option<Self> {
        let (version, rest) = (number(traceparent.get(..2)?)?, traceparent.get(2..55)?);
        let later = traceparent.get(55..)?;
        // Later versions may add more after a hyphen. 255 is no version.
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

/// Reads lower-case hexadecimal digits only, as the recommendation requires.
fn number(hex: &str) -> Option<u128> {
    let plain = hex.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    if plain { u128::from_str_radix(hex, 16).ok() } else { None }
}

/// Writes the `traceparent` for the step `span` of the trace `id`.
pub(super) fn traceparent(id: u128, span: u64, sampled: bool) -> [u8; 55] {
    let mut text = *b"00-00000000000000000000000000000000-0000000000000000-00";
    for (digits, bytes) in [(3..35, &id.to_be_bytes()[..]), (36..52, &span.to_be_bytes())] {
        hex::encode_to_slice(bytes, &mut text[digits]).expect("two digits a byte");
    }
    text[54] += u8::from(sampled);
    text
}
