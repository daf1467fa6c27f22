//! Pairs the workspace, projects, people and work items here with those in the target.
//!
//! A workspace is found by its slug. A project, a person and a work item keep their ids when the target is the same
//! deployment with a v2 of its own. Otherwise a project is found by its identifier and a person by the email address. A
//! work item is found by its number within the project, and must have the same name. When two records match, neither is
//! chosen. May use: `plan` (paths of operations), this folder.

use super::side::Side;
use crate::plan::{PathTemplate, Plan};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use uuid::Uuid;

/// v1's number for the role of a workspace administrator.
const ADMINISTRATOR: i64 = 20;

/// A project on both sides.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Project {
    pub(super) own: Uuid,
    pub(super) theirs: Uuid,
    /// Identifier, such as `WEB`.
    pub(super) identifier: String,
}

impl Project {
    /// Whether both sides are the same deployment, so that ids of records are the same.
    pub(super) fn is_same(&self) -> bool {
        self.own == self.theirs
    }
}

/// A workspace on both sides.
#[derive(Debug, Clone)]
pub(super) struct Scope<'p> {
    plan: &'p Plan,
    /// Slug, as one segment of a path.
    pub(super) slug: String,
    pub(super) workspace: Uuid,
    /// Projects that exist on both sides, by their ids here.
    pub(super) projects: BTreeMap<Uuid, Project>,
    /// Projects here that the key can see, with their identifiers.
    pub(super) seen_here: BTreeMap<Uuid, String>,
    /// Known projects here whose records the key cannot see.
    pub(super) hidden_here: BTreeSet<Uuid>,
    /// Archived projects here, with their identifiers. No route of a project finds them (`projects_archived_states`).
    pub(super) archived_here: BTreeMap<Uuid, String>,
}

pub(super) fn text<'r>(row: &'r Map<String, Value>, name: &str) -> &'r str {
    row.get(name).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn id(row: &Map<String, Value>) -> Option<Uuid> {
    Uuid::try_parse(text(row, "id")).ok()
}

/// Returns the slug as one segment of a path.
pub(super) fn segment(slug: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '~');
    if slug.is_empty() || !slug.chars().all(plain) {
        return Err(format!("--workspace {slug}: that is no slug; it is the part of the address after the host"));
    }
    Ok(slug.to_owned())
}

impl<'p> Scope<'p> {
    /// Finds the workspace and its projects on both sides.
    pub(super) async fn find(plan: &'p Plan, slug: &str, v1: &Side, target: &Side) -> Result<Self, String> {
        let slug = segment(slug)?;
        let mut scope = Self {
            plan,
            slug,
            workspace: Uuid::nil(),
            projects: BTreeMap::new(),
            seen_here: BTreeMap::new(),
            hidden_here: BTreeSet::new(),
            archived_here: BTreeMap::new(),
        };
        let list = scope.v1("v1_projects_list", None, None)?;
        let rows = v1.v1_rows(&list, "id,identifier,workspace,is_member,archived_at").await?;
        let Some(workspace) = rows.first().and_then(|row| Uuid::try_parse(text(row, "workspace")).ok()) else {
            return Err(format!(
                "{} shows no project of the workspace {} to the key; check --workspace, and use the key of an \
                 administrator who is in its projects",
                v1.named(),
                scope.slug
            ));
        };
        scope.workspace = workspace;
        scope.expect_administrator(v1).await?;
        let mut others: Option<HashMap<String, Vec<Uuid>>> = None;
        for row in &rows {
            let (Some(own), identifier) = (id(row), text(row, "identifier").to_owned()) else { continue };
            if is_archived(row) {
                scope.archived_here.insert(own, identifier);
                continue;
            }
            if row.get("is_member") == Some(&Value::Bool(false)) {
                scope.hidden_here.insert(own);
                continue;
            }
            scope.seen_here.insert(own, identifier.clone());
            let path = scope.v2("states_list", Some(own), None)?;
            if target.get(&format!("{path}?per_page=1")).await?.status == 200 {
                scope.projects.insert(own, Project { own, theirs: own, identifier });
                continue;
            }
            if others.is_none() {
                others = Some(by_identifier(target, &list).await?);
            }
            let found = others.as_ref().and_then(|others| others.get(&identifier));
            if let Some([theirs]) = found.map(Vec::as_slice) {
                scope.projects.insert(own, Project { own, theirs: *theirs, identifier });
            }
        }
        Ok(scope)
    }

