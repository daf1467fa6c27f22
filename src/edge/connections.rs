//! All open connections: their limit, and which connection is closed when there are too many.
//!
//! A connection without a request is useful only to its client, and the client can open another at any time. So when
//! there is no place for a new connection, an idle one is closed: of the client with the most connections, the one that
//! has been idle longest. A client that already has its share can replace only its own connections, and only a limited
//! number a second.
//!
//! May use: `load`, `settings`, `tally`, `edge::connection`, `edge::turnover`.

use super::connection::Clock;
use super::turnover::Turnover;
use crate::load::{Asker, Holder, NoPlace, Place, Pool, Share};
use crate::settings::{PublicSettings, Settings};
use crate::tally::Traffic;
use parking_lot::{Mutex, MutexGuard};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

/// Number of connections examined to find one to close. When more are open, each search examines another part.
const LOOKED_AT: usize = 256;

/// The open connections; clones are the same.
#[derive(Clone)]
pub(super) struct Connections(Arc<Inner>);

struct Inner {
    places: Pool,
    public: PublicSettings,
    traffic: Arc<Traffic>,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    open: BTreeMap<u64, Entry>,
    next: u64,
    /// Number of the connection after which the next search begins.
    looked: u64,
    turnover: Turnover,
}

struct Entry {
    clock: Clock,
    holder: Option<Holder>,
    _place: Place,
}

impl Connections {
    /// Creates a table for at most `most` connections, which are counted in `traffic`.
    pub(super) fn new(most: usize, settings: &Settings, traffic: Arc<Traffic>) -> Self {
        let places = Pool::new(most, Share(settings.limits.share));
        Self(Arc::new(Inner { places, public: settings.public.clone(), traffic, table: Mutex::default() }))
    }

    /// Returns the client that a connection from `peer` counts for; none for a trusted proxy, which has many clients.
    pub(super) fn asker(&self, peer: IpAddr) -> Asker {
        Asker::new((!self.0.public.trusts(peer)).then_some(peer), None)
    }

    /// Admits the connection of `clock`, and closes an idle one for it when needed. Returns none when there is no room.
    pub(super) fn admit(&self, peer: IpAddr, clock: &Clock) -> Option<Open> {
        let open = self.taken_in(peer, clock);
        match open {
            Some(_) => self.0.traffic.opened(),
            None => self.0.traffic.turned_away.add(1),
        }
        open
    }

    fn taken_in(&self, peer: IpAddr, clock: &Clock) -> Option<Open> {
        let asker = self.asker(peer);
        let holder = asker.holders().next();
        let place = match self.0.places.enter(asker) {
            Ok(place) => place,
            Err(lack) => {
                let own = holder.filter(|_| lack == NoPlace::Share);
                if own.is_some_and(|holder| !self.table().turnover.may(holder)) {
                    return None;
                }
                self.close_one(own);
                self.0.places.enter(asker).ok()?
            }
        };
        let mut table = self.table();
        table.next += 1;
        let number = table.next;
        table.open.insert(number, Entry { clock: clock.clone(), holder, _place: place });
        Some(Open { connections: self.clone(), number })
    }

    /// Closes an idle connection: of the client with the most connections, the one that has been idle longest. With
    /// `holder`, only connections of that client are considered.
    fn close_one(&self, holder: Option<Holder>) {
        let closed = {
            let mut table = self.table();
            let (mut least, mut last) = (None, 0);
            let mut held = HashMap::new();
            let looked = table.looked;
            let ahead = table.open.range(looked + 1..).chain(table.open.range(..=looked)).take(LOOKED_AT);
            for (number, entry) in ahead {
                last = *number;
                if holder.is_some_and(|_| entry.holder != holder) {
                    continue;
                }
                let Some(since) = entry.clock.idle_since() else { continue };
                let has = *held.entry(entry.holder).or_insert_with(|| self.held_by(entry.holder));
                let missed = (Reverse(has), since, *number);
                if least.is_none_or(|least| missed < least) {
                    least = Some(missed);
                }
            }
            table.looked = last;
            least.and_then(|(.., number)| table.open.remove(&number))
        };
        if let Some(entry) = closed {
            entry.clock.give_up();
        }
    }

    fn held_by(&self, holder: Option<Holder>) -> usize {
        holder.map_or(0, |holder| self.0.places.held_by(holder))
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.table.lock()
    }
}

/// An open connection; gives its place back when dropped.
pub(super) struct Open {
    connections: Connections,
    number: u64,
}

