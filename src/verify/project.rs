//! The project that is made to be written to, by v1's own API through the gateway. May use: this folder.

use super::client::Gateway;
use super::report::Finding;
use serde_json::json;

/// A project that will be deleted.
#[derive(Debug)]
pub(super) struct Throwaway {
    /// Its id.
    pub(super) id: String,
    path: String,
}

impl Throwaway {
    /// Makes it.
    pub(super) async fn make(gateway: &Gateway, slug: &str) -> Result<Self, String> {
        let random = uuid::Uuid::new_v4().simple().to_string();
        // Letters alone, as v1 wants identifiers.
        let letters = random.bytes().take(5).map(|digit| char::from(b'A' + digit % 26));
        let body = json!({
            "name": format!("causeway verify {}", &random[..8]),
            "identifier": format!("CV{}", letters.collect::<String>()),
            "cycle_view": true,
            "module_view": true,
        });
        let path = super::place::projects(slug);
        let made = gateway.send_patiently("POST", &path, Some(&body)).await?;
        match (made.status, made.json["id"].as_str()) {
            (201, Some(id)) => Ok(Self { id: id.to_owned(), path: format!("{path}{id}/") }),
            _ => Err(format!(
                "v1 made no project to verify with: {} {}; the key must belong to somebody who may make projects \
                 in {slug}",
                made.status, made.json
            )),
        }
    }

    /// Deletes it.
    pub(super) async fn delete(self, gateway: &Gateway) -> Result<String, Finding> {
        let gone = gateway.send_patiently("DELETE", &self.path, None).await?;
        match gone.status {
            204 => Ok("the project made for it is deleted".into()),
            status => Err(format!("the project {} is still there: v1 answered {status}", self.id).into()),
        }
    }
}
