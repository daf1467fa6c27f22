//! v1's answers about a workspace, in the form that is shared with other gateway processes.
//!
//! May use: this folder.

use super::projects_page::ProjectsPage;
use super::rosters::Rosters;
use super::workspace_asked::{guest, own_row};
use super::workspace_card::CardAnswer;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Largest roster in bytes that is shared with other processes. A larger roster is read by each process itself.
const LARGEST_SHARED: usize = 64 * 1024;

/// v1's answer in the shared form.
#[derive(Serialize, Deserialize)]
enum SharedAnswer {
    /// The roster, whose row of the caller gives the role.
    Roster(String),
    /// No roster: the caller is a guest and may list the projects. Holds the workspace of the first project.
    Projects(Option<Uuid>),
}

/// Writes the shared form; returns none when it is too large.
pub(super) fn told(seen: &CardAnswer) -> Option<String> {
    let told = match (&seen.roster, &seen.projects) {
        (Some(roster), _) => {
            let roster = roster.bytes().filter(|roster| roster.len() <= LARGEST_SHARED)?;
            SharedAnswer::Roster(std::str::from_utf8(&roster).ok()?.to_owned())
        }
        (None, Some(page)) => SharedAnswer::Projects(page.workspace),
        _ => return None,
    };
    serde_json::to_string(&told).ok()
}

/// Reads the shared form that another process wrote with the same key, whose owner is `user`.
pub(super) fn heard(told: &str, user: Uuid, rosters: &Rosters) -> Option<CardAnswer> {
    match serde_json::from_str(told).ok()? {
        SharedAnswer::Roster(roster) => own_row(roster.as_bytes(), user, rosters).ok()?.ok(),
        SharedAnswer::Projects(workspace) => Some(guest(ProjectsPage { workspace })),
    }
}

#[cfg(test)]
mod tests {
    use super::super::rosters::MOST;
    use super::*;
    use crate::access::WorkspaceRole;
    use serde_json::json;

    #[test]
    fn another_process_knows_the_same_of_the_same_person() {
        let (ada, page) = (Uuid::from_u128(1), ProjectsPage { workspace: Some(Uuid::from_u128(7)) });
        let rosters = Rosters::new(MOST);
        let roster = json!([{"id": ada, "role": 20, "email": "x"}]).to_string();
        let seen = own_row(roster.as_bytes(), ada, &rosters).unwrap().unwrap();
        let text = told(&seen).unwrap();
        let known = heard(&text, ada, &rosters).unwrap();
        let shown = known.roster.and_then(|roster| roster.bytes());
        assert_eq!((known.role, shown.as_deref()), (WorkspaceRole::Admin, Some(roster.as_bytes())));
        assert!(heard(&text, Uuid::from_u128(2), &rosters).is_none(), "nobody else's");
        let known = heard(&told(&guest(page)).unwrap(), ada, &rosters).unwrap();
        assert!((known.role, known.roster.is_none()) == (WorkspaceRole::Guest, true));
        assert_eq!(known.projects.unwrap().workspace, page.workspace);
        assert!(heard("{}", ada, &rosters).is_none());
        let large = rosters.keep(&vec![b' '; LARGEST_SHARED + 1]);
        assert!(told(&CardAnswer { role: WorkspaceRole::Admin, roster: Some(large), projects: None }).is_none());
    }
}
