//! The mapping files: the files of `mappings/`, read into structs, one struct per table.
//!
//! Purpose: everything a file declares, exactly as written, nothing resolved. A file about several surfaces is read
//! once for each. `plan` finds the meaning, and takes over the words that need no meaning. Reading never
//! stops at a mistake: every item of every file is read on its own and each fault is kept with its place, so that one
//! run reports all faults. Only `v1/operations.toml` is read as a whole.
//!
//! May use: nothing of this crate. May be used by `plan`, `describe` and the start of the program only; run time never
//! sees a mapping.

mod fault;
mod field_words;
mod item;
mod keys;
mod legacy;
mod load;
mod model;
mod operation_words;
mod shapes;
mod special;
mod step;
mod surfaces;
mod texts;
mod trail;
mod words;

pub use fault::{Fault, Faults};
pub use field_words::{Keep, OnCreate, TypeWord};
pub use legacy::{FILE as V1_FILE, V1Row, V1Table};
pub use load::{COMMON, Files};
pub use model::{
    Common, ErrorCase, FieldSpec, Head, InputSpec, MaySpec, Notes, OneOfAllSpec, OperationHead, OperationSpec,
    Order, ParamSpec, Read, RequiresSpec, ResourceFile, V1Refusal, V1Spec,
};
pub use operation_words::{Answer, Feature, Method, TypeMode, WhoWord};
pub use shapes::ShapeSpec;
pub use special::Special;
pub use step::Step;
pub use texts::{Texts, Unreadable};
pub use trail::Trail;
pub use words::{OwnRecords, ReadOneBy, Rows, Source, Surface, WriteKind};
