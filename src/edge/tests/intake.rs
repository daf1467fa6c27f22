//! Resources that a request body holds while it arrives. May use: `load`, this folder.

use super::super::body::{full, read_body};
use super::*;
use crate::load::{Pool, Share};
use futures_util::stream;
use http_body_util::StreamBody;

fn stages() -> Stages {
    Stages { served: Pool::new(2, Share(100)), bodies: Pool::new(2, Share(100)) }
}

fn patience() -> Patience {
    Patience {
        pause: Duration::from_secs(10),
        grace: Duration::from_secs(10),
        pace: 1024,
        total: Duration::from_secs(20),
    }
}

/// Returns a body of `count` pieces of `size` bytes, each of them after a `pause`.
fn dripping(count: usize, size: usize, pause: Duration) -> Body {
    let pieces = stream::unfold(0, move |sent| async move {
        tokio::time::sleep(pause).await;
        (sent < count).then(|| (Ok(Frame::data(Bytes::from(vec![b'x'; size]))), sent + 1))
    });
    StreamBody::new(pieces).boxed_unsync()
}

fn served(stages: &Stages) -> Arc<Holding> {
    Holding::served(stages, Asker::default(), &Memory::new(1 << 20, Share(50))).unwrap()
}

async fn time_of(body: Body, manner: ReadingMode) -> (Result<Bytes, Refusal>, u64) {
    let (stages, began) = (stages(), Instant::now());
    let body = taken_in(body, served(&stages), manner, patience());
    (read_body(body, 1 << 20).await, began.elapsed().as_secs())
}

#[tokio::test(start_paused = true)]
async fn a_body_that_stops_arriving_is_refused() {
    let stalled = StreamBody::new(stream::pending::<Result<Frame<Bytes>, BodyError>>()).boxed_unsync();
    let (read, seconds) = time_of(stalled, ReadingMode::Collected).await;
    assert_eq!((read, seconds), (Err(Refusal::invalid("The request body did not arrive in time.")), 10));
}

#[tokio::test(start_paused = true)]
async fn a_byte_each_four_seconds_buys_nothing() {
    for manner in [ReadingMode::Collected, ReadingMode::Streamed] {
        let (read, seconds) = time_of(dripping(1000, 1, Duration::from_secs(4)), manner).await;
        assert!(read.is_err() && seconds <= 10, "{manner:?}: {seconds} s");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_keeps_its_pace_has_its_time_and_one_that_passes_through_all_it_wants() {
    let steady = || dripping(100, 2048, Duration::from_secs(2));
    let (read, seconds) = time_of(steady(), ReadingMode::Collected).await;
    assert!(read.is_err() && seconds == 20, "{seconds} s");
    let (read, seconds) = time_of(steady(), ReadingMode::Streamed).await;
    assert!(read.is_ok() && seconds >= 200, "{seconds} s");
}

#[tokio::test(start_paused = true)]
async fn a_request_waiting_for_its_body_holds_no_serving_place() {
    let stages = stages();
    let holding = served(&stages);
    let body =
        taken_in(dripping(2, 5, Duration::from_secs(1)), holding.clone(), ReadingMode::Collected, patience());
    assert_eq!((stages.served.taken(), stages.bodies.taken()), (1, 0));
    let reading = tokio::spawn(read_body(body, 1 << 20));
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!((stages.served.taken(), stages.bodies.taken()), (0, 1));
    let others = [served(&stages), served(&stages)];
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!((stages.served.taken(), stages.bodies.taken()), (2, 1), "complete, but there is no place to go on");
    drop(others);
    assert_eq!(reading.await.unwrap().unwrap().len(), 10);
    assert_eq!((stages.served.taken(), stages.bodies.taken()), (1, 0));
    drop(holding);
    assert_eq!(stages.served.taken(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_body_beyond_the_places_or_the_memory_is_refused() {
    let stages = stages();
    let waiting = || dripping(2, 600, Duration::from_secs(1));
    let all = [stages.bodies.enter(Asker::default()).unwrap(), stages.bodies.enter(Asker::default()).unwrap()];
    let body = taken_in(waiting(), served(&stages), ReadingMode::Collected, patience());
    assert_eq!(read_body(body, 1 << 20).await, Err(Refusal::Overloaded));
    drop(all);
    let memory = Memory::new(1000, Share(50));
    let holding = Holding::served(&stages, Asker::default(), &memory).unwrap();
    let body = taken_in(waiting(), holding, ReadingMode::Collected, patience());
    assert_eq!(read_body(body, 1 << 20).await, Err(Refusal::Overloaded));
    assert_eq!(memory.used(), 0);
}

#[tokio::test]
async fn a_body_that_is_there_changes_nothing() {
    let (stages, memory) = (stages(), Memory::new(100, Share(50)));
    let holding = Holding::served(&stages, Asker::default(), &memory).unwrap();
    let body = taken_in(full("abc"), holding.clone(), ReadingMode::Collected, patience());
    assert_eq!(read_body(body, 10).await.unwrap(), "abc");
    assert_eq!((stages.served.taken(), stages.bodies.taken(), memory.used()), (1, 0, 3));
}
