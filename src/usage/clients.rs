//! The clients of this process, by number, within bounds.
//!
//! May use: `store` (the name of what is beyond the bounds), this folder.

use super::client::client_of;
use foldhash::quality::RandomState;
use parking_lot::RwLock;
use std::cell::Cell;
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

/// Most different User-Agent texts that are remembered.
const MOST_TEXTS: usize = 10_000;
/// Most different clients of one process.
const MOST: usize = 2_000;

/// Number for all clients beyond the bounds.
pub(super) const OTHER: u32 = 0;

thread_local! {
    /// The last client of this thread: the hash of its text (different in each set of clients) and its number.
    static LAST: Cell<(u64, u32)> = const { Cell::new((0, OTHER)) };
}

/// The clients of this process, by number.
#[derive(Debug, Default)]
pub(super) struct Clients {
    hasher: RandomState,
    known: RwLock<KnownClients>,
}

impl Clients {
    /// Returns the number of the client that sent this header.
    pub(super) fn of(&self, agent: Option<&[u8]>) -> u32 {
        let text = self.hasher.hash_one(agent);
        let (last, number) = LAST.get();
        if last == text && number != OTHER {
            return number;
        }
        let number = self.number(text, agent);
        LAST.set((text, number));
        number
    }

    fn number(&self, text: u64, agent: Option<&[u8]>) -> u32 {
        if let Some(&known) = self.known.read().by_text.get(&text) {
            return known;
        }
        let name = client_of(agent);
        let mut known = self.known.write();
        let number = match known.names.iter().position(|known| **known == *name) {
            Some(number) => number,
            None if known.names.len() < MOST => {
                known.names.push(name.into());
                known.names.len() - 1
            }
            None => OTHER as usize,
        };
        let number = u32::try_from(number).unwrap_or(OTHER);
        if known.by_text.len() < MOST_TEXTS {
            known.by_text.insert(text, number);
        }
        number
    }

    pub(super) fn name(&self, number: u32) -> Arc<str> {
        let known = self.known.read();
        Arc::clone(known.names.get(number as usize).unwrap_or(&known.names[0]))
    }
}

#[derive(Debug)]
struct KnownClients {
    by_text: HashMap<u64, u32, RandomState>,
    names: Vec<Arc<str>>,
}

impl Default for KnownClients {
    fn default() -> Self {
        Self { by_text: HashMap::default(), names: vec![crate::store::OTHER.into()] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_only_so_many() {
        let clients = Clients::default();
        for number in 0..MOST_TEXTS + 100 {
            let agent = format!("tool-{number}/1");
            let name = clients.name(clients.of(Some(agent.as_bytes())));
            assert_eq!(*name, *if number < MOST - 1 { agent } else { "other".into() });
        }
        assert_eq!(clients.known.read().by_text.len(), MOST_TEXTS);
    }
}
