//! The resources and paths of v1 that the program names in its texts, each with its reason.
//!
//! Everything else about them is in the mappings. Tests beside the code are left out.

use super::imports::sources;
use causeway::mapping::{Files, Texts};
use causeway::plan::Known;
use std::collections::{BTreeMap, BTreeSet};

/// The largest allowed number of such texts, with the resources in [`Known`], which are named in one place.
const MOST: usize = 25;

/// The file, the text, the number of its occurrences, and the reason.
const NAMED: &[(&str, &str, usize, &str)] = &[
    ("access/paths.rs", "users/me/", 1, "who a key belongs to is asked before any operation is found"),
    (
        "access/paths.rs",
        "workspaces/{slug}/members/",
        1,
        "the role in the workspace is asked before it is carried out",
    ),
    (
        "access/paths.rs",
        "workspaces/{slug}/projects/",
        1,
        "projects are no resource of v2; which ones a caller sees",
    ),
    ("access/paths.rs", "workspaces/{slug}/projects/{project_id}/", 1, "the role in the project"),
    (
        "access/projects_page.rs",
        "{base}/workspaces/{slug}",
        1,
        "no path: the name from which an id is made where v1 tells none",
    ),
    ("app/foreign_writes.rs", "/api/v1/workspaces/", 1, "tells which project a write on the pass-through touches"),
    ("cli/demo.rs", "{base}/workspaces/{}/projects/{}", 1, "a path of v2 in the greeting of the demo"),
    ("mapping/surfaces.rs", "workspaces/{slug}/projects/{project_id}/", 1, "what `{surface}/` stands for"),
    ("mapping/surfaces.rs", "workspaces/{slug}/", 1, "the same"),
    ("plan/known.rs", "cycle-issues/", 1, "v1 has the items of a cycle below it, and v2 has no such resource"),
    ("plan/known.rs", "module-issues/", 1, "the same of modules"),
    ("plan/known.rs", "/archived-{name}/", 1, "filters by cycle and module count archived ones too"),
    (
        "plan/known.rs",
        "workspaces/{slug}/work-items/{identifier}/",
        1,
        "v1's look-up by human key lies outside of projects",
    ),
    ("verify/bodies.rs", "workspace_work_item_types", 1, "an import in a project names types of the workspace"),
    (
        "verify/place.rs",
        "/api/v1/workspaces/{slug}/projects/",
        1,
        "projects are no resource of v2; `verify` makes one of its own",
    ),
];

/// Names of resources that are also names of members or values, and mean the latter here.
const MEMBERS: &[(&str, &str)] = &[
    // A value of `expand`.
    ("explain/calls.rs", "labels"),
    ("run/items/expansions.rs", "labels"),
    // A member of a work item's body, and of v1's records.
    ("run/items/names.rs", "labels"),
    ("translate/work_items_write.rs", "labels"),
    // A value of `include`.
    ("run/own/schema.rs", "labels"),
];

/// Returns the texts of a line that are names of resources or paths of v1.
fn named<'l>(line: &'l str, resources: &BTreeSet<String>) -> Vec<&'l str> {
    const PATHS: [&str; 7] =
        ["workspaces/", "projects/", "members/", "users/me/", "work-items/", "archived-", "-issues/"];
    let texts = line.split('"').skip(1).step_by(2);
    let is_path =
        |text: &str| PATHS.iter().any(|part| text.contains(part)) && !text.contains(' ') && !text.contains("/v2");
    texts.filter(|text| resources.contains(*text) || is_path(text)).collect()
}

#[test]
fn few_resources_and_paths_are_named_in_the_program_each_for_a_reason() {
    let files = Files::read(&Texts::embedded());
    let resources: BTreeSet<String> = files.resources.iter().map(|file| file.head.value.resource.clone()).collect();
    let mut found: BTreeMap<(String, String), usize> = BTreeMap::new();
    for (path, text) in sources() {
        let path = path.display().to_string();
        if path.contains("tests") {
            continue;
        }
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
            for name in named(line, &resources) {
                if !MEMBERS.contains(&(path.as_str(), name)) {
                    *found.entry((path.clone(), name.to_owned())).or_default() += 1;
                }
            }
        }
    }
    let listed: BTreeMap<(String, String), usize> =
        NAMED.iter().map(|(path, name, count, _)| (((*path).into(), (*name).into()), *count)).collect();
    assert_eq!(found, listed, "found on the left, listed on the right");
    assert!(NAMED.iter().all(|(.., reason)| !reason.is_empty()));
    let all = found.values().sum::<usize>() + Known::all().count();
    assert!(all <= MOST, "{all} resources and paths");
}
