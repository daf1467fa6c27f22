//! Structs that mirror the tables of a mapping file, one to one. Every key is optional here. The code that reads them
//! says which keys are required, and `plan` says what they mean. May use: this folder.

use super::field_words::{Keep, OnCreate, TypeWord};
use super::operation_words::{Answer, Feature, Method, TypeMode, WhoWord};
use super::step::Step;
use super::trail::Trail;
use super::words::{OwnRecords, ReadOneBy, Rows, Source, Surface, WriteKind};
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;

/// A part that was read, with a flag whether it was read without a fault. Rules about a single part check only
/// sound parts, so that no fault is reported that follows from another one.
#[derive(Debug, Clone, Default)]
pub struct Read<T> {
    /// The part.
    pub value: T,
    /// Whether it has no fault.
    pub sound: bool,
}

/// `common.toml`: declarations for every operation or every list.
#[derive(Debug, Default)]
pub struct Common {
    /// Parameters of every list.
    pub paging: IndexMap<String, Read<ParamSpec>>,
    /// Notes of `order_by`.
    pub order_by: Notes,
    /// Notes of `expand`.
    pub expand: Notes,
    /// Errors of every operation.
    pub every_operation: Vec<ErrorCase>,
    /// Errors of operations that need the mode of this name.
    pub modes: Vec<(String, ErrorCase)>,
    /// Whether the file could be read. Of an unreadable file, missing parts are not reported.
    pub is_read: bool,
}

/// Notes alone.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Notes {
    /// For documentation.
    pub notes: String,
}

/// One resource's file.
#[derive(Debug)]
pub struct ResourceFile {
    /// Name of the file.
    pub file: String,
    /// Surface of this resource, when the file is about several; none when the file is about one.
    pub surface: Option<Surface>,
    /// The keys before the first table.
    pub head: Read<Head>,
    /// Where v1 keeps the records.
    pub v1: Option<Read<V1Spec>>,
    /// Meanings of v1's refusals.
    pub refusals: Vec<Read<V1Refusal>>,
    /// Fields in order.
    pub fields: IndexMap<String, Read<FieldSpec>>,
    /// Body members in order.
    pub inputs: IndexMap<String, Read<InputSpec>>,
    /// Operations in order.
    pub operations: Vec<OperationSpec>,
}

impl ResourceFile {
    /// Returns the trail of the file, as far as it is about this resource.
    pub fn trail(&self) -> Trail {
        Trail::file(&self.file).on(self.surface)
    }

    /// Returns the trail of the field of this name.
    pub fn trail_of(&self, field: &str) -> Trail {
        self.trail().then("fields").then(field)
    }

    /// Returns the name that the file must have: the resource's name, without the surface when the file is about
    /// several.
    pub fn right_name(&self) -> String {
        let name = self.head.value.resource.as_str();
        let surface = self.surface.map(|surface| format!("{}_", surface.as_str())).unwrap_or_default();
        format!("{}.toml", name.strip_prefix(&surface).unwrap_or(name))
    }
}

/// The keys before the first table.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Head {
    /// Name; the file is named after it.
    pub resource: String,
    /// One sentence for people.
    pub about: String,
    /// Where records live.
    pub source: Option<Source>,
    /// Kind of records in the own store.
    pub records: Option<OwnRecords>,
    /// Surface of its operations unless they say otherwise.
    pub surface: Option<Surface>,
    /// Name of the read shape.
    pub shape: String,
    /// Values and functions that v1 cannot give.
    pub gaps: Vec<String>,
    /// Path variables beyond the usual ones.
    pub variables: Vec<String>,
    /// Whether guests of the project may write.
    pub guests_may_write: bool,
    /// Field whose value is unique among the records of a collection.
    pub unique: Option<OneOfAllSpec>,
    /// Flag that only one record of a collection has.
    pub exclusive: Option<OneOfAllSpec>,
    /// Record that must exist for every operation.
    pub requires: Option<RequiresSpec>,
}

