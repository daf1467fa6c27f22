//! Results of the compiler: merged inputs, derived tests, cells, the query sent to v1.

use crate::plan::support::plan;
use causeway::plan::{
    BodyRule, Filter, FilterTest, Input, Keep, OnCreate, Operation, ParamRole, Plan, Special, Step,
};

fn operation<'p>(plan: &'p Plan, id: &str) -> &'p Operation {
    plan.operation(id).unwrap_or_else(|| panic!("no operation {id}"))
}

fn role<'p>(operation: &'p Operation, param: &str) -> &'p ParamRole {
    &operation.params.iter().find(|known| known.name == param).expect("the parameter").role
}

fn member<'p>(operation: &'p Operation, name: &str) -> &'p Input {
    let BodyRule::Members(inputs) = &operation.body else { panic!("{} takes no members", operation.id) };
    inputs.iter().find(|input| input.name == name).expect("the member")
}

#[test]
fn the_name_of_a_filter_says_its_test() {
    let plan = plan();
    let list = operation(&plan, "work_items_list");
    let cases = [
        ("state_id", "state_id", FilterTest::Equal),
        ("state_id__in", "state_id", FilterTest::In),
        ("parent_id__isnull", "parent_id", FilterTest::IsNull),
        ("created_at__gte", "created_at", FilterTest::AtLeast),
        ("target_date__lte", "target_date", FilterTest::AtMost),
    ];
    for (param, field, test) in cases {
        assert_eq!(role(list, param), &ParamRole::Filter(Filter { field: field.into(), test }), "{param}");
    }
    let audit = operation(&plan, "audit_logs_list");
    let bound = |test| ParamRole::Filter(Filter { field: "created_at".into(), test });
    assert_eq!(role(audit, "created_after"), &bound(FilterTest::AtLeast));
    assert_eq!(role(audit, "created_before"), &bound(FilterTest::AtMost));
}

#[test]
fn parameters_that_are_no_filters_know_what_they_do() {
    let plan = plan();
    let list = operation(&plan, "labels_list");
    assert_eq!(role(list, "search"), &ParamRole::Search);
    assert_eq!(role(list, "order_by"), &ParamRole::OrderBy);
    for paging in ["per_page", "offset", "count", "paginate", "cursor"] {
        assert_eq!(role(list, paging), &ParamRole::Paging);
    }
    assert_eq!(role(operation(&plan, "work_items_list"), "expand"), &ParamRole::Expand);
    assert_eq!(role(operation(&plan, "project_work_item_types_schema"), "include"), &ParamRole::Option);
}

#[test]
fn an_operation_changes_what_a_member_is_declared_as() {
    let plan = plan();
    let (create, update) = (operation(&plan, "work_items_create"), operation(&plan, "work_items_update"));
    assert!(member(create, "name").spec.required && !member(update, "name").spec.required);
    assert_eq!(member(create, "priority").spec.default, Some("none".into()));
    assert!(
        !member(create, "estimate_point_id").spec.nullable && member(update, "estimate_point_id").spec.nullable
    );
    assert_eq!(member(update, "name").spec.max_length, Some(255));
    assert!(member(create, "name").trim && !member(create, "priority").trim);
    let resource = plan.resource_of(create);
    assert_eq!(member(create, "state_id").field, resource.field_index("state_id"));
    let parent = member(operation(&plan, "labels_update"), "parent_id");
    assert_eq!((parent.spec.references.as_deref(), parent.spec.acyclic), (Some("labels"), true));
}

#[test]
fn the_external_pair_is_trimmed_everywhere() {
    let plan = plan();
    let pair = ["external_id", "external_source"];
    let mut seen = Vec::new();
    for operation in &plan.operations {
        let BodyRule::Members(inputs) = &operation.body else { continue };
        for half in inputs.iter().filter(|input| pair.contains(&input.name.as_str())) {
            assert!(half.spec.trim_ends && !half.trim, "{} of {}: blank is no fault", half.name, operation.id);
            seen.push(&operation.id);
        }
    }
    assert_eq!(seen.len(), 52, "{seen:?}");
}

#[test]
fn lists_ask_v1_for_what_the_fields_need() {
    let plan = plan();
    let v1 = |name: &str| plan.resource(name).expect("the resource").v1.as_ref().expect("behind v1");
    assert_eq!(
        v1("labels").list_query,
        "fields=id,name,description,color,sort_order,parent,external_id,external_source,created_at,created_by"
    );
    assert_eq!(v1("project_members").list_query, "", "a roster does not select");
    assert!(plan.resource("audit_logs").expect("the resource").v1.is_none());
}

#[test]
fn cells_are_what_lists_look_at() {
    let plan = plan();
    let names = |name: &str| -> Vec<&str> {
        let resource = plan.resource(name).expect("the resource");
        resource.cells.iter().map(|&field| resource.fields[field].name.as_str()).collect()
    };
    assert_eq!(
        names("labels"),
        ["id", "name", "sort_order", "parent_id", "external_id", "external_source", "created_at"]
    );
    let members = plan.resource("project_members").expect("the resource");
    assert_eq!(
        members.cell_index("member.email"),
        members.cells.iter().position(|&c| members.fields[c].name == "member.email")
    );
    assert!(members.fields[members.fields.len() - 1].spec.hidden, "hidden fields come last");
    assert!(plan.resource("workspace_features").expect("the resource").cells.is_empty());
}

#[test]
fn fields_know_who_keeps_them() {
    let plan = plan();
    let field =
        |resource: &str, name: &str| plan.resource(resource).and_then(|r| r.field(name)).expect("the field");
    assert_eq!(field("cycles", "sort_order").spec.keep, Keep::Overlay);
    assert_eq!(field("cycles", "timezone").spec.keep, Keep::OverlayIfRefused);
    assert_eq!(field("labels", "sort_order").spec.on_create, OnCreate::Patch);
    assert_eq!(field("cycles", "end_date").spec.not_before.as_deref(), Some("start_date"));
    assert_eq!(operation(&plan, "cycles_create").step, Step::Special(Special::CycleCreate));
    let labels = plan.resource("labels").expect("labels");
    assert_eq!(operation(&plan, "labels_delete").detach_children, labels.field_index("parent_id"));
}

#[test]
fn most_operations_are_plain_steps() {
    let plan = plan();
    let special = |operation: &&Operation| matches!(operation.step, Step::Special(_));
    assert_eq!(plan.operations.iter().filter(special).count(), 22, "of 88");
}

#[test]
fn common_errors_stand_where_their_status_belongs() {
    let plan = plan();
    let statuses: Vec<u16> = operation(&plan, "labels_create").errors.iter().map(|error| error.status).collect();
    assert_eq!(statuses, [400, 401, 403, 404, 409, 429]);
}
