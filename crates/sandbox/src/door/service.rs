//! Entry point of the sandbox: its configuration, and the handling of requests. May use: `records`, this folder.

use crate::door::auth;
use crate::door::costs::{Costs, WORKERS};
use crate::door::pipeline::{self, Answered};
use crate::door::shared::{Inner, JournalEntry};
use crate::door::throttle::Throttle;
use crate::records::clock::Clock;
use crate::records::demo;
use crate::records::generate;
use crate::records::saving::{Held, Pace};
use crate::records::seed;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use jiff::Timestamp;
use parking_lot::{Mutex, RwLock};
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Number of answered requests that the journal keeps; older requests are dropped.
const JOURNAL: usize = 100_000;

/// Configuration of a sandbox.
#[derive(Debug, Clone)]
pub struct Config {
    /// The records to start from.
    pub seed: Seed,
    /// Requests that a key may make in a minute; `None` is no limit. Service keys always have 300 when
    /// there is a limit.
    pub quota_per_minute: Option<u32>,
    /// Work items to generate in the first project, besides those of the seed.
    pub work_items: usize,
    /// Time of the calls that come over the network or through [`Sandbox::handle_in_time`].
    pub costs: Costs,
}

impl Default for Config {
    /// A nearly empty sandbox without limits and costs.
    fn default() -> Self {
        Self { seed: Seed::Empty, quota_per_minute: None, work_items: 0, costs: Costs::None }
    }
}

/// The records that a sandbox starts with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seed {
    /// Exactly the records behind the recordings. A key's value is its alias (`ada`, `bob`, …).
    Recorded,
    /// Sample data with fixed ids.
    Demo,
    /// One workspace with one empty project and one admin.
    Empty,
    /// A copy of a part of the recorded records under other ids, as another deployment would have it.
    Elsewhere,
}

/// Names and keys of a sandbox, for printing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoFacts {
    /// The slug of the workspace.
    pub workspace: String,
    /// The id of the first project.
    pub project_id: String,
    /// The identifier of the first project.
    pub project_identifier: String,
    /// The valid keys, admins first.
    pub keys: Vec<DemoKey>,
}

/// A key and its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoKey {
    /// The key's value.
    pub key: String,
    /// The person's name.
    pub person: String,
    /// Their role in the first project: `admin`, `member`, `guest`, or `none`.
    pub role: String,
}

/// A running stand-in of v1. Clones share the same records.
#[derive(Debug, Clone)]
pub struct Sandbox {
    inner: Arc<Inner>,
}