/// `unique = { … }`, `exclusive = { … }`: a field with a rule about its values in all records of a collection.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OneOfAllSpec {
    /// The field.
    pub field: String,
    /// Error detail for a client whose request breaks the rule.
    pub detail: String,
}

/// `requires = { … }`: a record that must exist.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequiresSpec {
    /// Resource of the record.
    pub live: String,
    /// Variable of the path that holds its id.
    pub id: String,
}

/// `may = { … }`: the users who may write to a record.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MaySpec {
    /// Users who may write.
    pub who: WhoWord,
    /// Field that holds the author.
    pub author: String,
    /// Error detail for all other users.
    pub detail: String,
}

/// `[v1]`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct V1Spec {
    /// Path of the list.
    pub collection: Option<String>,
    /// Path of one record.
    pub record: Option<String>,
    /// Form of the list's answer.
    pub rows: Rows,
    /// Whether the list accepts `fields=`.
    pub select: bool,
    /// Way to read one record.
    pub one: ReadOneBy,
    /// Path of a second list, for a record that the first list lacks.
    pub also_in: Option<String>,
}

/// `[[v1.refusals]]`.
/// A refusal of v1 whose meaning differs from its status.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct V1Refusal {
    /// Kind of write that v1 refuses.
    pub on: WriteKind,
    /// Status of v1.
    pub status: u16,
    /// v1 name of the one field that the refusal is about (`{"field": ["text"]}`); absent for the whole write.
    pub field: Option<String>,
    /// Text of v1 (`error`, or the one entry of `non_field_errors`); any text when absent.
    pub error: Option<String>,
    /// v2 code of the refusal.
    pub code: String,
    /// Text for the client.
    pub detail: String,
    /// Whether v1 refuses a delete because the record has the flag of `exclusive`.
    pub exclusive: bool,
}

/// An entry of `[fields]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FieldSpec {
    /// v1 name; none when v1 has no such field.
    pub v1: Option<String>,
    /// Kind of value.
    #[serde(rename = "type")]
    pub kind: Option<TypeWord>,
    /// Kind of the elements.
    pub items: Option<TypeWord>,
    /// Whether it can be null when read.
    pub nullable: bool,
    /// Whether writes ignore it.
    pub read_only: bool,
    /// Whether it is not in the read shape, and only orders, filters and searches use it.
    pub hidden: bool,
    /// Whether the v1 field is HTML, of which the plain text is read.
    pub plain_text: bool,
    /// Value to read where v1 shows null and v2 has no null.
    pub null_as: Option<Value>,
    /// Place that holds the value.
    pub keep: Keep,
    /// Way in which a create treats it.
    pub on_create: OnCreate,
    /// Whether it is trimmed on write, and a blank value refused (O9).
    pub trim: bool,
    /// Field whose date this one must not precede.
    pub not_before: Option<String>,
    /// For documentation.
    pub notes: String,
}

/// An entry of `[inputs]`. For an operation, the keys of its `[operations.body]` are laid over it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InputSpec {
    /// Kind of value.
    #[serde(rename = "type")]
    pub kind: Option<TypeWord>,
    /// Kind of the elements.
    pub items: Option<TypeWord>,
    /// Must be present.
    pub required: bool,
    /// May be null.
    pub nullable: bool,
    /// Longest text, in characters.
    pub max_length: Option<usize>,
    /// Allowed values; empty for any.
    #[serde(rename = "enum")]
    pub allowed: Vec<String>,
    /// Value when absent on create.
    pub default: Option<Value>,
    /// Whether answers never show it.
    pub write_only: bool,
    /// Whether it is trimmed, and a blank value refused; by default as for the field of the same name.
    pub trim: Option<bool>,
    /// Whether it is trimmed, without refusing a blank text, which becomes empty.
    pub trim_ends: bool,
    /// Resource of the record that it must name, in the same project.
    pub references: Option<String>,
    /// The reference must not lead back to the record itself.
    pub acyclic: bool,
    /// Maximum length of the slug that v1 makes of it.
    pub max_slug: Option<usize>,
    /// Values that v1 cannot take, each with the error text for the client.
    pub refused: IndexMap<String, String>,
    /// Must be a name of the IANA time zone database.
    pub zone: bool,
    /// For documentation.
    pub notes: String,
}

