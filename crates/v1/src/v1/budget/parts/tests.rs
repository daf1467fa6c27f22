//! Tests of processes that divide a quota, in a simulated world with random delays. May use: this folder.

use super::divider::{Divider, Planned};
use super::held::Held;
use super::ledger::{Change, Members, Seen};
use super::row::Demand;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, advance};
use uuid::Uuid;

const WINDOW: Duration = Duration::from_secs(60);
/// Largest delay of a process's work while the table is reachable.
const LATEST: Duration = Duration::from_secs(3);
const KEYS: [&str; 2] = ["one", "two"];

/// Pseudo-random numbers from 0 up to, but not including, `below`.
struct Random(u64);

impl Random {
    fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// Fate of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Answered,
    /// Carried out, but its answer is lost.
    Unheard,
    /// Its answer is lost, and it is carried out later.
    Late,
    Lost,
}

struct Process {
    me: Uuid,
    held: Arc<Held>,
    divider: Divider,
    /// Times until which its calls count, by key.
    calls: [Vec<Instant>; 2],
    waiting: [usize; 2],
    /// The mark that it sets, and the mark that the others see.
    marked: bool,
    word: bool,
    /// The processes that it knows.
    members: Option<Members>,
    processes: usize,
    /// Time when one of its statements was last answered.
    answered: Instant,
}

impl Process {
    fn new() -> Self {
        let (me, held) = (Uuid::new_v4(), Arc::<Held>::default());
        let divider = Divider::new(me, WINDOW, Arc::clone(&held));
        let calls = [Vec::new(), Vec::new()];
        let (waiting, answered) = ([0; 2], Instant::now());
        Self {
            me,
            held,
            divider,
            calls,
            waiting,
            marked: false,
            word: false,
            members: None,
            processes: 1,
            answered,
        }
    }

    fn used(&self, key: usize) -> usize {
        self.calls[key].iter().filter(|until| **until > Instant::now()).count()
    }

    /// Makes a call if its part allows it.
    fn call(&mut self, key: usize, quota: usize) -> bool {
        let part = self.held.calls(KEYS[key], quota, self.processes);
        let may = part.is_none_or(|part| self.used(key) < part) && self.used(key) < quota;
        if may {
            self.calls[key].push(Instant::now() + WINDOW);
        }
        may
    }

    fn demands(&self, quota: usize) -> HashMap<String, Demand> {
        let demand = |key: usize| Demand { used: self.used(key), waiting: self.waiting[key], quota, learned: 0 };
        (0..2).map(|key| (KEYS[key].to_owned(), demand(key))).collect()
    }
}

struct World {
    quota: usize,
    begun: Instant,
    table: HashMap<String, (i64, String, i64)>,
    processes: Vec<Process>,
    /// Calls of dead processes.
    dead: [Vec<Instant>; 2],
    late: Vec<Vec<Change>>,
    up: bool,
    /// Time when the table last went away or came back.
    away_at: Option<Instant>,
    statements: usize,
}

impl World {
    fn new(quota: usize, processes: usize) -> Self {
        let processes = (0..processes).map(|_| Process::new()).collect();
        let (table, dead, late) = (HashMap::new(), [Vec::new(), Vec::new()], Vec::new());
        Self { quota, begun: Instant::now(), table, processes, dead, late, up: true, away_at: None, statements: 0 }
    }

    fn now(&self) -> i64 {
        1_000_000 + i64::try_from(self.begun.elapsed().as_micros()).unwrap()
    }

    /// Renews the lease of a process, and updates the processes that it knows.
    fn beat(&mut self, which: usize) {
        if !self.up {
            return;
        }
        self.processes[which].word = self.processes[which].marked;
        let me = self.processes[which].me;
        let living: HashSet<Uuid> = self.processes.iter().map(|process| process.me).collect();
        let all_divide = self.processes.iter().all(|process| process.me == me || process.word);
        let process = &mut self.processes[which];
        process.processes = living.len();
        process.members = Some(Members { living, all_know: true, all_divide });
    }

    fn carry_out(&mut self, changes: &[Change]) -> Vec<(String, i64)> {
        let now = self.now();
        let mut written = Vec::new();
        for change in changes {
            let current = self.table.get(&change.name).map_or(0, |(version, ..)| *version);
            if current == change.version {
                let next = if current == 0 { now } else { current + 1 };
                self.table.insert(change.name.clone(), (next, change.text.clone(), now));
                written.push((change.name.clone(), next));
            }
        }
        written
    }

