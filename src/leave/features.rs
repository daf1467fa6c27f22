//! The features record of a workspace.
//!
//! May use: `catalogue`, this folder.

use super::fields::update;
use super::ids::{Kind, digest};
use super::scope::text;
use super::work::{Verdict, Work};
use crate::catalogue::shapes;
use serde_json::{Value, json};

impl Work<'_> {
    /// The switches as they are here; to be called last among the definitions, because their making switches some.
    ///
    /// # Errors
    /// When a side fails.
    pub(super) async fn features(&mut self) -> Result<(), String> {
        let own = self.catalogue.features.id;
        let ours = shapes::features(&self.catalogue.features);
        let digest = digest(&json!([ours]));
        let there = self.seen.features.clone();
        let verdict = match self.judge(Kind::Features, own, &digest, &ours, Some(&there)) {
            // A switch that nobody has turned on there yet is nobody's choice.
            Verdict::Conflict(unlike)
                if !self.ids.is_begun(Kind::Features, own)
                    && unlike.iter().all(|one| one.theirs == json!(false) || one.theirs == json!(0)) =>
            {
                Verdict::Change(unlike)
            }
            verdict => verdict,
        };
        self.findings.of(Kind::Features).here += 1;
        self.count(Kind::Features, &format!("features of {}", self.scope.slug), &verdict);
        if !self.carries() {
            return Ok(());
        }
        match &verdict {
            Verdict::Change(unlike) => {
                if let Some(body) = update(&ours, unlike) {
                    self.ids.reopen(Kind::Features, own).await?;
                    self.set_features(&Value::Object(body)).await?;
                }
            }
            Verdict::Alike => {}
            _ => return Ok(()),
        }
        let id = text(&self.seen.features, "id").to_owned();
        self.ids.end(Kind::Features, &[(own, id, digest)]).await
    }
}
