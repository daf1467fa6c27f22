//! The recorded v1 exchanges of `fixtures/v1`, by name.

use serde_json::Value;
use std::path::Path;

/// v1's answer in a recorded exchange.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// Method of the request.
    pub method: String,
    /// Path of the request, from `/api/v1/`.
    pub path: String,
    /// Query of the request, without `?`.
    pub query: String,
    /// Alias of the key that was sent.
    pub key: Option<String>,
    /// Status of the answer.
    pub status: u16,
    /// Headers of the answer.
    pub headers: Vec<(String, String)>,
    /// Body of the answer: JSON, or a string for HTML, or null for none.
    pub body: Value,
}

/// The exchange `name` of `fixtures/v1/{file}.json`.
pub fn recorded(file: &str, name: &str) -> Recorded {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/v1/{file}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|cause| panic!("{}: {cause}", path.display()));
    let all: Value = serde_json::from_str(&text).expect("a fixture is JSON");
    let exchanges = all["exchanges"].as_array().expect("a fixture has exchanges");
    let exchange = exchanges
        .iter()
        .find(|exchange| exchange["name"] == name)
        .unwrap_or_else(|| panic!("no exchange {name} in {file}"));
    read(exchange)
}

fn read(exchange: &Value) -> Recorded {
    let (request, response) = (&exchange["request"], &exchange["response"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let headers = response["headers"].as_object().expect("headers are an object");
    Recorded {
        method: text(&request["method"]),
        path: text(&request["path"]),
        query: text(&request["query"]),
        key: request["headers"]["X-Api-Key"].as_str().map(str::to_owned),
        status: response["status"].as_u64().expect("a status") as u16,
        headers: headers.iter().map(|(name, value)| (name.clone(), text(value))).collect(),
        body: response["body"].clone(),
    }
}