impl Sandbox {
    /// Creates a sandbox that runs on the wall clock.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self::build(&config, None)
    }

    /// Creates a sandbox whose clock shows `start` now, to replay what was recorded at that time.
    #[must_use]
    pub fn starting_at(config: Config, start: Timestamp) -> Self {
        Self::build(&config, Some(start))
    }

    fn build(config: &Config, start: Option<Timestamp>) -> Self {
        let clock = Clock::new(start);
        let mut world = match config.seed {
            Seed::Recorded => seed::recorded(&clock),
            Seed::Demo => demo::world(&clock),
            Seed::Empty => seed::empty(&clock),
            Seed::Elsewhere => seed::elsewhere(&clock),
        };
        generate::work_items(&mut world, config.work_items);
        Self {
            inner: Arc::new(Inner {
                world: RwLock::new(world),
                clock,
                throttle: Throttle::new(config.quota_per_minute),
                journal: Mutex::new(VecDeque::new()),
                pace: OnceLock::new(),
                workers: (config.costs == Costs::Real).then(|| Semaphore::new(WORKERS)),
            }),
        }
    }

    /// Makes writes of states, labels, cycles, modules, work items and comments save whole rows, as the real v1 does:
    /// a write loads a row and works for a time up to `longest`, chosen by `seed`. Then it saves every column of
    /// the row as it was loaded, with its own change applied. Of two writes at once, one is lost.
    #[must_use]
    pub fn saving_whole_rows(self, seed: u64, longest: Duration) -> Self {
        let _ = self.inner.pace.set(Pace::new(seed, longest));
        self
    }

    /// Answers one request in memory, without a network and without the costs of calls.
    #[must_use]
    pub fn handle(&self, request: Request<Bytes>) -> Response<Bytes> {
        let Answered { response, held, .. } = pipeline::answer(&self.inner, &request);
        if let Some(held) = held {
            std::thread::sleep(self.time_of_a_write());
            self.save(held);
        }
        self.note(&request, response.status().as_u16());
        response
    }

    /// Like [`Sandbox::handle`], but does not block a thread, and takes the time that the call costs. A real v1
    /// continues a call when its caller is gone. So calls with a cost, and writes that take time, also continue.
    pub async fn handle_in_time(&self, request: Request<Bytes>) -> Response<Bytes> {
        if self.inner.workers.is_none() && self.inner.pace.get().is_none() {
            return self.handle(request);
        }
        let sandbox = self.clone();
        let answer = tokio::spawn(async move { sandbox.at_work(request).await });
        answer.await.unwrap_or_else(|_| {
            let mut response = Response::new(Bytes::new());
            *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            response
        })
    }

    /// Waits for a worker, if workers are limited, and keeps it until the answer is complete.
    async fn at_work(&self, request: Request<Bytes>) -> Response<Bytes> {
        let workers = self.inner.workers.as_ref();
        let _worker = match workers {
            Some(workers) => workers.acquire().await.ok(),
            None => None,
        };
        let Answered { response, held, takes } = pipeline::answer(&self.inner, &request);
        let writing = if held.is_some() { self.time_of_a_write() } else { Duration::ZERO };
        if !(takes + writing).is_zero() {
            tokio::time::sleep(takes + writing).await;
        }
        if let Some(held) = held {
            self.save(held);
        }
        self.note(&request, response.status().as_u16());
        response
    }

    fn time_of_a_write(&self) -> Duration {
        self.inner.pace.get().map_or(Duration::ZERO, Pace::next)
    }

    fn save(&self, held: Box<dyn Held>) {
        let mut world = self.inner.world.write();
        held.save(&mut world, self.inner.clock.now());
    }

    fn note(&self, request: &Request<Bytes>, status: u16) {
        let path = request.uri().path_and_query();
        let entry = JournalEntry {
            method: request.method().to_string(),
            path: path.map_or_else(|| "/".to_owned(), ToString::to_string),
            status,
            key: request.headers().get("X-Api-Key").and_then(|key| key.to_str().ok()).map(str::to_owned),
        };
        let mut journal = self.inner.journal.lock();
        if journal.len() == JOURNAL {
            journal.pop_front();
        }
        journal.push_back(entry);
    }

    /// Returns the names and keys, for printing.
    #[must_use]
    pub fn demo_facts(&self) -> DemoFacts {
        let world = self.inner.world.read();
        let project = world.projects.iter().next();
        let slug = world.workspaces.first().map(|workspace| workspace.slug.clone());
        let mut keys: Vec<(u8, usize, bool, DemoKey)> = world
            .keys
            .iter()
            .filter(|(_, key)| key.valid)
            .filter_map(|(value, key)| {
                let user = world.users.get(key.user)?;
                let member = project.and_then(|p| world.active_member(p.id, user.id));
                let role = member.map_or(0, |member| member.role);
                let name = match role {
                    auth::ADMIN => "admin",
                    auth::MEMBER => "member",
                    auth::GUEST => "guest",
                    _ => "none",
                };
                let person = format!("{} {}", user.first_name, user.last_name);
                let fact = DemoKey { key: value.clone(), person, role: name.to_owned() };
                Some((role, world.users.position(user.id), key.service, fact))
            })
            .collect();
        keys.sort_by(|a, b| (b.0, a.1, a.2, &a.3.key).cmp(&(a.0, b.1, b.2, &b.3.key)));
        DemoFacts {
            workspace: slug.unwrap_or_default(),
            project_id: project.map(|p| p.id.to_string()).unwrap_or_default(),
            project_identifier: project.map(|p| p.identifier.clone()).unwrap_or_default(),
            keys: keys.into_iter().map(|(_, _, _, key)| key).collect(),
        }
    }

    /// Returns the requests answered so far, oldest first.
    #[must_use]
    pub fn journal(&self) -> Vec<JournalEntry> {
        let journal = self.inner.journal.lock();
        journal.iter().cloned().collect()
    }

    /// Forgets the requests answered so far.
    pub fn clear_journal(&self) {
        let mut journal = self.inner.journal.lock();
        journal.clear();
    }

    /// Moves the sandbox's clock forward, so that quota windows and cycles end.
    pub fn advance(&self, by: Duration) {
        self.inner.clock.advance(by);
    }
}
