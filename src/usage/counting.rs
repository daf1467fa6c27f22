//! Marks calls on arrival and counts them when they are answered; both only touch memory. The counts since the
//! last write are split into several parts, so that threads rarely wait for each other.
//!
//! May use: `access` (who a credential belongs to), `context`, `edge` (its traits), `plan`, `units`, `v1` (keys), this
//! folder.

use super::callers::{Callers, Proof};
use super::clients::Clients;
use super::names::{Names, Operations};
use crate::access::Caller;
use crate::access::credential::presented_id;
use crate::context::Context;
use crate::edge::{Arrived, Counting, Sender};
use crate::plan::Plan;
use crate::units::since_1970;
use crate::v1::{API_KEY, KeyId, V1Key};
use foldhash::fast::RandomState;
use http::header::USER_AGENT;
use http::{HeaderMap, Method};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::mpsc;

const DAY: u64 = 86_400;
/// Most v1 keys whose owner is still to be asked for.
const WAITING: usize = 64;

/// Counts the operations of a plan; cheap to clone.
#[derive(Clone)]
pub struct Usage {
    pub(super) inner: Arc<Inner>,
    operations: Arc<Operations>,
}

/// The counts and names, which do not depend on the plan.
pub(super) struct Inner {
    pub(super) names: Names,
    pub(super) callers: Callers,
    pub(super) clients: Clients,
    pub(super) tally: Tally,
    unknown: Option<mpsc::Sender<(u64, V1Key)>>,
}

/// v1 keys that pass through and whose owner is unknown.
pub type UnknownKeys = mpsc::Receiver<(u64, V1Key)>;

impl Usage {
    /// Counts calls of the operations of `plan`; fingerprints are made with `secret`. With `learn`, v1 keys that
    /// pass through are handed out, so that a task can ask for their owners.
    pub fn new(plan: Arc<Plan>, secret: &str, learn: bool) -> (Self, UnknownKeys) {
        let (send, receive) = mpsc::channel(WAITING);
        let inner = Inner {
            names: Names::default(),
            callers: Callers::new(secret),
            clients: Clients::default(),
            tally: Tally::default(),
            unknown: learn.then_some(send),
        };
        let operations = Arc::new(Operations::new(plan, &inner.names));
        (Self { inner: Arc::new(inner), operations }, receive)
    }

    /// Returns the same counts, for calls of the operations of another plan from now on.
    pub fn with_plan(&self, plan: &Arc<Plan>) -> Self {
        let operations = Arc::new(Operations::new(Arc::clone(plan), &self.inner.names));
        Self { inner: Arc::clone(&self.inner), operations }
    }

    /// Notes that the credential belongs to this caller.
    pub fn met(&self, credential: u64, caller: &Caller) {
        self.inner.callers.met(credential, caller);
    }

    /// Notes the owner of a v1 key that passes through.
    pub(crate) fn owner(&self, credential: u64, name: &str) {
        self.inner.callers.owner(credential, name);
    }
}

/// Returns the first 8 bytes of a credential's SHA-256: its id in the counts and in the accounts of v1's quota.
pub fn beginning(id: [u8; 32]) -> u64 {
    id[..8].try_into().map_or(0, u64::from_be_bytes)
}

/// Returns the days since 1970 UTC.
pub fn today() -> u32 {
    u32::try_from(since_1970().as_secs() / DAY).unwrap_or(u32::MAX)
}

impl Counting for Usage {
    fn arrived(&self, method: &Method, path: &str, headers: &HeaderMap, context: &Context) -> Arrived {
        let inner = &*self.inner;
        let client = inner.clients.of(headers.get(USER_AGENT).map(http::HeaderValue::as_bytes));
        let v1 = path.starts_with("/api/v1/");
        if !v1 {
            return Arrived { v1, operation: 0, client, credential: 0, unknown_key: None };
        }
        let operation = self.operations.of_v1(&inner.names, method.as_str(), path);
        let passed = KeyId::passed(headers, &context.meter).map(|key| key.0);
        // v1 answers a preflight without a look at its key (`errors_options_preflight`), so it proves none.
        let credential = match *method == Method::OPTIONS {
            true => 0,
            false => passed.or_else(|| presented_id(headers)).map_or(0, beginning),
        };
        let wanted = inner.unknown.is_some() && inner.callers.wants_owner(credential);
        let key = if wanted { headers.get(API_KEY).and_then(|key| key.to_str().ok()) } else { None };
        Arrived { v1, operation, client, credential, unknown_key: key.map(|key| key.trim().into()) }
    }

    fn answered(&self, arrived: &Arrived, context: &Context, status: u16) {
        let inner = &*self.inner;
        // Only for a key that v1 has just accepted: a refused key has no owner.
        if let (Some(unknown), Some(key), 200..300) = (&inner.unknown, &arrived.unknown_key, status)
            && inner.callers.asks_owner(arrived.credential)
        {
            // When too many keys wait, the next call of this key asks again.
            let _ = unknown.try_send((arrived.credential, V1Key::new(key)));
        }
        let credential = credential(arrived, context);
        let operation = match arrived.v1 {
            true => arrived.operation,
            false => self.operations.of_v2(context.meter.operation()),
        };
        let day = today();
        let class = u8::try_from(status / 100).unwrap_or(0);
        let proof = Proof { v1: arrived.v1, status };
        let (caller, client) = inner.callers.counted(credential, proof, arrived.client, day);
        inner.tally.add(Key { day, operation, class, caller, client });
    }

    fn sender(&self, arrived: &Arrived, context: &Context) -> Sender {
        let (credential, owner) = self.inner.callers.told(credential(arrived, context));
        Sender { client: self.inner.clients.name(arrived.client), credential, owner }
    }
}

/// Returns the credential of a call; 0 without one.
fn credential(arrived: &Arrived, context: &Context) -> u64 {
    match arrived.v1 {
        true => arrived.credential,
        false => context.meter.spender().map_or(0, |spender| spender.credential),
    }
}

const PARTS: usize = 16;
/// Most counts in one part: while the store cannot be written, further counts are lost.
const MOST: usize = 20_000;

/// The key under which a call is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) day: u32,
    pub(super) operation: u32,
    pub(super) class: u8,
    pub(super) caller: u32,
    pub(super) client: u32,
}

/// Counts of some threads, in processor cache lines that no other part shares.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Part(Mutex<HashMap<Key, i64, RandomState>>);

#[derive(Debug, Default)]
pub(super) struct Tally {
    parts: [Part; PARTS],
    lost: AtomicUsize,
}

thread_local! {
    static PART: usize = {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        NEXT.fetch_add(1, Ordering::Relaxed) % PARTS
    };
}

impl Tally {
    pub(super) fn add(&self, key: Key) {
        let part = PART.with(|part| *part);
        let mut part = self.parts[part].0.lock();
        if let Some(calls) = part.get_mut(&key) {
            *calls += 1;
        } else if part.len() < MOST {
            part.insert(key, 1);
        } else {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn take(&self) -> HashMap<Key, i64> {
        let mut all = HashMap::new();
        for part in &self.parts {
            for (key, calls) in std::mem::take(&mut *part.0.lock()) {
                *all.entry(key).or_default() += calls;
            }
        }
        all
    }

    /// Returns the number of calls that could not be counted since this function was last called.
    pub(super) fn lost(&self) -> usize {
        self.lost.swap(0, Ordering::Relaxed)
    }
}
