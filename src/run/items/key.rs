//! One work item by its human key, or by its external pair (`external_id` and `external_source`).
//!
//! v1's look-up has no project in its path, and answers 403 for items that the caller cannot read (trap 2,
//! `items_key_private_project`); the form of the key was checked before (trap 54). v1 allows two live items with one
//! number, and then its look-up fails (trap 18, `items_key_of_shared_number`): the index of the project then shows
//! which items have it.
//!
//! For a pair, v1 answers with the item itself, with 404 when there is none, and with 500 when two share the pair (trap
//! 47, `items_find_by_shared_external_pair`). It also finds archived and draft items
//! (`archived_find_by_external_pair`). May use: what `run` may use.

use crate::context::Note;
use crate::fresh::Changed;
use crate::plan::{BY_KEY, HumanKey, PathTemplate};
use crate::refusal::Refusal;
use crate::run::job::{InProject, Job};
use crate::run::kept::answers::Shown;
use crate::run::members::bad_data;
use crate::run::reads::outage::store_is_away;
use crate::translate::Fault;
use crate::translate::work_items::{self, Item};
use crate::v1::{Object, V1Request, V1Response};
use crate::v2::value::trimmed;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use uuid::Uuid;

/// Returns the refusal when v1 answered a look-up with an item that does not have the key or pair.
pub(in crate::run) fn another(cause: String) -> Refusal {
    Refusal::upstream("The service behind answered with another work item than the one asked for.", cause)
}

fn is_named(item: &Item, key: &HumanKey) -> bool {
    item.sequence_id == i64::from(key.number)
}

/// Checks whether the `id` and `source` that v1 shows are those of `asked`. v1 stores both trimmed.
pub(in crate::run) fn is_pair(id: Option<&str>, source: Option<&str>, asked: (&str, &str)) -> bool {
    let same = |shown: Option<&str>, asked: &str| shown.is_some_and(|shown| trimmed(shown) == trimmed(asked));
    same(id, asked.0) && same(source, asked.1)
}

impl Job {
    /// Returns the live item with a human key, and the id of its project; none when only the index can tell.
    ///
    /// # Errors
    /// 404 for every item that v1 does not show: unknown, archived, or in a project the caller cannot read.
    pub(in crate::run) async fn item_by_key(&self, key: &HumanKey) -> Result<Option<(Item, Uuid)>, Refusal> {
        let request = self.request_by_key(&key.to_string())?;
        let about = |answer: &V1Response| self.about_key(key, answer);
        let answer = self.ask_kept(Shown::Key(self.key().id()), request, about).await;
        let answer = match answer {
            Err(Refusal::UpstreamFault { .. }) => return Ok(None),
            outcome => self.explain_refused_read(outcome).await?,
        };
        match answer.status {
            200 => {
                let (item, project) = self.owned_item(&answer.body)?;
                if !is_named(&item, key) {
                    let cause = format!("v1 answered {key} with number {}", item.sequence_id);
                    return Err(another(cause));
                }
                Ok(Some((item, project)))
            }
            // An unknown or unreachable project is 403 here (`items_key_unknown_project`).
            403 | 404 => Err(Refusal::not_found()),
            status => Err(Refusal::upstream("The work item could not be read.", format!("status {status}"))),
        }
    }

    /// Returns the changes that invalidate the answer to a look-up; none when it is not the item of `key`.
    fn about_key(&self, key: &HumanKey, answer: &V1Response) -> Option<Vec<Changed>> {
        let (item, project) = self.owned_item(&answer.body).ok().filter(|(item, _)| is_named(item, key))?;
        Some(self.around_records(project).into_iter().chain([Changed::Record(item.id)]).collect())
    }

    /// Returns the call that looks `key` up in the workspace of this call.
    pub(in crate::run) fn request_by_key(&self, key: &str) -> Result<V1Request, Refusal> {
        let template = PathTemplate::parse(BY_KEY).map_err(Refusal::internal)?;
        let path = template.fill(|name| if name == "slug" { self.variable("slug") } else { Some(key) });
        let path = path.ok_or_else(|| Refusal::internal("a look-up outside of workspaces"))?;
        Ok(V1Request::get(path, format!("{},project", work_items::WHOLE)))
    }

