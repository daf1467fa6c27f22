//! Sample data to try the gateway on: one workspace, one project, five people. All ids are fixed, so that
//! printed commands work unchanged. May use: `door`, this folder.

use jiff::ToSpan;
use jiff::civil::{Date, date};
use jiff::tz::TimeZone;
use uuid::Uuid;

use crate::door::auth::{ADMIN, GUEST, MEMBER};
use crate::records::clock::Clock;
use crate::records::kinds::{Comment, CycleItem, External, ModuleItem};
use crate::records::seed::{Builder, fixed};
use crate::records::store::World;
use crate::records::table::Id;

/// First name, last name, zone, key, role.
pub(crate) const PEOPLE: [(&str, &str, &str, &str, u8); 5] = [
    ("Ada", "Admin", "UTC", "demo-admin-key", ADMIN),
    ("Ben", "Builder", "UTC", "demo-member-key", MEMBER),
    ("Cleo", "Designer", "Europe/Berlin", "demo-designer-key", MEMBER),
    ("Devi", "Remote", "Asia/Kolkata", "demo-remote-key", MEMBER),
    ("Gus", "Guest", "UTC", "demo-guest-key", GUEST),
];

/// Name, colour, and the number of the parent, if any.
const LABELS: [(&str, &str, Option<u64>); 12] = [
    ("bug", "#e5484d", None),
    ("feature", "#3e63dd", None),
    ("regression", "#ce2c31", Some(1)),
    ("crash", "#aa2429", Some(1)),
    ("design", "#d6409f", None),
    ("accessibility", "#8e4ec6", None),
    ("performance", "#f76b15", None),
    ("documentation", "#00a2c7", None),
    ("security", "#ffc53d", None),
    ("customer", "#46a758", None),
    ("good first task", "#12a594", None),
    ("needs decision", "#9ba1a6", None),
];

/// Name, number of the state, position of the priority, number of the assigned person (0 for none), numbers of
/// labels.
const ITEMS: [(&str, u64, usize, u64, &[u64]); 30] = [
    ("Set up the new landing page", 4, 1, 1, &[2]),
    ("Choose a typeface for headings", 4, 3, 3, &[5]),
    ("Menu does not close on small screens", 3, 0, 2, &[1, 3]),
    ("Write the imprint", 4, 2, 1, &[8]),
    ("Images load too slowly on the gallery", 3, 1, 2, &[7]),
    ("Contact form loses line breaks", 2, 1, 2, &[1]),
    ("Add a dark theme", 1, 3, 3, &[2, 5]),
    ("Check colour contrast of buttons", 2, 2, 3, &[6]),
    ("Search crashes on empty input", 3, 0, 4, &[1, 4]),
    ("Explain pricing in plain words", 1, 2, 0, &[8, 10]),
    ("Move the blog to the new layout", 2, 2, 4, &[2]),
    ("Cookie banner covers the footer", 4, 1, 2, &[1]),
    ("Serve fonts from our own host", 4, 2, 4, &[7, 9]),
    ("Keyboard focus is invisible", 2, 1, 3, &[6, 1]),
    ("Collect customer stories", 1, 3, 1, &[10]),
    ("Broken links in the archive", 5, 4, 0, &[1]),
    ("Draw icons for the feature list", 3, 2, 3, &[5]),
    ("Add a changelog page", 1, 3, 0, &[8, 11]),
    ("Translate the home page", 1, 2, 4, &[2]),
    ("Rate limit the contact form", 2, 1, 4, &[9]),
    ("Newsletter sign-up fails in Safari", 3, 0, 2, &[1, 3, 10]),
    ("Decide on analytics", 1, 4, 1, &[12]),
    ("Shorten the first paragraph", 4, 3, 1, &[8, 11]),
    ("Print style for articles", 1, 4, 0, &[11]),
    ("Show opening hours", 4, 2, 2, &[2]),
    ("Alternative texts for all pictures", 2, 1, 3, &[6, 8]),
    ("Upgrade the build tools", 3, 2, 4, &[]),
    ("Remove the old splash screen", 5, 4, 0, &[]),
    ("Measure page weight in the build", 1, 2, 2, &[7]),
    ("Plan the launch day", 2, 1, 1, &[12]),
];

const PRIORITIES: [&str; 5] = ["urgent", "high", "medium", "low", "none"];

