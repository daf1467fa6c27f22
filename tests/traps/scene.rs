//! A gateway in front of a scripted v1 that has already given the caller access: the caller's name and the project
//! card are answered from the recordings, everything else is up to the test.
//!
//! May use: `tests/support`.

use crate::support::gateway::{Answer, Gateway, WEB};
use crate::support::proofs::get_card;
pub use crate::support::proofs::{CARD, V1, card};
use crate::support::recorded::recorded;
use crate::support::scripted::{Exchange, ScriptedV1};
use serde_json::{Value, json};

/// The first recorded project for the pass-through.
pub use crate::support::past_gateway::V1_WEB as THROUGH;
/// Id of that project.
pub const PROJECT: &str = "00000000-0000-4000-c000-000000000001";
/// The one recorded project that is private; only bob is in it.
pub const SECRET: &str = "00000000-0000-4000-c000-000000000002";
/// The recorded project of the other workspace.
pub const OTHERS: &str = "00000000-0000-4000-c000-000000000005";
/// An id that exists nowhere.
pub const NOWHERE: &str = "deadbeef-0000-4000-8000-00000000dead";
/// The recorded people.
pub const ADA: &str = "00000000-0000-4000-a000-000000000001";
pub const BOB: &str = "00000000-0000-4000-a000-000000000002";
pub const EVE: &str = "00000000-0000-4000-a000-000000000003";
pub const MEL: &str = "00000000-0000-4000-a000-000000000006";

/// v2 path below the first recorded project.
pub fn web(path: &str) -> String {
    format!("{WEB}/{path}")
}

/// v2 path below another project of the workspace.
pub fn project(id: &str, path: &str) -> String {
    format!("/api/v2/workspaces/acme/projects/{id}/{path}")
}

/// Returns v1's answer in a recorded exchange.
pub fn shown(file: &str, name: &str) -> Value {
    recorded(file, name).body
}

/// A recorded record with some members changed.
pub fn record(file: &str, name: &str, changes: Value) -> Value {
    let mut record = shown(file, name);
    for (key, value) in changes.as_object().expect("an object of changes") {
        record[key] = value.clone();
    }
    record
}

/// Returns the target by which the gateway reads a collection of v1.
pub fn list_target(resource: &str) -> String {
    let fields = match resource {
        "states" => {
            "id,name,description,color,group,sequence,default,is_triage,external_id,external_source,created_at,\
             created_by"
        }
        "labels" => "id,name,description,color,sort_order,parent,external_id,external_source,created_at,created_by",
        "cycles" => {
            "id,name,description,start_date,end_date,timezone,owned_by,sort_order,logo_props,external_id,\
             external_source,created_at,created_by"
        }
        "modules" => {
            "id,name,description,status,start_date,target_date,lead,members,sort_order,logo_props,external_id,\
             external_source,archived_at,created_at,created_by"
        }
        other => panic!("{other} is no collection"),
    };
    format!("{V1}{resource}/?per_page=1000&fields={fields}")
}

/// A page of v1.
pub fn page(rows: &[Value], total: usize, more: bool) -> Value {
    json!({"total_count": total, "next_page_results": more, "results": rows})
}

/// The read of a whole collection that fits on one page.
pub fn list(resource: &str, rows: &[Value]) -> Exchange {
    Exchange::get(&list_target(resource)).reply(200, page(rows, rows.len(), false))
}

/// The gateway and the double behind it.
pub struct Scene {
    pub v1: ScriptedV1,
    pub gateway: Gateway,
}

impl Scene {
    /// Ada, admin of the project.
    pub async fn new() -> Self {
        let scene = Self::unknown().await;
        scene.v1.expect(Exchange::get("users/me/").recorded("users", "users_me_admin").repeated());
        scene.v1.expect(get_card().reply(200, card(Some(20))).repeated());
        scene
    }

    /// A gateway that knows no caller yet.
    pub async fn unknown() -> Self {
        let v1 = ScriptedV1::start().await;
        let gateway = Gateway::before(v1.base_url()).await;
        Self { v1, gateway }
    }

    /// Adds one exchange to the script.
    pub fn expect(&self, exchange: Exchange) -> &Self {
        self.v1.expect(exchange);
        self
    }

    /// Returns the calls of v1 so far, without those for the caller's name and card, as `METHOD path body`; paths below
    /// the project without their queries.
    pub fn calls(&self) -> Vec<String> {
        let seen = self.v1.seen().into_iter();
        let counted = seen.filter(|seen| seen.target != "users/me/" && seen.target != format!("{V1}{CARD}"));
        let line = |seen: crate::support::scripted::Seen| {
            let path = seen.target.split('?').next().unwrap_or_default().replace(V1, "");
            let body = seen.json().map(|body| format!(" {body}")).unwrap_or_default();
            format!("{} {path}{body}", seen.method)
        };
        counted.map(line).collect()
    }

    /// Asserts that the calls so far are exactly these, and that the whole script was used.
    #[track_caller]
    pub fn finish(self, calls: &[&str]) {
        assert_eq!(self.calls(), calls);
        self.v1.finish();
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.gateway.get("ada", &web(path)).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.gateway.post("ada", &web(path), body).await
    }

    pub async fn patch(&self, path: &str, body: Value) -> Answer {
        self.gateway.patch("ada", &web(path), body).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.gateway.delete("ada", &web(path)).await
    }
}

/// `"id"` of a record.
pub fn id(record: &Value) -> &str {
    record["id"].as_str().expect("an id")
}

/// v1's records of a resource of the project, through the pass-through of the same gateway.
pub async fn stored(gateway: &Gateway, key: &str, resource: &str) -> Vec<Value> {
    let answer = gateway.get(key, &format!("{THROUGH}{resource}/")).await.expect(200);
    answer.json["results"].as_array().expect("a v1 list").clone()
}

/// v1's record with this id.
pub async fn stored_one(gateway: &Gateway, key: &str, resource: &str, id: &str) -> Value {
    gateway.get(key, &format!("{THROUGH}{resource}/{id}/")).await.expect(200).json
}

/// Returns the gateway's calls to its sandbox, without access checks: `METHOD path`, below the project.
pub fn journal(gateway: &Gateway) -> Vec<String> {
    let entries = gateway.sandbox().journal().into_iter();
    let counted = entries.filter(|entry| !entry.path.contains("users/me/") && !entry.path.contains("is_member"));
    counted.map(|entry| format!("{} {}", entry.method, entry.path.replace(THROUGH, ""))).collect()
}
