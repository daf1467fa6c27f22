//! The data that a sandbox can start from, and the helpers that build it. The recorded data is here; the demo is in
//! [`crate::records::demo`]. May use: `door`, `views`, this folder.

use jiff::civil::date;
use serde_json::json;
use uuid::Uuid;

use crate::door::auth::{ADMIN, GUEST, MEMBER};
use crate::records::clock::Clock;
use crate::records::kinds::{
    ApiKey, Cycle, EstimatePoint, Item, ItemType, Label, Module, ProjectMember, Stamp, User, Workspace,
    WorkspaceMember,
};
use crate::records::store::World;
use crate::records::table::Id;
use crate::views::items::blank;
use crate::views::{cycles, labels, modules, projects, states};

/// A fixed id: `kind` is one hexadecimal digit, `number` is written in decimal digits.
pub(crate) fn fixed(kind: char, number: u64) -> Id {
    let text = format!("00000000-0000-4000-{kind}000-{number:012}");
    Uuid::try_parse(&text).unwrap_or_default()
}

/// Builds a world step by step.
pub(crate) struct Builder<'c> {
    pub(crate) world: World,
    pub(crate) clock: &'c Clock,
}

impl<'c> Builder<'c> {
    /// An empty world.
    pub(crate) fn new(clock: &'c Clock) -> Self {
        Self { world: World::default(), clock }
    }

    /// Returns a stamp: created now by this person.
    pub(crate) fn stamp(&self, by: Id) -> Stamp {
        Stamp::new(by, self.clock.now())
    }

    /// Adds a person. The names are `[first, last]`.
    pub(crate) fn person(&mut self, number: u64, names: [&str; 2], email: &str, zone: &str) -> Id {
        let id = fixed('a', number);
        self.world.users.add(User {
            id,
            first_name: names[0].to_owned(),
            last_name: names[1].to_owned(),
            email: email.to_owned(),
            display_name: names[0].to_lowercase(),
            zone: zone.to_owned(),
        });
        id
    }

    /// Adds a key of a person.
    pub(crate) fn key(&mut self, value: &str, user: Id, valid: bool, service: bool) {
        let key = ApiKey { user, valid, service };
        self.world.keys.insert(value.to_owned(), key);
    }

    /// A workspace.
    pub(crate) fn workspace(&mut self, number: u64, slug: &str, name: &str) -> Id {
        let id = fixed('b', number);
        self.world.workspaces.push(Workspace { id, slug: slug.to_owned(), name: name.to_owned() });
        id
    }

    /// A workspace membership.
    pub(crate) fn workspace_member(&mut self, number: u64, workspace: Id, user: Id, role: u8, active: bool) {
        self.world.workspace_members.add(WorkspaceMember { id: fixed('8', number), workspace, user, role, active });
    }

    /// Adds a project with its initial states; cycles and modules are switched on.
    pub(crate) fn project(&mut self, number: u64, workspace: Id, owner: Id, identifier: &str, name: &str) -> Id {
        let id = fixed('c', number);
        let stamp = self.stamp(owner);
        let mut project = projects::blank(id, workspace, stamp.clone());
        project.name = name.to_owned();
        project.identifier = identifier.to_owned();
        project.cycle_view = true;
        project.module_view = true;
        project.logo_props = json!({ "icon": { "name": "home", "color": "#5e6ad2" }, "in_use": "icon" });
        self.world.projects.add(project);
        states::add_initial(&mut self.world, id, workspace, &stamp, |state| {
            fixed('d', number * 100 + state as u64)
        });
        id
    }

    /// A project membership.
    pub(crate) fn project_member(&mut self, number: u64, project: Id, user: Id, role: u8, active: bool) {
        self.world.project_members.add(ProjectMember {
            id: fixed('9', number),
            project,
            user,
            role,
            active,
            sort_order: 65_535.0,
            deleted_at: None,
        });
    }

    /// Adds a work item with a fixed id, in the state `state`. `change` can change it before it is stored.
    pub(crate) fn item(
        &mut self,
        number: u64,
        project: Id,
        owner: Id,
        name: &str,
        state: Id,
        change: impl FnOnce(&mut Item),
    ) -> Id {
        let stamp = self.stamp(owner);
        let id = fixed('e', number);
        if let Ok(mut item) = blank(&mut self.world, project, state, &stamp) {
            item.id = id;
            item.name = name.to_owned();
            change(&mut item);
            self.world.items.add(item);
        }
        id
    }

