//! A workspace with examples of everything that only the store holds.

use super::two::{ACME, HERE, Side, Two, id};
use serde_json::json;

/// Names of the work items made on both sides, after the one each project begins with.
const ITEMS: [&str; 5] = ["Plain", "Typed", "Related", "Archived", "Shared"];

/// Ids of the work items here.
pub struct Filled {
    /// Ids in the order of the names.
    pub items: Vec<String>,
}

/// Fills the gateway that is left; both deployments get the same work items.
pub async fn fill(two: &Two) -> Filled {
    let here = Side::here(two);
    let mut items = Vec::new();
    for name in ITEMS {
        items.push(here.item(0, name).await);
        if !two.is_upgraded() {
            Side::there(two).item(0, name).await;
        }
    }
    let filled = Filled { items };
    in_project_mode(here, &filled).await;
    in_workspace_mode(here, &filled).await;
    let archive = here.web(&format!("work-items/{}/archive/", filled.items[3]));
    here.made(&archive, json!({})).await;
    cycle(two).await;
    filled
}

/// Creates what a project owns: a type of another level, a property renamed since, choices, values of each kind.
async fn in_project_mode(here: Side<'_>, filled: &Filled) {
    here.mode(false).await;
    here.made(&here.web("work-item-types/enable/"), json!({})).await;
    let features = format!("{ACME}/features/");
    here.changed(&features, json!({"work_item_type_default_level": 2, "is_wiki_enabled": true})).await;
    let types = here.web("work-item-types/");
    let bug = json!({"name": "Bug", "description": "What is broken", "external_id": "B", "external_source": "x"});
    let bug = id(&here.made(&types, bug).await);
    here.changed(&features, json!({"work_item_type_default_level": 0})).await;
    here.made(&types, json!({"name": "Retired", "is_active": false})).await;
    here.made(&format!("{types}{bug}/mark-default/"), json!({})).await;
    let properties = here.web("work-item-properties/");
    let mut made = Vec::new();
    let bob = "00000000-0000-4000-a000-000000000002";
    for body in [
        json!({"display_name": "Severity", "property_type": "OPTION", "options": [
            {"name": "low"}, {"name": "high", "is_default": true, "description": "at once"},
            {"name": "odd", "external_id": "o", "external_source": "x"}]}),
        json!({"display_name": "Points", "property_type": "DECIMAL", "default_value": ["1.5"], "is_required": true,
            "settings": {"step": 0.5}, "description": "how much"}),
        json!({"display_name": "Tags", "property_type": "TEXT", "is_multi": true, "external_id": "t",
            "external_source": "x"}),
        json!({"display_name": "Owner", "property_type": "RELATION", "relation_type": "USER",
            "default_value": [bob]}),
        json!({"display_name": "Blocks", "property_type": "RELATION", "relation_type": "ISSUE", "is_multi": true,
            "default_value": [filled.items[0]]}),
        json!({"display_name": "Due", "property_type": "DATETIME"}),
        json!({"display_name": "Points", "property_type": "BOOLEAN"}),
        json!({"display_name": "Body", "property_type": "RELATION", "relation_type": "RICH_TEXT"}),
    ] {
        made.push(here.made(&properties, body).await);
    }
    let ids: Vec<String> = made.iter().map(id).collect();
    here.made(&format!("{types}{bug}/properties/"), json!({"properties": [ids[1], ids[0]]})).await;
    here.made(&format!("{types}{bug}/properties/"), json!({"properties": ids[2..]})).await;
    let path = |id: &str| format!("{properties}{id}/");
    here.changed(&path(&ids[1]), json!({"display_name": "Story points"})).await;
    let high = made[0]["options"][1]["id"].clone();
    here.changed(&path(&ids[0]), json!({"default_value": [high]})).await;
    let item = |at: usize| here.web(&format!("work-items/{}/", filled.items[at]));
    let fields =
        json!({"severity": made[0]["options"][2]["id"], "points": 2.5, "tags": ["a", "b"], "due": "2027-01-01"});
    here.changed(&item(1), json!({"type_id": bug, "custom_fields": fields})).await;
    let fields = json!({"owner": bob, "blocks": [filled.items[0], filled.items[1]], "points_2": true,
        "body": "<p>Hi <strong>there</strong> &amp; <em>here</em></p><script>x</script>"});
    here.changed(&item(2), json!({"type_id": bug, "custom_fields": fields})).await;
    here.changed(&item(3), json!({"type_id": bug, "custom_fields": {"points": 7}})).await;
    // A value that is not shown any more.
    here.changed(&item(2), json!({"custom_fields": {"due": "2027-02-02"}})).await;
    here.changed(&path(&ids[5]), json!({"is_active": false})).await;
}

