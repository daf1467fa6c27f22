//! `causeway doctor`: checks everything that an installation depends on, and reports the state of each part and its
//! remedy.
//!
//! It changes nothing: it creates no store and updates no table. It sends about twenty-five requests to v1; one of them
//! counts against the quota of the key.
//!
//! May use: `access` (paths of v1), `admin` (the token), `amount`, `app` (mappings), `edge` (the certificate), `hints`
//! (their secrets), `hop`, `native`, `oauth` (secrets), `outgoing`, `plan`, `retirement` (its settings), `settings`,
//! `shared` (a look), `store`, `units`, `v1` (its words); the network with a client of its own, because the gateway's
//! own hides what is looked for here.

mod asking;
mod calls;
mod files;
mod listening;
mod native;
mod public;
mod report;
mod rights;
mod stored;
mod upstream;

pub(crate) use listening::certificate;
pub use report::{CheckInputs, Report, State};
pub(crate) use rights::{certificates_trouble, index_trouble};
pub use stored::look as store;
pub(crate) use stored::remedy_for_read_only;
pub(crate) use upstream::look as upstream;

use crate::app;
use crate::plan::Plan;
use crate::retirement::Retirement;
use crate::settings::Settings;
use std::sync::Arc;

/// Checks everything that `settings` name.
pub async fn examine(settings: &Settings, wanted: &CheckInputs) -> Report {
    let mut report = Report::default();
    report.fine("settings", "can be used");
    for warning in settings.warnings() {
        report.warn("settings", warning, "see docs/configuration.md");
    }
    let plan = app::compile_plan(settings.mappings.as_deref());
    match &plan {
        Ok(plan) => report.fine("mappings", format!("{} operations", plan.operations.len())),
        Err(fault) => {
            report.fault("mappings", fault.to_string(), "correct the files, or leave out the setting `mappings`")
        }
    }
    let plan = plan.ok();
    beside(settings, plan.as_ref(), &mut report).await;
    listening::look(settings, &mut report).await;
    upstream::look(settings, plan.as_deref(), wanted, &mut report).await;
    public::look(settings, wanted, &mut report).await;
    report
}

/// Checks the parts beside the program: secrets, files, the store (opened if it exists, never created) and Redis. With
/// valid mappings it also checks the settings for v1's end and for the deployment's own v2.
pub(crate) async fn beside(settings: &Settings, plan: Option<&Arc<Plan>>, report: &mut Report) {
    stored::secrets(settings, report);
    files::look(settings, report);
    stored::look(settings, report).await;
    native::shared(settings, report).await;
    if let Some(plan) = plan {
        retirement(settings, plan, report);
        native::look(settings, plan, report).await;
    }
}

/// Checks whether v1 has the operations whose end is announced. Reports only faults.
fn retirement(settings: &Settings, plan: &Arc<Plan>, report: &mut Report) {
    if let Err(fault) = Retirement::new(settings, plan) {
        report.fault(
            "retirement",
            fault,
            "correct `retirement` or `brownout`; docs/migration.md says how they work",
        );
    }
}
