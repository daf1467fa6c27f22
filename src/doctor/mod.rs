//! `causeway doctor`: looks at everything an installation stands on, and says of each part how it is and what to do.
//!
//! Nothing is changed: no store is made, no table brought up to date, and v1 is asked a handful of times.
//!
//! May use: `access` (paths of v1), `admin` (the token), `amount`, `app` (mappings), `edge` (the certificate), `hints`
//! (their secrets), `hop`, `native`, `oauth` (secrets), `outgoing`, `settings`, `shared` (a look), `store`, `units`; the
//! network with a client of its own, because the gateway's own hides what is looked for here.

mod asking;
mod files;
mod listening;
mod native;
mod public;
mod report;
mod stored;
mod upstream;

pub(crate) use files::{index_trouble, look as files};
pub(crate) use listening::certificate;
pub(crate) use native::{look as native, shared};
pub use report::{Report, State, Wanted};
pub use stored::look as store;
pub(crate) use stored::secrets;

use crate::app;
use crate::settings::Settings;

/// Looks at everything that `settings` name.
pub async fn examine(settings: &Settings, wanted: &Wanted) -> Report {
    let mut report = Report::default();
    report.fine("settings", "can be used");
    for warning in settings.warnings() {
        report.warn("settings", warning, "see docs/configuration.md");
    }
    match app::compile_plan(settings.mappings.as_deref()) {
        Ok(plan) => {
            report.fine("mappings", format!("{} operations", plan.operations.len()));
            native::look(settings, &plan, &mut report).await;
        }
        Err(fault) => {
            report.fault("mappings", fault.to_string(), "correct the files, or leave out the setting `mappings`")
        }
    }
    stored::secrets(settings, &mut report);
    files::look(settings, &mut report);
    stored::look(settings, &mut report).await;
    native::shared(settings, &mut report).await;
    listening::look(settings, &mut report).await;
    upstream::look(settings, wanted, &mut report).await;
    public::look(settings, wanted, &mut report).await;
    report
}
