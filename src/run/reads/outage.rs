//! Fallbacks of reads while v1 is unreachable, does not answer or answers 5xx, and when a list changes faster
//! than it can be read: cached data up to the age `cache.stale_if_error`, noted in `Age`, `Cache-Status` and
//! `Server-Timing`.
//!
//! Older data only prove that something exists. The gateway never concludes from them that something does *not* exist,
//! settles no write by them, and does not use data that a write has invalidated. Proofs of access follow another rule
//! (`access::remembered`). Writes never use older data. May use: what `run` may use.

use crate::boxed::boxed;
use crate::context::Note;
use crate::fresh::{Changed, or_older};
use crate::index::{Index, Scope};
use crate::plan::{Known, Source};
use crate::refusal::Refusal;
use crate::run::job::{InProject, Job};
use crate::run::kept::answers::{Question, Shown};
use crate::translate::work_items::Item;
use crate::v1::{Object, V1Request, V1Response};
use serde::Deserialize;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use uuid::Uuid;

/// Returns the refusal for data that are unknown while the database of the store does not respond.
pub(in crate::run) fn store_is_away() -> Refusal {
    Refusal::StoreUnavailable { cause: "the database does not answer".into() }
}

/// v1's answer, from now or, during an outage, from the last time.
pub(in crate::run) enum Answered<T> {
    Read(T),
    Otherwise(V1Response),
}

pub(in crate::run) enum ItemAnswer {
    Answer(Answered<Box<Item>>),
    /// A row of the index, during an outage.
    Row(Box<Item>),
}

/// The side that checks whether the body of a success is complete JSON.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Body {
    /// The client of v1, with a separate check.
    Checked,
    /// The caller, by reading all of it.
    ForTheAsker,
}

impl Job {
    /// Applies [`or_older`] to the list at this v1 path. `older` is also used when the list kept changing while it was
    /// read, and then by all requests for the usual lifetime of a collection, so that v1 is not asked again and
    /// again in vain. It is also used when comparing the list with v1 is known to take longer than the
    /// request may take; the comparison goes on.
    pub(in crate::run) async fn list_or_older<T>(
        &self,
        path: &Arc<str>,
        older: impl Fn() -> Option<(T, Instant)>,
        work: impl Future<Output = Result<T, Refusal>> + Unpin,
    ) -> Result<T, Refusal> {
        let (ctx, restless) = (&self.call.ctx, &self.runner.restless);
        if !ctx.tolerant {
            return work.await;
        }
        let list = (Arc::clone(path), self.audience()?);
        let failure = match restless.get(&list) {
            Some(failure) if older().is_some() => failure,
            _ => match or_older(ctx, || self.is_queued(), &older, work).await {
                Err(failure @ Refusal::KeptChanging { .. }) => {
                    restless.insert(list, failure.clone());
                    failure
                }
                Err(failure @ Refusal::IndexBuilding { .. }) => {
                    let (thing, read_at) = older().ok_or(failure)?;
                    ctx.meter.relies_on(read_at, Note::Comparing);
                    return Ok(thing);
                }
                outcome => return outcome,
            },
        };
        // The older list may have been invalidated meanwhile.
        let (thing, read_at) = older().ok_or(failure)?;
        ctx.meter.relies_on(read_at, Note::Changing);
        Ok(thing)
    }

    /// Checks whether this caller's calls wait for the quota; then v1 is not asked.
    fn is_queued(&self) -> bool {
        self.runner.client.budget.is_queued(self.key().id())
    }

    /// Returns the present index, for use during an outage, and when it was read.
    pub(in crate::run) fn older_index(&self, scope: &Scope) -> Option<(Arc<Index>, Instant)> {
        let runner = &self.runner;
        let kept = runner.indexes.kept_within(scope, runner.settings.cache.stale_if_error)?;
        let void = runner.changes.is_void(&[Changed::Written(scope.project)], kept.began);
        (!void).then_some((kept.value, kept.began.at))
    }

    /// Reads v1 for every request, and expects one record of this project. During an outage, returns the last
    /// answer to the same request.
    pub(in crate::run) async fn ask_record(&self, request: V1Request, record: Uuid) -> Result<V1Response, Refusal> {
        let (shown, about) = (Shown::Class(self.audience()?), self.about(Some(record)));
        self.ask_kept(shown, request, move |answer| is_of(record, answer).then_some(about)).await
    }

