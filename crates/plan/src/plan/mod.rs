//! What the mapping files mean: the compiled, checked, immutable plan everything else works from.
//!
//! Purpose: routes, scopes, parameters, renames, filters, documentation and costs are all read off a
//! [`Plan`]. It is compiled once at start; a faulty set of mappings never becomes a plan.
//!
//! May use: `mapping`. May not use: any folder that serves requests.

pub mod codes;
mod column;
mod compile;
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
mod shape;
mod tree;
mod turn;
mod v1_slug;

/// Words that mean just what a mapping file says.
pub use crate::mapping::{
    Answer, Feature, Keep, Method, OnCreate, Order, OwnRecords, ReadOneBy, Rows, Source, Special, Step, Surface,
    TypeMode, V1Refusal, WriteKind,
};
pub use column::Column;
pub use compile::compile;
pub use kind::{Constant, Kind, ValueType};
pub use known::Known;
pub use legacy::{Extent, Fill, V1Found, V1Operation, V1Operations};
pub use operation::{
    BodyRule, Calls, ErrorCase, Extra, Filter, FilterTest, Input, Made, Operation, Param, ParamRole, PlannedCall,
};
pub use path::{PathTemplate, Segment};
pub use resource::{Field, Resource, V1Source};
pub use rules::{May, OneOfAll, Required, Rule};
pub use service::Plan;
pub use shape::Shape;
pub use turn::{Turn, TurnOf};
