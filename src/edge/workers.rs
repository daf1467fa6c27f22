//! The threads that carry connections: one per processor, each with its own runtime.
//!
//! A connection stays on its thread, and so do the connections to v1 that it uses (`worker`), so that the answer to a
//! request wakes no other thread. Long work runs on the pool for heavy work, not here. When the gateway runs in a
//! foreign runtime with a single thread, as in tests, connections are carried on that runtime.
//!
//! May use: `task`, `telemetry`, `worker`, `edge::connection`, `edge::connections`, `edge::ending`.

use super::connection::Clock;
use super::connections::Open;
use super::ending::ShutdownListener;
use crate::task::spawn;
use crate::telemetry::field;
use crate::worker;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{io, thread};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Handle, RuntimeFlavor};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

/// A connection whose first bytes have arrived.
pub(super) struct Arrival<S = TcpStream> {
    pub(super) socket: S,
    pub(super) peer: SocketAddr,
    pub(super) clock: Clock,
    /// Place among the open connections; none for a connection beyond the limit.
    pub(super) open: Option<Open>,
    pub(super) told: ShutdownListener,
}

/// A connection that is being moved from one runtime to another.
pub(super) type Handed = Arrival<std::net::TcpStream>;

impl Handed {
    /// Moves the connection to the runtime of the caller; returns none when that fails.
    pub(super) fn arrive(self) -> Option<Arrival> {
        let Self { socket, peer, clock, open, told } = self;
        match TcpStream::from_std(socket) {
            Ok(socket) => Some(Arrival { socket, peer, clock, open, told }),
            Err(error) => {
                tracing::warn!({ field::CAUSE } = %error, "a connection could not be taken over");
                None
            }
        }
    }
}

/// Carries one connection to its end.
pub(super) type Converse = Arc<dyn Fn(Handed) -> BoxFuture<'static, ()> + Send + Sync>;

/// One thread, or the caller's runtime.
struct Worker {
    hand_on: mpsc::UnboundedSender<Handed>,
    /// Number of connections that it carries.
    carried: Arc<AtomicUsize>,
    /// Dropping the first end stops the worker's connections; the second end signals when they have stopped.
    stop: Mutex<Option<(oneshot::Sender<()>, oneshot::Receiver<()>)>>,
    /// Ends the thread when dropped.
    _release: oneshot::Sender<()>,
}

/// All workers. Tasks that requests have started continue until this is dropped.
pub(super) struct Workers(Vec<Worker>);

impl Workers {
    /// Starts the threads; each connection is carried by `converse`.
    pub(super) fn start(converse: &Converse) -> io::Result<Self> {
        if Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread {
            let (worker, ends) = Worker::new();
            spawn(carry(converse.clone(), ends));
            return Ok(Self(vec![worker]));
        }
        let start = |number| {
            let (worker, ends) = Worker::new();
            let runtime = Builder::new_current_thread().enable_all().build()?;
            let (converse, name) = (converse.clone(), format!("worker-{number}"));
            thread::Builder::new().name(name).spawn(move || {
                worker::is(number);
                runtime.block_on(carry(converse, ends));
            })?;
            Ok(worker)
        };
        (1..=worker::count()).map(start).collect::<io::Result<_>>().map(Self)
    }

    /// Hands a connection to the worker with the fewest connections.
    pub(super) fn take(&self, handed: Handed) {
        let least = self.0.iter().min_by_key(|worker| worker.carried.load(Ordering::Relaxed));
        let Some(worker) = least else { return };
        worker.carried.fetch_add(1, Ordering::Relaxed);
        if worker.hand_on.send(handed).is_err() {
            tracing::warn!({ field::CAUSE } = "its thread has ended", "a connection could not be handed over");
        }
    }

    pub(super) fn carried(&self) -> usize {
        self.0.iter().map(|worker| worker.carried.load(Ordering::Relaxed)).sum()
    }

    pub(super) async fn end(&self) {
        let stops: Vec<_> = self.0.iter().filter_map(|worker| worker.stop.lock().take()).collect();
        for (stop, stopped) in stops {
            drop(stop);
            let _ = stopped.await;
        }
    }
}

/// Channel ends and counter of a worker's thread.
struct Ends {
    arrived: mpsc::UnboundedReceiver<Handed>,
    carried: Arc<AtomicUsize>,
    stop: oneshot::Receiver<()>,
    stopped: oneshot::Sender<()>,
    released: oneshot::Receiver<()>,
}

impl Worker {
    fn new() -> (Self, Ends) {
        let ((hand_on, arrived), carried) = (mpsc::unbounded_channel(), Arc::<AtomicUsize>::default());
        let ((stop, stopping), (stopped, has_stopped)) = (oneshot::channel(), oneshot::channel());
        let (_release, released) = oneshot::channel();
        let ends = Ends { arrived, carried: carried.clone(), stop: stopping, stopped, released };
        (Self { hand_on, carried, stop: Mutex::new(Some((stop, has_stopped))), _release }, ends)
    }
}

async fn carry(converse: Converse, ends: Ends) {
    let Ends { mut arrived, carried, mut stop, stopped, released } = ends;
    let mut running = JoinSet::new();
    loop {
        tokio::select! {
            _ = &mut stop => break,
            Some(_) = running.join_next() => {
                carried.fetch_sub(1, Ordering::Relaxed);
            }
            Some(handed) = arrived.recv() => {
                running.spawn(converse(handed));
            }
        }
    }
    running.shutdown().await;
    drop(stopped);
    let _ = released.await;
}
