//! Acceptance test of a running gateway: calls each operation of the plan over HTTP, as a client would.
//!
//! Without permission to write, reads use existing records. For writes it proves that they exist and refuse: without a
//! credential, for a missing record, and for a wrong body. With permission to write, every operation is carried out
//! once in a project that is created for it and deleted afterwards.
//!
//! May use: `amount`, `outgoing`, `plan`. Nothing of what serves, so that it proves the gateway and not itself.

mod bodies;
mod client;
mod doors;
mod place;
mod proof;
mod reads;
mod report;
mod shape;
mod writes;

pub use client::Gateway;
pub(crate) use proof::Proof;
pub use report::{Line, Report, Verdict, VerificationParameters};

use crate::plan::{Operation, Plan};
use place::Place;
use report::Checked;

/// Verifies `gateway`.
pub async fn verify(plan: &Plan, gateway: &Gateway, wanted: &VerificationParameters) -> Result<Report, String> {
    let me = gateway.send("GET", "/api/v2/users/me/", None).await?;
    if !me.is_of_a_gateway() {
        let answered = me.brief().lines().next().unwrap_or_default().to_owned();
        return Err(format!(
            "{} is no causeway (it answers /api/v2/users/me/ with {answered}); check --against",
            gateway.base
        ));
    }
    if me.status == 401 {
        return Err("the gateway does not accept the key; check --key".into());
    }
    place::exists(plan, gateway, wanted).await?;
    let mut report = Report::default();
    if wanted.write {
        writes::verify(plan, gateway, wanted, &mut report).await?;
    } else {
        let place = Place::found(plan, gateway, wanted).await?;
        for operation in &plan.operations {
            report.add(&operation.id, read_or_prove(plan, gateway, &place, operation).await);
        }
    }
    let position = |line: &Line| plan.operations.iter().position(|operation| operation.id == line.operation);
    report.lines.sort_by_key(|line| position(line).unwrap_or(usize::MAX));
    Ok(report)
}

async fn read_or_prove(plan: &Plan, gateway: &Gateway, place: &Place, operation: &Operation) -> Checked {
    place.is_reachable(operation)?;
    let doors = doors::check(gateway, place, operation).await?;
    let rest = match operation.method.writes() {
        false => reads::check(plan, gateway, place, operation).await?,
        true => doors::refuses_harmlessly(gateway, place, operation).await?,
    };
    Ok(format!("{rest}; {doors}"))
}
