//! A fixed round of mixed v2 reads: lists with filters, search and expansions, single items, look-ups by key,
//! states, labels and members.

use super::gateway::Gateway;
use causeway::sandbox::Sandbox;

/// One project, and its reader.
pub struct Reader {
    /// Key of a member.
    pub key: String,
    workspace: String,
    project: String,
    identifier: String,
    items: Vec<(String, u64)>,
}

impl Reader {
    /// Looks the first project of a sandbox up through `gateway`.
    pub async fn of(sandbox: &Sandbox, gateway: &Gateway) -> Self {
        let facts = sandbox.demo_facts();
        let workspace = format!("/api/v2/workspaces/{}", facts.workspace);
        let project = format!("{workspace}/projects/{}", facts.project_id);
        let key = facts.keys[0].key.clone();
        let list = gateway.get(&key, &format!("{project}/work-items/?priority__in=urgent,high&per_page=100")).await;
        let list = list.expect(200);
        let items = list.data().iter().map(|row| {
            let text = row["id"].as_str().expect("an id").to_owned();
            (text, row["sequence_id"].as_u64().expect("a number"))
        });
        let items = items.collect();
        Self { key, workspace, project, identifier: facts.project_identifier, items }
    }

    /// Returns the paths of round `number`; each round reads other items.
    pub fn round(&self, number: usize) -> Vec<String> {
        let Self { workspace, project, identifier, items, .. } = self;
        let item = |step: usize| &items[(number * 7 + step) % items.len()];
        vec![
            format!("{project}/work-items/?state_group=started&order_by=-updated_at"),
            format!("{project}/work-items/{}/", item(0).0),
            format!("{project}/states/"),
            format!("{project}/work-items/?priority__in=urgent,high&expand=state,labels,assignees"),
            format!("{workspace}/work-items/{identifier}-{}/", item(1).1),
            format!("{project}/labels/?per_page=5"),
            format!("{project}/work-items/?search=fix&order_by=priority"),
            format!("{project}/work-items/{}/?expand=state,parent", item(2).0),
            format!("{project}/members/"),
            format!("{project}/work-items/?sequence_id={}", item(3).1),
            format!("{workspace}/members/"),
            format!("{project}/work-items/?assignee_id__isnull=True&per_page=20"),
        ]
    }
}
