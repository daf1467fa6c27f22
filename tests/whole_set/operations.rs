//! The operations to test: those of the contract beside those of the compiled plan.

pub use crate::support::furnished::PLAN;
use serde_json::Value;
use std::path::Path;
use std::sync::LazyLock;

/// An id of no record.
pub const NOWHERE: &str = "00000000-0000-4000-a000-00000000dead";

/// All operations of the contract.
pub static OPERATIONS: LazyLock<Vec<Contract>> = LazyLock::new(|| {
    let all = fixture("operations.json");
    let operations: Vec<_> =
        all["operations"].as_array().expect("operations").iter().cloned().map(Contract).collect();
    assert_eq!(operations.len(), 88);
    operations
});

/// A file of `fixtures/contract`.
pub fn fixture(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/contract").join(name);
    serde_json::from_str(&std::fs::read_to_string(path).expect("a fixture")).expect("JSON")
}

/// The operations that work in this version.
pub fn working() -> impl Iterator<Item = &'static Contract> {
    OPERATIONS.iter().filter(|operation| operation.works())
}

/// The working lists.
pub fn lists() -> impl Iterator<Item = &'static Contract> {
    working().filter(|operation| operation.0["envelope"] == true)
}

/// The working operations that take a body.
pub fn writes_with_body() -> impl Iterator<Item = &'static Contract> {
    working().filter(|operation| operation.0["body"].is_array())
}

/// One operation of the contract.
pub struct Contract(pub Value);

impl Contract {
    /// Text of a member.
    pub fn text(&self, name: &str) -> &str {
        self.0[name].as_str().unwrap_or_else(|| panic!("no text {name}"))
    }

    /// Id.
    pub fn id(&self) -> &str {
        self.text("id")
    }

    /// Method.
    pub fn method(&self) -> &str {
        self.text("method")
    }

    /// Resource.
    pub fn resource(&self) -> &str {
        self.text("resource")
    }

    /// Returns the status of a success.
    pub fn status(&self) -> u16 {
        self.0["success_status"].as_u64().expect("a status") as u16
    }

    /// The operation of the plan.
    pub fn planned(&self) -> &'static causeway::plan::Operation {
        PLAN.operation(self.id()).unwrap_or_else(|| panic!("{} is not planned", self.id()))
    }

    /// Whether it works in this version.
    pub fn works(&self) -> bool {
        self.planned().works()
    }

    /// Checks whether it changes something.
    pub fn writes(&self) -> bool {
        self.method() != "GET"
    }

    /// Elements of an array member.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &Value> {
        self.0[name].as_array().into_iter().flatten()
    }

    /// Returns the member that a test may change to see a change: each resource has one.
    pub fn text_member(&self) -> &'static str {
        match self.resource() {
            "work_items" => "name",
            "work_item_comments" => "comment_html",
            "work_item_property_contexts" => "name",
            _ => "description",
        }
    }

    /// Whether guests of the project may carry it out.
    pub fn guests_may_write(&self) -> bool {
        self.resource() == "work_item_comments"
    }

    /// Returns the values that `expand` accepts.
    pub fn expands(&self) -> Vec<&str> {
        self.all("expand").filter_map(Value::as_str).collect()
    }

    /// Names of the variables in its path.
    pub fn variables(&self) -> Vec<String> {
        let inside = |part: &str| part.strip_prefix('{')?.strip_suffix('}').map(str::to_owned);
        self.text("path").split('/').filter_map(inside).collect()
    }

    /// Returns its path, with the value from `value` for each variable.
    pub fn path(&self, value: impl Fn(&str) -> String) -> String {
        let mut path = self.text("path").to_owned();
        for name in self.variables() {
            path = path.replace(&format!("{{{name}}}"), &value(&name));
        }
        path
    }
}

#[test]
fn the_plan_has_the_contracts_operations_and_no_others() {
    let of_plan: std::collections::BTreeSet<_> =
        PLAN.operations.iter().map(|operation| operation.id.as_str()).collect();
    let of_contract: std::collections::BTreeSet<_> = OPERATIONS.iter().map(Contract::id).collect();
    assert_eq!(of_plan, of_contract);
    assert_eq!(working().count(), 88);
    assert_eq!(lists().count(), 18);
}
