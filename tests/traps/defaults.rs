//! Trap 23: v1 can have the default flag on no state, or on two. v2 shows it on exactly one, before and after each write,
//! and that one cannot be deleted.

use crate::support::gateway::{Answer, Gateway};
use crate::support::past_gateway::{V1_WEB, ask_v1, in_web};
use crate::traps::scene::{id, web};
use causeway::sandbox::Seed;
use serde_json::{Value, json};

const DEFAULT: &str = "The default state of a project cannot be deleted; make another state the default first.";

/// A gateway before a v1 whose recorded project has the usual five states, Backlog being the default.
struct Project(Gateway);

impl Project {
    async fn new() -> Self {
        Self(Gateway::sandboxed(Seed::Recorded).await)
    }

    /// Asks v1 past the gateway, which keeps its cached data.
    fn v1(&self, method: &str, path: &str, body: &Value) -> Value {
        in_web(self.0.sandbox(), method, &format!("states/{path}"), body)
    }

    fn id(&self, name: &str) -> String {
        let states = self.v1("GET", "", &Value::Null);
        let mut states = states["results"].as_array().expect("rows").iter();
        id(states.find(|state| state["name"] == name).expect("the state")).to_owned()
    }

    /// Sets the default flag of a state at v1.
    fn flag(&self, name: &str, value: bool) {
        self.v1("PATCH", &format!("{}/", self.id(name)), &json!({"default": value}));
    }

    /// Leaves v1 without a default (`states_list_defaults_after_failed_create`).
    fn without_default(&self) {
        let taken = json!({"name": "Todo", "color": "c", "default": true});
        assert_eq!(ask_v1(self.0.sandbox(), "ada", "POST", &format!("{V1_WEB}states/"), &taken).0, 409);
        assert_eq!(self.flagged(), [""; 0]);
    }

    fn without_items(&self) {
        let items = in_web(self.0.sandbox(), "GET", "work-items/?per_page=1000", &Value::Null);
        for item in items["results"].as_array().expect("items") {
            in_web(self.0.sandbox(), "DELETE", &format!("work-items/{}/", id(item)), &Value::Null);
        }
    }

    /// Names of the states that v1 flags.
    fn flagged(&self) -> Vec<String> {
        self.column("name", |state| state["default"] == true)
    }

    fn column(&self, name: &str, of: impl Fn(&Value) -> bool) -> Vec<String> {
        let states = self.v1("GET", "", &Value::Null);
        let rows = states["results"].as_array().expect("rows").iter();
        rows.filter(|row| of(row)).map(|row| row[name].as_str().expect("a text").to_owned()).collect()
    }

    /// Names of the states that v2 shows as default.
    async fn shown(&self) -> Vec<String> {
        let all = self.0.get("ada", &web("states/")).await.expect(200);
        let shown = all.data().iter().filter(|state| state["is_default"] == true);
        shown.map(|state| state["name"].as_str().expect("a name").to_owned()).collect()
    }

    /// Shows exactly this default, without asking v1.
    async fn shows(&self, name: &str) {
        self.0.sandbox().clear_journal();
        assert_eq!(self.shown().await, [name]);
        assert_eq!(self.calls(), [""; 0], "from what is kept");
    }

    /// Name of the state in which v1 puts an item without one.
    fn used(&self) -> String {
        let item = in_web(self.0.sandbox(), "POST", "work-items/", &json!({"name": "x"}));
        let state = item["state"].clone();
        in_web(self.0.sandbox(), "DELETE", &format!("work-items/{}/", id(&item)), &Value::Null);
        self.column("name", |row| row["id"] == state).remove(0)
    }

    async fn delete(&self, name: &str) -> Answer {
        let path = web(&format!("states/{}/", self.id(name)));
        self.0.sandbox().clear_journal();
        self.0.delete("ada", &path).await
    }

    async fn patch(&self, name: &str, body: Value) -> Answer {
        let path = web(&format!("states/{}/", self.id(name)));
        self.0.sandbox().clear_journal();
        self.0.patch("ada", &path, body).await
    }

