//! Oddities of modules.
//!
//! May use: nothing beyond JSON.

use serde_json::{Map, Value};

/// Returns v1's record after an update. The answer has only the writable fields, no id and no times of creation and
/// change (trap 20, `modules_patch_name`), so it is merged over the record that was read before.
pub fn merge(before: &Map<String, Value>, answer: &Map<String, Value>) -> Map<String, Value> {
    let mut merged = before.clone();
    merged.extend(answer.clone());
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_answer_lies_over_the_record() {
        let before = json!({"id": "x", "name": "a", "members": []});
        let answer = json!({"name": "b", "status": "paused"});
        let merged = merge(before.as_object().unwrap(), answer.as_object().unwrap());
        assert_eq!(Value::Object(merged), json!({"id": "x", "name": "b", "members": [], "status": "paused"}));
    }
}
