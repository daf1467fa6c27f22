//! The OAuth 2.0 authorization server: clients, grants, tokens, and the pages people see.

pub mod oauth;

use causeway_access::access;
use causeway_core::{cache, context, fresh, refusal, settings};
use causeway_edge::{edge, html};
use causeway_plan::plan;
use causeway_store::store;
use causeway_v1::v1;
