//! Several processes in front of the model that share their reads. In any order of writes, reads and failures between
//! them, no caller is shown anything that did not exist at the time the answer stands for.
//!
//! The plain reference is the history of each item. An answer stands for the moment at which its read began. Every
//! version of an item that it shows must have existed then or later. It must not be older than the last write to the
//! item that was acknowledged before the request. May use: `fresh`, `store` (turns), `translate`, this
//! folder.

use super::memory::{Memory, Way};
use super::model::{Model, SMALL, Write, content, run};
use super::{building, cases};
use crate::fresh::{Changed, Changes, Clock, Moment};
use crate::index::delta::{MOST, Recorder};
use crate::index::deployment::SharedPlace;
use crate::index::known::{IndexInProgress, ReceivedRead, RowsFromV1};
use crate::index::local_write::LocalWrite;
use crate::index::local_write::{LocalWriteLog, removed};
use crate::index::pace::Pace;
use crate::index::progress::Progress;
use crate::index::refresh::{Refresh, Refreshed};
use crate::index::shared_reads::MessageContent;
use crate::index::verified::Verified;
use crate::store::{DeltaTurn, TakenTurn};
use crate::translate::work_items::Item;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};
use uuid::Uuid;

const PROCESSES: usize = 3;
const FRESH: Duration = Duration::from_secs(5);
const SWEEP: Duration = Duration::from_secs(60);

/// One step of a test.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// A client writes to v1 directly, past all processes.
    Foreign(Write),
    /// A process writes.
    LocalWrite(usize, Write),
    /// Milliseconds pass.
    Pause(u64),
    /// A process gets a request.
    Ask(usize, Way),
    /// A process gets a request, and v1's answer arrives only later.
    Begin(usize),
    /// The delayed answer of v1 arrives.
    End(usize),
    /// The present turn was held too long and is lost.
    LoseTurn,
    /// A process keeps its index for processes that restart.
    Keep(usize),
    /// A process restarts.
    Restart(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let number = any::<usize>;
    let write = prop_oneof![
        2 => Just(Write::Create),
        4 => (number(), 0..5000_i64).prop_map(|(at, late)| Write::Update(at, late)),
        2 => number().prop_map(Write::Delete),
        1 => number().prop_map(Write::Archive),
        1 => number().prop_map(Write::Restore),
        1 => number().prop_map(Write::Swap),
    ];
    // A gateway writes one item at a time.
    let local = prop_oneof![
        2 => Just(Write::Create),
        3 => (number(), 0..1_i64).prop_map(|(at, late)| Write::Update(at, late)),
        2 => number().prop_map(Write::Delete),
        1 => number().prop_map(Write::Archive),
        1 => number().prop_map(Write::Restore),
    ];
    let way = prop_oneof![
        8 => Just(Way::Well),
        1 => Just(Way::Nothing),
        1 => Just(Way::WithoutTheFirst),
        1 => Just(Way::Backwards),
        1 => Just(Way::Twice),
        1 => Just(Way::Damaged),
        1 => Just(Way::Away),
    ];
    let process = || 0..PROCESSES;
    let step = prop_oneof![
        4 => write.prop_map(Step::Foreign),
        4 => (process(), local).prop_map(|(which, write)| Step::LocalWrite(which, write)),
        4 => (0..7_000_u64).prop_map(Step::Pause),
        12 => (process(), way).prop_map(|(which, way)| Step::Ask(which, way)),
        3 => process().prop_map(Step::Begin),
        3 => process().prop_map(Step::End),
        1 => Just(Step::LoseTurn),
        1 => process().prop_map(Step::Keep),
        1 => process().prop_map(Step::Restart),
    ];
    proptest::collection::vec(step, 1..60)
}

/// One process.
struct Process {
    changes: Changes,
    kept: Option<Kept>,
    log: LocalWriteLog,
    /// Whether another process wrote since the last request to this one.
    told: bool,
    reading: Option<Reading>,
}

#[derive(Clone)]
struct Kept {
    whole: Verified,
    shown: RowsFromV1,
    began: Moment,
    swept: Option<Instant>,
}

/// A read whose answer has not arrived yet.
struct Reading {
    asked: Instant,
    refreshed: Refreshed<Moment>,
    recorder: Option<(crate::index::delta::Delta, DeltaTurn)>,
    ended: Instant,
    /// Local writes since it began.
    amendments: Vec<LocalWrite>,
}

/// All processes, and the times of all writes.
struct World {
    model: Model,
    clock: Clock,
    at: i64,
    memory: Arc<Memory>,
    place: SharedPlace,
    processes: Vec<Process>,
    kept: Verified,
    project: Uuid,
    /// Versions of each item, each with the time since when it existed.
    history: BTreeMap<Uuid, Vec<(Instant, Option<Item>)>>,
    /// When the last write to an item was acknowledged.
    acknowledged: HashMap<Uuid, Instant>,
    /// Number of answers from the read of another process.
    heard: usize,
}

