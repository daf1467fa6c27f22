//! The list of work items.
//!
//! v1's list has no filter and no search, breaks ties by its own rules and pages by a drifting number (traps
//! 43, 45, 47). The sources, in this order: a look-up that v1 answers directly is one call; without an index, a page
//! that v1 can answer correctly is one call and never waits for an index; everything else, and every list once the
//! index is built, comes from the index. May use: what `run` may use.

use crate::context::Note;
use crate::heavy::Input;
use crate::index::{Index, Lookups, Memberships, Needs, Selection, SetNeeds};
use crate::plan::Known;
use crate::refusal::Refusal;
use crate::run::items::fields::{ItemSource, Pairing, mark_absences, settle_all};
use crate::run::items::lookup::{self, Direct, LookupResult};
use crate::run::items::sets::SetKind;
use crate::run::items::{expansions, page as direct_page, unlisted_states};
use crate::run::job::InProject;
use crate::store::ProjectItems;
use crate::translate::work_items::{GROUPS, Item};
use crate::translate::work_items_text::{self, Added, CustomFields, USUAL_SIZE};
use crate::v2::query::{ListCall, PageCall};
use crate::v2::{Reply, page};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::Arc;
use uuid::Uuid;

/// Number of items from which selecting among them is heavy work.
const LARGE: usize = 20_000;
/// Bytes of expansions from which writing a page is heavy work.
const MUCH: usize = 4 * 1024 * 1024;

pub(in crate::run) async fn run(job: &InProject<'_>) -> Result<Reply, Refusal> {
    let call = job.list_call()?;
    let mut pairing = Pairing::begin(job).await?;
    loop {
        if let Some(reply) = read(job, &call, &mut pairing).await? {
            return Ok(reply);
        }
    }
}

/// Returns the answer; none when it must be read again, because a write about one of its items ended meanwhile.
async fn read(job: &InProject<'_>, call: &ListCall, pairing: &mut Pairing) -> Result<Option<Reply>, Refusal> {
    let scope = job.index_scope()?;
    let built = job.runner.indexes.is_built(&scope);
    if !built && let Some(direct) = lookup::wanted(job.resource(), call) {
        if let Found::Answer(reply) = look_up(job, call, &direct, pairing).await? {
            return Ok(reply);
        }
    } else if !built
        && direct_page::is_possible(call)
        && let Some(page) = direct_page::read(job, call).await?
    {
        job.begin_index(&scope, page.total);
        return match pairing.holds_rows(job, &page.rows, ItemSource::Read).await? {
            Some(recorded) => envelope(job, call, &page, &recorded).await.map(Some),
            None => Ok(None),
        };
    }
    indexed(job, call, pairing).await
}

/// Result of a look-up that v1 answers directly.
enum Found {
    /// The answer to the list; none when it must be read again.
    Answer(Option<Reply>),
    /// Only an index can tell.
    Unclear,
}

/// Looks for the one item that can match, and answers with it if it meets all other conditions of the list.
async fn look_up(
    job: &InProject<'_>,
    call: &ListCall,
    direct: &Direct,
    pairing: &mut Pairing,
) -> Result<Found, Refusal> {
    let columns = &job.resource().columns;
    let mut item = match lookup::find(job, direct).await? {
        // A condition on sets, groups or labels beside the look-up needs the index.
        LookupResult::Item(_) if Needs::of(call, columns) != Needs::default() => return Ok(Found::Unclear),
        LookupResult::Item(item) => *item,
        LookupResult::Nothing => {
            let nothing = Reply::json(200, page::answer(std::iter::empty(), call));
            return Ok(Found::Answer(Some(nothing)));
        }
        LookupResult::Unclear => return Ok(Found::Unclear),
    };
    let Some(recorded) = pairing.holds_rows(job, std::slice::from_ref(&item), ItemSource::Read).await? else {
        return Ok(Found::Answer(None));
    };
    if let Direct::Pair(id, source) = direct {
        // v1 found the item by the pair, which it compares as text.
        (item.external_id, item.external_source) = (Some(id.clone()), Some(source.clone()));
    }
    let selection = Index::of([item]).select(call, columns, &Lookups::default());
    envelope(job, call, &selection, &recorded).await.map(|reply| Found::Answer(Some(reply)))
}

