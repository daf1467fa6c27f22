//! Request bodies while they arrive: the resources that a slow body holds, and the time limits of its arrival.
//!
//! A request that waits for its body has a place in the pool for bodies. For v2, OAuth and pages it meanwhile gives
//! back its place in the pool of served requests, and takes one again when the body is complete. A request of the
//! pass-through takes a place in the pool of served requests only once its body has passed completely.
//!
//! May use: `load`, `refusal`, `settings`, `edge::body`, `edge::pools`.

use super::body::{Body, BodyError, BodyLate};
use super::pools::Stages;
use crate::load::{Asker, Memory, Pace, Place, Reservation};
use crate::refusal::Refusal;
use crate::settings::LimitSettings;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt;
use parking_lot::{Mutex, MutexGuard};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// Place and memory that one request holds at present; given back when dropped.
#[derive(Debug)]
pub(super) struct Holding {
    stages: Stages,
    asker: Asker,
    held: Mutex<HeldForBody>,
}

#[derive(Debug)]
struct HeldForBody {
    place: Option<Place>,
    memory: Reservation,
}

impl Holding {
    /// Takes what a request of `asker` needs that is served at once.
    pub(super) fn served(stages: &Stages, asker: Asker, memory: &Memory) -> Result<Arc<Self>, Refusal> {
        Ok(Self::new(stages, asker, stages.served.enter(asker)?, memory.reservation(asker)))
    }

    /// Takes what a request of `asker` needs whose body passes through; `bytes` is the memory for its buffers.
    pub(super) fn passing(
        stages: &Stages,
        asker: Asker,
        has_body: bool,
        memory: &Memory,
        bytes: usize,
    ) -> Result<Arc<Self>, Refusal> {
        let pool = if has_body { &stages.bodies } else { &stages.served };
        Ok(Self::new(stages, asker, pool.enter(asker)?, memory.reserve(asker, bytes)?))
    }

    fn new(stages: &Stages, asker: Asker, place: Place, memory: Reservation) -> Arc<Self> {
        let held = Mutex::new(HeldForBody { place: Some(place), memory });
        Arc::new(Self { stages: stages.clone(), asker, held })
    }

    /// Moves the request to the pool for bodies.
    fn wait(&self) -> Result<(), Refusal> {
        let place = self.stages.bodies.enter(self.asker)?;
        self.held().place = Some(place);
        Ok(())
    }

    /// Moves the request to the pool of served requests, as soon as a place is free.
    async fn go_on(self: Arc<Self>) -> Result<(), Refusal> {
        let place = self.stages.served.enter_again(self.asker).await?;
        self.held().place = Some(place);
        Ok(())
    }

    /// Moves the request to the pool of served requests when a place is free; else it keeps its place.
    fn passed(&self) {
        if let Ok(place) = self.stages.served.enter(self.asker) {
            self.held().place = Some(place);
        }
    }

    fn grow(&self, bytes: usize) -> Result<(), Refusal> {
        self.held().memory.grow(bytes)
    }

    fn held(&self) -> MutexGuard<'_, HeldForBody> {
        self.held.lock()
    }
}

/// Manner of reading a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadingMode {
    /// Read completely before it is used, in limited time.
    Collected,
    /// Forwarded piece by piece, as long as it arrives fast enough.
    Streamed,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    pause: Duration,
    grace: Duration,
    pace: usize,
    total: Duration,
}

impl Patience {
    pub(super) fn new(limits: &LimitSettings) -> Self {
        let (pause, grace) = (limits.body_pause, limits.body_grace);
        Self { pause, grace, pace: limits.body_pace, total: limits.body_time }
    }
}

/// Returns `body` with its memory counted in `holding`. It fails when its time limits in `patience` are over.
pub(super) fn taken_in(body: Body, holding: Arc<Holding>, manner: ReadingMode, patience: Patience) -> Body {
    if body.is_end_stream() {
        return body;
    }
    let pace = Pace::new(patience.pace, patience.grace);
    Intake { body, holding, manner, patience, pace, begun: None, timer: None, state: State::Unasked }.boxed_unsync()
}

