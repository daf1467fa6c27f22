//! The plan: the compiled, checked, immutable meaning of the mapping files. Everything else works from it.
//!
//! Purpose: routes, scopes, parameters, renames, filters, documentation and costs all come from a
//! [`Plan`]. It is compiled once at start; a faulty set of mappings never becomes a plan.
//!
//! May use: `mapping`. May not use: any folder that serves requests.

pub mod codes;
mod column;
mod compile;
mod human_key;
mod kind;
mod known;
mod legacy;
mod meant;
mod operation;
mod path;
mod resource;
pub mod routes;
mod rules;
pub mod schema;
pub mod scopes;
mod service;
mod tree;

/// Types that the plan takes from the mapping files without change.
pub use crate::mapping::{
    Answer, ErrorCase, Feature, FieldSpec, InputSpec, Keep, Method, OnCreate, Order, OwnRecords, ParamSpec,
    ReadOneBy, Rows, Source, Special, Step, Surface, TypeMode, V1Refusal, WriteKind,
};
pub use column::Column;
pub use compile::compile;
pub use human_key::HumanKey;
pub use kind::{Kind, ValueType};
pub use known::{BY_KEY, Known, is_in_key};
pub use legacy::{Extent, Fill, V1Operation, V1Operations, V1RouteMatch};
pub use operation::{
    BodyRule, Calls, Extra, Filter, FilterTest, Input, Made, Operation, Param, ParamRole, PlannedCall, Turn,
    TurnTarget,
};
pub use path::{PathTemplate, Segment};
pub use resource::{Field, Resource, V1Source};
pub use rules::{CollectionRule, May, Required, Rule};
pub use service::{Plan, Shape};