    async fn post(&self, body: Value) -> Answer {
        self.0.sandbox().clear_journal();
        self.0.post("ada", &web("states/"), body).await
    }

    /// Method and last part of each call of v1 about states since the last write began.
    fn calls(&self) -> Vec<String> {
        let about = self.0.sandbox().journal().into_iter().filter(|call| call.path.contains("/states/"));
        let told = |path: &str| if path.contains("/states/?") { " all" } else { "" };
        about.map(|call| format!("{}{}", call.method, told(&call.path))).collect()
    }
}

#[tokio::test]
async fn trap_23_the_state_shown_as_default_cannot_be_deleted_although_v1_would_do_it() {
    let project = Project::new().await;
    project.without_default();
    assert_eq!(project.shown().await, ["Backlog"]);
    let refused = project.delete("Backlog").await.expect_problem(409, "conflict");
    assert_eq!(refused.text("detail"), DEFAULT);
    assert_eq!(project.calls(), ["GET all"]);
    assert_eq!(project.shown().await, ["Backlog"]);
    // The others can be deleted, in one call as always.
    project.delete("Cancelled").await.expect(204);
    assert_eq!(project.calls(), ["DELETE"]);
    project.shows("Backlog").await;
}

#[tokio::test]
async fn trap_23_a_state_that_is_no_default_any_more_can_be_deleted_and_another_is_shown() {
    let project = Project::new().await;
    project.without_items();
    project.without_default();
    assert_eq!(project.shown().await, ["Backlog"]);
    project.flag("Done", true);
    project.delete("Backlog").await.expect(204);
    assert_eq!(project.calls(), ["GET all", "DELETE"], "the list tells that v1 has another default");
    project.shows("Done").await;
}

#[tokio::test]
async fn trap_23_the_usual_default_is_refused_in_one_call_and_known_afterwards() {
    let project = Project::new().await;
    assert_eq!(project.shown().await, ["Backlog"]);
    let refused = project.delete("Backlog").await.expect_problem(409, "conflict");
    assert_eq!((refused.text("detail").as_str(), project.calls().len()), (DEFAULT, 1));
    project.shows("Backlog").await;
}

#[tokio::test]
async fn trap_23_a_default_that_is_moved_behind_the_second_one_of_v1_is_none_any_more() {
    let project = Project::new().await;
    project.flag("Todo", true);
    assert_eq!(project.shown().await, ["Backlog"]);
    let moved = project.patch("Backlog", json!({"sequence": 26000})).await.expect(200);
    assert_eq!((&moved.json["is_default"], project.calls()), (&json!(false), vec!["PATCH".to_owned()]));
    project.shows("Todo").await;
    assert_eq!(project.used(), "Todo");
    let back = project.patch("Backlog", json!({"sequence": 24000.5})).await.expect(200);
    assert_eq!((&back.json["is_default"], project.calls()), (&json!(true), vec!["PATCH".to_owned()]));
    project.shows("Backlog").await;
    // Two places are equal, so only v1 knows which is the first.
    project.patch("Backlog", json!({"sequence": 25000})).await.expect(200);
    assert_eq!(project.calls(), ["PATCH", "GET all"]);
    assert_eq!(project.shown().await, [project.used()]);
}

#[tokio::test]
async fn trap_23_without_a_default_the_first_state_in_order_is_shown_after_each_write() {
    let project = Project::new().await;
    project.without_default();
    assert_eq!(project.shown().await, ["Backlog"]);
    let first = project.patch("Done", json!({"sequence": 1})).await.expect(200);
    assert_eq!((&first.json["is_default"], project.calls()), (&json!(true), vec!["PATCH".to_owned()]));
    project.shows("Done").await;
    assert_eq!(project.used(), "Done");
    let front = project.post(json!({"name": "Front", "color": "c", "sequence": 0.5})).await.expect(201);
    assert_eq!((&front.json["is_default"], project.calls().len()), (&json!(true), 2));
    project.shows("Front").await;
    assert_eq!(project.used(), "Front");
    let back = project.post(json!({"name": "Back", "color": "c"})).await.expect(201);
    assert_eq!(back.json["is_default"], false);
    project.shows("Front").await;
}

