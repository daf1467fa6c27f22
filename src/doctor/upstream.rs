//! v1: whether it can be reached, behaves as known, has calls left, and is neither this gateway nor another one.
//!
//! May use: `access` (paths), `amount`, `outgoing`, `plan`, `settings`, `units`, `asking`, `calls`, `report`.

use super::asking::{ask, client};
use super::calls;
use super::report::{CheckInputs, Report};
use crate::access::paths;
use crate::amount::amount;
use crate::outgoing::Answer;
use crate::plan::Plan;
use crate::settings::{Settings, UpstreamSettings};
use crate::units::{http_date, since_1970};
use reqwest::Client;

const PART: &str = "v1";
/// A key that does not exist.
const NOBODY: &str = "causeway-doctor-no-such-key";
/// Largest accepted difference of the clocks, in seconds. Times and expiry of keys are wrong by this difference.
const CLOCKS: u64 = 30;

pub async fn look(settings: &Settings, plan: Option<&Plan>, wanted: &CheckInputs, report: &mut Report) {
    let Some(base) = &settings.upstream.base_url else {
        return report.fault(PART, "no v1 deployment is named", "set upstream.base_url, or give --upstream URL");
    };
    let base = base.as_str().trim_end_matches("/api/v1");
    if settings.upstream.expect_another(settings.listen.address).is_err() {
        let found = format!("{base} is this gateway itself, which listens on {}", settings.listen.address);
        return report.fault(PART, found, "name the address of v1 in upstream.base_url, or listen on another port");
    }
    let client = match client() {
        Ok(client) => client,
        Err(fault) => return report.fault(PART, fault, "see whether this machine has root certificates"),
    };
    let me = format!("{base}/api/v1/{}", paths::IDENTITY);
    let answer = match ask(client.get(&me).header("X-Api-Key", NOBODY)).await {
        Ok(answer) => answer,
        Err(silence) => return report.fault(PART, format!("{base}: {}", silence.found), silence.remedy),
    };
    if !is_v1(base, &answer, report) {
        return;
    }
    clock(&answer, report);
    another_gateway(&client, base, report).await;
    if let Some(plan) = plan {
        calls::look(&client, base, NOBODY, plan, report).await;
    }
    let key = wanted.key.as_deref().or(settings.upstream.service_key.as_ref().map(|key| key.expose()));
    // The service key has a larger quota.
    let expected =
        (wanted.key.is_some() && settings.upstream.quota.is_none()).then_some(UpstreamSettings::USUAL_QUOTA);
    match key {
        None => report
            .fine(PART, format!("{base} answers and refuses unknown keys as v1 does; give --key to ask further")),
        Some(key) => with_key(&client, &me, key, expected, report).await,
    }
}

/// Checks whether the answer to an unknown key is one of v1.
fn is_v1(base: &str, answer: &Answer, report: &mut Report) -> bool {
    let media = answer.header("content-type").unwrap_or_default();
    match answer.status {
        300..=399 => report.fault(
            PART,
            format!("{base} redirects to {}", answer.header("location").unwrap_or_default()),
            "name the address it redirects to, scheme and host, in upstream.base_url",
        ),
        429 => report.unknown(PART, format!("{base} refuses to answer now (429)"), "ask again in a minute"),
        502 if answer.text("detail").contains("leads back to this gateway") => report.fault(
            PART,
            format!("{base} is this gateway itself"),
            "name the address of v1 in upstream.base_url, not the one that clients use",
        ),
        500..=599 => report.fault(
            PART,
            format!("{base} fails with {}", answer.status),
            "see the log of v1, or of the proxy before it",
        ),
        401 | 403 if media.starts_with("application/json") => {
            if answer.text("detail").trim_end_matches('.') != "Given API token is not valid" {
                let found = format!("{base} refuses an unknown key with other words than v1 is known to use");
                report.warn(PART, found, "prove the installation with `causeway verify` before using it");
            }
            return true;
        }
        status => report.fault(
            PART,
            format!("{base} does not answer like v1: {status} {media} to an unknown key"),
            "name the address of v1 without /api/v1 in upstream.base_url",
        ),
    }
    false
}

fn clock(answer: &Answer, report: &mut Report) {
    let Some(theirs) = answer.header("date").and_then(http_date) else { return };
    let ours = since_1970().as_secs();
    let apart = ours.abs_diff(theirs);
    if apart > CLOCKS {
        let found = format!("the clocks of v1 and of this machine differ by {apart} seconds");
        report.fault(PART, found, "let both machines take their time from the network (NTP)");
    }
}

/// Warns when `base` is another gateway. That may be intended, but an operator should know it.
async fn another_gateway(client: &Client, base: &str, report: &mut Report) {
    let Ok(answer) = ask(client.get(format!("{base}/api/v2/users/me/"))).await else { return };
    if answer.is_of_a_gateway() {
        report.warn(
            PART,
            format!("another causeway stands at {base}"),
            "name the address of v1 in upstream.base_url, unless two gateways are meant",
        );
    }
}

/// Asks v1 for the owner of `key`. Warns when less than half of the `expected` quota is left, because others, or an
/// examination before this one, may have used some of it.
async fn with_key(client: &Client, me: &str, key: &str, expected: Option<usize>, report: &mut Report) {
    let answer = match ask(client.get(me).header("X-Api-Key", key)).await {
        Ok(answer) => answer,
        Err(silence) => return report.fault(PART, silence.found, silence.remedy),
    };
    if answer.status == 429 {
        let found = "the quota of the key is used up";
        return report.unknown(PART, found, "ask again in a minute; docs/limits.md says what spends it");
    }
    if answer.status != 200 {
        let found = format!("the key is refused with {}", answer.status);
        return report.fault(PART, found, "give a key that v1 knows: --key, or the setting upstream.service_key");
    }
    let missing: Vec<&str> =
        ["id", "email", "display_name"].into_iter().filter(|member| answer.json.get(member).is_none()).collect();
    if !missing.is_empty() {
        let found = format!("v1 shows a person without {}", missing.join(", "));
        let remedy = "this is no version of v1 that the gateway knows; see \"Which versions of Plane\" in \
                      docs/getting-started.md";
        return report.fault(PART, found, remedy);
    }
    let left = answer.header("x-ratelimit-remaining");
    let quota = match left {
        None => "it tells no quota".to_owned(),
        Some(left) => format!("{} left in this minute", amount(left, "call")),
    };
    let left: Option<usize> = left.and_then(|left| left.parse().ok());
    if let (Some(left), Some(expected)) = (left, expected)
        && left < expected / 2
    {
        let found = format!("the key has {quota}, and the gateway expects that v1 allows {expected}");
        let remedy = "if v1 is set to allow fewer, set upstream.quota to what it allows; else calls of the last \
                      minute, also those of others with this key, have used the rest";
        report.warn(PART, found, remedy);
    }
    report.fine(PART, format!("the key is that of {}; {quota}", answer.text("email")));
}
