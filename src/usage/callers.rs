//! Callers: numbered credentials, with the known facts about the people behind them.
//!
//! A credential gets its own number when it has been proven: v1 accepted the key, or the gateway knows its owner. All
//! tokens of one grant have one number: an app that refreshes is one caller, and its tokens do not add callers.
//! May use: `access`, `store`.

use crate::access::{Caller, PrincipalKind};
use crate::store::UsageCaller;
use foldhash::fast::RandomState;
use hmac::{Hmac, Mac};
use parking_lot::{Mutex, RwLock};
use sha2::Sha256;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Number for calls with an unproven credential, or without any.
const UNPROVEN: u32 = 0;
/// Number of credentials beyond the bound.
const OTHER: u32 = 1;
/// Most credentials of one process.
const MOST: usize = 20_000;
/// Most tokens whose grant is remembered; with more, all are dropped and learned again at their next use.
const MOST_TOKENS: usize = 50_000;
/// Most clients of one credential on one day; further clients are counted as one.
const MOST_CLIENTS: usize = 8;
/// Time after which the owner of a key is asked for again.
const AGAIN: Duration = Duration::from_secs(3600);

/// All credentials of this process.
pub(super) struct Callers {
    mac: Hmac<Sha256>,
    known: RwLock<KnownCredentials>,
}

#[derive(Default)]
struct KnownCredentials {
    numbers: HashMap<u64, u32, RandomState>,
    /// Tokens by the numbers of their grants.
    tokens: HashMap<u64, u32, RandomState>,
    all: Vec<Arc<Credential>>,
}

impl KnownCredentials {
    fn number(&self, credential: u64) -> Option<u32> {
        self.tokens.get(&credential).or_else(|| self.numbers.get(&credential)).copied()
    }

    fn add_token(&mut self, token: u64, number: u32) {
        if self.tokens.len() >= MOST_TOKENS {
            self.tokens.clear();
        }
        self.tokens.insert(token, number);
    }
}

#[derive(Default)]
struct Credential {
    fingerprint: Arc<str>,
    proven: AtomicBool,
    /// Source of its owner's name: 0 not known, 1 by the owner that v1 names, 2 by the gateway itself.
    named: AtomicU8,
    /// The day and the client of its last call, packed into one number.
    latest: AtomicU64,
    details: Mutex<Details>,
}

/// The facts about a call that show whether its credential is valid.
#[derive(Debug, Clone, Copy)]
pub(super) struct Proof {
    pub(super) v1: bool,
    pub(super) status: u16,
}

impl Proof {
    fn is_good(self) -> bool {
        // v1 answers some calls before it checks the key; v2 checks first, except for its limit of places (429).
        match self.v1 {
            true => (200..300).contains(&self.status),
            false => !matches!(self.status, 401 | 429) && self.status < 500,
        }
    }
}

#[derive(Default)]
struct Details {
    kind: &'static str,
    person: Arc<str>,
    credential: Option<Uuid>,
    changed: bool,
    asked: Option<Instant>,
    day: u32,
    clients: Vec<u32>,
}

impl Credential {
    /// Returns the number under which a client of this credential is counted on a day.
    fn client(&self, client: u32, day: u32) -> u32 {
        let call = u64::from(day) << 32 | u64::from(client);
        if self.latest.load(Ordering::Relaxed) == call {
            return client;
        }
        let mut details = self.details.lock();
        if details.day != day {
            details.day = day;
            details.clients.clear();
        }
        if !details.clients.contains(&client) {
            if details.clients.len() >= MOST_CLIENTS {
                return super::clients::OTHER;
            }
            details.clients.push(client);
        }
        self.latest.store(call, Ordering::Relaxed);
        client
    }
}

impl Callers {
    pub(super) fn new(secret: &str) -> Self {
        // HMAC accepts a key of any length.
        let mac = Hmac::new_from_slice(secret.as_bytes()).unwrap_or_else(|_| unreachable!("HMAC takes any key"));
        let fixed = |fingerprint: &str| {
            let (proven, named) = (AtomicBool::new(true), AtomicU8::new(2));
            Arc::new(Credential { fingerprint: fingerprint.into(), proven, named, ..Credential::default() })
        };
        let all = vec![fixed("unproven"), fixed(crate::store::OTHER)];
        Self { mac, known: RwLock::new(KnownCredentials { all, ..KnownCredentials::default() }) }
    }

    fn fingerprint(&self, credential: u64) -> String {
        let mut mac = self.mac.clone();
        mac.update(&credential.to_be_bytes());
        hex::encode(&mac.finalize().into_bytes()[..8])
    }

    fn number(&self, credential: u64) -> u32 {
        if let Some(&number) = self.known.read().numbers.get(&credential) {
            return number;
        }
        let fingerprint = self.fingerprint(credential).into();
        let mut known = self.known.write();
        if let Some(&number) = known.numbers.get(&credential) {
            return number;
        }
        if known.all.len() >= MOST {
            return OTHER;
        }
        let number = u32::try_from(known.all.len()).unwrap_or(OTHER);
        known.all.push(Arc::new(Credential { fingerprint, ..Credential::default() }));
        known.numbers.insert(credential, number);
        number
    }

