//! The route table finds every operation, and says exactly why it finds none.

use crate::plan::support::plan;
use causeway::plan::routes::{RouteMatch, Routes};
use causeway::plan::{Plan, Segment};
use proptest::prelude::*;
use std::collections::HashSet;
use std::sync::LazyLock;

static PLAN: LazyLock<Plan> = LazyLock::new(plan);
static ROUTES: LazyLock<Routes> = LazyLock::new(|| Routes::new(&PLAN));
static LITERALS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let segments = PLAN.operations.iter().flat_map(|operation| operation.path.segments());
    segments
        .filter_map(|segment| match segment {
            Segment::Literal(text) => Some(text.clone()),
            Segment::Variable(_) => None,
        })
        .collect()
});

fn find(method: &str, path: &str) -> RouteMatch {
    ROUTES.find(method, path)
}

/// Id of the operation found, with its variables.
fn id(method: &str, path: &str) -> Option<(&'static str, Vec<(String, String)>)> {
    match find(method, path) {
        RouteMatch::Operation { operation, variables } => Some((&PLAN.operations[operation].id, variables)),
        _ => None,
    }
}

/// Any value of one segment, except the literals of other paths.
fn value() -> impl Strategy<Value = String> {
    "[^/\\p{Cc}]{1,12}".prop_filter("no literal, no dot segment", |value| {
        !LITERALS.contains(value) && value != "." && value != ".."
    })
}

proptest! {
    #[test]
    fn every_operation_routes_to_itself(values in prop::collection::vec(value(), 5)) {
        for operation in &PLAN.operations {
            let names: Vec<&str> = operation.path.variables().collect();
            let value_of = |name: &str| names.iter().position(|known| *known == name).map(|index| values[index].as_str());
            let path = operation.path.fill(value_of).expect("every variable has a value");
            let (found, variables) = id(operation.method.as_str(), &format!("/{path}"))
                .expect("the operation is found");
            prop_assert_eq!(found, &operation.id);
            let expected: Vec<(String, String)> =
                names.iter().zip(&values).map(|(name, value)| ((*name).into(), value.clone())).collect();
            prop_assert_eq!(variables, expected);
        }
    }

    #[test]
    fn no_path_makes_it_panic(method in "[A-Z]{0,7}", path in "(/|[a-z%{}.]{0,3}|api|v2|workspaces|%2f|%zz){0,12}") {
        find(&method, &path);
    }
}

#[test]
fn a_literal_goes_before_a_variable() {
    let types = "/api/v2/workspaces/acme/projects/p/work-item-types";
    assert_eq!(id("POST", &format!("{types}/enable/")).expect("found").0, "project_work_item_types_enable");
    assert_eq!(id("GET", &format!("{types}/other/")).expect("found").0, "project_work_item_types_retrieve");
    assert_eq!(find("PATCH", &format!("{types}/enable/")), RouteMatch::WrongMethod { allow: vec!["POST"] });
    let (schema, variables) = id("GET", &format!("{types}/enable/schema/")).expect("found");
    assert_eq!(schema, "project_work_item_types_schema");
    assert_eq!(variables[2], ("pk".into(), "enable".into()));
}

#[test]
fn head_reads_like_get() {
    let path = "/api/v2/users/me/";
    assert_eq!(find("HEAD", path), find("GET", path));
    assert_eq!(find("POST", path), RouteMatch::WrongMethod { allow: vec!["GET", "HEAD"] });
}

#[test]
fn put_is_a_wrong_method_wherever_there_is_a_path() {
    let found = find("PUT", "/api/v2/workspaces/acme/projects/p/labels/l/");
    assert_eq!(found, RouteMatch::WrongMethod { allow: vec!["GET", "HEAD", "PATCH", "DELETE"] });
}

#[test]
fn a_missing_slash_is_told() {
    assert_eq!(find("GET", "/api/v2/users/me"), RouteMatch::MissingSlash { right: "/api/v2/users/me/".into() });
    assert_eq!(find("GET", "/api/v2/users/you"), RouteMatch::Unknown);
}

#[test]
fn variables_arrive_decoded() {
    let (_, variables) = id("GET", "/api/v2/workspaces/a%20b%C3%A9/members/").expect("found");
    assert_eq!(variables, [("slug".to_owned(), "a bé".to_owned())]);
    let (_, variables) =
        id("GET", "/api/v2/workspaces/a%0Ab/members/").expect("whether it is a slug is checked later");
    assert_eq!(variables, [("slug".to_owned(), "a\nb".to_owned())]);
}

#[test]
fn invalid_path_segments_are_unknown_paths() {
    for slug in ["", ".", "..", "%2e%2e", "a%2Fb", "a%2fb", "%", "%4", "%zz", "%ff"] {
        assert_eq!(find("GET", &format!("/api/v2/workspaces/{slug}/members/")), RouteMatch::Unknown, "{slug}");
    }
    for path in
        ["", "/", "api/v2/users/me/", "//api/v2/users/me/", "/api/v2/users/me//", "/api/v2/", "/api/v1/users/me/"]
    {
        assert_eq!(find("GET", path), RouteMatch::Unknown, "{path}");
    }
}
