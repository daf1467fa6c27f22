//! The cost of reading an input: processor time of the thread, and memory allocated meanwhile.
//!
//! Both are bounded for each target by the length of the input; more than that is a finding, like a panic. The fuzzer
//! gets the cost of an input as if it were reached code, so that it keeps the more expensive inputs and continues
//! from there. Memory is counted exactly; time is the kernel's figure for this thread alone, the least of
//! three readings when it matters.
//!
//! Only the targets use this, not the tests: it replaces the allocator, and is the only place with unsafe code.
//! May use: nothing of the gateway.

use rustix::time::{ClockId, clock_gettime};
use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

/// Limits of the cost of reading: a fixed part, and a part for each byte of the input. Times are those of an
/// instrumented build with debug assertions, which is several times slower than a release build.
pub struct Bound {
    /// Nanoseconds of processor time.
    pub nanos: (u64, u64),
    /// Bytes allocated, including those freed meanwhile.
    pub bytes: (u64, u64),
}

/// Limits for most inputs.
pub const USUAL: Bound = Bound { nanos: (5_000_000, 2_000), bytes: (1_000_000, 2_000) };

/// Limits for rich text: formatting that is opened again and again takes 2 µs a byte in a release build, and the
/// smallest such text 400 µs.
#[allow(dead_code, reason = "one target's")]
pub const RICH_TEXT: Bound = Bound { nanos: (10_000_000, 60_000), ..USUAL };

/// An allocator that counts.
struct Counting;

static BYTES: AtomicU64 = AtomicU64::new(0);
static PIECES: AtomicU64 = AtomicU64::new(0);

#[global_allocator]
static COUNTING: Counting = Counting;

// SAFETY: everything is the system's allocator; counting touches none of it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(old, layout, size) }
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(old, layout) }
    }
}

fn count(size: usize) {
    BYTES.fetch_add(size as u64, Relaxed);
    PIECES.fetch_add(1, Relaxed);
}

/// Number of levels that the fuzzer sees for each kind of cost.
const LEVELS: usize = 128;

// SAFETY: the fuzzer reads this section as bytes that it may set to zero, which these are.
#[unsafe(link_section = "__libfuzzer_extra_counters")]
static REACHED: [AtomicU8; 4 * LEVELS] = [const { AtomicU8::new(0) }; 4 * LEVELS];
/// The highest level of time so far.
static SLOWEST: AtomicU64 = AtomicU64::new(0);

#[derive(Clone, Copy)]
struct Cost {
    nanos: u64,
    bytes: u64,
    pieces: u64,
}

fn measured<T>(read: &impl Fn() -> T) -> Cost {
    let (bytes, pieces, began) = (BYTES.load(Relaxed), PIECES.load(Relaxed), thread_time());
    black_box(read());
    let nanos = thread_time() - began;
    Cost { nanos, bytes: BYTES.load(Relaxed) - bytes, pieces: PIECES.load(Relaxed) - pieces }
}

fn thread_time() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    u64::try_from(time.tv_sec).unwrap_or_default() * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or_default()
}

/// Eight levels for each doubling.
fn level(cost: u64) -> usize {
    ((((cost + 1) as f64).log2() * 8.0) as usize).min(8 * LEVELS)
}

fn tell(kind: usize, level: usize) {
    REACHED[kind * LEVELS + level.min(LEVELS - 1)].store(1, Relaxed);
}

/// Reads an input of `length` bytes, and panics when that costs more than the bound.
pub fn within<T>(bound: &Bound, length: usize, read: impl Fn() -> T) {
    let length = length as u64;
    let allowed = |(once, each): (u64, u64)| once + each * length;
    let mut cost = measured(&read);
    // Time in steps of a fourth, from a microsecond on.
    let slowness = |nanos: u64| level(nanos / 1000) / 4;
    let is_slower = slowness(cost.nanos) as u64 > SLOWEST.load(Relaxed);
    if is_slower || cost.nanos > allowed(bound.nanos) || cost.bytes > allowed(bound.bytes) {
        for _ in 0..2 {
            let again = measured(&read);
            cost = Cost {
                nanos: cost.nanos.min(again.nanos),
                bytes: cost.bytes.min(again.bytes),
                pieces: cost.pieces.min(again.pieces),
            };
        }
    }
    SLOWEST.fetch_max(slowness(cost.nanos) as u64, Relaxed);
    tell(0, slowness(cost.nanos));
    tell(1, level(cost.bytes / (length + 64)));
    tell(2, level(cost.pieces) / 2);
    tell(3, level(64 * cost.pieces / (length + 64)));
    let Cost { nanos, bytes, .. } = cost;
    assert!(nanos <= allowed(bound.nanos), "{nanos} ns of processor time for {length} bytes of input");
    assert!(bytes <= allowed(bound.bytes), "{bytes} bytes of memory for {length} bytes of input");
}
