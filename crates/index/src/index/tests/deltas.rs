//! The reads of one process, applied by another process that has missed some, has written itself or gets damaged
//! messages. May use: `fresh`, `store` (turns and what is told), this folder.

use super::memory::Memory;
use super::model::{Model, SMALL, Write, content, run};
use super::{building, id, plain_item};
use crate::fresh::{Changes, Clock, Moment};
use crate::index::delta::{Delta, MOST, Recorder, RefreshMessage, of_bytes, to_bytes};
use crate::index::deployment::SharedPlace;
use crate::index::known::{IndexInProgress, ReceivedRead, RowsFromV1};
use crate::index::local_write::LocalWrite;
use crate::index::local_write::removed;
use crate::index::pace::Pace;
use crate::index::progress::Progress;
use crate::index::refresh::Refresh;
use crate::index::shared_reads::MessageContent;
use crate::index::source::Source;
use crate::index::verified::Verified;
use crate::store::TakenTurn;
use std::sync::Arc;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// A model, and a process that refreshes and publishes its reads.
struct Teller {
    model: Model,
    clock: Clock,
    changes: Changes,
    verified: Verified,
    number: i64,
}

/// A process that receives the reads.
struct Hearer {
    known: IndexInProgress,
    local: Vec<(Instant, LocalWrite)>,
}

/// A published message: its number, the start of its turn, and its bytes.
struct Sent(i64, Instant, Vec<u8>);

impl Teller {
    async fn new(items: usize) -> (Self, Hearer) {
        let model = Model::of(items);
        model.world().clock += 60_000_000;
        let verified = building::built(&model, building::begin(&model)).await.expect("a build").verified;
        let clock = Clock::stopped();
        let changes = Changes::new(clock.clone());
        let began: Moment = changes.now();
        let shown = RowsFromV1 { verified: verified.clone(), number: Some(7), ended: clock.now() };
        let known = IndexInProgress::kept(verified.clone(), shown, began, Some(began.at));
        (Self { model, clock, changes, verified, number: 7 }, Hearer { known, local: Vec::new() })
    }

    /// Carries out `writes` of another client, then refreshes. `local` are removals by this process.
    async fn reads(&mut self, writes: &[Write], local: &[(Instant, LocalWrite)]) -> Sent {
        for write in writes {
            self.model.world().carry_out(*write);
        }
        self.model.world().clock += 1_000_000;
        self.clock.advance(Duration::from_secs(1));
        let (began, clock) = (self.clock.now(), || self.clock.now());
        let mut base = self.verified.clone();
        local.iter().for_each(|(_, local)| _ = local.clone().apply(&mut base.rows));
        let recorder = Recorder::new(&self.model, &clock, began, MOST);
        self.verified = refreshed(&recorder, base, &clock).await;
        let delta = recorder.delta(false, removed(local).into_iter().collect(), Vec::new()).expect("not too much");
        self.number += 1;
        self.clock.advance(Duration::from_secs(1));
        Sent(self.number, began, to_bytes("list", RefreshMessage::Answers(delta)).expect("bytes"))
    }

    /// Returns whether a process could apply the message.
    async fn takes(&self, hearer: &mut Hearer, Sent(number, at, bytes): &Sent) -> bool {
        let Ok(RefreshMessage::Answers(what)) = of_bytes("list", bytes) else { panic!("answers") };
        let heard = ReceivedRead { number: *number, at: *at, what };
        hearer.known.follow(heard, &hearer.local, SMALL, &self.changes, self.clock.now()).await
    }

    fn is_known(&self, hearer: &Hearer) -> bool {
        content(&hearer.known.with(hearer.local.clone()).0) == self.model.truth()
    }
}

async fn refreshed(source: &impl Source, base: Verified, clock: &(dyn Fn() -> Instant + Sync)) -> Verified {
    let (progress, pace) = (&Progress::default(), &Pace::default());
    let refresh =
        Refresh { source, sizes: SMALL, progress, pace, patient: false, sweep: false, proof: None, clock };
    refresh.run(base, || (), Default::default).await.expect("a still project").verified
}

#[test]
fn deltas_in_order_keep_another_process_up_to_date() {
    run(async {
        let (mut teller, mut hearer) = Teller::new(14).await;
        // A change, a new item, a removal found by a sweep, and a removal with a creation that leaves the count the
        // same.
        for write in [Write::Update(3, 0), Write::Create, Write::Delete(2), Write::Swap(5), Write::Nothing] {
            let sent = teller.reads(&[write], &[]).await;
            assert!(teller.takes(&mut hearer, &sent).await, "{write:?}");
            assert!(teller.is_known(&hearer), "{write:?}");
        }
        assert_eq!(hearer.known.shown.number, Some(12));
    });
}

