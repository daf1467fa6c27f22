//! Carries out every operation once, in a project created for it.
//!
//! There are two rounds, because the mode of the workspace decides whether definitions belong to the project or to the
//! workspace: first definitions of projects, then those of the workspace. Each round first creates records, then reads,
//! changes and deletes them, so that every operation finds its records and nothing is left behind. May use: `plan`,
//! this folder.

use super::client::Gateway;
use super::place::{self, Place};
use super::report::{Checked, Finding, Report, VerificationParameters};
use super::{bodies, doors, reads};
use crate::plan::{Answer as Form, BodyRule, Method, Operation, OwnRecords, Plan, Special, Step, TypeMode};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;

/// Round that an operation belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Round {
    Project,
    Workspace,
}

/// The operation that switches the mode of a workspace.
const SWITCH: &str = "workspace_features_update";
const FEATURES: &str = "workspace_features_retrieve";
/// End of the paths that choose a default.
const DEFAULT: &str = "/mark-default/";
/// Name of the workspace's mode in the report.
const MODE: &str = "(mode of the workspace)";
const SWITCHED: &str = "is_work_item_types_enabled";

/// Verifies with writes. The project is deleted and the mode restored in every case.
pub(super) async fn verify(
    plan: &Plan,
    gateway: &Gateway,
    wanted: &VerificationParameters,
    report: &mut Report,
) -> Result<(), String> {
    let slug = wanted.workspace.as_deref().ok_or("--write needs --workspace, to make a project in")?;
    let project = Throwaway::make(gateway, slug).await?;
    let place = Place { workspace: Some(slug.to_owned()), project: Some(project.id.clone()), ..Place::default() };
    let mut work = Work { plan, gateway, place };
    let Some(before) = work.mode().await else {
        // A mode that is not known could not be restored.
        report.add(MODE, Err(Finding::Impossible("it could not be read, so nothing was written".into())));
        report.add("(project)", project.delete(gateway).await);
        return Ok(());
    };
    for round in [Round::Project, Round::Workspace] {
        if wanted.stop.load(Ordering::Relaxed) {
            break;
        }
        let switched = work.switch(round == Round::Workspace).await;
        match round {
            Round::Workspace => report.add(SWITCH, switched),
            Round::Project => {
                if switched.is_err() {
                    report.add(MODE, switched);
                }
            }
        }
        for operation in in_order(plan, round) {
            // Definitions of the workspace do not go with the project.
            let removes = round == Round::Workspace && work.removes_record(operation);
            if wanted.stop.load(Ordering::Relaxed) && !removes {
                continue;
            }
            report.add(&operation.id, work.carry_out(operation).await);
        }
    }
    report.add(MODE, work.switch(before).await.map(|_| "as before".into()));
    report.add("(project)", project.delete(gateway).await);
    Ok(())
}

/// Returns the operations of a round in order: create, read, change, delete. Nested records are created last and
/// deleted first.
fn in_order(plan: &Plan, round: Round) -> Vec<&Operation> {
    let of_round = |operation: &&Operation| {
        let owned = plan.resource_of(operation).name.starts_with("workspace_work_item")
            || plan.resource_of(operation).records == Some(OwnRecords::Contexts)
            || operation.mode == Some(TypeMode::Workspace)
            // They show what the other operations have done.
            || matches!(operation.step, Step::Special(Special::AuditLogsList | Special::AuditLogsRetrieve));
        operation.id != SWITCH && owned == (round == Round::Workspace)
    };
    let mut operations: Vec<&Operation> = plan.operations.iter().filter(of_round).collect();
    operations.sort_by_key(|operation| {
        let depth = operation.path.variables().filter(|name| *name != "pk").count();
        let ignored = matches!(operation.body, BodyRule::Ignored);
        match operation.method {
            // An operation that switches something on and has no record: the others need it.
            Method::Post if ignored && !names_record(operation) => (0, depth),
            Method::Post if operation.status == 201 => (1, depth),
            Method::Get => (2, depth),
            Method::Post | Method::Patch => (3, depth),
            Method::Delete => (4, usize::MAX - depth),
        }
    });
    operations
}

fn names_record(operation: &Operation) -> bool {
    operation.path.variables().any(|name| name == "pk")
}

struct Work<'w> {
    plan: &'w Plan,
    gateway: &'w Gateway,
    place: Place,
}