    fn get(&self, number: u32) -> Option<Arc<Credential>> {
        self.known.read().all.get(number as usize).cloned()
    }

    fn find(&self, credential: u64) -> Option<Arc<Credential>> {
        let known = self.known.read();
        known.all.get(known.number(credential)? as usize).cloned()
    }

    /// Returns the numbers under which a call and its client are counted; clients per credential and day are limited.
    pub(super) fn counted(&self, credential: u64, proof: Proof, client: u32, day: u32) -> (u32, u32) {
        let known = self.known.read();
        let found = known.number(credential);
        if let Some(number) = found.filter(|number| known.all[*number as usize].proven.load(Ordering::Relaxed)) {
            return (number, known.all[number as usize].client(client, day));
        }
        drop(known);
        let number = match credential != 0 && proof.is_good() {
            true => found.unwrap_or_else(|| self.number(credential)),
            false => UNPROVEN,
        };
        let Some(known) = self.get(number) else { return (number, client) };
        known.proven.store(true, Ordering::Relaxed);
        (number, known.client(client, day))
    }

    /// Checks whether the owner of a proven v1 key should be asked for.
    pub(super) fn wants_owner(&self, credential: u64) -> bool {
        let Some(known) = self.find(credential) else { return false };
        if known.named.load(Ordering::Relaxed) > 0 || !known.proven.load(Ordering::Relaxed) {
            return false;
        }
        let asked = known.details.lock().asked;
        asked.is_none_or(|asked| asked.elapsed() >= AGAIN)
    }

    /// Checks the same, and if so, notes that the owner has been asked for.
    pub(super) fn asks_owner(&self, credential: u64) -> bool {
        let wanted = self.wants_owner(credential);
        if let Some(known) = self.find(credential).filter(|_| wanted) {
            known.details.lock().asked = Some(Instant::now());
        }
        wanted
    }

    /// Returns the fingerprint of a credential and the person behind it, if known; both empty without a credential.
    pub(super) fn told(&self, credential: u64) -> (Arc<str>, Arc<str>) {
        match self.find(credential) {
            _ if credential == 0 => Default::default(),
            Some(known) => (Arc::clone(&known.fingerprint), Arc::clone(&known.details.lock().person)),
            None => (self.fingerprint(credential).into(), Arc::default()),
        }
    }

    /// Notes the owner of a v1 key.
    pub(super) fn owner(&self, credential: u64, name: &str) {
        if let Some(known) = self.find(credential)
            && known.named.swap(1, Ordering::Relaxed) == 0
        {
            let mut details = known.details.lock();
            details.kind = "v1 key";
            details.person = name.into();
            details.changed = true;
        }
    }

    /// Notes a credential whose owner v2 knows.
    pub(super) fn met(&self, credential: u64, caller: &Caller) {
        if credential == 0 || self.find(credential).is_some_and(|known| known.named.load(Ordering::Relaxed) == 2) {
            return;
        }
        let number = match (caller.kind, caller.credential) {
            (PrincipalKind::OAuth, Some(grant)) => {
                let number = self.number(grant.as_u64_pair().0);
                self.known.write().add_token(credential, number);
                number
            }
            _ => self.number(credential),
        };
        let Some(known) = self.get(number).filter(|known| known.named.load(Ordering::Relaxed) < 2) else { return };
        let mut details = known.details.lock();
        details.kind = match caller.kind {
            PrincipalKind::ApiKey => "v1 key",
            PrincipalKind::OAuth => "app",
            PrincipalKind::Other => "gateway key",
        };
        details.person = caller.user.display_name.as_str().into();
        details.credential = caller.credential;
        details.changed = true;
        known.named.store(2, Ordering::Relaxed);
    }

    pub(super) fn name(&self, number: u32) -> String {
        self.get(number).map_or_else(|| crate::store::OTHER.into(), |known| known.fingerprint.to_string())
    }

    /// Returns the callers with known facts that are not written yet, and marks them as written.
    pub(super) fn changed(&self) -> Vec<UsageCaller> {
        let all = self.known.read().all.clone();
        let changed = all.iter().filter_map(|known| {
            let mut details = known.details.lock();
            std::mem::take(&mut details.changed).then(|| UsageCaller {
                fingerprint: known.fingerprint.to_string(),
                kind: details.kind.into(),
                person: details.person.to_string(),
                title: String::new(),
                credential: details.credential,
            })
        });
        changed.collect()
    }

    /// Marks these callers as not written.
    pub(super) fn not_written(&self, callers: &[UsageCaller]) {
        let fingerprints: HashSet<&str> = callers.iter().map(|caller| caller.fingerprint.as_str()).collect();
        for known in &self.known.read().all {
            if fingerprints.contains(&*known.fingerprint) {
                known.details.lock().changed = true;
            }
        }
    }
}
