//! A plain new resource is a mapping file and nothing else: work item links, which v1 has and the
//! contract does not, compile together with the embedded files without a line of Rust.

use crate::plan::support::{compiled, plan as without_links};
use causeway::mapping::Texts;
use causeway::plan::routes::{RouteMatch, Routes};
use causeway::plan::{Plan, Special, Step};
use std::path::Path;

fn with_links() -> Plan {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plan/mappings_links");
    compiled(&Texts::embedded().overlay(&folder).expect("readable"), Special::all())
}

#[test]
fn a_plain_resource_needs_a_mapping_and_no_rust() {
    let plan = with_links();
    assert_eq!(plan.operations.len(), without_links().operations.len() + 5);
    let own: Vec<_> = plan.operations.iter().filter(|operation| operation.id.starts_with("links_")).collect();
    assert_eq!(own.len(), 5);
    assert!(own.iter().all(|operation| operation.works() && !matches!(operation.step, Step::Special(_))));
}

#[test]
fn its_paths_and_fields_reach_v1() {
    let plan = with_links();
    let v1 = plan.resource("links").expect("links").v1.as_ref().expect("behind v1");
    assert_eq!(v1.list_query, "fields=id,title,url,issue,created_at,created_by");
    let path = "/api/v2/workspaces/acme/projects/p/work-items/w/links/l/";
    let RouteMatch::Operation { operation, variables } = Routes::new(&plan).find("PATCH", path) else {
        panic!("{path} is not found");
    };
    assert_eq!(plan.operations[operation].id, "links_update");
    let value_of = |name: &str| variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let filled = v1.record.as_ref().expect("record").fill(value_of);
    assert_eq!(filled.as_deref(), Some("workspaces/acme/projects/p/work-items/w/links/l/"));
}

#[test]
fn without_the_file_there_are_no_links() {
    let found = Routes::new(&without_links()).find("GET", "/api/v2/workspaces/acme/projects/p/work-items/w/links/");
    assert_eq!(found, RouteMatch::Unknown);
}