    /// Adds a label; without a project it belongs to the workspace.
    pub(crate) fn label(&mut self, id: Id, workspace: Id, project: Option<Id>, owner: Id, name: &str) -> Id {
        let stamp = self.stamp(owner);
        let label = labels::blank(&self.world, workspace, project, stamp);
        self.world.labels.add(Label { id, name: name.to_owned(), ..label });
        id
    }

    /// A cycle.
    pub(crate) fn cycle(&mut self, id: Id, project: Id, owner: Id, name: &str) -> Id {
        let stamp = self.stamp(owner);
        if let Ok(cycle) = cycles::blank(&self.world, project, owner, stamp) {
            self.world.cycles.add(Cycle { id, name: name.to_owned(), ..cycle });
        }
        id
    }

    /// A module.
    pub(crate) fn module(&mut self, id: Id, project: Id, owner: Id, name: &str) -> Id {
        let stamp = self.stamp(owner);
        if let Ok(module) = modules::blank(&self.world, project, stamp) {
            self.world.modules.add(Module { id, name: name.to_owned(), ..module });
        }
        id
    }

    /// Adds the points of an estimate, given by ids and values, with keys from 0.
    fn points(&mut self, project: Id, owner: Id, estimate: Id, points: &[(Id, &str)]) {
        let workspace = self.world.projects.any(project).map(|p| p.workspace);
        for (key, (id, value)) in (0..).zip(points) {
            let stamp = self.stamp(owner);
            self.world.estimate_points.push(EstimatePoint {
                id: *id,
                project,
                workspace: workspace.unwrap_or_default(),
                estimate,
                key,
                value: (*value).to_owned(),
                stamp,
            });
        }
    }
}

/// Builds nearly empty data: one workspace, one empty project, one admin with the key `demo-admin-key`.
pub(crate) fn empty(clock: &Clock) -> World {
    let mut build = Builder::new(clock);
    let ada = build.person(1, ["Ada", "Admin"], "ada@acme.test", "UTC");
    build.key("demo-admin-key", ada, true, false);
    let acme = build.workspace(1, "acme", "Acme");
    build.workspace_member(1, acme, ada, ADMIN, true);
    let web = build.project(1, acme, ada, "WEB", "Website");
    build.project_member(101, web, ada, ADMIN, true);
    build.world
}

/// Builds the workspace `acme` of the recorded data with its projects `WEB` and `TYP` and the people who work in `WEB`,
/// all under other ids. A key's value is its alias.
pub(crate) fn elsewhere(clock: &Clock) -> World {
    let mut build = Builder::new(clock);
    let people = [(51, "Ada", ADMIN), (52, "Bob", MEMBER), (55, "Kim", MEMBER), (58, "Zed", MEMBER)];
    let acme = build.workspace(51, "acme", "Acme");
    let [ada, ..] = people.map(|(number, name, role)| {
        let alias = name.to_lowercase();
        let id = build.person(number, [name, "X"], &format!("{alias}@acme.test"), "UTC");
        build.key(&alias, id, true, false);
        build.workspace_member(number, acme, id, role, true);
        id
    });
    for (number, identifier, name, item) in [(51, "WEB", "Website", "First"), (54, "TYP", "Typed", "Sized")] {
        let project = build.project(number, acme, ada, identifier, name);
        for (person, _, role) in people {
            build.project_member(number * 100 + person, project, fixed('a', person), role, true);
        }
        build.item(number, project, ada, item, fixed('d', number * 100 + 1), |_| {});
    }
    build.world
}

/// Builds exactly the data behind the recordings. A key's value is its alias.
pub(crate) fn recorded(clock: &Clock) -> World {
    let mut build = Builder::new(clock);
    people(&mut build);
    let [acme, other] = workspaces(&mut build);
    let [typ, oth] = projects(&mut build, acme, other);
    items(&mut build);
    let (ada, eve) = (fixed('a', 1), fixed('a', 3));
    build.world.types = (1..=6).map(|n| ItemType { id: fixed('f', n) }).collect();
    build.world.default_types.insert(typ, fixed('f', 1));
    build.label(fixed('7', 1), acme, None, ada, "ws-wide");
    build.label(fixed('7', 2), other, Some(oth), eve, "foreign");
    build.cycle(fixed('6', 1), oth, eve, "Foreign cycle");
    build.module(fixed('6', 2), oth, eve, "Foreign module");
    build.points(oth, eve, fixed('6', 3), &[(fixed('6', 4), "1")]);
    let points = [(fixed('6', 12), "1"), (fixed('6', 13), "2"), (fixed('6', 14), "3")];
    build.points(typ, ada, estimate(), &points);
    build.world
}