#[test]
fn a_gap_that_matters_is_not_passed_over() {
    run(async {
        let (mut teller, mut hearer) = Teller::new(14).await;
        let _missed = teller.reads(&[Write::Delete(2)], &[]).await;
        let sent = teller.reads(&[Write::Update(3, 0)], &[]).await;
        assert!(!teller.takes(&mut hearer, &sent).await, "the count does not add up");
        assert!(!hearer.known.has_applied);
        let (mut teller, mut hearer) = Teller::new(14).await;
        let _missed = teller.reads(&[1, 2, 3, 4, 5, 6].map(|at| Write::Update(at, 0)), &[]).await;
        let sent = teller.reads(&[Write::Update(7, 0)], &[]).await;
        let fits = teller.takes(&mut hearer, &sent).await;
        assert!(!fits || teller.is_known(&hearer), "what changed meanwhile is not on the pages, or all of it is");
    });
}

#[test]
fn a_gap_that_does_not_matter_costs_nothing() {
    run(async {
        let (mut teller, mut hearer) = Teller::new(14).await;
        for _ in 0..3 {
            teller.reads(&[], &[]).await;
        }
        let sent = teller.reads(&[Write::Update(3, 0)], &[]).await;
        assert!(teller.takes(&mut hearer, &sent).await && teller.is_known(&hearer));
    });
}

#[test]
fn repeated_and_late_deltas_change_nothing() {
    run(async {
        let (mut teller, mut hearer) = Teller::new(14).await;
        let first = teller.reads(&[Write::Update(3, 0)], &[]).await;
        let second = teller.reads(&[Write::Update(3, 0)], &[]).await;
        assert!(teller.takes(&mut hearer, &second).await, "all of it is on its page");
        assert!(!teller.takes(&mut hearer, &second).await, "twice");
        assert!(!teller.takes(&mut hearer, &first).await, "late");
        assert!(teller.is_known(&hearer));
    });
}

#[test]
fn a_delta_from_during_an_own_read_is_not_applied() {
    run(async {
        let (mut teller, hearer) = Teller::new(14).await;
        let sent = teller.reads(&[], &[]).await;
        teller.model.world().carry_out(Write::Update(3, 0));
        let verified = refreshed(&teller.model, teller.verified.clone(), &|| teller.clock.now()).await;
        // A read that the other process does not know: it begins before the other read and ends after it.
        let began = hearer.known.began;
        let shown = RowsFromV1 { verified: verified.clone(), number: None, ended: teller.clock.now() };
        let mut hearer = Hearer { known: IndexInProgress::kept(verified, shown, began, None), local: Vec::new() };
        assert!(!teller.takes(&mut hearer, &sent).await, "it would take a change back");
        let later = teller.reads(&[], &[]).await;
        assert!(teller.takes(&mut hearer, &later).await && teller.is_known(&hearer));
    });
}

#[test]
fn an_own_removal_does_not_hide_another_one() {
    run(async {
        let (mut teller, mut hearer) = Teller::new(14).await;
        // Another client removes an item before the read, this process another one after it: the count is as v1's.
        teller.model.world().carry_out(Write::Delete(2));
        let sent = teller.reads(&[], &[]).await;
        let mine = teller.model.truth()[0].id;
        teller.model.world().shown.retain(|item| item.id != mine);
        hearer.local.push((teller.clock.now(), LocalWrite::Gone(mine)));
        let fits = teller.takes(&mut hearer, &sent).await;
        assert!(fits && teller.is_known(&hearer), "both are gone");
    });
}

#[test]
fn own_writes_stay_over_what_was_read_before_them() {
    run(async {
        let (mut teller, mut hearer) = Teller::new(14).await;
        let sent = teller.reads(&[Write::Update(3, 0)], &[]).await;
        let mut mine = plain_item(id(9, 1));
        (mine.name, mine.updated_at) = ("mine".into(), teller.model.world().clock);
        let changed = {
            let mut world = teller.model.world();
            world.clock += 1000;
            let now = world.clock;
            world.shown[3].updated_at = now;
            world.shown[3].name.push_str(" by us");
            let changed = world.shown[3].clone();
            world.shown.push(mine.clone());
            changed
        };
        for local in [LocalWrite::of(&mine), LocalWrite::of(&changed)] {
            hearer.local.push((teller.clock.now(), local));
        }
        assert!(teller.takes(&mut hearer, &sent).await, "what was made since is not counted");
        assert!(teller.is_known(&hearer));
    });
}

#[test]
fn an_own_removal_is_told_without_comparing_all_ids() {
    run(async {
        let (mut teller, mut hearer) = Teller::new(14).await;
        let gone = teller.model.truth()[4].id;
        teller.model.world().shown.retain(|item| item.id != gone);
        teller.model.world().sweeps = 0;
        let local = [(teller.clock.now(), LocalWrite::Gone(gone))];
        let sent = teller.reads(&[], &local).await;
        assert!(teller.takes(&mut hearer, &sent).await && teller.is_known(&hearer));
        assert_eq!(teller.model.world().sweeps, 0);
    });
}