    /// Does one round of `task`.
    fn work(&mut self, which: usize, fate: Fate) {
        for _ in 0..3 {
            if !self.exchange(which, fate) {
                return;
            }
        }
    }

    /// Does one exchange. Returns whether it must be repeated at once.
    fn exchange(&mut self, which: usize, fate: Fate) -> bool {
        let quota = self.quota;
        let process = &mut self.processes[which];
        let demands = process.demands(quota);
        process.divider.look(process.members.as_ref(), process.processes, &demands, Instant::now());
        process.marked = process.divider.has_entered();
        let Some(members) = process.members.clone().filter(|_| process.divider.divides()) else { return false };
        if process.divider.has_entered() && !process.divider.has_any() && !process.divider.lacks_any(&demands) {
            return false;
        }
        let since = process.divider.since();
        let demands = process.demands(quota);
        let used = |name: &str| {
            process.calls[usize::from(name == KEYS[1])].iter().filter(|until| **until > Instant::now()).count()
        };
        // Sometimes only new keys are checked, as when a key asks between two checks of all keys.
        let planned: Vec<Planned> = match process.divider.has_entered() && self.statements % 4 == 3 {
            true => process.divider.plan_new(&demands, &members, used, Instant::now()),
            false => process.divider.plan(&demands, &members, used, Instant::now()),
        };
        let changes: Vec<Change> = planned.iter().map(|planned| planned.change.clone()).collect();
        self.statements += 1;
        let before = self.table.clone();
        let written = match fate {
            Fate::Answered | Fate::Unheard if self.up => self.carry_out(&changes),
            Fate::Late => {
                self.late.push(changes);
                return false;
            }
            _ => return false,
        };
        if fate == Fate::Unheard {
            return false;
        }
        let me = self.processes[which].me.to_string();
        let is_read = |name: &String, text: &String, at: i64| {
            changes.iter().any(|change| change.name == *name) || (at > since && text.contains(&me))
        };
        let rows = before.iter().filter(|(name, (_, text, at))| is_read(name, text, *at));
        let rows = rows.map(|(name, (version, text, _))| (name.clone(), *version, text.clone())).collect();
        let seen = Seen { now: self.now(), written, rows };
        let process = &mut self.processes[which];
        process.answered = Instant::now();
        let (_, again) = process.divider.learn(planned, seen, Instant::now());
        let demands = process.demands(quota);
        process.divider.enter(&demands);
        process.marked = process.divider.has_entered();
        again || since == 0
    }

    /// Lets every process do its work for `time`, without lost statements.
    async fn calm(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            for which in 0..self.processes.len() {
                self.beat(which);
                self.work(which, Fate::Answered);
            }
            advance(Duration::from_millis(500)).await;
        }
    }

    /// Lets each process work whose delay exceeds the limit.
    fn hurry(&mut self) {
        for which in 0..self.processes.len() {
            if self.up && self.processes[which].answered.elapsed() > LATEST {
                self.beat(which);
                self.work(which, Fate::Answered);
            }
            self.beat(which);
        }
    }

    fn counted(&self, key: usize) -> usize {
        let dead = self.dead[key].iter().filter(|until| **until > Instant::now()).count();
        dead + self.processes.iter().map(|process| process.used(key)).sum::<usize>()
    }

    fn was_away_within(&self, time: Duration) -> bool {
        !self.up || self.away_at.is_some_and(|at| at.elapsed() < time)
    }

    /// Checks whether each process has entered its use, and knows the others.
    fn all_know_all(&self) -> bool {
        let knows = |process: &Process| process.marked && process.processes == self.processes.len();
        self.processes.iter().all(knows)
    }

    /// Describes the state of each process, for the message of a failed test.
    fn standing(&self, key: usize) -> String {
        let of = |process: &Process| {
            let (used, limit) = (process.used(key), process.held.limit(KEYS[key]));
            let (divider, members) = (&process.divider, &process.members);
            format!("{} has used {used} of {limit}; {divider:?}; {members:?}", process.me)
        };
        self.processes.iter().map(of).collect::<Vec<_>>().join("\n")
    }

    fn away(&mut self) {
        (self.up, self.away_at) = (false, Some(Instant::now()));
        for process in &mut self.processes {
            process.members = None;
        }
        for which in 0..self.processes.len() {
            self.work(which, Fate::Lost);
        }
    }

    fn back(&mut self) {
        (self.up, self.away_at) = (true, Some(Instant::now()));
        for which in 0..self.processes.len() {
            self.beat(which);
        }
    }
}