/// Adds the projects and their members. Returns the typed project and the one of the other workspace.
fn projects(build: &mut Builder<'_>, acme: Id, other: Id) -> [Id; 2] {
    let user = |number| fixed('a', number);
    let web = build.project(1, acme, user(1), "WEB", "Website");
    let sec = build.project(2, acme, user(2), "SEC", "Secret");
    let arc = build.project(3, acme, user(1), "ARC", "Archive cases");
    let typ = build.project(4, acme, user(1), "TYP", "Typed");
    let oth = build.project(5, other, user(3), "OTH", "Others");
    build.world.projects.change(sec, |project| project.network = 0);
    build.world.projects.change(typ, |project| {
        project.is_issue_type_enabled = true;
        project.estimate = Some(estimate());
    });
    for (number, project, person, role, active) in [
        (101, web, 1, ADMIN, true),
        (102, web, 2, MEMBER, true),
        (103, web, 4, GUEST, true),
        (104, web, 5, MEMBER, true),
        (105, web, 8, MEMBER, true),
        (106, web, 7, MEMBER, false),
        (201, sec, 2, ADMIN, true),
        (301, arc, 1, ADMIN, true),
        (302, arc, 2, MEMBER, true),
        (401, typ, 1, ADMIN, true),
        (402, typ, 2, MEMBER, true),
        (501, oth, 3, ADMIN, true),
    ] {
        build.project_member(number, project, user(person), role, active);
    }
    [typ, oth]
}

/// Adds the work items: number, number of the state (which begins with the project's number), number of the author,
/// name, and a change of the default values.
fn items(build: &mut Builder<'_>) {
    type Change = fn(&mut Item);
    let items: [(u64, u64, u64, &str, Change); 10] = [
        (1, 101, 1, "First", |_| {}),
        (2, 201, 2, "Hidden", |_| {}),
        (5, 501, 3, "Foreign item", |_| {}),
        (11, 301, 1, "Active", |_| {}),
        (12, 301, 1, "Archived", |item| item.archived_at = Some(date(2026, 1, 15))),
        (13, 301, 1, "Draft", |item| item.is_draft = true),
        (14, 306, 1, "In triage", |_| {}),
        (15, 301, 1, "Child of archived", |item| item.parent = Some(fixed('e', 12))),
        (16, 301, 1, "Deleted", |item| item.deleted_at = Some(item.created_at)),
        (21, 401, 1, "Sized", |item| {
            item.estimate_point = Some(fixed('6', 12));
            item.type_id = Some(fixed('f', 2));
        }),
    ];
    for (number, state, author, name, change) in items {
        build.item(number, fixed('c', state / 100), fixed('a', author), name, fixed('d', state), change);
    }
}

/// The estimate of the typed project.
fn estimate() -> Id {
    fixed('6', 11)
}

fn people(build: &mut Builder<'_>) {
    for (number, name, host, zone) in [
        (1, "Ada", "acme", "UTC"),
        (2, "Bob", "acme", "UTC"),
        (3, "Eve", "other", "UTC"),
        (4, "Gil", "acme", "UTC"),
        (5, "Kim", "acme", "Asia/Kolkata"),
        (6, "Mel", "acme", "UTC"),
        (7, "Dan", "acme", "UTC"),
        // Zed's account is deactivated, which has no effect (`auth_deactivated_user_reads_projects`).
        (8, "Zed", "acme", "UTC"),
        (9, "Nia", "acme", "America/New_York"),
    ] {
        let alias = name.to_lowercase();
        let email = format!("{alias}@{host}.test");
        let id = build.person(number, [name, "X"], &email, zone);
        build.key(&alias, id, true, false);
    }
    let ada = fixed('a', 1);
    build.key("expired", ada, false, false);
    build.key("inactive", ada, false, false);
    build.key("service", ada, true, true);
    build.key("future", ada, true, false);
}

fn workspaces(build: &mut Builder<'_>) -> [Id; 2] {
    let acme = build.workspace(1, "acme", "Acme");
    let other = build.workspace(2, "other", "Other");
    for (number, workspace, person, role, active) in [
        (1, acme, 1, ADMIN, true),
        (2, acme, 2, MEMBER, true),
        (3, acme, 4, GUEST, true),
        (4, acme, 5, MEMBER, true),
        (5, acme, 6, MEMBER, true),
        (6, acme, 7, MEMBER, false),
        (7, acme, 8, MEMBER, true),
        (8, other, 3, ADMIN, true),
        (9, acme, 9, MEMBER, true),
    ] {
        build.workspace_member(number, workspace, fixed('a', person), role, active);
    }
    [acme, other]
}