    /// Like [`Job::ask_record`], for reads whose place is known only from the answer; `about` returns what invalidates
    /// the answer, or none when the answer does not fit the request.
    pub(in crate::run) async fn ask_kept(
        &self,
        shown: Shown,
        request: V1Request,
        about: impl FnOnce(&V1Response) -> Option<Vec<Changed>>,
    ) -> Result<V1Response, Refusal> {
        let question = Question::new(shown, &request);
        let older = || self.runner.answers.kept(&question);
        let asking = boxed(|| self.ask_and_keep(&question, request, Body::Checked, about));
        or_older(&self.call.ctx, || self.is_queued(), older, asking).await
    }

    /// Like [`Job::ask_record`], for a page that `read` reads completely.
    pub(in crate::run) async fn ask_page<T>(
        &self,
        request: V1Request,
        read: impl Fn(&V1Response) -> Result<T, Refusal>,
    ) -> Result<Answered<T>, Refusal> {
        let (shown, about) = (Shown::Class(self.audience()?), self.about(None));
        let question = Question::new(shown, &request);
        let older = || {
            let (answer, read_at) = self.runner.answers.kept(&question)?;
            Some((Answered::Read(read(&answer).ok()?), read_at))
        };
        let asking = self.ask_and_read(&question, request, &read, |_| Some(about));
        or_older(&self.call.ctx, || self.is_queued(), older, pin!(asking)).await
    }

    /// Reads a success completely with `read`, which also checks that it is complete; `about` returns what invalidates
    /// it, or none when it does not fit the request.
    async fn ask_and_read<T>(
        &self,
        question: &Question,
        request: V1Request,
        read: impl Fn(&V1Response) -> Result<T, Refusal>,
        about: impl FnOnce(&T) -> Option<Vec<Changed>>,
    ) -> Result<Answered<T>, Refusal> {
        let mut found = None;
        let voids = |answer: &V1Response| {
            let thing = found.insert(read(answer));
            thing.as_ref().ok().and_then(about)
        };
        let answer = self.ask_and_keep(question, request, Body::ForTheAsker, voids).await?;
        match found {
            Some(thing) => thing.map(Answered::Read),
            None if answer.status == 200 => read(&answer).map(Answered::Read),
            None => Ok(Answered::Otherwise(answer)),
        }
    }

    fn about(&self, record: Option<Uuid>) -> Vec<Changed> {
        let project = self.call.card().map(|card| card.id);
        let own = record.map(Changed::Record).or(project.map(Changed::Pages));
        match project {
            Some(project) => own.into_iter().chain(self.around_records(project)).collect(),
            None => own.into_iter().chain([Changed::Workspace(self.slug().into())]).collect(),
        }
    }

    /// Returns the changes that invalidate an answer about any record of this project.
    pub(in crate::run) fn around_records(&self, project: Uuid) -> [Changed; 4] {
        let workspace = Changed::Workspace(self.slug().into());
        [Changed::Written(project), Changed::Answers(project), Changed::Project(project), workspace]
    }

    async fn ask_and_keep(
        &self,
        question: &Question,
        request: V1Request,
        body: Body,
        about: impl FnOnce(&V1Response) -> Option<Vec<Changed>>,
    ) -> Result<V1Response, Refusal> {
        let (runner, ctx) = (&self.runner, &self.call.ctx);
        let ask = async |request: V1Request| match body {
            Body::Checked => runner.client.ask(self.key(), request, ctx).await,
            Body::ForTheAsker => runner.client.ask_unread(self.key(), request, ctx).await,
        };
        if !ctx.tolerant {
            return ask(request).await;
        }
        let asking = async {
            if runner.client.breaker.is_troubled()
                && let Some(outcome) =
                    Box::pin(runner.answers.share(question, || self.asking(request.clone()))).await
            {
                return outcome;
            }
            ask(request).await
        };
        runner.answers.read(question, asking, about).await
    }

    /// Returns a read that goes on when its caller leaves.
    fn asking(&self, request: V1Request) -> impl Future<Output = Result<V1Response, Refusal>> + Send + use<> {
        let (runner, key, ctx) = (Arc::clone(&self.runner), self.key().clone(), self.shared_ctx());
        async move { runner.client.ask(&key, request, &ctx).await }
    }

