//! The features record of a workspace.
//!
//! May use: `catalogue`, this folder.

use super::fields::update;
use super::ids::{Kind, digest};
use super::scope::text;
use super::work::{Intended, Verdict, Work};
use crate::catalogue::shapes;
use serde_json::{Value, json};

impl Work<'_> {
    /// The switches as they are here; to be called last among the definitions, because their making switches some.
    pub(super) async fn features(&mut self) -> Result<(), String> {
        let (intended, verdict) = self.judge_features();
        self.findings.of(Kind::Features).here += 1;
        self.count(Kind::Features, &intended.name, &verdict);
        match self.carries() {
            true => self.write_features(intended, &verdict).await,
            false => Ok(()),
        }
    }

    /// The switches as they are here, after others were needed once more.
    pub(super) async fn features_again(&mut self) -> Result<(), String> {
        let (intended, verdict) = self.judge_features();
        self.write_features(intended, &verdict).await
    }

    fn judge_features(&self) -> (Intended, Verdict) {
        let (kind, own) = (Kind::Features, self.catalogue.features.id);
        let ours = shapes::features(&self.catalogue.features);
        let (name, digest) = (format!("features of {}", self.scope.slug), digest(&json!([ours])));
        let verdict = match self.judge(kind, own, &digest, &ours, Some(&self.seen.features)) {
            // A switch that nobody has turned on there yet is nobody's choice.
            Verdict::Conflict(unlike)
                if !self.ids.is_begun(kind, own)
                    && unlike.iter().all(|one| one.theirs == json!(false) || one.theirs == json!(0)) =>
            {
                Verdict::Change(unlike)
            }
            verdict => verdict,
        };
        (Intended { kind, own, ours, name, digest }, verdict)
    }

    async fn write_features(&mut self, intended: Intended, verdict: &Verdict) -> Result<(), String> {
        match verdict {
            Verdict::Change(unlike) => {
                if let Some(body) = update(&intended.ours, unlike) {
                    self.ids.reopen(intended.kind, intended.own).await?;
                    self.set_features(&Value::Object(body)).await?;
                }
            }
            Verdict::Alike => {}
            _ => return Ok(()),
        }
        let id = text(&self.seen.features, "id").to_owned();
        self.ids.end(intended.kind, &[(intended.own, id, intended.digest)]).await
    }
}
