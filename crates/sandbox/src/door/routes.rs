//! The table of routes: the view, the methods, the permissions and the cost of each path, and the rows that a write
//! saves. May use: `lists`, `records`, `views`, this folder.

use percent_encoding::percent_decode_str;

use crate::door::auth::{
    EVERYBODY, KEY_HOLDERS, LABELS, MEMBERS_AND_GUESTS, PROJECTS, Permissions, RECORDS, ROSTERS, WORKSPACE_MEMBERS,
};
use crate::door::call::Call;
use crate::door::costs::{self, Cost};
use crate::door::http::Answer;
use crate::door::route::Place;
use crate::lists::{item_lists, search};
use crate::records::saving::{self, Saved};
use crate::records::store::World;
use crate::views::{
    activities, attachments, comments, cycle_items, cycles, intake, items, labels, links, members, module_items,
    modules, projects, relations, states, users,
};

/// The view that answers a method of a path.
#[derive(Clone, Copy)]
pub(crate) enum View {
    /// It only reads.
    Reads(fn(&Call<'_>, &World) -> Answer),
    /// It may change something.
    Writes(fn(&Call<'_>, &mut World) -> Answer),
}

/// A method and its view.
type Method = (&'static str, View);

const fn get(view: fn(&Call<'_>, &World) -> Answer) -> Method {
    ("GET", View::Reads(view))
}

const fn post(view: fn(&Call<'_>, &mut World) -> Answer) -> Method {
    ("POST", View::Writes(view))
}

const fn patch(view: fn(&Call<'_>, &mut World) -> Answer) -> Method {
    ("PATCH", View::Writes(view))
}

const fn delete(view: fn(&Call<'_>, &mut World) -> Answer) -> Method {
    ("DELETE", View::Writes(view))
}

/// A group of paths with the same rules.
pub(crate) struct Routes {
    /// The permissions.
    pub(crate) may: Permissions,
    /// The time of calls at a real v1.
    pub(crate) cost: Cost,
    /// The rows that writes load and save as a whole, when writes take time.
    pub(crate) saved: Option<Saved>,
    /// The common beginning of all the paths.
    base: &'static str,
    /// The rest of each path, and its methods in the order of the `Allow` header.
    paths: &'static [(&'static str, &'static [Method])],
}

/// A path that was found.
#[derive(Clone, Copy)]
pub(crate) struct Route {
    /// The group of paths it belongs to.
    pub(crate) routes: &'static Routes,
    methods: &'static [Method],
}

impl Route {
    /// The methods, as the `Allow` header spells them.
    pub(crate) fn allow(self) -> String {
        self.methods.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    }

    /// Returns the view of a method; HEAD and OPTIONS never have a view (`users_me_head`).
    pub(crate) fn view(self, method: &str) -> Option<View> {
        self.methods.iter().find(|(name, _)| *name == method).map(|(_, view)| *view)
    }
}

/// Finds the route of a path, after percent-decoding (`errors_path_percent_encoded`).
pub(crate) fn resolve(path: &str) -> Option<(Route, Place)> {
    let path = percent_decode_str(path).decode_utf8_lossy();
    let segments: Vec<&str> = path.strip_prefix("/api/v1/")?.strip_suffix('/')?.split('/').collect();
    ROUTES.iter().find_map(|routes| {
        routes.paths.iter().find_map(|(rest, methods)| {
            let pattern = routes.base.split('/').chain(rest.split('/')).filter(|part| !part.is_empty());
            let place = Place::read(pattern, &segments)?;
            Some((Route { routes, methods }, place))
        })
    })
}

const WORKSPACE: &str = "workspaces/:slug";
const PROJECT: &str = "workspaces/:slug/projects/:project";
const ITEM: &str = "workspaces/:slug/projects/:project/work-items|issues/:parent";

/// All paths of v1. The first path that fits is used.
const ROUTES: &[Routes] = &[
    Routes { may: EVERYBODY, cost: costs::ME, saved: None, base: "", paths: &[("users/me", &[get(users::me)])] },
    Routes {
        may: PROJECTS,
        cost: costs::PROJECTS,
        saved: None,
        base: WORKSPACE,
        paths: &[
            ("projects", &[get(projects::list), post(projects::create)]),
            ("projects/:project", &[get(projects::read), patch(projects::update), delete(projects::delete)]),
            ("projects/:project/archive", &[post(projects::archive), delete(projects::unarchive)]),
        ],
    },
    Routes {
        may: WORKSPACE_MEMBERS,
        cost: costs::WORKSPACE,
        saved: None,
        base: WORKSPACE,
        paths: &[
            ("members", &[get(members::workspace_roster)]),
            ("projects/:project/summary", &[get(projects::summary)]),
        ],
    },
    Routes {
        may: ROSTERS,
        cost: costs::ROSTERS,
        saved: None,
        base: PROJECT,
        paths: &[
            ("members|project-members", &[get(members::list), post(members::create)]),
            ("members|project-members/:id", &[patch(members::update), delete(members::delete), get(members::read)]),
        ],
    },
    Routes {
        may: RECORDS,
        cost: costs::OTHERS,
        saved: Some(saving::states),
        base: PROJECT,
        paths: &[
            ("states", &[get(states::list), post(states::create)]),
            ("states/:id", &[get(states::read), patch(states::update), delete(states::delete)]),
        ],
    },
    Routes {
        may: LABELS,
        cost: costs::LABELS,
        saved: Some(saving::labels),
        base: PROJECT,
        paths: &[
            ("labels", &[get(labels::list), post(labels::create)]),
            ("labels/:id", &[get(labels::read), patch(labels::update), delete(labels::delete)]),
        ],
    },
    Routes {
        may: RECORDS,
        cost: costs::OTHERS,
        saved: Some(saving::cycles),
        base: PROJECT,
        paths: &[
            ("cycles", &[get(cycles::list), post(cycles::create)]),
            ("cycles/:id", &[get(cycles::read), patch(cycles::update), delete(cycles::delete)]),
            ("cycles/:id/archive", &[post(cycles::archive)]),
            ("archived-cycles", &[get(cycles::list_archived)]),
            ("archived-cycles/:id/unarchive", &[delete(cycles::unarchive)]),
        ],
    },
    Routes {
        may: RECORDS,
        cost: costs::ITEMS_WITHIN,
        saved: None,
        base: PROJECT,
        paths: &[
            ("cycles/:parent/cycle-issues", &[get(cycle_items::list), post(cycle_items::add)]),
            ("cycles/:parent/cycle-issues/:id", &[get(cycle_items::read), delete(cycle_items::remove)]),
            ("cycles/:parent/transfer-issues", &[post(cycle_items::transfer)]),
        ],
    },
    Routes {
        may: RECORDS,
        cost: costs::OTHERS,
        saved: Some(saving::modules),
        base: PROJECT,
        paths: &[
            ("modules", &[get(modules::list), post(modules::create)]),
            ("modules/:id", &[get(modules::read), patch(modules::update), delete(modules::delete)]),
            ("modules/:id/archive", &[post(modules::archive)]),
            ("archived-modules", &[get(modules::list_archived)]),
            ("archived-modules/:id/unarchive", &[delete(modules::unarchive)]),
        ],
    },
    Routes {
        may: RECORDS,
        cost: costs::ITEMS_WITHIN,
        saved: None,
        base: PROJECT,
        paths: &[
            ("modules/:parent/module-issues", &[get(module_items::list), post(module_items::add)]),
            ("modules/:parent/module-issues/:id", &[delete(module_items::remove)]),
        ],
    },
    Routes {
        may: RECORDS,
        cost: costs::ITEMS,
        saved: Some(saving::items),
        base: PROJECT,
        paths: &[
            ("work-items|issues", &[get(item_lists::list), post(items::create)]),
            ("work-items|issues/:id", &[get(items::read), patch(items::update), delete(items::delete)]),
        ],
    },
    Routes {
        may: EVERYBODY,
        cost: costs::OTHERS,
        saved: None,
        base: WORKSPACE,
        paths: &[("work-items|issues/search", &[get(search::search)])],
    },
    Routes {
        may: KEY_HOLDERS,
        cost: costs::OTHERS,
        saved: None,
        base: WORKSPACE,
        paths: &[("work-items|issues/:key", &[get(item_lists::by_key)])],
    },
    Routes {
        may: MEMBERS_AND_GUESTS,
        cost: costs::COMMENTS,
        saved: Some(saving::comments),
        base: ITEM,
        paths: &[
            ("comments", &[get(comments::list), post(comments::create)]),
            ("comments/:id", &[get(comments::read), patch(comments::update), delete(comments::delete)]),
        ],
    },
    Routes {
        may: RECORDS,
        cost: costs::OTHERS,
        saved: None,
        base: ITEM,
        paths: &[
            ("links", &[get(links::list), post(links::create)]),
            ("links/:id", &[get(links::read), patch(links::update), delete(links::delete)]),
            ("activities", &[get(activities::list)]),
            ("activities/:id", &[get(activities::read)]),
        ],
    },
    // Relations exist only under `work-items` (`relations_issues_path_missing`). Attachments have different names under
    // `work-items` and `issues` (`attachments_list_issues_path`).
    Routes {
        may: RECORDS,
        cost: costs::OTHERS,
        saved: None,
        base: PROJECT,
        paths: &[("work-items/:parent/relations", &[get(relations::list), post(relations::create)])],
    },
    Routes {
        may: EVERYBODY,
        cost: costs::OTHERS,
        saved: None,
        base: PROJECT,
        paths: &[
            ("work-items/:parent/attachments", ATTACHMENTS),
            ("issues/:parent/issue-attachments", ATTACHMENTS),
            ("work-items/:parent/attachments/:id", ATTACHMENT),
            ("issues/:parent/issue-attachments/:id", ATTACHMENT),
        ],
    },
    Routes {
        may: MEMBERS_AND_GUESTS,
        cost: costs::OTHERS,
        saved: None,
        base: PROJECT,
        paths: &[
            ("intake-issues", &[get(intake::list), post(intake::create)]),
            ("intake-issues/:id", &[get(intake::read), patch(intake::update), delete(intake::delete)]),
        ],
    },
];

const ATTACHMENTS: &[Method] = &[get(attachments::list), post(attachments::create)];
const ATTACHMENT: &[Method] = &[
    get(attachments::read),
    ("PATCH", View::Reads(attachments::read)),
    ("DELETE", View::Reads(attachments::read)),
];
