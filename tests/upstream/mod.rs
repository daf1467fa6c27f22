//! The way to v1: the client and access, against a scripted v1.
//!
//! May use: the public interface of the crate and `tests/support`.

mod audit;
mod budget;
mod cards;
mod client;
mod double;
mod identity;
mod limits;
mod news;
mod own_quota;
mod paging;
mod places;
mod shared_budget;

use crate::support::scripted::ScriptedV1;
use causeway::access::{Access, Caller, PrincipalKind, User};
use causeway::context::Context;
use causeway::fresh::{Changes, Clock};
use causeway::settings::{CacheSettings, Settings};
use causeway::v1::{Client, ClientSettings, ConcurrencySettings, V1Key};
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// Longer than any test should take; a test that takes longer hangs.
const LONG: Duration = Duration::from_secs(30);

fn context() -> Context {
    Context::new("req-1", LONG)
}

fn client_of(base_url: &str) -> Client {
    Client::new(ClientSettings {
        base_url: base_url.into(),
        connect_timeout: Duration::from_secs(2),
        response_cap: 64 * 1024,
        pool_per_host: 8,
        retry_jitter: Duration::from_millis(2),
        concurrency: ConcurrencySettings { min: 4, max: 256 },
    })
    .expect("a client")
}

/// Access to a scripted v1, and the clock that decides about ages.
fn access_to(v1: &ScriptedV1) -> (Access, Clock) {
    access_by(client_of(v1.base_url()))
}

/// The same through `client`.
fn access_by(client: Client) -> (Access, Clock) {
    access_in_outages(client, Duration::ZERO)
}

/// The same, with proofs that may be older by `outage_grace` while v1 is away.
fn access_in_outages(client: Client, outage_grace: Duration) -> (Access, Clock) {
    let clock = Clock::stopped();
    let settings = CacheSettings {
        card: Duration::from_secs(30),
        identity: Duration::from_secs(60),
        refused_identity: Duration::from_secs(5),
        outage_grace,
        ..Settings::default().cache
    };
    (Access::new(client, &settings, &Changes::new(clock.clone())), clock)
}

/// A seeded person: `number` is the last digit of the id.
fn caller(key: &str, number: u128) -> Caller {
    let id = person(number);
    let user = User { id, email: format!("{key}@acme.test"), display_name: key.into() };
    Caller {
        key: V1Key::new(key),
        user: Arc::new(user),
        kind: PrincipalKind::ApiKey,
        scopes: None,
        credential: None,
        workspace: None,
    }
}

fn person(number: u128) -> Uuid {
    Uuid::from_u128(0x0000_0000_0000_4000_a000_0000_0000_0000 + number)
}

fn project_id() -> Uuid {
    Uuid::from_u128(0x0000_0000_0000_4000_c000_0000_0000_0001)
}

fn workspace_id() -> Uuid {
    Uuid::from_u128(0x0000_0000_0000_4000_b000_0000_0000_0001)
}
