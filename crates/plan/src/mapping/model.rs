//! Structs that mirror the tables of a mapping file, one to one. Every key is optional here; which ones are required is
//! said where they are read, and what they mean in `plan`. May use: this folder.

use super::field_words::{Keep, OnCreate, TypeWord};
use super::operation_words::{Answer, Feature, Method, TypeMode, WhoWord};
use super::step::Step;
use super::trail::Trail;
use super::words::{OwnRecords, ReadOneBy, Rows, Source, Surface, WriteKind};
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;

/// A part that was read, and whether it was read without a fault. Rules about a single part only speak
/// about sound ones: a fault that follows from one already reported is no news.
#[derive(Debug, Clone, Default)]
pub struct Read<T> {
    /// What was read.
    pub value: T,
    /// Whether nothing was wrong with it.
    pub sound: bool,
}

/// `common.toml`: what every operation or every list has in common.
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
    /// Whether the file could be read. What one lacks that could not is no news.
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
    /// Which surface this is, of those that the file is about; none when it is about one.
    pub surface: Option<Surface>,
    /// The keys before the first table.
    pub head: Read<Head>,
    /// Where v1 keeps the records.
    pub v1: Option<Read<V1Spec>>,
    /// What v1's refusals mean.
    pub refusals: Vec<Read<V1Refusal>>,
    /// Fields in order.
    pub fields: IndexMap<String, Read<FieldSpec>>,
    /// Body members in order.
    pub inputs: IndexMap<String, Read<InputSpec>>,
    /// Operations in order.
    pub operations: Vec<OperationSpec>,
}

impl ResourceFile {
    /// The file, as far as it is about this resource.
    pub fn trail(&self) -> Trail {
        Trail::file(&self.file).on(self.surface)
    }

    /// The field of this name.
    pub fn trail_of(&self, field: &str) -> Trail {
        self.trail().then("fields").then(field)
    }

    /// Name that the file must have: that of the resource, without the surface when it is about several.
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
    /// Name, equal to the file's.
    pub resource: String,
    /// One sentence for people.
    pub about: String,
    /// Where records live.
    pub source: Option<Source>,
    /// Which records of the own store they are.
    pub records: Option<OwnRecords>,
    /// Surface of its operations unless they say otherwise.
    pub surface: Option<Surface>,
    /// Name of the read shape.
    pub shape: String,
    /// What v1 cannot give.
    pub gaps: Vec<String>,
    /// Path variables beyond the usual ones.
    pub variables: Vec<String>,
    /// Guests of the project may write.
    pub guests_may_write: bool,
    /// No two records of a collection have the same value of this field.
    pub unique: Option<OneOfAllSpec>,
    /// One record of a collection has this flag.
    pub exclusive: Option<OneOfAllSpec>,
    /// A record that must be there for every operation.
    pub requires: Option<RequiresSpec>,
}

/// `unique = { … }`, `exclusive = { … }`: a field whose value says something about all records of a collection.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OneOfAllSpec {
    /// The field.
    pub field: String,
    /// Told to a client that asks for what the rule forbids.
    pub detail: String,
}

/// `requires = { … }`: a record that must be there.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequiresSpec {
    /// Resource of the record.
    pub live: String,
    /// Variable of the path that holds its id.
    pub id: String,
}

/// `may = { … }`: who may write to a record.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MaySpec {
    /// Who.
    pub who: WhoWord,
    /// Field that holds the author.
    pub author: String,
    /// Told to everybody else.
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
    /// Whether the list takes `fields=`.
    pub select: bool,
    /// How one record is read.
    pub one: ReadOneBy,
    /// Path of a second list, for a record that the first one lacks.
    pub also_in: Option<String>,
}

/// `[[v1.refusals]]`.
/// A refusal of v1 that means something else than its status says.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct V1Refusal {
    /// The write it answers.
    pub on: WriteKind,
    /// Status of v1.
    pub status: u16,
    /// v1 name of the one field it is about (`{"field": ["text"]}`); the whole write when absent.
    pub field: Option<String>,
    /// Text of v1 (`error`, or the one entry of `non_field_errors`); any text when absent.
    pub error: Option<String>,
    /// v2 code it becomes.
    pub code: String,
    /// Prose for the client.
    pub detail: String,
}

