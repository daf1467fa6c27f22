//! What the mapping files say: the files of `mappings/` read into structs, one struct per table.
//!
//! Purpose: everything a file declares, exactly as written, nothing resolved; a file about several surfaces is read
//! once for each. Its meaning is the business of `plan`, which takes over the words that need no meaning. Reading never
//! stops at a mistake: every item of every file is read on its own and each fault is kept with its place, so that one
//! run reports them all.
//!
//! May use: nothing of this crate. May be used by `plan` (and `describe`) only; run time never sees a
//! mapping.

mod fault;
mod item;
mod legacy;
mod load;
mod model;
mod shapes;
mod step;
mod surfaces;
mod texts;
mod words;

pub use fault::{Fault, Faults, Trail};
pub use legacy::{FILE as V1_FILE, V1Row, V1Table};
pub use load::Files;
pub use model::{
    Common, ErrorCase, FieldSpec, Head, InputSpec, MaySpec, Notes, OneOfAllSpec, OperationHead, OperationSpec,
    Order, ParamSpec, Read, RequiresSpec, ResourceFile, V1Refusal, V1Spec,
};
pub use shapes::ShapeSpec;
pub use step::{Special, Step};
pub use texts::{Texts, Unreadable};
pub use words::{
    Answer, Feature, Keep, Method, OnCreate, OwnRecords, ReadOneBy, Rows, Source, Surface, TypeMode, TypeWord,
    WhoWord, WriteKind,
};