/// Runs one world of random events. Reports the events when the quota is exceeded.
async fn live(seed: u64) -> (usize, usize) {
    let mut random = Random(seed);
    let quota = [5, 30, 60, 300][usize::try_from(random.below(4)).unwrap()];
    let mut world = World::new(quota, 1 + usize::try_from(random.below(3)).unwrap());
    // All processes begin at once, as when a deployment starts.
    for which in 0..world.processes.len() {
        world.beat(which);
        world.work(which, Fate::Lost);
    }
    let (mut log, mut made, mut most) = (Vec::new(), 0, 0);
    for _ in 0..600 {
        let (which, key) = (
            usize::try_from(random.below(world.processes.len() as u64)).unwrap(),
            usize::try_from(random.below(2)).unwrap(),
        );
        match random.below(100) {
            0..45 => {
                // In the first window of an outage, a process that is new to a key may use calls that are not free.
                // Skip it.
                let first = world.was_away_within(WINDOW + Duration::from_secs(10));
                let process = &mut world.processes[which];
                let knows = process.divider.divides() || !first || process.held.limit(KEYS[key]) > 0;
                let calls = 1 + random.below(12);
                for _ in 0..calls {
                    let went = knows && process.call(key, quota);
                    made += usize::from(went);
                    process.waiting[key] = usize::from(!went) * usize::try_from(random.below(9)).unwrap();
                }
                log.push(format!("{which} calls {key} up to {calls} times"));
            }
            45..75 => {
                let fate = [Fate::Unheard, Fate::Late, Fate::Lost, Fate::Answered, Fate::Answered, Fate::Answered]
                    [usize::try_from(random.below(6)).unwrap()];
                world.work(which, fate);
                log.push(format!("{which} works: {fate:?}"));
            }
            75..88 => {
                world.beat(which);
                log.push(format!("{which} beats"));
            }
            88..91 if !world.late.is_empty() && world.up => {
                let at = usize::try_from(random.below(world.late.len() as u64)).unwrap();
                let late = world.late.swap_remove(at);
                world.carry_out(&late);
                log.push("a late statement is carried out".into());
            }
            91 if world.processes.len() < 4 && !world.was_away_within(WINDOW + Duration::from_secs(20)) => {
                world.processes.push(Process::new());
                let last = world.processes.len() - 1;
                // It serves when it knows the other processes. They learn of it with their next beat.
                world.beat(last);
                world.work(last, Fate::Lost);
                log.push(format!("{last} joins"));
            }
            // If a process dies while it has even parts, its calls are written nowhere.
            92 if world.processes.len() > 1 && world.processes[which].marked => {
                let gone = world.processes.swap_remove(which);
                for (dead, calls) in world.dead.iter_mut().zip(gone.calls) {
                    dead.extend(calls);
                }
                log.push(format!("{which} dies, the last takes its number"));
            }
            93 if world.all_know_all() || !world.up => {
                if world.up {
                    world.away()
                } else {
                    world.back()
                }
                log.push(format!("the table is there: {}", world.up));
            }
            _ => {
                let time: u64 = [50, 400, 1_000, 5_000, 20_000][usize::try_from(random.below(5)).unwrap()];
                for _ in 0..time.div_ceil(1_000) {
                    advance(Duration::from_millis(time.min(1_000))).await;
                    world.hurry();
                }
                log.push(format!("{time} ms pass"));
            }
        }
        for key in 0..2 {
            most = most.max(world.counted(key) * 100 / quota);
            assert!(
                world.counted(key) <= quota,
                "{} of {quota} calls of {key} count, seed {seed}:\n{}\n{:?}\n{}",
                world.counted(key),
                log.join("\n"),
                world.table,
                world.standing(key)
            );
        }
    }
    (made, most)
}

/// Returns the number of worlds to run.
fn worlds() -> u64 {
    if std::env::var_os("LONG_TESTS").is_some() { 4_000 } else { 80 }
}

