//! The type that the target creates itself when its workspace manages types for the first time.
//!
//! May use: `catalogue`, `plan` (the type mode), this folder.

use super::ids::{Carried, Kind};
use super::scope::text;
use super::seen::Record;
use super::work::Work;
use crate::catalogue::PROVISIONED;
use crate::plan::TypeMode;
use reqwest::Method;
use serde_json::Value;
use uuid::Uuid;

impl Work<'_> {
    /// Returns the id under which the type is noted.
    fn provision(&self) -> Uuid {
        Uuid::new_v5(&self.scope.workspace, b"provisioned type")
    }

    /// Notes the types that are about to be made. So types that the target creates itself can be told from older types.
    pub(super) async fn before_workspace_mode(&mut self) -> Result<(), String> {
        let ours: Vec<Uuid> = self.catalogue.types_of(None).iter().map(|kind| kind.id).collect();
        if self.seen.of(None).types.is_empty() {
            self.ids.begin(Kind::Type, &[self.provision()]).await?;
            // The type gets the level that is set when it is created, and keeps it.
            let same = self.catalogue.types_of(None).into_iter().find(|kind| kind.name == PROVISIONED);
            if let Some(level) = same.map(|kind| kind.level) {
                self.set_level(level).await?;
            }
        }
        self.ids.begin(Kind::Type, &ours).await
    }

    /// Reads the types that the target created itself.
    pub(super) async fn after_workspace_mode(&mut self) -> Result<(), String> {
        let path = format!("{}/work-item-types/?order_by=created_at", self.scope.there(None));
        self.seen.of(None).types = self.target.rows(&path).await?;
        self.note_provisioned().await
    }

    /// Notes the type that the target created itself: the only type that exists before any of ours was made.
    pub(super) async fn note_provisioned(&mut self) -> Result<(), String> {
        let provision = self.provision();
        let waits = self.ids.is_begun(Kind::Type, provision) && !self.ids.is_noted(Kind::Type, provision);
        if let (true, [only]) = (waits, self.seen.of(None).types.as_slice()) {
            let id = text(only, "id").to_owned();
            let carried = Carried { own: provision, theirs: id, digest: String::new() };
            self.ids.end(Kind::Type, &[carried]).await?;
        }
        Ok(())
    }

    /// Removes the type that the target created itself, unless a type here is paired with it or it is the default.
    pub(super) async fn remove_provisioned(&mut self) -> Result<(), String> {
        let Some(id) = self.ids.theirs(Kind::Type, self.provision()).map(str::to_owned) else { return Ok(()) };
        let is_ours =
            self.catalogue.types_of(None).iter().any(|kind| self.ids.theirs(Kind::Type, kind.id) == Some(&*id));
        let there = self.seen.of(None).types.clone();
        let Some(record) = there.iter().find(|record| text(record, "id") == id) else { return Ok(()) };
        if is_ours || record.get("is_default") == Some(&Value::Bool(true)) {
            return Ok(());
        }
        self.switch(TypeMode::Workspace).await?;
        let path = format!("{}/work-item-types/{id}/", self.scope.there(None));
        let name = format!("type `{}`, which the target made by itself", text(record, "name"));
        if self.write(Kind::Type, &name, Method::DELETE, &path, &Value::Null).await?.is_some() {
            self.seen.of(None).types.retain(|record: &Record| text(record, "id") != id);
        }
        Ok(())
    }
}
