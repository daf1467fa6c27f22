//! The client of the deployment that speaks only v1.
//!
//! Purpose: send a [`V1Request`] to the backend and return a [`V1Response`], with pooling, time
//! limits, size limits and the rules for retries. It knows nothing of v2.
//!
//! May use: `boxed`, `context`, `hop`, `load`, `refusal`, `settings`, `shared`, `tally`, `task`, `trace`, `units`. May
//! not use: `v2`, `translate`, `plan`, `run`, `edge`.

mod base_url;
mod breaker;
pub mod budget;
mod client;
mod clock;
mod concurrency;
mod fair;
mod key;
mod message;
mod object;
mod outcome;
mod paged;
mod refusals;
mod retry;
mod whole;

pub use base_url::{BaseUrl, BaseUrlError};
pub use breaker::{Breaker, Ended, Health, Pass};
pub use budget::{Budget, BudgetSettings, Figures as BudgetFigures, Ledger, Processes, Quota, Room, Shortage};
pub use budget::{Change as PartsChange, Seen as PartsSeen};
pub use client::{Client, ClientError, ClientSettings, Look, PreSendCheckFuture};
pub use client::{accepts_the_key, is_of_the_throttle, is_refused_at_the_door, names_a_key, told};
pub use clock::Clock;
pub use concurrency::{Concurrency, ConcurrencySettings, Figures as ConcurrencyFigures, Measured};
pub use http::Method;
pub use key::{API_KEY, KeyId, V1Key};
pub use message::{V1Error, V1Request, V1Response};
pub use object::{Object, present};
pub use outcome::{Doubt, NotDone, Outcome};
pub use refusals::{NO_SUCH_PATH, refusal_of_status};