#[tokio::test(start_paused = true)]
async fn late_messages_never_exceed_the_quota() {
    let (mut made, mut full) = (0, 0);
    for seed in 0..worlds() {
        let (calls, most) = live(seed).await;
        made += calls;
        full += usize::from(most >= 90);
    }
    println!("{made} calls, {full} worlds");
    assert!(
        made > 5_000 && full > 30,
        "{made} calls in all worlds, {full} worlds where the quota was nearly used up"
    );
}

/// Creates three processes that know each other.
async fn three(quota: usize) -> World {
    let mut world = World::new(quota, 3);
    world.calm(Duration::from_secs(3)).await;
    assert!(world.processes.iter().all(|process| process.marked));
    world
}

impl World {
    /// Lets the processes `busy` make as many calls as they may, for `time`.
    async fn busy(&mut self, busy: &[usize], time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            for which in busy {
                while self.processes[*which].call(0, self.quota) {}
                self.processes[*which].waiting[0] = 5;
            }
            self.calm(Duration::from_millis(500)).await;
            assert!(self.counted(0) <= self.quota);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_that_uses_a_key_alone_gets_nearly_the_whole_quota() {
    let mut world = three(60).await;
    world.busy(&[1], Duration::from_secs(10)).await;
    assert!(world.processes[1].used(0) >= 54, "{}", world.processes[1].used(0));
    // The first calls of another process need not wait for a window to pass.
    world.processes[2].waiting[0] = 1;
    world.calm(Duration::from_millis(500)).await;
    assert!(world.processes[2].call(0, 60) && world.processes[2].call(0, 60));
}

#[tokio::test(start_paused = true)]
async fn parts_follow_demand_and_are_fair() {
    let mut world = three(60).await;
    world.busy(&[0], Duration::from_secs(70)).await;
    world.busy(&[0, 2], Duration::from_secs(200)).await;
    let [first, none, second] = [0, 1, 2].map(|which| world.processes[which].used(0));
    assert!(first >= 24 && second >= 24 && none == 0, "{first} and {second}");
    world.processes[2].waiting[0] = 0;
    world.busy(&[0], Duration::from_secs(130)).await;
    assert!(world.processes[0].used(0) >= 54, "{}", world.processes[0].used(0));
}

#[tokio::test(start_paused = true)]
async fn one_that_dies_leaves_its_part_after_a_window() {
    let mut world = three(60).await;
    world.busy(&[0, 1], Duration::from_secs(70)).await;
    let gone = world.processes.remove(1);
    world.dead[0].extend(&gone.calls[0]);
    world.busy(&[0], Duration::from_secs(40)).await;
    assert!(world.processes[0].used(0) <= 60 - gone.used(0), "what the dead one has used still counts");
    world.busy(&[0], Duration::from_secs(60)).await;
    assert!(world.processes[0].used(0) >= 54, "{}", world.processes[0].used(0));
}

#[tokio::test(start_paused = true)]
async fn without_the_table_parts_are_even_and_with_it_by_demand_again() {
    let mut world = three(60).await;
    world.busy(&[0], Duration::from_secs(10)).await;
    world.busy(&[1], Duration::from_secs(2)).await;
    world.away();
    assert!(!world.processes[0].call(0, 60), "it has more than its even part");
    world.busy(&[0, 1], Duration::from_secs(130)).await;
    assert_eq!([0, 1].map(|which| world.processes[which].used(0)), [20, 20]);
    world.back();
    world.processes[1].waiting[0] = 0;
    world.busy(&[0], Duration::from_secs(140)).await;
    assert!(world.processes[0].used(0) >= 54, "{}", world.processes[0].used(0));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_asked_when_nothing_is_used() {
    let mut world = three(60).await;
    world.busy(&[0], Duration::from_secs(5)).await;
    world.processes[0].waiting[0] = 0;
    world.calm(Duration::from_secs(70)).await;
    let before = world.statements;
    world.calm(Duration::from_secs(60)).await;
    assert_eq!(world.statements, before);
    let alone = {
        let mut world = World::new(60, 1);
        world.busy(&[0], Duration::from_secs(10)).await;
        assert_eq!(world.processes[0].used(0), 60, "one alone has all");
        world.statements
    };
    assert_eq!(alone, 0);
}