/// Builds the sample data.
pub(crate) fn world(clock: &Clock) -> World {
    let mut build = Builder::new(clock);
    let acme = build.workspace(1, "acme", "Acme");
    let mut number = 0;
    for (first, last, zone, key, role) in PEOPLE {
        number += 1;
        let email = format!("{}@acme.test", first.to_lowercase());
        let id = build.person(number, [first, last], &email, zone);
        build.key(key, id, true, false);
        build.workspace_member(number, acme, id, role, true);
    }
    let ada = fixed('a', 1);
    let web = build.project(1, acme, ada, "WEB", "Website");
    for (number, (_, _, _, _, role)) in (1..).zip(PEOPLE) {
        build.project_member(100 + number, web, fixed('a', number), role, true);
    }
    build.key("demo-service-key", ada, true, true);
    for (number, (name, color, parent)) in (1..).zip(LABELS) {
        let id = build.label(fixed('7', number), acme, Some(web), ada, name);
        if let Some(label) = build.world.labels.any_mut(id) {
            color.clone_into(&mut label.color);
            label.parent = parent.map(|parent| fixed('7', parent));
        }
    }
    items(&mut build, web);
    cycles(&mut build, web);
    modules(&mut build, web);
    comments(&mut build, web);
    build.world
}

fn day(today: Date, offset: i64) -> Date {
    today.checked_add(offset.days()).unwrap_or(today)
}

fn items(build: &mut Builder<'_>, web: Id) {
    let today = TimeZone::UTC.to_datetime(build.clock.now()).date();
    for (number, (name, state, priority, person, labels)) in (1_u64..).zip(ITEMS) {
        let owner = fixed('a', number % 4 + 1);
        let offset = i64::try_from(number).unwrap_or_default();
        let done = state == 4;
        build.item(number, web, owner, name, fixed('d', 100 + state), |item| {
            item.priority = PRIORITIES[priority];
            item.description_html = format!("<p>{name}.</p>");
            item.labels = labels.iter().map(|&label| fixed('7', label)).collect();
            item.labels.sort_unstable();
            if person > 0 {
                item.assignees = vec![fixed('a', person)];
            }
            if number % 3 == 0 {
                item.start_date = Some(day(today, offset - 20));
                item.target_date = Some(day(today, offset - 6));
            }
            if number % 10 == 0 {
                item.parent = Some(fixed('e', number - 1));
            }
            item.completed_at = done.then_some(item.created_at);
        });
    }
}

fn cycles(build: &mut Builder<'_>, web: Id) {
    let now = build.clock.now();
    let today = TimeZone::UTC.to_datetime(now).date();
    for (number, name, from, to) in [(1, "Sprint 1", -28, -15), (2, "Sprint 2", -7, 6), (3, "Sprint 3", 7, 20)] {
        let id = build.cycle(fixed('6', number), web, fixed('a', 1), name);
        if let Some(cycle) = build.world.cycles.any_mut(id) {
            let start = day(today, from).at(0, 0, 1, 0);
            let end = day(today, to).at(23, 59, 0, 0);
            cycle.start_date = TimeZone::UTC.to_timestamp(start).ok();
            cycle.end_date = TimeZone::UTC.to_timestamp(end).ok();
        }
        for item in (number..=30).step_by(4) {
            let stamp = build.stamp(fixed('a', 1));
            build.world.cycle_items.add(CycleItem {
                id: fixed('5', number * 100 + item),
                cycle: id,
                item: fixed('e', item),
                project: web,
                workspace: fixed('b', 1),
                stamp,
                deleted_at: None,
            });
        }
    }
}

fn modules(build: &mut Builder<'_>, web: Id) {
    for (number, name, status, lead) in
        [(1, "Launch", "in-progress", 1), (2, "Blog", "planned", 4), (3, "Accessibility", "backlog", 3)]
    {
        let id = build.module(fixed('6', 10 + number), web, fixed('a', 1), name);
        if let Some(module) = build.world.modules.any_mut(id) {
            status.clone_into(&mut module.status);
            module.lead = Some(fixed('a', lead));
            module.members = vec![fixed('a', lead), fixed('a', 2)];
            module.start_date = Some(date(2026, 1, 5));
            module.target_date = Some(date(2026, 12, 18));
        }
        for item in (number..=30).step_by(5) {
            let stamp = build.stamp(fixed('a', 1));
            build.world.module_items.add(ModuleItem {
                id: fixed('4', number * 100 + item),
                module: id,
                item: fixed('e', item),
                project: web,
                workspace: fixed('b', 1),
                stamp,
                deleted_at: None,
            });
        }
    }
}

fn comments(build: &mut Builder<'_>, web: Id) {
    for (number, item, person, text) in [
        (1, 3, 2, "Happens on every phone I tried."),
        (2, 3, 3, "The button sits below the banner, see the sketch."),
        (3, 9, 4, "Found it: the index is read before it is there."),
        (4, 21, 1, "Two customers wrote about this today."),
    ] {
        let actor = fixed('a', person);
        let stamp = build.stamp(actor);
        build.world.comments.add(Comment {
            id: fixed('3', number),
            item: fixed('e', item),
            project: web,
            workspace: fixed('b', 1),
            stamp,
            deleted_at: None,
            html: format!("<p>{text}</p>"),
            access: "INTERNAL".to_owned(),
            actor,
            description: Uuid::new_v5(&Uuid::NAMESPACE_OID, text.as_bytes()),
            external: External::default(),
        });
    }
}