impl World {
    async fn new(items: usize) -> Self {
        let (model, clock) = (Model::of(items), Clock::stopped());
        let kept = building::built(&model, building::begin(&model)).await.expect("a build").verified;
        let memory = Memory::new(clock.clone());
        let place = SharedPlace { deployment: Arc::clone(&memory) as _, identity: "members".into() };
        let process = || Process {
            changes: Changes::new(clock.clone()),
            kept: None,
            log: LocalWriteLog::default(),
            told: false,
            reading: None,
        };
        let (processes, at) = ((0..PROCESSES).map(|_| process()).collect(), model.world().clock);
        let began = clock.now();
        let history = model.truth().into_iter().map(|item| (item.id, vec![(began, Some(item))])).collect();
        let (project, acknowledged) = (Uuid::from_u128(1), HashMap::new());
        Self { model, clock, at, memory, place, processes, kept, project, history, acknowledged, heard: 0 }
    }

    /// Lets time pass, by v1's clock and ours.
    fn pass(&mut self, micros: i64) {
        self.model.world().clock += micros;
        let now = self.model.world().clock;
        self.clock.advance(Duration::from_micros((now - self.at) as u64));
        self.at = now;
    }

    /// Writes, and notes the new versions. Returns the write as local writes.
    fn write(&mut self, write: Write) -> Vec<LocalWrite> {
        let before = self.model.truth();
        self.model.world().carry_out(write);
        self.pass(10_000);
        let (after, now) = (self.model.truth(), self.clock.now());
        let changed = after.iter().filter(|item| !before.contains(item)).cloned().map(Some);
        let there: BTreeSet<Uuid> = after.iter().map(|item| item.id).collect();
        let gone: Vec<Uuid> = before.iter().map(|item| item.id).filter(|id| !there.contains(id)).collect();
        let mut local = Vec::new();
        for item in changed.flatten() {
            self.history.entry(item.id).or_default().push((now, Some(item.clone())));
            local.push(LocalWrite::of(&item));
        }
        for id in gone {
            self.history.entry(id).or_default().push((now, None));
            local.push(LocalWrite::Gone(id));
        }
        local
    }

    fn note_local(&mut self, which: usize, write: Write) {
        let local = self.write(write);
        let process = &mut self.processes[which];
        for local in local {
            let at = process.changes.now().at;
            process.log.note(at, local.clone());
            if let Some(kept) = &mut process.kept {
                local.clone().apply(&mut kept.whole.rows);
            }
            if let Some(reading) = &mut process.reading {
                reading.amendments.push(local.clone());
            }
            let id = match &local {
                LocalWrite::Gone(id) => *id,
                LocalWrite::Changed(item) => item.id,
            };
            self.acknowledged.insert(id, self.clock.now());
        }
        for (other, process) in self.processes.iter_mut().enumerate() {
            process.told |= other != which;
        }
    }

    /// Sends a request to a process. With `stays`, the end of its own read is kept for later.
    async fn ask(&mut self, which: usize, way: Way, stays: bool) -> Result<(), TestCaseError> {
        if self.processes[which].reading.is_some() {
            // A request that comes now waits for the end of this read.
            return Ok(());
        }
        self.memory.goes(way);
        let voids = [Changed::Project(self.project)];
        let process = &mut self.processes[which];
        if std::mem::take(&mut process.told) {
            process.changes.tell(voids[0].clone());
        }
        let changes = process.changes.clone();
        let (need, asked) = (changes.need(&voids, FRESH), self.clock.now());
        if let Some(kept) = process.kept.clone().filter(|kept| need.is_met(kept.began)) {
            return self.judge(which, &kept, asked);
        }
        let mut known = match process.kept.clone() {
            Some(Kept { whole, shown, began, swept }) => IndexInProgress::kept(whole, shown, began, swept),
            None => IndexInProgress::found(self.kept.clone(), changes.now(), None),
        };
        let due = |swept: Option<Instant>| swept.is_none_or(|at| self.clock.now() - at >= SWEEP);
        let told = self.place.told(&known, changes.now().at).await;
        for ReceivedRead { number, at, what } in told.into_iter().flatten() {
            let Some(local) = process.log.since(known.began.at) else { break };
            let MessageContent::Answers(what) = what else { panic!("not so much") };
            known.follow(ReceivedRead { number, at, what }, &local, SMALL, &changes, changes.now().at).await;
        }
        if known.has_applied && need.is_met(known.began) && !due(known.swept) {
            let local = process.log.since(known.began.at).expect("few writes");
            let (whole, shown) = known.with(local);
            let kept = Kept { whole, shown, began: known.began, swept: known.swept };
            self.heard += 1;
            process.log.drop_before(kept.began.at);
            process.kept = Some(kept.clone());
            return self.judge(which, &kept, asked);
        }
        let turn = match self.place.refresher().await {
            Some(TakenTurn::Mine(turn)) => Some(turn),
            _ => None,
        };
        let (since, clock) = (self.clock.now(), || self.clock.now());
        let local = process.log.since(known.began.at);
        let gone = local.iter().flat_map(removed).collect();
        let (base, sweep) = (known.base(local), due(known.swept));
        let recorder = Recorder::new(&self.model, &clock, since, MOST);
        let refresh = Refresh {
            source: &recorder,
            sizes: SMALL,
            progress: &Progress::default(),
            pace: &Pace::default(),
            patient: false,
            sweep,
            proof: None,
            clock: &clock,
        };
        let refreshed = refresh.run(base, || changes.now(), Default::default).await.expect("a still project");
        let recorder = turn.and_then(|turn| Some((recorder.delta(sweep, gone, Vec::new())?, turn)));
        let ended = self.clock.now();
        process.reading = Some(Reading { asked, refreshed, recorder, ended, amendments: Vec::new() });
        if stays { Ok(()) } else { self.end(which).await }
    }