    /// Returns the call that asks v1 for the work item of this project with the pair.
    pub(in crate::run) fn pair_request(&self, id: &str, source: &str) -> Result<V1Request, Refusal> {
        let encode = |text| utf8_percent_encode(text, NON_ALPHANUMERIC);
        let query = format!("external_id={}&external_source={}", encode(id), encode(source));
        Ok(V1Request::get(self.collection_path(self.work_items()?)?, query))
    }

    /// Reads a v1 record that names its project.
    pub(in crate::run) fn owned_item(&self, body: &[u8]) -> Result<(Item, Uuid), Refusal> {
        #[derive(serde::Deserialize)]
        struct Owner {
            project: Uuid,
        }
        let Object(owner): Object<Owner> =
            serde_json::from_slice(body).map_err(|fault| bad_data(&Fault(fault.to_string())))?;
        Ok((self.item_of(body)?, owner.project))
    }
}

impl InProject<'_> {
    /// Returns the identifier of this call's project, against which keys with the identifiers `named` are checked. The
    /// card may be older than a change of the identifier. So before another identifier counts as foreign, the project
    /// is read once more: one call, and for some seconds no further call for the same identifier.
    pub(in crate::run) async fn identifier_checked_against(
        &self,
        named: impl IntoIterator<Item = &str>,
    ) -> Result<String, Refusal> {
        let (card, strangers) = (self.card, &self.runner.strangers);
        let place = |other: &str| (card.id, Box::<str>::from(other));
        let is_open = |other: &&str| *other != card.identifier && !strangers.contains(&place(other));
        let open: Vec<&str> = named.into_iter().filter(is_open).collect();
        if open.is_empty() {
            return Ok(card.identifier.clone());
        }
        let identifier = self.card_now().await?.identifier.clone();
        for other in open.into_iter().filter(|other| *other != identifier) {
            strangers.insert(place(other), ());
        }
        Ok(identifier)
    }

    /// Checks with one call whether the project has this identifier at this moment: older knowledge proves nothing
    /// about an answer that v1 has just given. When the index answers for a key, v1 has not told the project of the
    /// key, and the identifier may have moved to another project.
    ///
    /// # Errors
    /// 404 or 403 when the caller has lost the project.
    pub(in crate::run) async fn is_identifier_now(&self, identifier: &str) -> Result<bool, Refusal> {
        let now = self.card_now().await?;
        now.require_member()?;
        Ok(now.identifier == identifier)
    }

    /// Returns the live item of this call's project with a human key.
    ///
    /// # Errors
    /// Like [`Job::item_by_key`]; 404 also when several items have the key: then it identifies none of them.
    pub(in crate::run) async fn own_item_by_key(&self, key: &HumanKey) -> Result<Item, Refusal> {
        let numbered = match key.has_path() {
            true => match self.item_by_key(key).await? {
                Some((item, owner)) if owner == self.card.id => return Ok(item),
                Some(_) => return Err(Refusal::not_found()),
                None => self.items_by_number(key).await?,
            },
            false => self.newest_index().await?.by_sequence(key.number.into()),
        };
        match numbered.as_slice() {
            [item] if self.is_identifier_now(&key.project).await? => Ok(item.clone()),
            _ => Err(Refusal::not_found()),
        }
    }

    /// Returns the live items of this project with the number of `key`, by the index, in the order of their creation.
    pub(in crate::run) async fn items_by_number(&self, key: &HumanKey) -> Result<Vec<Item>, Refusal> {
        let scope = self.index_scope()?;
        let index = self.explain_refused_read(self.index(&scope).await).await?;
        self.call.ctx.meter.note(Note::Index);
        let mut found = index.by_sequence(key.number.into());
        found.sort_by_key(|item| (item.created_at, item.id));
        // An index from before an outage of the store cannot prove that there is none.
        if found.is_empty() && self.runner.store.away_since().is_some() {
            return Err(store_is_away());
        }
        Ok(found)
    }
}