impl Work<'_> {
    async fn carry_out(&mut self, operation: &Operation) -> Checked {
        let doors = doors::check(self.gateway, &self.place, operation).await?;
        let rest = match operation.method {
            Method::Get => {
                self.find_uncreated_record(operation).await?;
                reads::check(self.plan, self.gateway, &self.place, operation).await?
            }
            _ => self.write(operation).await?,
        };
        Ok(format!("{rest}; {doors}"))
    }

    /// Checks whether the operation deletes a record that this run made.
    fn removes_record(&self, operation: &Operation) -> bool {
        let resource = &self.plan.resource_of(operation).name;
        operation.method == Method::Delete && self.place.records.contains_key(resource)
    }

    /// Finds a record that no operation of its resource creates: audit logs are written by other operations.
    async fn find_uncreated_record(&mut self, operation: &Operation) -> Result<(), Finding> {
        let resource = operation.resource;
        let makes = |other: &&Operation| other.resource == resource && other.status == 201;
        let list = self.plan.operations.iter().find(|other| other.is_list() && other.resource == resource);
        match list.filter(|_| !self.plan.operations.iter().any(|other| makes(&other))) {
            Some(list) => Ok(self.place.look(self.plan, self.gateway, list).await?),
            None => Ok(()),
        }
    }

    async fn write(&mut self, operation: &Operation) -> Checked {
        let resource = &self.plan.resource_of(operation).name;
        let path = self.path(operation).await?;
        let body = bodies::right(&self.place, operation, self.plan.resource_of(operation));
        let method = operation.method.as_str();
        let answer = self.gateway.send_patiently(method, &path, body.as_ref()).await?;
        doors::is_success(&answer, operation)?;
        doors::has_shape(self.plan, operation, &answer)?;
        if let (Some(body), Form::Record) = (&body, operation.answer) {
            shows_what_was_sent(body, &answer.json)?;
        }
        match operation.method {
            Method::Delete => {
                self.place.records.remove(resource);
                self.is_gone(&path).await
            }
            _ if operation.answer == Form::Empty => Ok("done".into()),
            Method::Post if operation.status == 201 => {
                self.place.remember(resource, &answer.json);
                // An attached record keeps the id that it had before.
                let attached = body.as_ref().and_then(|body| body["properties"][0].as_str());
                if let Some(id) = attached {
                    self.place.records.insert(resource.clone(), id.to_owned());
                }
                Ok("made".into())
            }
            _ => Ok("changed".into()),
        }
    }

    /// Returns the path to write to. A default cannot be deleted, so the existing default is chosen again.
    async fn path(&self, operation: &Operation) -> Result<String, Finding> {
        let list =
            self.plan.operations.iter().find(|other| other.is_list() && other.resource == operation.resource);
        let (true, Some(list)) = (operation.path.as_str().ends_with(DEFAULT), list) else {
            return self.place.path(self.plan, operation);
        };
        let listed = format!("{}?per_page=200", self.place.path(self.plan, list)?);
        let page = self.gateway.get(&listed).await?;
        let mut place = self.place.clone();
        if let Some(row) = page.rows().iter().find(|row| row["is_default"] == true) {
            place.remember(&self.plan.resource_of(operation).name, row);
        }
        place.path(self.plan, operation)
    }

    async fn is_gone(&self, path: &str) -> Checked {
        let again = self.gateway.get(path).await?;
        match (again.status, again.code()) {
            (404, "resource_not_found") => Ok("deleted, and gone".into()),
            _ => Err(format!("deleted, but still answered with {}", again.brief()).into()),
        }
    }

    /// Returns whether the workspace manages types itself.
    async fn mode(&self) -> Option<bool> {
        let path = self.place.path(self.plan, self.plan.operation(FEATURES)?).ok()?;
        let features = self.gateway.get(&path).await.ok()?;
        features.json[SWITCHED].as_bool()
    }

    async fn switch(&self, workspace: bool) -> Checked {
        let operation = self.plan.operation(SWITCH);
        let operation = operation.ok_or_else(|| Finding::Impossible("the plan has no switch of modes".into()))?;
        let doors = doors::check(self.gateway, &self.place, operation).await?;
        let path = self.place.path(self.plan, operation)?;
        let body = json!({ SWITCHED: workspace });
        let answer = self.gateway.send_patiently("PATCH", &path, Some(&body)).await?;
        doors::is_success(&answer, operation)?;
        doors::has_shape(self.plan, operation, &answer)?;
        shows_what_was_sent(&body, &answer.json)?;
        Ok(format!("changed; {doors}"))
    }
}

/// Checks that the answer shows texts and flags as they were sent, where it shows them at all.
fn shows_what_was_sent(body: &Value, answer: &Value) -> Result<(), Finding> {
    let plain = |value: &Value| value.is_string() || value.is_boolean();
    for (name, sent) in body.as_object().into_iter().flatten().filter(|(_, sent)| plain(sent)) {
        if answer.get(name).is_some_and(|shown| shown != sent) {
            return Err(format!("`{name}` was sent as {sent} and is shown as {}", answer[name]).into());
        }
    }
    Ok(())
}

/// A project for writes, created with v1's own API through the gateway, and deleted at the end.
#[derive(Debug)]
struct Throwaway {
    id: String,
    path: String,
}

impl Throwaway {
    async fn make(gateway: &Gateway, slug: &str) -> Result<Self, String> {
        let random = uuid::Uuid::new_v4().simple().to_string();
        // Letters only, as v1 requires for identifiers.
        let letters = random.bytes().take(5).map(|digit| char::from(b'A' + digit % 26));
        let body = json!({
            "name": format!("causeway verify {}", &random[..8]),
            "identifier": format!("CV{}", letters.collect::<String>()),
            "cycle_view": true,
            "module_view": true,
        });
        let path = place::projects(slug);
        let made = gateway.send_patiently("POST", &path, Some(&body)).await?;
        match (made.status, made.json["id"].as_str()) {
            (201, Some(id)) => Ok(Self { id: id.to_owned(), path: format!("{path}{id}/") }),
            _ => Err(format!(
                "v1 made no project to verify with: {} {}; --write needs a v1 key, not a key of the gateway, of \
                 somebody who may make projects in {slug}",
                made.status, made.json
            )),
        }
    }

    async fn delete(self, gateway: &Gateway) -> Result<String, Finding> {
        let gone = gateway.send_patiently("DELETE", &self.path, None).await?;
        match gone.status {
            204 => Ok("the project made for it is deleted".into()),
            status => Err(format!("the project {} is still there: v1 answered {status}", self.id).into()),
        }
    }
}
