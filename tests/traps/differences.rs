//! Exchanges for which v2 deliberately differs from the general rule of the replay: exchange, v2's status and
//! code, and the reason.

/// Name of the exchange, v2's status, its code (empty for a success), the reason.
pub const TABLE: &[(&str, u16, &str, &str)] = &[
    // States
    ("states_create_duplicate_name_padded", 409, CONFLICT, "a padded duplicate is a duplicate (trap 6)"),
    ("states_create_number_name", 400, INVALID, "a name is a string in v2; v1 takes a number for one"),
    ("states_create_name_101_letters", 400, INVALID, "v1 cannot store the slug (trap 7)"),
    ("states_create_name_255", 400, INVALID, "v1 cannot store the slug (trap 7)"),
    ("states_patch_name_101_letters", 400, INVALID, "v1 cannot store the slug (trap 7)"),
    ("states_get_after_is_triage", 200, "", "is_triage was never sent, so the state is an ordinary one (trap 37)"),
    (
        "states_delete_after_is_triage",
        204,
        "",
        "is_triage was never sent, so the state is an ordinary one (trap 37)",
    ),
    (
        "states_patch_after_is_triage",
        404,
        NOT_FOUND,
        "the state before was deleted; in v1 it had vanished (trap 37)",
    ),
    (
        "states_patch_is_triage_false",
        404,
        NOT_FOUND,
        "the state before was deleted; in v1 it had vanished (trap 37)",
    ),
    ("states_patch_duplicate_name", 409, CONFLICT, "name clashes are 409 in v2 (trap 5)"),
    ("states_delete_default", 409, CONFLICT, "v2 refuses with 409 (trap 8)"),
    ("states_delete_with_items", 409, CONFLICT, "v2 refuses with 409 (trap 8)"),
    ("states_delete_with_archived_items_only", 409, CONFLICT, "v2 refuses with 409 (trap 8)"),
    // Labels
    ("labels_create_duplicate_padded", 409, CONFLICT, "a padded duplicate is a duplicate (trap 6)"),
    ("labels_create_parent_other_project_accepted", 400, INVALID, "a parent is a label of the project (trap 30)"),
    (
        "labels_create_parent_foreign_workspace_accepted",
        400,
        INVALID,
        "a parent is a label of the project (trap 30)",
    ),
    ("labels_patch_duplicate_name", 409, CONFLICT, "name clashes are 409 in v2 (trap 5)"),
    ("labels_patch_parent_other_project_accepted", 400, INVALID, "a parent is a label of the project (trap 30)"),
    ("labels_patch_parent_self_accepted", 400, INVALID, "labels do not lead back to themselves (trap 30)"),
    ("labels_patch_parent_cycle_1", 400, INVALID, "labels do not lead back to themselves (trap 30)"),
    ("labels_child_after_parent_delete", 200, "", "children were detached first (trap 39)"),
    // Cycles
    ("cycles_create_without_project_id", 201, "", "v2 takes the project from the path (trap 24)"),
    ("cycles_create_project_id_null", 201, "", "v2 takes the project from the path (trap 24)"),
    ("cycles_create_project_id_random", 201, "", "v2 takes the project from the path (trap 24)"),
    ("cycles_create_project_id_malformed", 201, "", "v2 takes the project from the path (trap 24)"),
    ("cycles_create_duplicate_name_accepted", 409, CONFLICT, "names of cycles are unique in v2 (trap 5)"),
    ("cycles_create_feature_off", 409, CONFLICT, "cycles are switched off in the project"),
    ("cycles_create_start_only", 201, "", "each date goes alone, so one of them will do (trap 25)"),
    ("cycles_create_end_only", 201, "", "each date goes alone, so one of them will do (trap 25)"),
    ("cycles_create_abbreviated_timezone", 201, "", "an IANA name that v1 does not take is kept in the overlay"),
    ("cycles_create_owner_random", 201, "", "the owner is no input of v2 (O58)"),
    ("cycles_create_array_body", 400, INVALID, "a body that is no object never reaches v1 (trap 11)"),
    ("cycles_patch_name_taken_accepted", 409, CONFLICT, "names of cycles are unique in v2 (trap 5)"),
    ("cycles_patch_start_after_stored_end_accepted", 400, INVALID, "the stored end counts (trap 28)"),
    ("cycles_patch_completed", 200, "", "sort_order is always carried (trap 27)"),
    ("cycles_archived_patch", 404, NOT_FOUND, "archived cycles are not served"),
    // Modules
    ("modules_create_duplicate_name", 409, CONFLICT, "name clashes are 409 in v2 (trap 5)"),
    ("modules_create_duplicate_padded", 409, CONFLICT, "name clashes are 409 in v2 (trap 5)"),
    ("modules_create_feature_off", 409, CONFLICT, "modules are switched off in the project"),
    ("modules_create_lead_outsider_accepted", 400, INVALID, "a lead is a member of the project (trap 29)"),
    ("modules_create_members_random", 201, "", "members are no input of v2"),
    ("modules_create_members_not_list", 201, "", "members are no input of v2"),
    ("modules_patch_duplicate_name", 409, CONFLICT, "name clashes are 409 in v2 (trap 5)"),
    ("modules_patch_target_before_stored_start_accepted", 400, INVALID, "the stored start counts (trap 28)"),
    ("modules_patch_lead_outsider_accepted", 400, INVALID, "a lead is a member of the project (trap 29)"),
    ("modules_archived_get", 200, "", "archived modules are found by id (O59)"),
    ("modules_archived_name_still_taken", 409, CONFLICT, "archived modules keep their names in v1 (trap 5)"),
    // Other files
    ("auth_bearer_ignored_beside_valid_key", 401, UNAUTHORIZED, "a wrong token beside a key is a wrong credential"),
    ("errors_form_accepted", 400, INVALID, "v2 takes JSON only (O5)"),
    ("errors_multipart_accepted", 400, INVALID, "v2 takes JSON only (O5)"),
    ("errors_accept_xml", 200, "", "v2 answers JSON whatever is asked for"),
    ("errors_accept_html", 200, "", "v2 answers JSON whatever is asked for"),
    ("errors_format_param", 400, INVALID, "unknown parameters of lists are refused (O6)"),
    ("errors_slash_missing_get", 404, NOT_FOUND, "v2 names the right path instead of redirecting (trap 13)"),
    ("errors_slash_missing_post", 404, NOT_FOUND, "v2 names the right path instead of redirecting (trap 13)"),
    ("errors_body_too_large_no_slash", 404, NOT_FOUND, "the path is judged before the body (O2)"),
    ("errors_400_error_key", 201, "", "each date of a cycle goes alone, so one of them will do (trap 25)"),
    ("pagination_per_page_0_states", 400, INVALID, "the page size is judged here (trap 10)"),
    ("pagination_per_page_1001_labels", 200, "", "a page size above 200 is clamped (contract, chapter 5)"),
];

const UNAUTHORIZED: &str = "unauthorized";
const INVALID: &str = "validation_error";
const CONFLICT: &str = "conflict";
const NOT_FOUND: &str = "resource_not_found";
