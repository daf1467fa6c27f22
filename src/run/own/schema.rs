//! The schema of a type in a project (14.2): the definitions of the gateway, with the project's states, members and
//! labels from the caches of v1's data. May use: what `run` may use.

use super::call::{OwnCall, found};
use crate::catalogue::schema::Surroundings;
use crate::plan::Known;
use crate::refusal::Refusal;
use crate::run::Job;
use crate::translate::members;
use crate::v2::{Reply, query};
use serde_json::{Map, Value};

pub(super) async fn retrieve(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    let (job, id) = (call.job, call.job.pk()?);
    // Mappings with such a step on a path outside of a project are refused.
    let card = job.call.card().ok_or_else(|| Refusal::internal("a schema outside of projects"))?;
    call.listed_type(id)?;
    query::read_single(job.operation(), &job.call.parameters)?;
    let include = query::read_words(job.operation(), &job.call.parameters, "include")?;
    let wants = |what: &str| include.iter().any(|word| word == what);
    let states = shown(job, Known::States, "sequence", &["id", "name", "color", "group"]);
    let labels = async {
        match wants("labels") {
            true => shown(job, Known::Labels, "sort_order", &["id", "name", "color"]).await.map(Some),
            false => Ok(None),
        }
    };
    let people = async {
        match wants("members") {
            true => people(job).await.map(Some),
            false => Ok(None),
        }
    };
    let (states, labels, members) = tokio::try_join!(states, labels, people)?;
    let around = Surroundings { states, members, labels, has_estimate: card.estimate.is_some() };
    let schema = found(call.catalogue.schema(card.id, id, &around))?;
    Ok(call.reply(schema))
}

/// Returns the members `names` of a project's records, ordered by the member `place`.
async fn shown(job: &Job, resource: Known, place: &str, names: &[&str]) -> Result<Vec<Value>, Refusal> {
    let kept = job.load(job.resource_named(resource)?).await?.value;
    let mut records: Vec<Map<String, Value>> = kept.rows().iter().map(|held| held.v2_members()).collect();
    let at = |record: &Map<String, Value>| record.get(place).and_then(Value::as_f64).unwrap_or_default();
    records.sort_by(|a, b| at(a).total_cmp(&at(b)));
    Ok(records.into_iter().map(|record| pick(record, names)).collect())
}

async fn people(job: &Job) -> Result<Vec<Value>, Refusal> {
    let people = job.project_people().await?;
    let shown = people.iter().map(members::shown).filter_map(|person| match person {
        Value::Object(person) => Some(pick(person, &["id", "display_name", "email"])),
        _ => None,
    });
    Ok(shown.collect())
}

fn pick(mut record: Map<String, Value>, names: &[&str]) -> Value {
    let members = names.iter().map(|name| ((*name).to_owned(), record.remove(*name).unwrap_or_default()));
    Value::Object(members.collect())
}