    /// # Errors
    /// When the key's owner is known not to be an administrator, and so does not see everything.
    async fn expect_administrator(&self, v1: &Side) -> Result<(), String> {
        let me = v1.read(&self.v1("v1_users_me_retrieve", None, None)?).await?;
        let members = v1.read(&self.v1("v1_workspace_members_list", None, None)?).await?;
        let mine = members.as_array().into_iter().flatten().find(|row| row["id"] == me["id"]);
        match mine.and_then(|row| row["role"].as_i64()) {
            Some(role) if role < ADMINISTRATOR => Err(format!(
                "the key for {} is not that of an administrator of the workspace {}; somebody else may not see \
                 everything that is to be carried",
                v1.named(),
                self.slug
            )),
            _ => Ok(()),
        }
    }

    /// Returns the path of an operation of v2 in the workspace or in a project, for a record; ids are those of the
    /// target.
    pub(super) fn v2(
        &self,
        operation: &str,
        project: Option<Uuid>,
        record: Option<&str>,
    ) -> Result<String, String> {
        let path = self.plan.operation(operation).map(|operation| &operation.path);
        self.filled(operation, path, project, record).map(|path| format!("/{}", path.trim_start_matches('/')))
    }

    /// Returns the path of an operation of v1 in the same way; ids are those here.
    pub(super) fn v1(
        &self,
        operation: &str,
        project: Option<Uuid>,
        record: Option<&str>,
    ) -> Result<String, String> {
        let path = self.plan.v1.by_id(operation).map(|operation| &operation.path);
        self.filled(operation, path, project, record)
            .map(|path| format!("/api/v1/{}", path.trim_start_matches('/')))
    }

    fn filled(
        &self,
        operation: &str,
        path: Option<&PathTemplate>,
        project: Option<Uuid>,
        record: Option<&str>,
    ) -> Result<String, String> {
        let project = project.map(|id| id.to_string());
        let value = |name: &str| match name {
            "slug" => Some(self.slug.as_str()),
            "project_id" => project.as_deref(),
            _ => record,
        };
        let path = path.and_then(|path| path.fill(value));
        path.ok_or_else(|| format!("the mappings have no operation {operation} as it is built in; leave them out"))
    }

    /// Returns the path in the target of the workspace, or of the project with this id in the target.
    pub(super) fn there(&self, project: Option<Uuid>) -> String {
        match project {
            Some(project) => format!("/api/v2/workspaces/{}/projects/{project}", self.slug),
            None => format!("/api/v2/workspaces/{}", self.slug),
        }
    }

    /// Returns the path in the target for records of the workspace, or of the project with this id here.
    pub(super) fn base(&self, owner: Option<Uuid>) -> Option<String> {
        match owner {
            Some(own) => Some(self.there(Some(self.projects.get(&own)?.theirs))),
            None => Some(self.there(None)),
        }
    }

    pub(super) fn owner_in_words(&self, owner: Option<Uuid>) -> String {
        match owner {
            Some(own) => format!("project {}", self.project_in_words(own)),
            None => "the workspace".to_owned(),
        }
    }

    /// Names a project by its identifier, or by its id when the identifier is not known.
    pub(super) fn project_in_words(&self, own: Uuid) -> String {
        let identifier = self.seen_here.get(&own).or_else(|| self.archived_here.get(&own));
        identifier.cloned().unwrap_or_else(|| own.to_string())
    }