type Read = Option<Result<Frame<Bytes>, BodyError>>;

enum State {
    /// No piece has been late so far.
    Unasked,
    /// At least one piece had not arrived when it was asked for.
    Waiting,
    /// The body is complete. Its last frame is returned once the request has a place in the pool of served requests.
    Returning(BoxFuture<'static, Result<(), Refusal>>, Option<Read>),
    /// The body is passed on without any further check.
    Settled,
}

struct Intake {
    body: Body,
    holding: Arc<Holding>,
    manner: ReadingMode,
    patience: Patience,
    pace: Pace,
    begun: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
    state: State,
}

impl Intake {
    /// Counts a frame that was read, and returns it.
    fn read(&mut self, read: Read) -> Result<Read, Refusal> {
        self.timer = None;
        let data = read.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref().map(Bytes::len)).unwrap_or(0);
        self.pace.passed(data);
        if self.manner == ReadingMode::Collected {
            self.holding.grow(data)?;
        }
        Ok(read)
    }

    fn is_over(&self, read: &Read) -> bool {
        !matches!(read, Some(Ok(_))) || self.body.is_end_stream()
    }

    /// Is ready when the time to wait for the next piece is over; else registers the waker.
    fn poll_late(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let now = Instant::now();
        let begun = *self.begun.get_or_insert(now);
        if self.timer.is_none() {
            self.pace.wait();
            let by_pace = self.pace.over_at().unwrap_or(now);
            let over = match self.manner {
                ReadingMode::Collected => by_pace.min(now + self.patience.pause).min(begun + self.patience.total),
                ReadingMode::Streamed => by_pace,
            };
            self.timer = Some(Box::pin(tokio::time::sleep_until(over)));
        }
        self.timer.as_mut().map_or(Poll::Ready(()), |timer| timer.as_mut().poll(cx))
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Read, Refusal>> {
        loop {
            match &mut self.state {
                State::Settled => return Pin::new(&mut self.body).poll_frame(cx).map(Ok),
                State::Returning(place, last) => {
                    let place = ready!(place.as_mut().poll(cx));
                    let last = last.take().flatten();
                    self.state = State::Settled;
                    return Poll::Ready(place.map(|()| last));
                }
                State::Unasked | State::Waiting => {}
            }
            let Poll::Ready(read) = Pin::new(&mut self.body).poll_frame(cx) else {
                return self.poll_missing(cx);
            };
            let read = self.read(read)?;
            if !self.is_over(&read) {
                return Poll::Ready(Ok(read));
            }
            match self.manner {
                ReadingMode::Streamed => self.holding.passed(),
                ReadingMode::Collected if matches!(self.state, State::Waiting) => {
                    let place = Box::pin(Arc::clone(&self.holding).go_on());
                    self.state = State::Returning(place, Some(read));
                    continue;
                }
                ReadingMode::Collected => {}
            }
            self.state = State::Settled;
            return Poll::Ready(Ok(read));
        }
    }

    /// Handles a piece that has not arrived yet.
    fn poll_missing(&mut self, cx: &mut Context<'_>) -> Poll<Result<Read, Refusal>> {
        if matches!(self.state, State::Unasked) {
            self.state = State::Waiting;
            if self.manner == ReadingMode::Collected {
                self.holding.wait()?;
            }
        }
        self.poll_late(cx).map(|()| Ok(Some(Err(BodyError::new(BodyLate)))))
    }
}

impl http_body::Body for Intake {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Read> {
        let polled = Intake::poll(&mut self, cx);
        polled.map(|read| read.unwrap_or_else(|refusal| Some(Err(BodyError::refused(refusal)))))
    }

    fn is_end_stream(&self) -> bool {
        !matches!(self.state, State::Returning(..)) && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
#[path = "tests/intake.rs"]
mod tests;
