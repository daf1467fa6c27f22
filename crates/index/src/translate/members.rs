//! Rosters: v1 returns persons, v2 needs memberships.
//!
//! v1's rosters have no membership ids and no join dates, and the project roster has no roles (trap 52,
//! `members_seeded_project`). Ids are derived, and the roles of other people in a project are those of the workspace
//! (O89). The order is v1's own, newest first: by joining in a workspace, by the age of the account in a project
//! (`perm_gil_reads_members`).
//!
//! May use: `plan` (cells), `v1` (objects), `v2` (records, pages).

use super::Fault;
use crate::plan::Resource;
use crate::v1::Object;
use crate::v2::page;
use crate::v2::query::{ListCall, PageCall};
use crate::v2::record::{Cell, Record};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use uuid::Uuid;

/// One person as v1's rosters show them (`members_workspace_admin`).
#[derive(Debug, Clone, Deserialize)]
pub struct Person {
    /// Id of the person.
    pub id: Uuid,
    /// First name.
    #[serde(deserialize_with = "crate::v1::present")]
    pub first_name: Option<String>,
    /// Last name.
    #[serde(deserialize_with = "crate::v1::present")]
    pub last_name: Option<String>,
    /// Address.
    #[serde(deserialize_with = "crate::v1::present")]
    pub email: Option<String>,
    /// Picture.
    #[serde(deserialize_with = "crate::v1::present")]
    pub avatar_url: Option<String>,
    /// Display name.
    #[serde(deserialize_with = "crate::v1::present")]
    pub display_name: Option<String>,
    /// Role number; only on the workspace roster.
    pub role: Option<i64>,
}

impl Person {
    /// Returns the approximate number of bytes held.
    pub fn bytes(&self) -> usize {
        let texts = [&self.first_name, &self.last_name, &self.email, &self.avatar_url, &self.display_name];
        size_of::<Self>() + texts.into_iter().flatten().map(String::len).sum::<usize>()
    }
}

/// Reads a roster, newest first as v1 sends it.
///
/// # Errors
/// The body is no array of persons.
pub fn read(body: &[u8]) -> Result<Vec<Person>, Fault> {
    let rows: Vec<Object<Person>> =
        serde_json::from_slice(body).map_err(|fault| Fault(format!("a roster is not readable: {fault}")))?;
    Ok(rows.into_iter().map(|Object(person)| person).collect())
}

/// Returns the role numbers by person.
pub fn roles(people: &[Person]) -> HashMap<Uuid, i64> {
    people.iter().filter_map(|person| Some((person.id, person.role?))).collect()
}

/// Builds the memberships of a workspace or project (`owner`) from its people; `role_of` returns the role's slug.
pub fn memberships(
    resource: &Resource,
    owner: Uuid,
    people: &[Person],
    role_of: impl Fn(&Person) -> &'static str,
) -> Vec<Record> {
    let oldest_first = people.iter().rev().enumerate();
    oldest_first.map(|(rank, person)| membership(resource, owner, person, rank, role_of(person))).collect()
}

/// Writes the page of a whole roster that `call` asks for. A cursor continues after the membership that it names,
/// wherever that is now: an older account that joins a project gets a place before others.
pub fn page_of(records: &[Record], mut call: ListCall) -> Vec<u8> {
    if let PageCall::Cursor { after: Some(after), keys, .. } = &mut call.page
        && let Some(last) = records.iter().find(|record| record.id == after.id)
    {
        *after = page::position(last, keys);
    }
    page::answer(records.iter(), &call)
}

/// Returns the id of a membership, which v1 does not have: UUIDv5 of the user's id in the namespace `owner`, the id of
/// the workspace or project.
fn membership_id(owner: Uuid, person: Uuid) -> Uuid {
    Uuid::new_v5(&owner, person.as_bytes())
}

/// Returns the person as an expansion shows it, without expansions of its own.
pub fn shown(person: &Person) -> Value {
    json!({
        "id": person.id,
        "display_name": person.display_name.as_deref().unwrap_or_default(),
        "avatar_url": person.avatar_url.as_deref().filter(|url| !url.is_empty()),
        "email": person.email.as_deref().unwrap_or_default(),
    })
}

fn membership(resource: &Resource, owner: Uuid, person: &Person, rank: usize, role: &str) -> Record {
    let id = membership_id(owner, person.id);
    let json = json!({"id": id, "member_id": person.id, "role": role});
    let member = shown(person);
    let cells = resource.cells.iter().map(|&field| cell(&resource.fields[field].name, id, person, rank, role));
    Record {
        id,
        json: Bytes::from(json.to_string()),
        cells: cells.collect(),
        expansions: Box::new([("member".into(), Bytes::from(member.to_string()))]),
    }
}

fn cell(field: &str, id: Uuid, person: &Person, rank: usize, role: &str) -> Cell {
    let text = |value: &Option<String>| Cell::Text(value.as_deref().unwrap_or_default().into());
    match field {
        "id" => Cell::Id(id),
        "member_id" => Cell::Id(person.id),
        "role" => Cell::Text(role.into()),
        "created_at" => Cell::Number(rank as f64),
        "member.display_name" => text(&person.display_name),
        "member.email" => text(&person.email),
        "member.first_name" => text(&person.first_name),
        "member.last_name" => text(&person.last_name),
        _ => Cell::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_without_a_member_is_a_fault_but_null_is_a_value() {
        let whole = json!({"id": Uuid::nil(), "first_name": null, "last_name": "", "email": null, "avatar_url": null,
            "display_name": "ada"});
        assert_eq!(read(json!([whole]).to_string().as_bytes()).unwrap()[0].role, None);
        for name in ["id", "first_name", "last_name", "email", "avatar_url", "display_name"] {
            let mut person = whole.clone();
            person.as_object_mut().unwrap().remove(name);
            assert!(read(json!([person]).to_string().as_bytes()).is_err(), "{name}");
        }
    }
}