#[tokio::test]
async fn trap_23_the_only_state_of_a_project_is_its_default() {
    let project = Project::new().await;
    project.without_items();
    for name in project.column("name", |_| true) {
        project.flag(&name, false);
        project.v1("DELETE", &format!("{}/", project.id(&name)), &Value::Null);
    }
    assert_eq!(project.shown().await, [""; 0]);
    let only = project.post(json!({"name": "First", "color": "c"})).await.expect(201);
    assert_eq!((&only.json["is_default"], project.calls().len()), (&json!(true), 2));
    project.shows("First").await;
    project.delete("First").await.expect_problem(409, "conflict");
    assert_eq!(project.flagged(), [""; 0]);
}

#[tokio::test]
async fn trap_23_a_second_default_of_v1_is_deleted_like_any_other_state() {
    let project = Project::new().await;
    project.flag("Cancelled", true);
    assert_eq!(project.shown().await, ["Backlog"]);
    project.delete("Cancelled").await.expect(204);
    assert_eq!(project.calls(), ["GET all", "PATCH", "DELETE"]);
    project.shows("Backlog").await;
    // Flagged a moment ago: v1's refusal tells of the flag.
    project.flag("Done", true);
    let refused = project.delete("Done").await;
    assert_eq!(project.calls()[..3], ["DELETE", "GET all", "PATCH"], "{}", refused.status);
    assert_eq!(project.flagged(), ["Backlog"]);
}

#[tokio::test]
async fn trap_23_without_a_list_at_hand_a_refusal_of_v1_is_compared_with_the_list() {
    let project = Project::new().await;
    project.flag("Cancelled", true);
    project.delete("Cancelled").await.expect(204);
    assert_eq!(project.calls(), ["DELETE", "GET all", "PATCH", "DELETE"]);
    assert_eq!(project.flagged(), ["Backlog"]);
    project.shows("Backlog").await;
    // A list at hand that lacks the state tells nothing about it.
    project.v1("POST", "", &json!({"name": "New", "color": "c"}));
    project.flag("New", true);
    project.delete("New").await.expect(204);
    assert_eq!(project.calls(), ["DELETE", "GET all", "PATCH", "DELETE"]);
    project.shows("Backlog").await;
}

#[tokio::test]
async fn trap_23_without_a_list_at_hand_the_usual_delete_is_one_call_and_the_default_stays() {
    let project = Project::new().await;
    project.delete("Cancelled").await.expect(204);
    assert_eq!(project.calls(), ["DELETE"]);
    let refused = project.delete("Backlog").await.expect_problem(409, "conflict");
    assert_eq!(refused.text("detail"), DEFAULT);
    assert_eq!(project.calls(), ["DELETE", "GET all"]);
    project.shows("Backlog").await;
    assert_eq!(project.flagged(), ["Backlog"]);
}

#[tokio::test]
async fn trap_23_a_second_default_of_v1_is_cleared_when_a_client_clears_it() {
    let project = Project::new().await;
    project.flag("Cancelled", true);
    assert_eq!(project.shown().await, ["Backlog"]);
    let cleared = project.patch("Cancelled", json!({"is_default": false, "color": "c"})).await.expect(200);
    assert_eq!(
        (&cleared.json["is_default"], project.calls()),
        (&json!(false), vec!["GET all".to_owned(), "PATCH".into()])
    );
    assert_eq!(project.flagged(), ["Backlog"]);
    project.shows("Backlog").await;
    project.delete("Cancelled").await.expect(204);
    assert_eq!(project.calls(), ["DELETE"]);
    // On a state without the flag, false sends nothing.
    project.patch("Todo", json!({"is_default": false})).await.expect(200);
    assert_eq!(project.calls(), ["GET all"]);
    let refused = project.patch("Backlog", json!({"is_default": false})).await;
    refused.expect_problem(400, "validation_error");
}