#[test]
fn nothing_damaged_or_of_another_list_is_read() {
    run(async {
        let (mut teller, _) = Teller::new(5).await;
        let Sent(_, _, whole) = teller.reads(&[Write::Update(3, 0)], &[]).await;
        assert!(of_bytes("list", &whole).is_ok());
        assert_eq!(of_bytes("list of guests", &whole).err(), Some("it belongs to another list"));
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            assert!(of_bytes("list", &damaged).is_err(), "byte {at}");
            assert!(of_bytes("list", &whole[..at]).is_err(), "cut off at {at}");
        }
        let index = crate::index::files::to_bytes("list", &teller.verified).expect("bytes");
        assert!(of_bytes("list", &index).is_err(), "an index is no delta");
    });
}

#[test]
fn too_much_is_not_noted() {
    run(async {
        let model = Model::of(14);
        let clock = Instant::now;
        let recorder = Recorder::new(&model, &clock, Instant::now(), 1000);
        let _ = refreshed(&recorder, Verified::default(), &clock).await;
        assert!(recorder.delta(false, Vec::new(), Vec::new()).is_none());
    });
}

/// Ids of the known items.
fn ids(verified: &Verified) -> Vec<Uuid> {
    content(verified).into_iter().map(|item| item.id).collect()
}

#[test]
fn a_whole_index_takes_the_place_of_what_is_known() {
    run(async {
        let (mut teller, mut hearer) = Teller::new(14).await;
        let Sent(number, at, _) = teller.reads(&[Write::Delete(1), Write::Create], &[]).await;
        let now = teller.clock.now();
        let heard = |number| ReceivedRead { number, at, what: teller.verified.clone() };
        assert!(!hearer.known.replace(heard(number - 1), &teller.changes, now), "late");
        assert!(hearer.known.replace(heard(number), &teller.changes, now));
        let gone = ids(&teller.verified)[0];
        let (with, shown) = hearer.known.with(vec![(now, LocalWrite::Gone(gone))]);
        assert!(!ids(&with).contains(&gone) && ids(&shown.verified).contains(&gone));
        assert_eq!(
            ids(&hearer.known.base(None)).len(),
            14,
            "where local writes are not known it is what was found"
        );
    });
}

#[test]
fn a_change_too_large_for_a_delta_is_passed_on_as_the_whole_index() {
    run(async {
        let (mut teller, hearer) = Teller::new(14).await;
        let memory = Memory::new(teller.clock.clone());
        let place = SharedPlace { deployment: Arc::clone(&memory) as _, identity: "list".into() };
        teller.reads(&[Write::Delete(1), Write::Create], &[]).await;
        let Some(TakenTurn::Mine(turn)) = place.refresher().await else { panic!("nobody else") };
        assert_eq!(place.tell_read(turn, None, &teller.verified).await, Some(1));
        let mut hearer = Hearer { local: Vec::new(), ..hearer };
        hearer.known =
            IndexInProgress::found(hearer.known.base(None), Changes::new(teller.clock.clone()).now(), None);
        // Only turns that began after the end of the known read are returned; here there are none.
        assert_eq!(place.told(&hearer.known, teller.clock.now()).await.map(|told| told.len()), Some(0));
        teller.clock.advance(Duration::from_secs(1));
        let Some(TakenTurn::Mine(turn)) = place.refresher().await else { panic!("nobody else") };
        assert_eq!(place.tell_read(turn, None, &teller.verified).await, Some(2));
        let told = place.told(&hearer.known, teller.clock.now()).await.expect("an answer");
        let [ReceivedRead { number: 2, what: MessageContent::Whole(whole), .. }] = &told[..] else {
            panic!("an index")
        };
        assert_eq!(content(whole), teller.model.truth());
        place.save(Verified::default(), Duration::ZERO).await.expect("kept");
        let told = place.told(&hearer.known, teller.clock.now()).await;
        assert_eq!(told.map(|told| told.len()), Some(0), "another index lies there now");
    });
}

#[test]
fn answers_are_not_given_twice() {
    run(async {
        let (mut teller, hearer) = Teller::new(14).await;
        let Sent(_, at, bytes) = teller.reads(&[Write::Delete(2)], &[]).await;
        let delta = || -> Delta {
            match of_bytes("list", &bytes) {
                Ok(RefreshMessage::Answers(delta)) => delta,
                _ => panic!("answers"),
            }
        };
        let base = hearer.known.base(None);
        let replayed = delta().replay(base, SMALL, at).await.expect("it fits");
        assert_eq!(content(&replayed.verified), teller.model.truth());
        let nothing = Verified::default();
        assert!(delta().replay(nothing, SMALL, at).await.is_none(), "rows that were not read");
    });
}