/// An entry of `[operations.query]`, or of `[paging]` in `common.toml`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ParamSpec {
    /// Kind of value.
    #[serde(rename = "type")]
    pub kind: Option<TypeWord>,
    /// Kind of the elements.
    pub items: Option<TypeWord>,
    /// Allowed values; empty for any.
    #[serde(rename = "enum")]
    pub allowed: Vec<String>,
    /// Value when absent.
    pub default: Option<Value>,
    /// Largest number.
    pub max: Option<u64>,
    /// Whether it is no filter, but read by the operation itself.
    pub option: bool,
    /// For documentation.
    pub notes: String,
}

/// One `[[operations]]`.
#[derive(Debug)]
pub struct OperationSpec {
    /// Line of the file where it begins.
    pub line: usize,
    /// Its plain keys.
    pub head: Read<OperationHead>,
    /// Orders of a list.
    pub order: Option<Read<Order>>,
    /// Errors in order.
    pub errors: Vec<ErrorCase>,
    /// Query parameters in order.
    pub query: IndexMap<String, Read<ParamSpec>>,
    /// Body members in order.
    pub body: Option<IndexMap<String, InputSpec>>,
}

/// The plain keys of an operation.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OperationHead {
    /// Id, unique.
    pub id: String,
    /// Method.
    pub method: Option<Method>,
    /// Path.
    pub path: String,
    /// Surface, if it differs from the file's.
    pub surface: Option<Surface>,
    /// One line for people.
    pub summary: String,
    /// Scopes of the operation. A token needs only one of them.
    pub scopes: Vec<String>,
    /// Status of a success.
    pub status: u16,
    /// Read shape of a success.
    pub response: Option<String>,
    /// Form of a success.
    pub answer: Option<Answer>,
    /// Mode that a write needs.
    pub mode: Option<TypeMode>,
    /// Values that `expand` accepts.
    pub expand: Vec<String>,
    /// Fields that `search` reads.
    pub search: Vec<String>,
    /// Step that carries out the operation.
    pub step: Option<Step>,
    /// Whether it takes the paging parameters.
    pub paging: bool,
    /// Whether it is a POST whose body is ignored.
    pub body_ignored: bool,
    /// Calls of v1 that only the function of the step knows.
    pub v1: Option<Vec<String>>,
    /// Reason for these calls, and the cases in which there are more.
    pub why: Option<String>,
    /// Turns that a write holds while it runs.
    pub turns: Vec<String>,
    /// Feature that must be switched on in the project.
    pub needs_feature: Option<Feature>,
    /// Field by which other records refer to the deleted record. They are detached first.
    pub detach_children: Option<String>,
    /// Whether the record is looked up in the list before it is deleted.
    pub reads_first: bool,
    /// Rule about who may write to the record.
    pub may: Option<MaySpec>,
}

/// `order = { … }`: order of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Order {
    /// Field names; each also descending with `-`.
    pub allowed: Vec<String>,
    /// Default, possibly with `-`.
    pub default: String,
    /// Fields by which a cursor can resume, in both directions.
    pub cursor: Vec<String>,
}

/// `[status, code, when]`: an error that an operation can return.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "(u16, String, String)")]
pub struct ErrorCase {
    /// HTTP status.
    pub status: u16,
    /// Code.
    pub code: String,
    /// The case in which it occurs, in prose.
    pub when: String,
}

impl From<(u16, String, String)> for ErrorCase {
    fn from((status, code, when): (u16, String, String)) -> Self {
        Self { status, code, when }
    }
}