    /// Returns the cached fallback data that a write of this operation can change, except for those that the write
    /// updates itself.
    fn can_change(&self) -> Vec<Changed> {
        let Some(project) = self.call.card().map(|card| card.id) else { return Vec::new() };
        let (resource, pk) = (self.resource(), self.pk().ok());
        if resource.source != Source::V1 {
            return Vec::new();
        }
        let item = resource.is(Known::WorkItems);
        let is_delete = self.operation().method == crate::plan::Method::Delete;
        match pk {
            // A deleted record may take others with it. The index follows the delete of an item: its children are
            // detached before, each by its own write. The index contains no records that are read alone.
            _ if is_delete && (item || resource.reads_alone()) => {
                vec![Changed::Pages(project), Changed::Answers(project)]
            }
            _ if is_delete => vec![Changed::Written(project)],
            Some(id) if item => vec![Changed::Pages(project), Changed::Record(id)],
            None if item => vec![Changed::Pages(project)],
            // Only its own answers show a record that is read alone.
            pk if resource.reads_alone() => pk.map(Changed::Record).into_iter().collect(),
            _ => vec![Changed::Written(project)],
        }
    }

    /// Prepares the invalidation of older data by a write. Must be called before the write begins; the returned
    /// function must be called with the outcome of the write.
    pub(in crate::run) fn voiding<T>(&self) -> impl FnOnce(&Result<T, Refusal>) + use<T> {
        let (runner, touched, changes) = (Arc::clone(&self.runner), Arc::clone(&self.touched), self.can_change());
        let project = self.call.card().map(|card| card.id);
        move |outcome| {
            if !touched.load(Ordering::SeqCst) {
                return;
            }
            for changed in changes {
                runner.changes.tell(changed);
            }
            // The outcome at v1 is unknown, so no older data of the project are used.
            if let (Err(_), Some(project)) = (outcome, project) {
                runner.changes.tell(Changed::Written(project));
            }
        }
    }
}

impl InProject<'_> {
    /// Returns the work item `id`: v1's answer or, during an outage, the newer one of its row in the index and
    /// v1's last answer.
    pub(in crate::run) async fn ask_item(&self, request: V1Request, id: Uuid) -> Result<ItemAnswer, Refusal> {
        let (question, about) = (Question::new(Shown::Class(self.audience()?), &request), self.about(Some(id)));
        let scope = self.index_scope()?;
        let read = |answer: &V1Response| self.item_in(answer).map(Box::new);
        let older = || {
            let answer = self.runner.answers.kept(&question);
            match (answer, self.older_index(&scope)) {
                // An item that the newer index does not show is not shown, although v1 may have it.
                (Some((_, read_at)), Some((index, newer))) if newer > read_at => Some((index, newer)),
                (Some((answer, read_at)), _) => {
                    return Some((ItemAnswer::Answer(Answered::Read(read(&answer).ok()?)), read_at));
                }
                (None, index) => index,
            }
            .and_then(|(index, read_at)| Some((ItemAnswer::Row(Box::new(index.get(id)?)), read_at)))
        };
        let asking = async {
            let answered =
                self.ask_and_read(&question, request, read, |item| (item.id == id).then_some(about)).await;
            answered.map(ItemAnswer::Answer)
        };
        or_older(&self.call.ctx, || self.is_queued(), older, pin!(asking)).await
    }

    /// Returns the item that `find` finds in the index, for use during an outage; none proves nothing about v1.
    pub(in crate::run) async fn item_in_outage(
        &self,
        find: impl Fn(&Index) -> Option<Item>,
    ) -> Result<Option<Item>, Refusal> {
        let kept = self.index_scope().ok().filter(|_| self.call.ctx.tolerant);
        let kept = kept.and_then(|scope| self.older_index(&scope));
        let Some((item, read_at)) = kept.and_then(|(index, read_at)| Some((find(&index)?, read_at))) else {
            return Ok(None);
        };
        let item = self.with_live_labels(item).await?;
        self.call.ctx.meter.relies_on(read_at, Note::Outage);
        self.call.ctx.meter.note(Note::Index);
        Ok(Some(item))
    }
}

/// Checks whether an answer shows the requested record.
fn is_of(asked: Uuid, answer: &V1Response) -> bool {
    #[derive(Deserialize)]
    struct Record {
        id: Uuid,
    }
    serde_json::from_slice(&answer.body).is_ok_and(|Object(shown): Object<Record>| shown.id == asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_record_that_was_asked_for_is_its_answer() {
        let id = Uuid::from_u128(7);
        let answer =
            |body: &str| V1Response { status: 200, body: body.to_owned().into(), is_json: true, retry_after: None };
        let own = format!(r#"{{"name": "n", "id": "{id}"}}"#);
        let another = own.replace('7', "8");
        for (body, is) in [
            (own.as_str(), true),
            (another.as_str(), false),
            (r#"{"name": "n"}"#, false),
            (r#"{"id": "seven"}"#, false),
            ("null", false),
            (r#"{"results": [{}, {}], "total_count": 2}"#, false),
            ("[]", false),
        ] {
            assert_eq!(is_of(id, &answer(body)), is, "{body}");
        }
    }
}
