//! Proofs of access in Redis: sealed, under names that only processes with the secret can compute.
//!
//! The proofs of one key of v1 are stored in one place, so that they end together. Each stored proof contains the time
//! when its read began, so that a stranger with write access to Redis cannot make an old proof young. A refusal is
//! announced to all processes.
//!
//! May use: `access`, `fresh`, `oauth` (the keyring), `shared`, `task`, `units`, `v1`; it is composition.

use crate::access::{SharedProof, SharedProofs};
use crate::fresh::{Changed, Changes};
use crate::oauth::Keyring;
use crate::shared::{Call, Script, Shared};
use crate::task::spawn;
use crate::units::{millis, now_micros};
use crate::v1::KeyId;
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Time to wait for another process that is asking v1.
const ASKING: Duration = Duration::from_secs(2);
/// Time between two checks for its answer.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// Longest time for a message to reach Redis.
const SENDING: Duration = Duration::from_millis(50);
/// Longest time that a read which began before a refusal may still take.
const REMEMBERED: Duration = Duration::from_secs(120);
const REFUSALS: &str = "refusals";

static LOOK: Script = Script::new(include_str!("proofs/look.lua"));
static KEEP: Script = Script::new(include_str!("proofs/keep.lua"));
static REFUSE: Script = Script::new(include_str!("proofs/refuse.lua"));

/// The proofs of all processes; cheap to clone.
#[derive(Clone)]
pub(super) struct Proofs {
    shared: Shared,
    keyring: Keyring,
    process: Uuid,
}

/// A proof as it is stored in Redis.
#[derive(Serialize, Deserialize)]
struct StoredProof {
    proof: String,
    /// When v1 was asked, in milliseconds of the Unix time.
    asked: u64,
}

/// Message to all processes about a refusal.
#[derive(Serialize, Deserialize)]
struct RefusalMessage {
    by: Uuid,
    key: [u8; 32],
    /// Whether the key itself was refused.
    all: bool,
}

impl Proofs {
    /// Returns the proofs, when Redis and the secrets are both configured; else none.
    pub(super) fn of(shared: Option<&Shared>, keyring: Option<&Keyring>) -> Option<Self> {
        let (shared, keyring) = (shared?.clone(), keyring?.clone());
        Some(Self { shared, keyring, process: Uuid::new_v4() })
    }

    /// Returns the key in Redis, and the name of the proof under that key.
    fn place(&self, key: KeyId, of: &str) -> (String, String) {
        let name = |what: &[&[u8]]| self.keyring.name("proofs of access", what);
        (self.shared.key("proofs", &name(&[&key.0])), name(&[&key.0, of.as_bytes()]))
    }

    async fn unseal<T: DeserializeOwned>(&self, sealed: &[u8], place: &str) -> Option<T> {
        self.keyring.unseal_value(std::str::from_utf8(sealed).ok()?, place).await
    }

    /// Sends a call whose result is not needed.
    fn send(&self, call: Call) {
        let shared = self.shared.clone();
        spawn(async move { drop(shared.run_one(call).await) });
    }

    /// Receives refusals of other processes, and reports them to `changes`.
    pub(super) async fn listen(self, changes: Changes) {
        let mut news = self.shared.listen(REFUSALS);
        while let Some(message) = news.next().await {
            let refused: Option<RefusalMessage> = self.unseal(&message, REFUSALS).await;
            // This process has reported its own refusals to `changes` already, before it asked v1 again.
            if let Some(RefusalMessage { key, all, .. }) = refused.filter(|refused| refused.by != self.process) {
                changes.tell(if all { Changed::Identity(key) } else { Changed::KeyAccess(key) });
            }
        }
    }

    async fn find(self, key: String, of: String, max_age: Duration) -> Option<SharedProof> {
        let patience = Instant::now() + ASKING;
        loop {
            let look = LOOK.on([&key]).text(&of).number(millis(ASKING)).number(millis(max_age));
            let told = self.shared.run_one(look).await.ok()?;
            match told.number(0)? {
                1 => {
                    let written: StoredProof = self.unseal(told.text(2)?, &of).await?;
                    let by_redis = Duration::from_millis(u64::try_from(told.number(1)?).ok()?);
                    let by_clock = Duration::from_millis(unix_millis().saturating_sub(written.asked));
                    return Some(SharedProof { proof: written.proof, age: by_redis.max(by_clock) });
                }
                2 if Instant::now() < patience => tokio::time::sleep(LOOK_AGAIN).await,
                _ => return None,
            }
        }
    }
}

impl SharedProofs for Proofs {
    fn look(&self, key: KeyId, of: &str, max_age: Duration) -> BoxFuture<'static, Option<SharedProof>> {
        let (key, of) = self.place(key, of);
        Box::pin(self.clone().find(key, of, max_age))
    }

    fn keep(&self, key: KeyId, of: &str, proof: &str, age: Duration, lasts: Duration) {
        // The age at which the proof arrives in Redis.
        let (age, (key, of)) = (age + SENDING, self.place(key, of));
        let asked = unix_millis().saturating_sub(u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
        let Some(sealed) = self.keyring.seal_value(&StoredProof { proof: proof.to_owned(), asked }, &of) else {
            return;
        };
        self.send(KEEP.on([&key]).text(&of).number(millis(age)).number(millis(lasts)).text(sealed));
    }

    fn give_up(&self, key: KeyId, of: &str) {
        let (key, of) = self.place(key, of);
        self.send(KEEP.on([&key]).text(&of).number(0).number(0).text(""));
    }

    fn refused(&self, key: KeyId, of: Option<&str>) {
        let (place, name) = self.place(key, of.unwrap_or_default());
        let told = RefusalMessage { by: self.process, key: key.0, all: of.is_none() };
        let Some(message) = self.keyring.seal_value(&told, REFUSALS) else { return };
        let name = if of.is_some() { name } else { String::new() };
        let call = REFUSE.on([&place]).text(name).number(millis(REMEMBERED));
        self.send(call.text(self.shared.channel(REFUSALS)).text(message));
    }
}

fn unix_millis() -> u64 {
    now_micros().unsigned_abs() / 1_000
}
