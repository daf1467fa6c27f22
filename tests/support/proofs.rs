//! The first calls to v1 for every request, and their answers about the recorded project `WEB` and a work item in it.
//!
//! May use: `exchange`, `recorded`.

use super::exchange::Exchange;
use super::recorded::recorded;
use causeway::translate::work_items::WHOLE;
use serde_json::{Value, json};

/// The project `WEB` below `/api/v1/`.
pub const V1: &str = "workspaces/acme/projects/00000000-0000-4000-c000-000000000001/";
/// Query of a project card.
pub const CARD: &str = "?fields=id,is_member,member_role,identifier,workspace,timezone,archived_at,\
                        default_assignee,estimate,cycle_view,module_view";

/// The call for the current user, answered with ada.
pub fn me() -> Exchange {
    let ada =
        json!({"id": "00000000-0000-4000-a000-000000000001", "email": "ada@acme.test", "display_name": "ada"});
    Exchange::get("users/me/").reply(200, ada)
}

/// The call for the card of the project.
pub fn get_card() -> Exchange {
    Exchange::get(&format!("{V1}{CARD}"))
}

/// Returns the target of the card with another slug.
pub fn card_target(slug: &str) -> String {
    format!("{}{CARD}", V1.replace("acme", slug))
}

/// Returns a card of the project for a person with this role.
pub fn card(role: Option<i64>) -> Value {
    json!({"id": "00000000-0000-4000-c000-000000000001", "is_member": role.is_some(), "member_role": role,
        "identifier": "WEB", "workspace": "00000000-0000-4000-b000-000000000001", "timezone": "UTC",
        "archived_at": null, "default_assignee": null, "estimate": null, "cycle_view": true, "module_view": true})
}

/// A recorded work item with another id and name.
pub fn item(id: &str, name: &str) -> Value {
    let mut item = recorded("work_items", "items_get_minimal").body;
    (item["id"], item["name"]) = (json!(id), json!(name));
    item
}

/// The read of that whole work item.
pub fn get_item(id: &str, name: &str) -> Exchange {
    Exchange::get(&format!("{V1}work-items/{id}/?{WHOLE}")).reply(200, item(id, name))
}