    /// Ends a read: publishes it, keeps it and checks the answer.
    async fn end(&mut self, which: usize) -> Result<(), TestCaseError> {
        let process = &mut self.processes[which];
        let Some(Reading { asked, refreshed, recorder, ended, amendments }) = process.reading.take() else {
            return Ok(());
        };
        let Refreshed { verified, mark, swept } = refreshed;
        let number = match recorder {
            Some((delta, turn)) => self.place.tell_read(turn, Some(delta), &verified).await,
            None => None,
        };
        let shown = RowsFromV1 { verified: verified.clone(), number, ended };
        let mut whole = verified;
        amendments.into_iter().for_each(|local| _ = local.apply(&mut whole.rows));
        let before = process.kept.as_ref().and_then(|kept| kept.swept);
        let kept = Kept { whole, shown, began: mark, swept: if swept { Some(mark.at) } else { before } };
        process.log.drop_before(mark.at);
        process.kept = Some(kept.clone());
        self.judge(which, &kept, asked)
    }

    /// Checks that the answer to a request at `asked` shows items as they were at the time it stands for, or later.
    fn judge(&self, which: usize, kept: &Kept, asked: Instant) -> Result<(), TestCaseError> {
        let age = asked.saturating_duration_since(kept.began.at);
        prop_assert!(age <= FRESH, "process {} answered what is {:?} old", which, age);
        let answered: BTreeMap<Uuid, Item> = content(&kept.whole).into_iter().map(|item| (item.id, item)).collect();
        for id in answered.keys() {
            prop_assert!(self.history.contains_key(id), "process {} made up an item", which);
        }
        for (id, versions) in &self.history {
            let written = self.acknowledged.get(id).filter(|at| **at < asked);
            let since = written.copied().unwrap_or(kept.began.at).max(kept.began.at);
            // The version that existed then, and all later ones.
            let first = versions.iter().rposition(|(at, _)| *at <= since);
            let absent_at_first = first.is_none() && !answered.contains_key(id);
            let later = &versions[first.unwrap_or(0)..];
            let fits = absent_at_first || later.iter().any(|(_, item)| item.as_ref() == answered.get(id));
            prop_assert!(
                fits,
                "process {} shows {:?} for what was {:?}",
                which,
                answered.get(id).map(|item| &item.name),
                later.iter().map(|(_, item)| item.as_ref().map(|item| &item.name)).collect::<Vec<_>>()
            );
        }
        Ok(())
    }

    async fn step(&mut self, step: Step) -> Result<(), TestCaseError> {
        match step {
            Step::Foreign(write) => drop(self.write(write)),
            Step::LocalWrite(which, write) => self.note_local(which, write),
            Step::Pause(millis) => self.pass(millis as i64 * 1000),
            Step::Ask(which, way) => self.ask(which, way, false).await?,
            Step::Begin(which) => self.ask(which, Way::Well, true).await?,
            Step::End(which) => self.end(which).await?,
            Step::LoseTurn => self.memory.loses_turn(),
            Step::Keep(which) => {
                if let Some(kept) = &self.processes[which].kept {
                    self.kept = kept.whole.clone();
                }
            }
            Step::Restart(which) => {
                let process = &mut self.processes[which];
                (process.kept, process.reading, process.log) = (None, None, LocalWriteLog::default());
            }
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(cases(375))]

    #[test]
    fn deltas_between_processes_never_make_an_answer_too_old(items in 0..12_usize, steps in steps()) {
        run(async {
            let mut world = World::new(items).await;
            for step in steps {
                world.step(step).await?;
            }
            Ok::<(), TestCaseError>(())
        })?;
    }
}

#[test]
fn three_that_are_asked_all_the_time_make_the_calls_of_one() {
    run(async {
        let mut calls = Vec::new();
        for processes in [1, PROCESSES] {
            let mut world = World::new(14).await;
            for which in 0..processes {
                world.ask(which, Way::Well, false).await.expect("an answer");
            }
            world.model.calls();
            for second in 0..120 {
                world.pass(1_000_000);
                if second % 7 == 0 {
                    drop(world.write(Write::Update(second, 0)));
                }
                if second % 31 == 0 {
                    drop(world.write(Write::Swap(second)));
                }
                for which in 0..processes {
                    let which = (which + second) % processes;
                    world.ask(which, Way::Well, false).await.expect("an answer");
                }
            }
            calls.push(world.model.calls());
            assert_eq!(world.heard > 0, processes > 1);
        }
        assert_eq!(calls[0], calls[1], "one and three processes");
    });
}
