//! Access checks: from the headers of a request to a proven caller, and from a caller to the records they may see.
//!
//! Purpose: prove a credential against v1 (`users/me`), and prove visibility and role with the project
//! card and the workspace card, each cached for a short time under the SHA-256 of the v1 key and nothing
//! else. A card is the proof of access for everything cached below its project: nothing obtained with one
//! credential is served to another unless that other credential's own card, at most its maximum age old,
//! says member and role.
//!
//! May use: `cache`, `context`, `fresh`, `plan`, `refusal`, `settings`, `v1`. May not use: `v2`, `translate`, `run`,
//! `edge`.

mod acquaintances;
mod asked_again;
mod caller;
pub mod credential;
pub(crate) mod gate;
mod identity;
mod owner;
pub(crate) mod paths;
mod project_card;
mod projects_page;
mod remembered;
mod rosters;
mod service;
mod shared_proofs;
mod visible_projects;
mod workspace_asked;
mod workspace_card;
mod workspace_told;

pub(crate) use asked_again::Waiting;
pub use caller::{Caller, Origin, PrincipalKind, Role, User};
pub use credential::Presented;
pub(crate) use credential::{CredentialData, Credentials, presented_id};
pub(crate) use gate::ProvenAccess;
pub use identity::OwnerAge;
pub use project_card::ProjectCard;
pub use service::Access;
pub(crate) use shared_proofs::{SharedProof, SharedProofs};
pub(crate) use visible_projects::VisibleProjects;
pub(crate) use workspace_card::WorkspaceCard;
pub use workspace_card::WorkspaceRole;
