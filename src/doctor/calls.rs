//! The calls that the gateway makes: whether this v1 has them, which depends on its version; and the version itself.
//!
//! May use: `access` (paths), `amount`, `plan`, `v1` (its words), `asking`, `report`.

use super::asking::ask;
use super::report::Report;
use crate::access::paths;
use crate::amount::amount;
use crate::plan::{BY_KEY, PathTemplate, Plan};
use crate::v1::NO_SUCH_PATH;
use reqwest::Client;
use serde_json::Value;
use std::collections::BTreeSet;

const PART: &str = "v1";
/// Longest text that is accepted as a version.
const LONGEST: usize = 64;

/// Requests each path of `plan` with an unknown key. v1 checks the path before the key
/// (`auth_missing_key_unknown_path`), so the paths need not name existing records, and no request counts against a
/// quota.
pub(super) async fn look(client: &Client, base: &str, nobody: &str, plan: &Plan, report: &mut Report) {
    version(client, base, report).await;
    let paths = needed(plan);
    let (mut lacking, mut unsure) = (Vec::new(), Vec::new());
    for path in &paths {
        let Some(filled) = filled(path) else { continue };
        let request = client.get(format!("{base}/api/v1/{filled}")).header("X-Api-Key", nobody);
        match ask(request).await {
            Ok(answer) if answer.status == 404 && answer.text("error") == NO_SUCH_PATH => lacking.push(path),
            Ok(answer) if matches!(answer.status, 401 | 403) => {}
            Ok(answer) => unsure.push(format!("{path} ({})", answer.status)),
            Err(silence) => {
                unsure.push(format!("{path} ({})", silence.found));
                break;
            }
        }
    }
    if !lacking.is_empty() {
        let named: Vec<&str> = lacking.iter().map(|path| path.as_str()).collect();
        let lacks = amount(lacking.len(), "call");
        report.fault(
            PART,
            format!("it lacks {lacks} that the gateway makes: {}", named.join(", ")),
            "update Plane, or let the proxy before it pass these paths on; docs/getting-started.md says which versions \
             have them",
        );
    } else if let Some(first) = unsure.first() {
        report.unknown(
            PART,
            format!("whether it has each call that the gateway makes could not be found out, at first of {first}"),
            "see the log of v1, or of the proxy before it, and ask again",
        );
    } else {
        report.fine(PART, format!("it has each of the {} that the gateway makes", amount(paths.len(), "call")));
    }
}

/// Reports the version that Plane shows without a key. It is information only; other deployments of v1 show none.
async fn version(client: &Client, base: &str, report: &mut Report) {
    let Ok(answer) = ask(client.get(format!("{base}/api/instances/"))).await else { return };
    let told = answer.json.pointer("/instance/current_version").and_then(Value::as_str).unwrap_or_default();
    let is_one = (1..=LONGEST).contains(&told.len()) && told.bytes().all(is_of_version);
    if answer.status == 200 && is_one {
        report.fine(PART, format!("it calls itself Plane {told}"));
    }
}

fn is_of_version(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b".-+_".contains(&byte)
}

/// Returns the paths that the gateway requests.
fn needed(plan: &Plan) -> BTreeSet<String> {
    let proofs = [paths::IDENTITY, paths::ROSTER, paths::PROJECTS, paths::PROJECT, BY_KEY];
    let mut needed: BTreeSet<String> = proofs.map(str::to_owned).into();
    for resource in &plan.resources {
        let Some(v1) = &resource.v1 else { continue };
        let declared = [&v1.collection, &v1.record, &v1.also_in].into_iter().flatten();
        needed.extend(declared.map(|template| template.as_str().to_owned()));
        let Some((known, items)) = resource.known.and_then(|known| Some((known, known.items()?))) else { continue };
        needed.extend(v1.record.iter().map(|record| format!("{}{items}", record.as_str())));
        needed.extend(v1.collection.iter().map(|collection| known.archived(collection.as_str())));
    }
    needed
}

/// Fills the variables of a path with ids of records that do not exist.
fn filled(path: &str) -> Option<String> {
    PathTemplate::parse(path).ok()?.fill(|name| {
        Some(match name {
            "slug" => "causeway-doctor",
            "identifier" => "DOCTOR-1",
            _ => "00000000-0000-0000-0000-000000000000",
        })
    })
}