async fn indexed(job: &InProject<'_>, call: &ListCall, pairing: &mut Pairing) -> Result<Option<Reply>, Refusal> {
    let needs = Needs::of(call, &job.resource().columns);
    let scope = job.index_scope()?;
    let types = types(job, needs.types, pairing).await?;
    let read = async { tokio::try_join!(job.index(&scope), lookups(job, &needs, Arc::clone(&types))) };
    let (index, mut lookups) = job.explain_refused_read(read.await).await?;
    if needs.labels {
        let live = job.explain_refused_read(job.live_labels(index.labels()).await).await?;
        lookups.live_labels = Some(live);
    }
    if needs.groups {
        add_unlisted(job, &index, &mut lookups.group_of_state).await?;
    }
    job.call.ctx.meter.note(if index.is_scan() { Note::Scan } else { Note::Index });
    mark_absences(job, &index);
    let mut selection = select(job, index, call.clone(), lookups).await?;
    if selection.rows.is_empty()
        && job.call.ctx.meter.is_stale()
        && let Some(direct) = lookup::wanted(job.resource(), call)
    {
        // Older data do not prove that there is no such item, and a client may create it on this answer.
        return match look_up(job, call, &direct, pairing).await? {
            Found::Answer(reply) => Ok(reply),
            Found::Unclear if job.is_short() => Err(job.no_quota()),
            Found::Unclear => {
                Err(Refusal::KeptChanging { cause: format!("only a newer index can tell {direct:?}") })
            }
        };
    }
    let Some(recorded) = pairing.holds_rows(job, &selection.rows, ItemSource::Indexed).await? else {
        return Ok(None);
    };
    let is_chosen_so = |item: &Item| recorded.types.get(&item.id) == types.get(&item.id);
    if needs.types && !selection.rows.iter().all(is_chosen_so) {
        // A type was written since it was used to choose the rows.
        pairing.again(job, ItemSource::Indexed).await?;
        return Ok(None);
    }
    if !needs.labels && selection.rows.iter().any(|item| !item.labels.is_empty()) {
        let shown = selection.rows.iter().flat_map(|item| &item.labels);
        let live = job.explain_refused_read(job.live_labels(shown).await).await?;
        selection.rows.iter_mut().for_each(|item| item.labels.retain(|id| live.contains(id)));
    }
    envelope(job, call, &selection, &recorded).await.map(Some)
}

/// Selects the page, on the pool for heavy work when many items must be compared.
async fn select(
    job: &InProject<'_>,
    index: Arc<Index>,
    call: ListCall,
    lookups: Lookups,
) -> Result<Selection, Refusal> {
    let columns = Arc::clone(&job.resource().columns);
    let effort = index.effort(&call, &columns, &lookups);
    // A row and the values compared with it take about 16 bytes.
    let size = if effort < LARGE { 0 } else { effort * 16 };
    let select = move || index.select(&call, &columns, &lookups);
    job.runner.heavy.run(Input::Own, size, &job.call.ctx, select).await
}

async fn lookups(job: &InProject<'_>, needs: &Needs, types: Arc<HashMap<Uuid, Uuid>>) -> Result<Lookups, Refusal> {
    let labels = async {
        match needs.labels {
            // Only loaded in parallel with the index; which labels exist is checked when the rows are known.
            true => job.load(job.resource_named(Known::Labels)?).await.map(drop),
            // Loaded when the page is known and shows any labels.
            false => Ok(()),
        }
    };
    let (groups, ()) = tokio::try_join!(groups(job, needs.groups), labels)?;
    Ok(Lookups {
        group_of_state: groups,
        live_labels: None,
        cycles: memberships(job, SetKind::Cycle, &needs.cycles).await?,
        modules: memberships(job, SetKind::Module, &needs.modules).await?,
        type_of: types,
    })
}