/// Creates what the workspace owns: contexts that narrow, share and replace, one property whose first context is gone.
async fn in_workspace_mode(here: Side<'_>, filled: &Filled) {
    here.mode(true).await;
    let types = format!("{ACME}/work-item-types/");
    let feature = id(&here.made(&types, json!({"name": "Feature"})).await);
    let other = id(&here.made(&types, json!({"name": "Other", "description": "anything"})).await);
    here.made(&format!("{types}{feature}/mark-default/"), json!({})).await;
    let properties = format!("{ACME}/work-item-properties/");
    let area = json!({"display_name": "Area", "property_type": "OPTION",
        "options": [{"name": "north"}, {"name": "south"}, {"name": "east", "is_default": true}]});
    let area = here.made(&properties, area).await;
    let option = |at: usize| area["options"][at]["id"].clone();
    let contexts = format!("{properties}{}/contexts/", id(&area));
    here.made(
        &contexts,
        json!({"name": "Web", "project_ids": [HERE[0]], "applies_to_all_work_item_types": true, "is_multi": true,
            "options": [{"id": option(1), "is_default": true}, {"name": "west", "is_default": true}],
            "external_id": "c", "external_source": "x", "sort_order": 5}),
    )
    .await;
    here.made(
        &contexts,
        json!({"name": "Narrow", "project_ids": [HERE[1]], "issue_type_ids": [feature], "is_required": true,
            "options": [{"id": option(0)}], "default_value": [option(0)], "settings": {"a": 1}}),
    )
    .await;
    let seeded = here.read(&contexts).await.data().iter().find(|row| row["is_default"] == true).cloned();
    let seeded = format!("{contexts}{}/", id(&seeded.expect("a context that came with the property")));
    let kept = json!({"name": "Everywhere", "options": [{"id": option(2), "is_default": true}, {"id": option(0)}]});
    here.changed(&seeded, kept).await;
    let note = here.made(&properties, json!({"display_name": "Note", "property_type": "TEXT"})).await;
    let contexts = format!("{properties}{}/contexts/", id(&note));
    here.made(&contexts, json!({"name": "Listed", "project_ids": [HERE[0]], "issue_type_ids": [feature, other]}))
        .await;
    let rows = here.read(&contexts).await;
    let seeded = rows.data().iter().find(|row| row["is_default"] == true).expect("a first context");
    here.removed(&format!("{contexts}{}/", id(seeded))).await;
    here.made(&format!("{types}{feature}/properties/"), json!({"properties": [id(&note), id(&area)]})).await;
    let import = here.web("work-item-types/import/");
    here.made(&import, json!({"work_item_types": [other, feature]})).await;
    let item = here.web(&format!("work-items/{}/", filled.items[4]));
    let fields = json!({"area": [option(1)], "note": "as is"});
    here.changed(&item, json!({"type_id": feature, "custom_fields": fields})).await;
}

/// Creates a cycle, a module, a label and a comment, the same on both sides; v1 cannot store a value of the cycle here.
async fn cycle(two: &Two) {
    let sides = if two.is_upgraded() { vec![Side::here(two)] } else { vec![Side::here(two), Side::there(two)] };
    for side in sides {
        for path in ["cycles", "modules", "labels"] {
            let path = format!("/api/v1/workspaces/acme/projects/{}/{path}/", side.projects[0]);
            let body = json!({"name": "Sprint", "project_id": side.projects[0]});
            assert_eq!(side.gateway.post("ada", &path, body).await.status, 201);
        }
        let plain = id(&side.read(&side.web("work-items/?search=Plain")).await.data()[0]);
        side.made(&side.web(&format!("work-items/{plain}/comments/")), json!({"comment_html": "<p>a</p>"})).await;
    }
    let here = Side::here(two);
    let cycles = here.web("cycles/");
    let cycle = id(&here.read(&cycles).await.data()[0]);
    here.changed(&format!("{cycles}{cycle}/"), json!({"sort_order": 12.5, "logo_props": {"icon": "x"}})).await;
}