    /// Tells why the target has no place for records of this owner.
    pub(super) fn why_without_place(&self, owner: Option<Uuid>) -> &'static str {
        match owner.is_some_and(|own| self.archived_here.contains_key(&own)) {
            true => "the project is archived: bring it back first",
            false => "the project is not there, or not to be seen",
        }
    }

    /// Checks whether v1 does not show a work item because its project is archived, or was deleted. `is_missing` tells
    /// whether the store noted that the item went.
    pub(super) fn has_lost_project(&self, project: Uuid, is_missing: bool) -> bool {
        let is_listed = self.seen_here.contains_key(&project) || self.hidden_here.contains(&project);
        self.archived_here.contains_key(&project) || is_missing && !is_listed
    }

    /// Pairs people here with people in the target: by id on both rosters, else by email address. Returns target ids by
    /// ids here.
    pub(super) async fn people(&self, v1: &Side, target: &Side) -> Result<HashMap<Uuid, Uuid>, String> {
        let theirs = self.v2("workspace_members_list", None, None)?;
        let theirs = target.rows(&format!("{theirs}?expand=member")).await?;
        let theirs: Vec<(Uuid, String)> = theirs
            .iter()
            .filter_map(|row| {
                let address = row.get("member").and_then(|member| member["email"].as_str()).unwrap_or_default();
                Some((Uuid::try_parse(text(row, "member_id")).ok()?, address.to_lowercase()))
            })
            .collect();
        let ours = v1.read(&self.v1("v1_workspace_members_list", None, None)?).await?;
        let mut people = HashMap::new();
        for row in ours.as_array().into_iter().flatten().filter_map(Value::as_object) {
            let (Some(own), address) = (id(row), text(row, "email").to_lowercase()) else { continue };
            let mut same = theirs.iter().filter(|(_, other)| !address.is_empty() && *other == address);
            if theirs.iter().any(|(id, _)| *id == own) {
                people.insert(own, own);
            } else if let (Some((id, _)), None) = (same.next(), same.next()) {
                people.insert(own, *id);
            }
        }
        Ok(people)
    }

    /// Returns the live work items of a project in the target, and their pairs here.
    pub(super) async fn items(&self, project: &Project, v1: &Side, target: &Side) -> Result<Items, String> {
        let list = self.v2("work_items_list", Some(project.theirs), None)?;
        let there = target.rows(&format!("{list}?paginate=cursor&order_by=sequence_id")).await?;
        let mut items = Items { project: project.clone(), ..Items::default() };
        let mut numbers: HashMap<i64, Vec<&Map<String, Value>>> = HashMap::new();
        for row in &there {
            let Some(id) = id(row) else { continue };
            items.there.insert(id, row.get("type_id").and_then(Value::as_str).map(str::to_owned));
            let number = row.get("sequence_id").and_then(Value::as_i64).unwrap_or_default();
            numbers.entry(number).or_default().push(row);
        }
        let list = self.v1("v1_work_items_list", Some(project.own), None)?;
        for row in v1.v1_rows(&list, "id,sequence_id,name").await? {
            let number = row.get("sequence_id").and_then(Value::as_i64).unwrap_or_default();
            let Some(own) = id(&row) else { continue };
            items.live_here.insert(own);
            if project.is_same() {
                continue;
            }
            let Some(found) = numbers.get(&number) else { continue };
            match found.as_slice() {
                [one] if text(one, "name") == text(&row, "name") => items.pairs.extend(id(one).map(|id| (own, id))),
                _ => drop(items.doubtful.insert(own, format!("{}-{number}", project.identifier))),
            }
        }
        Ok(items)
    }
}

fn is_archived(project: &Map<String, Value>) -> bool {
    project.get("archived_at").is_some_and(|at| !at.is_null())
}

async fn by_identifier(target: &Side, list: &str) -> Result<HashMap<String, Vec<Uuid>>, String> {
    let rows = target.v1_rows(list, "id,identifier,archived_at").await.map_err(|fault| {
        format!(
            "a project is not there under its id, so that it has to be found by its identifier, and v2 has no list of \
             projects: {fault}"
        )
    })?;
    let mut found: HashMap<String, Vec<Uuid>> = HashMap::new();
    for row in rows.iter().filter(|row| !is_archived(row)) {
        if let Some(id) = id(row) {
            found.entry(text(row, "identifier").to_owned()).or_default().push(id);
        }
    }
    Ok(found)
}

/// Work items of one project on both sides.
#[derive(Debug, Clone, Default)]
pub(super) struct Items {
    pub(super) project: Project,
    /// Live items in the target: their ids, with the ids of their types there.
    pub(super) there: HashMap<Uuid, Option<String>>,
    /// Ids in the target by ids here, where the ids are not the same.
    pairs: HashMap<Uuid, Uuid>,
    live_here: HashSet<Uuid>,
    /// Keys of items whose number belongs to another item in the target, by ids here.
    pub(super) doubtful: HashMap<Uuid, String>,
}

impl Items {
    pub(super) fn is_live_here(&self, own: Uuid) -> bool {
        self.live_here.contains(&own)
    }

    /// Returns the live item in the target that is the same as the item here.
    pub(super) fn theirs(&self, own: Uuid) -> Option<Uuid> {
        match self.project.is_same() {
            true => self.there.contains_key(&own).then_some(own),
            false => self.pairs.get(&own).copied(),
        }
    }
}
