//! CPU-heavy work, kept off the threads that serve connections.
//!
//! A few threads carry it out in order of arrival, so that every other request continues, however much of it there
//! is. The input from clients is counted in bytes while it waits and runs. Above the bound the request is refused
//! before anything is done. Small inputs are processed at once, because passing them to another thread costs more.
//!
//! May use: `context`, `refusal`.

use crate::context::Context;
use crate::refusal::Refusal;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// Inputs up to this size in bytes are processed on the caller's thread; the worst take a few milliseconds.
pub const SMALL: usize = 16 * 1024;
/// The same for HTML: formatting that is opened again and again takes 2 µs a byte (17 ms for 16 KiB, measured).
const SMALL_HTML: usize = 2 * 1024;
/// Maximum bytes of request bodies that wait or are processed at any time.
const MOST_BYTES: usize = 32 * 1024 * 1024;
/// Bytes that one permit of the bound stands for.
const UNIT: usize = 1024;

/// The kind of input, which decides whether it may be refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// A body that a client sent. It is refused when too many bytes of bodies wait already.
    Body,
    /// The same, with HTML that is sanitized.
    Html,
    /// Data that the gateway holds or has read itself, bounded elsewhere. It waits.
    Own,
    /// The same, with HTML that is sanitized.
    OwnHtml,
}

impl Input {
    fn small(self) -> usize {
        match self {
            Self::Body | Self::Own => SMALL,
            Self::Html | Self::OwnHtml => SMALL_HTML,
        }
    }
}

/// The pool; cheap to clone, all clones are the same.
#[derive(Debug, Clone)]
pub struct Heavy {
    threads: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
    /// All permits of `bytes`.
    all_bytes: u32,
    carried_out: Arc<AtomicU64>,
}

impl Heavy {
    /// Creates a pool that processes `threads` inputs at a time and lets `bytes` of bodies wait.
    pub fn new(threads: usize, bytes: usize) -> Self {
        let all_bytes = units(bytes);
        Self {
            threads: Arc::new(Semaphore::new(threads.max(1))),
            bytes: Arc::new(Semaphore::new(all_bytes as usize)),
            all_bytes,
            carried_out: Arc::default(),
        }
    }

    /// Creates a pool for this machine: half of its processors, so that the others answer.
    pub fn for_this_machine() -> Self {
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        Self::new(processors / 2, MOST_BYTES)
    }

    /// Runs `work` over an input of `size` bytes, on a thread of the pool unless the input is small.
    ///
    /// # Errors
    /// [`Refusal::Overloaded`] when too many bytes of bodies wait, [`Refusal::DeadlineExceeded { maybe_done: false }`]
    /// when the request's time ends before a thread is free; nothing was done then.
    pub async fn run<T: Send + 'static>(
        &self,
        input: Input,
        size: usize,
        ctx: &Context,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        if size <= input.small() {
            return Ok(work());
        }
        let (tell, told) = oneshot::channel();
        let work = Box::new(move || {
            // The caller may have stopped waiting.
            let _ = tell.send(work());
        });
        self.run_on_a_thread(input, size, ctx, work).await?;
        told.await.map_err(|_| Refusal::internal("heavy work ended without a result"))
    }

    /// Runs `work`, boxed so that this is compiled once and not for each kind of work.
    async fn run_on_a_thread(
        &self,
        input: Input,
        size: usize,
        ctx: &Context,
        work: Box<dyn FnOnce() + Send>,
    ) -> Result<(), Refusal> {
        let bytes = match input {
            Input::Body | Input::Html => Some(self.take_bytes(size)?),
            Input::Own | Input::OwnHtml => None,
        };
        let thread = tokio::time::timeout(ctx.remaining(), Arc::clone(&self.threads).acquire_owned()).await;
        let thread =
            thread.map_err(|_| Refusal::DeadlineExceeded { maybe_done: false })?.map_err(Refusal::internal)?;
        self.carried_out.fetch_add(1, Ordering::Relaxed);
        // The permits go with the work: a caller that stops waiting does not end the work.
        let carried_out = tokio::task::spawn_blocking(move || {
            let _held = (thread, bytes);
            work();
        });
        carried_out.await.map_err(|fault| Refusal::internal(format!("heavy work ended: {fault}")))
    }

    fn take_bytes(&self, size: usize) -> Result<OwnedSemaphorePermit, Refusal> {
        // A body above the bound takes all permits.
        let wanted = units(size).min(self.all_bytes);
        Arc::clone(&self.bytes).try_acquire_many_owned(wanted).map_err(|_| Refusal::Overloaded)
    }

    /// Returns how often work ran on a thread of the pool.
    pub fn carried_out(&self) -> u64 {
        self.carried_out.load(Ordering::Relaxed)
    }
}

