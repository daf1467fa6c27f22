//! The OpenAPI 3.1 document, made from the plan alone.
//!
//! Purpose: everything that a client may rely on comes from the mappings, so that the document cannot differ from the
//! routes, checks and answers of the gateway. The parameter `expand` and the body member `custom_fields` are left out,
//! as the contract says, although both work.
//!
//! The document is written once, with a placeholder for the address of the gateway. Answers share the text in which the
//! placeholder is replaced by the address of the request.
//!
//! May use: `plan`.

mod bodies;
mod document;
mod examples;
mod headers;
mod operations;
mod parameters;
mod problems;
mod responses;
mod safe_writes;
mod schemas;
mod security;

use crate::plan::Plan;
use bytes::Bytes;
use document::document;
use parking_lot::Mutex;
use security::STAND_IN;
use sha2::{Digest, Sha256};
use std::sync::{Arc, OnceLock};

/// A form of the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON.
    Json,
    /// YAML 1.2.
    Yaml,
}

/// The document in every format, for any address. It is written when the first request asks for it, so that the start
/// does not wait for it.
#[derive(Debug)]
pub struct Document {
    plan: Arc<Plan>,
    json: OnceLock<JsonForm>,
    yaml: OnceLock<String>,
    last: Mutex<Option<LastAnswer>>,
}

/// The content of the last answer. The next answer of the same format for the same address sends it again.
#[derive(Debug)]
struct LastAnswer {
    format: Format,
    base: String,
    text: Bytes,
}

/// The JSON form and its digest.
#[derive(Debug)]
struct JsonForm {
    text: String,
    digest: String,
}

impl Document {
    /// Creates the document of a plan.
    pub fn new(plan: Arc<Plan>) -> Self {
        Self { plan, json: OnceLock::new(), yaml: OnceLock::new(), last: Mutex::default() }
    }

    fn json(&self) -> &JsonForm {
        self.json.get_or_init(|| {
            let text = format!("{:#}\n", document(&self.plan));
            JsonForm { digest: short(&Sha256::digest(text.as_bytes())), text }
        })
    }

    /// Returns the text for a gateway at `base` (without a trailing slash).
    pub fn text(&self, format: Format, base: &str) -> String {
        let yaml = || serde_saphyr::to_string(&document(&self.plan)).expect("JSON can always be written as YAML");
        let text = match format {
            Format::Json => &self.json().text,
            Format::Yaml => self.yaml.get_or_init(yaml),
        };
        text.replace(STAND_IN, base)
    }

    /// Returns [`Self::text`] for answers. Answers for one address share their bytes, so that many clients that ask at
    /// once, or read slowly, take no more memory than one client.
    pub fn bytes(&self, format: Format, base: &str) -> Bytes {
        if let Some(sent) = self.last.lock().as_ref().filter(|sent| sent.format == format && sent.base == base) {
            return sent.text.clone();
        }
        let text = Bytes::from(self.text(format, base));
        *self.last.lock() = Some(LastAnswer { format, base: base.to_owned(), text: text.clone() });
        text
    }

    /// Returns a validator of the text for caches. A different text has a different validator.
    pub fn tag(&self, format: Format, base: &str) -> String {
        let form = match format {
            Format::Json => "json",
            Format::Yaml => "yaml",
        };
        format!("\"{}-{}-{form}\"", self.json().digest, short(&Sha256::digest(base.as_bytes())))
    }
}

fn short(digest: &[u8]) -> String {
    hex::encode(&digest[..8])
}

#[cfg(test)]
mod tests {
    use crate::describe::openapi::operations::tag_name;

    #[test]
    fn names_of_tags_are_for_people() {
        assert_eq!(tag_name("work_item_comments"), "Work item comments");
    }
}