/// Returns the types to filter by; open writes are settled first, because they could change the result.
async fn types(
    job: &InProject<'_>,
    needed: bool,
    pairing: &mut Pairing,
) -> Result<Arc<HashMap<Uuid, Uuid>>, Refusal> {
    if !needed {
        return Ok(Arc::default());
    }
    if !pairing.before.open.is_empty() {
        if settle_all(job).await? {
            return Err(Refusal::WriteUndecided);
        }
        pairing.renew(job).await?;
    }
    Ok(Arc::clone(&pairing.before.types))
}

async fn groups(job: &InProject<'_>, needed: bool) -> Result<HashMap<Uuid, u8>, Refusal> {
    if !needed {
        return Ok(HashMap::new());
    }
    let states = job.load(job.resource_named(Known::States)?).await?.value;
    Ok(states.rows().iter().filter_map(|held| Some((held.record.id, group(&held.v1_members())?))).collect())
}

/// Adds the groups of states that items are in and v1 does not list.
async fn add_unlisted(job: &InProject<'_>, index: &Index, groups: &mut HashMap<Uuid, u8>) -> Result<(), Refusal> {
    let others = index.in_other_states(groups);
    if others.is_empty() {
        return Ok(());
    }
    let states = job.load(job.resource_named(Known::States)?).await?.value;
    for (state, item) in others {
        let shown = unlisted_states::of_item(job, &states, state, item).await?;
        groups.extend(shown.and_then(|shown| group(&shown)).map(|group| (state, group)));
    }
    Ok(())
}

/// Returns the position of a state's group in [`GROUPS`].
fn group(v1: &Map<String, Value>) -> Option<u8> {
    let name = v1.get("group")?.as_str()?;
    GROUPS.iter().position(|known| *known == name).map(|position| position as u8)
}

async fn memberships(job: &InProject<'_>, kind: SetKind, needs: &SetNeeds) -> Result<Memberships, Refusal> {
    let named = job.members_of_each(kind, &needs.named).await?;
    let any = if needs.any { Some(Arc::new(job.members_of_any(kind).await?)) } else { None };
    Ok(Memberships { named, any })
}

async fn envelope(
    job: &InProject<'_>,
    call: &ListCall,
    selection: &Selection,
    recorded: &ProjectItems,
) -> Result<Reply, Refusal> {
    let added = expansions::expand(job, &selection.rows, recorded, &call.expand).await?;
    let expanded: usize = added.iter().flatten().map(|(_, value)| value.size()).sum();
    let size = selection.rows.len() * USUAL_SIZE + expanded;
    if expanded < MUCH {
        let body = written(selection, &added, &recorded.types, &job.card.identifier, &call.page, size);
        return Ok(Reply::json(200, body));
    }
    let (selection, types, page) = (selection.clone(), Arc::clone(&recorded.types), call.page.clone());
    let project = job.card.identifier.clone();
    let write = move || written(&selection, &added, &types, &project, &page, size);
    Ok(Reply::json(200, job.runner.heavy.run(Input::Own, expanded, &job.call.ctx, write).await?))
}

/// Writes the page with the keys `added` to each of its rows; it takes about `size` bytes.
fn written(
    selection: &Selection,
    added: &[Added],
    types: &HashMap<Uuid, Uuid>,
    project: &str,
    page: &PageCall,
    size: usize,
) -> Vec<u8> {
    let rows = selection.rows.iter().zip(added).map(|(item, added)| {
        let type_id = types.get(&item.id).copied();
        move |out: &mut Vec<u8>| {
            work_items_text::write(out, item, project, type_id, CustomFields::Hidden, added);
        }
    });
    let data = page::rows(size, rows);
    page::envelope(data, page, selection.total, selection.next.as_ref())
}