/// An entry of `[fields]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FieldSpec {
    /// v1 name; none when v1 has nothing like it.
    pub v1: Option<String>,
    /// Kind of value.
    #[serde(rename = "type")]
    pub kind: Option<TypeWord>,
    /// Kind of the elements.
    pub items: Option<TypeWord>,
    /// May read null.
    pub nullable: bool,
    /// Ignored on write.
    pub read_only: bool,
    /// Not in the read shape; only orders, filters and searches look at it.
    pub hidden: bool,
    /// The v1 field is HTML; its plain text is read.
    pub plain_text: bool,
    /// What to read where v1 shows null and v2 has none.
    pub null_as: Option<Value>,
    /// Who holds the value.
    pub keep: Keep,
    /// What a create does with it.
    pub on_create: OnCreate,
    /// Trimmed on write, and blank refused (O9).
    pub trim: bool,
    /// Field it must not be earlier than.
    pub not_before: Option<String>,
    /// For documentation.
    pub notes: String,
}

/// An entry of `[inputs]`; for an operation with what its `[operations.body]` says laid over it.
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
    /// Values it is limited to; empty for any.
    #[serde(rename = "enum")]
    pub allowed: Vec<String>,
    /// Value when absent on create.
    pub default: Option<Value>,
    /// Never comes back.
    pub write_only: bool,
    /// Trimmed, blank refused; unless said, as the field of the same name.
    pub trim: Option<bool>,
    /// Trimmed; a blank text becomes the empty one.
    pub trim_ends: bool,
    /// Name of the resource whose record of the same project it must name.
    pub references: Option<String>,
    /// The reference must not lead back to the record itself.
    pub acyclic: bool,
    /// Longest slug that v1 makes of it.
    pub max_slug: Option<usize>,
    /// Values that v1 cannot be given, each with what is told.
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
    /// Values it is limited to; empty for any.
    #[serde(rename = "enum")]
    pub allowed: Vec<String>,
    /// Value when absent.
    pub default: Option<Value>,
    /// Largest number.
    pub max: Option<u64>,
    /// Read by the operation itself; no filter.
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
    /// Surface, when another than the file's.
    pub surface: Option<Surface>,
    /// One line for people.
    pub summary: String,
    /// Any one of these is enough.
    pub scopes: Vec<String>,
    /// Status of a success.
    pub status: u16,
    /// Read shape of a success.
    pub response: Option<String>,
    /// Form of a success.
    pub answer: Option<Answer>,
    /// Mode a write needs.
    pub mode: Option<TypeMode>,
    /// Values `expand` takes.
    pub expand: Vec<String>,
    /// Fields `search` looks at.
    pub search: Vec<String>,
    /// How it is carried out.
    pub step: Option<Step>,
    /// Takes the paging parameters.
    pub paging: bool,
    /// A POST whose body is ignored.
    pub body_ignored: bool,
    /// Calls of v1 that only the function of the step knows.
    pub v1: Option<Vec<String>>,
    /// Why it makes these calls, and when it makes more.
    pub why: Option<String>,
    /// What a write must have to itself.
    pub turns: Vec<String>,
    /// What must be switched on in the project.
    pub needs_feature: Option<Feature>,
    /// Field by which records hang on the deleted one; they are detached first.
    pub detach_children: Option<String>,
    /// Whether the record is looked for in the list before it is deleted.
    pub reads_first: bool,
    /// Who may write to the record.
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
    /// Fields that can anchor a cursor, both directions.
    pub cursor: Vec<String>,
}

/// `[status, code, when]`: an error an operation can answer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "(u16, String, String)")]
pub struct ErrorCase {
    /// HTTP status.
    pub status: u16,
    /// Code.
    pub code: String,
    /// When, in prose.
    pub when: String,
}

impl From<(u16, String, String)> for ErrorCase {
    fn from((status, code, when): (u16, String, String)) -> Self {
        Self { status, code, when }
    }
}