impl Drop for Open {
    fn drop(&mut self) {
        let entry = self.connections.table().open.remove(&self.number);
        drop(entry);
        self.connections.0.traffic.closed();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::Instant;

    fn connections(most: usize) -> (Connections, Settings) {
        let settings = Settings::default();
        (Connections::new(most, &settings, Arc::default()), settings)
    }

    fn from(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    /// Checks whether the connection of `clock` was given up.
    async fn ends(clock: &Clock) -> bool {
        let began = Instant::now();
        clock.expired().await;
        began.elapsed().is_zero()
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_one_makes_room_for_a_newcomer() {
        let (connections, settings) = connections(8);
        let mut held = Vec::new();
        for last in [1, 1, 1, 1, 2, 3, 4, 5] {
            let clock = Clock::start(&settings.listen);
            held.push((connections.admit(from(last), &clock).expect("room"), clock));
            tokio::time::advance(std::time::Duration::from_millis(1)).await;
        }
        let _running = held[0].1.request();
        let newcomer = Clock::start(&settings.listen);
        let _open = connections.admit(from(9), &newcomer).expect("room was made");
        assert!(ends(&held[1].1).await, "the oldest idle one of whoever has most");
        assert!(!ends(&held[4].1).await);
    }

    #[tokio::test]
    async fn busy_connections_are_never_closed_for_a_new_one() {
        let (connections, settings) = connections(4);
        let busy = |last| {
            let clock = Clock::start(&settings.listen);
            let open = connections.admit(from(last), &clock)?;
            Some((clock.request(), open))
        };
        let held: Vec<_> = [1, 1, 2, 3].into_iter().map(busy).collect();
        assert!(held.iter().all(Option::is_some));
        assert!(busy(9).is_none() && busy(1).is_none());
        drop(held);
        assert!(busy(9).is_some());
    }

    #[tokio::test]
    async fn one_whose_answered_body_is_still_read_makes_room() {
        let (connections, settings) = connections(1);
        let clock = Clock::start(&settings.listen);
        let _open = connections.admit(from(1), &clock).expect("room");
        let reading = clock.leftover();
        let sending = clock.request();
        assert!(
            connections.admit(from(2), &Clock::start(&settings.listen)).is_none(),
            "its answer is not sent yet"
        );
        drop(sending);
        assert!(connections.admit(from(2), &Clock::start(&settings.listen)).is_some());
        drop(reading);
        assert!(clock.idle_since().is_some());
    }

    #[tokio::test]
    async fn a_client_at_its_share_can_replace_only_its_own_connections() {
        let (connections, settings) = connections(8);
        let clocks: Vec<_> = (0..5).map(|_| Clock::start(&settings.listen)).collect();
        let lasts = [9, 1, 1, 1, 1];
        let _held: Vec<_> =
            lasts.iter().zip(&clocks).map(|(last, clock)| connections.admit(from(*last), clock)).collect();
        assert!(clocks[0].idle_since().is_some());
        let _busy: Vec<_> = clocks[1..].iter().map(Clock::request).collect();
        assert!(connections.admit(from(1), &Clock::start(&settings.listen)).is_none());
        assert!(connections.admit(from(2), &Clock::start(&settings.listen)).is_some());
    }

    #[tokio::test]
    async fn a_client_at_its_share_replaces_its_connections_at_a_limited_rate() {
        let (connections, settings) = connections(8);
        let clocks: Vec<_> = (0..4).map(|_| Clock::start(&settings.listen)).collect();
        let mut open: Vec<_> = clocks.iter().map(|clock| connections.admit(from(1), clock)).collect();
        let mut come = |last, times| {
            let admitted =
                (0..times).filter_map(|_| connections.admit(from(last), &Clock::start(&settings.listen)));
            let admitted: Vec<_> = admitted.collect();
            let count = admitted.len();
            open.extend(admitted.into_iter().map(Some));
            count
        };
        assert!((1..100).contains(&come(1, 1000)), "its own are replaced, but not without end");
        assert_eq!(come(2, 1), 1, "others come in");
    }

    #[tokio::test]
    async fn a_closed_connection_frees_its_place() {
        let (connections, settings) = connections(1);
        let clock = Clock::start(&settings.listen);
        let open = connections.admit(from(1), &clock).expect("room");
        let _running = clock.request();
        assert!(connections.admit(from(2), &Clock::start(&settings.listen)).is_none());
        drop(open);
        assert!(connections.admit(from(2), &Clock::start(&settings.listen)).is_some());
    }
}