/// Returns the number of permits for so many bytes.
fn units(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;

    const LARGE: usize = 64 * 1024;

    fn context(allowed: Duration) -> Context {
        Context::new("r", allowed)
    }

    #[tokio::test]
    async fn small_inputs_stay_and_large_ones_go_to_another_thread() {
        let (heavy, here) = (Heavy::new(1, 1 << 20), std::thread::current().id());
        let ctx = context(Duration::from_secs(60));
        let at = async |size| heavy.run(Input::Body, size, &ctx, || std::thread::current().id()).await.unwrap();
        assert_eq!(at(SMALL).await, here);
        assert_eq!(heavy.carried_out(), 0);
        assert_ne!(at(SMALL + 1).await, here);
        assert_eq!(heavy.carried_out(), 1);
        let html = async |size| heavy.run(Input::Html, size, &ctx, || std::thread::current().id()).await.unwrap();
        assert_eq!(html(SMALL_HTML).await, here);
        assert_ne!(html(SMALL_HTML + 1).await, here);
    }

    #[tokio::test]
    async fn a_full_pool_refuses_bodies_at_once_and_lets_own_work_wait_until_the_deadline() {
        let heavy = Heavy::new(1, 2 * LARGE);
        let (release, wait) = mpsc::channel::<()>();
        let patient = context(Duration::from_secs(60));
        let running = {
            let (heavy, ctx) = (heavy.clone(), patient.clone());
            tokio::spawn(async move { heavy.run(Input::Body, LARGE, &ctx, move || wait.recv()).await })
        };
        while heavy.carried_out() == 0 {
            tokio::task::yield_now().await;
        }
        let hasty = context(Duration::from_millis(1));
        let never = || unreachable!("nothing is done without a thread");
        assert_eq!(
            heavy.run(Input::Own, LARGE, &hasty, never).await,
            Err::<(), _>(Refusal::DeadlineExceeded { maybe_done: false })
        );
        assert_eq!(
            heavy.run(Input::Body, LARGE, &hasty, never).await,
            Err::<(), _>(Refusal::DeadlineExceeded { maybe_done: false })
        );
        let too_much = heavy.run(Input::Body, LARGE + 2 * UNIT, &patient, never).await;
        assert_eq!(too_much, Err::<(), _>(Refusal::Overloaded));
        release.send(()).unwrap();
        assert!(running.await.unwrap().is_ok());
        assert_eq!(heavy.run(Input::Body, 2 * LARGE, &patient, || 7).await, Ok(7));
    }

    #[tokio::test]
    async fn a_body_above_the_bound_is_processed_when_no_other_waits() {
        let (heavy, ctx) = (Heavy::new(1, LARGE), context(Duration::from_secs(60)));
        assert_eq!(heavy.run(Input::Body, 3 * LARGE, &ctx, || 1).await, Ok(1));
        let held = heavy.take_bytes(1).unwrap();
        let refused = heavy.run(Input::Body, 3 * LARGE, &ctx, || 1).await;
        assert_eq!(refused, Err(Refusal::Overloaded));
        drop(held);
    }

    #[tokio::test]
    async fn work_that_panics_is_a_fault_of_the_gateway_and_frees_its_place() {
        let (heavy, ctx) = (Heavy::new(1, LARGE), context(Duration::from_secs(60)));
        let ended = heavy.run(Input::Body, LARGE, &ctx, || panic!("on purpose")).await;
        assert!(matches!(ended, Err::<(), _>(Refusal::Internal { .. })));
        assert_eq!(heavy.run(Input::Body, LARGE, &ctx, || 1).await, Ok(1));
    }
}
