//! One module; archived modules are left out of lists but found by id (O59).
//!
//! v1 answers 404 for an archived module's own path (`modules_archived_get`) and lists them apart
//! (`modules_archived_list`), so an id that the list lacks is looked for there, at the price of one call.

use crate::refusal::Refusal;
use crate::run::Job;
use crate::run::list;
use crate::run::v1_faults::bad_data;
use crate::translate::incoming;
use crate::v2::Reply;
use crate::v2::query;
use uuid::Uuid;

pub(super) async fn run(job: &Job) -> Result<Reply, Refusal> {
    let id = job.pk()?;
    let json = match list::find(job, job.resource(), id).await? {
        Some(held) => held.record.json.clone(),
        None => archived(job, id).await?,
    };
    query::read_single(job.operation(), &job.call.parameters)?;
    Ok(job.record_reply(json))
}

async fn archived(job: &Job, id: Uuid) -> Result<bytes::Bytes, Refusal> {
    let v1 = job.resource().v1.as_ref().ok_or_else(|| Refusal::internal("modules without v1"))?;
    let path = job.collection_path(job.resource())?;
    let path = path.strip_suffix("modules/").map(|base| format!("{base}archived-modules/"));
    let path = path.ok_or_else(|| Refusal::internal("modules live elsewhere"))?;
    let ctx = &job.call.ctx;
    let pages = job.runner.client.read_all(job.key(), &path, &v1.list_query, ctx).await.map_err(Refusal::from)?;
    let wanted = id.to_string();
    for page in &pages {
        for row in incoming::rows(v1.rows, page).map_err(|fault| bad_data(&fault))? {
            if row.get().contains(&wanted) {
                let held = job.translate_record(job.resource(), row.get().as_bytes()).await?;
                if held.record.id == id {
                    return Ok(held.record.json);
                }
            }
        }
    }
    Err(Refusal::not_found())
}
