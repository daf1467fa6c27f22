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
        let verdict = self.judge_features();
        self.findings.of(Kind::Features).here += 1;
        self.count(Kind::Features, &format!("features of {}", self.scope.slug), &verdict);
        match self.carries() {
            true => self.write_features(&verdict).await,
            false => Ok(()),
        }
    }

    /// The switches as they are here, after others were needed once more.
    ///
    /// # Errors
    /// When a side fails.
    pub(super) async fn features_again(&mut self) -> Result<(), String> {
        let verdict = self.judge_features();
        self.write_features(&verdict).await
    }

    fn judge_features(&self) -> Verdict {
        let own = self.catalogue.features.id;
        let ours = shapes::features(&self.catalogue.features);
        match self.judge(Kind::Features, own, &digest(&json!([ours])), &ours, Some(&self.seen.features)) {
            // A switch that nobody has turned on there yet is nobody's choice.
            Verdict::Conflict(unlike)
                if !self.ids.is_begun(Kind::Features, own)
                    && unlike.iter().all(|one| one.theirs == json!(false) || one.theirs == json!(0)) =>
            {
                Verdict::Change(unlike)
            }
            verdict => verdict,
        }
    }

    async fn write_features(&mut self, verdict: &Verdict) -> Result<(), String> {
        let own = self.catalogue.features.id;
        let ours = shapes::features(&self.catalogue.features);
        let digest = digest(&json!([ours]));
        match verdict {
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
