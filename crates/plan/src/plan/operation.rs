//! One operation of v2. May use: `mapping`, this folder.

use super::kind::ValueType;
use super::path::PathTemplate;
use super::rules::May;
use crate::mapping::{Answer, ErrorCase, Feature, InputSpec, Method, Order, ParamSpec, Step, Surface, TypeMode};
use serde::Serialize;
use strum::{EnumString, IntoStaticStr};
use unicode_normalization::UnicodeNormalization;

/// Usual number of v1 calls of an operation, without proofs of access. It is computed from the planned calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Calls {
    /// With nothing cached.
    pub cold: u32,
    /// With everything cached.
    pub warm: u32,
    /// Reason for this cost, and the cases in which it is higher.
    pub why: Option<String>,
}

impl Calls {
    /// Computes the cost of `calls`.
    pub fn of(calls: &[PlannedCall], why: Option<String>) -> Self {
        let count = |made| calls.iter().filter(|call| call.made == made).count() as u32;
        let warm = count(Made::Always);
        Self { cold: warm + count(Made::UnlessCached), warm, why }
    }
}

/// A call of v1 that an operation makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedCall {
    /// Its method.
    pub method: Method,
    /// Its path below v1's base.
    pub path: PathTemplate,
    /// Its query, as far as the mappings know it.
    pub query: String,
    /// When it is made.
    pub made: Made,
}

/// When an operation makes a call of v1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// Always.
    Always,
    /// Unless the gateway already has the data that the call would return.
    UnlessCached,
    /// Once for each such extra, in addition to the usual calls.
    ForEach(Extra),
}

/// A reason why an operation makes more calls than usual.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Extra {
    /// A child of the deleted record. It is detached before the deletion (trap 39).
    Child,
    /// The same for an archived child.
    ArchivedChild,
    /// A date that needs a write of its own (trap 25).
    Date,
    /// A state whose default flag needs a write of its own (trap 23).
    Default,
    /// A set of which v1 stored only a part. Another write repairs or undoes it (traps 15, 16).
    DroppedSet,
    /// A value that v1 refuses. The write is sent again without it (trap 34).
    RefusedValue,
}

/// A query parameter.
#[derive(Debug)]
pub struct Param {
    /// Name.
    pub name: String,
    /// Kind of value.
    pub value: ValueType,
    /// Effect of the parameter.
    pub role: ParamRole,
    /// Declaration in the mapping files.
    pub spec: ParamSpec,
}

/// The effect of a query parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParamRole {
    /// Narrows the list.
    Filter(Filter),
    /// Searches.
    Search,
    /// Orders.
    OrderBy,
    /// Expands.
    Expand,
    /// Pages (`per_page`, `offset`, `count`, `paginate`, `cursor`).
    Paging,
    /// Read by the operation itself.
    Option,
}

/// A filter: a field and a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// v2 field name.
    pub field: String,
    /// Test.
    pub test: FilterTest,
}

/// The comparison that a filter makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilterTest {
    /// Equal.
    Equal,
    /// Equal to any of the elements.
    In,
    /// Unset (`true`) or set (`false`).
    IsNull,
    /// Equal or greater.
    AtLeast,
    /// Equal or less.
    AtMost,
}

/// The body that an operation takes.
#[derive(Debug)]
pub enum BodyRule {
    /// None (GET, DELETE).
    None,
    /// A POST whose body is ignored.
    Ignored,
    /// A JSON object with these members.
    Members(Vec<Input>),
}

/// One member of a body.
#[derive(Debug)]
pub struct Input {
    /// Name.
    pub name: String,
    /// Kind of value.
    pub value: ValueType,
    /// Whether the value is trimmed, and a blank value refused (O9).
    pub trim: bool,
    /// Index of the field of the same name in the resource.
    pub field: Option<usize>,
    /// Declaration in the mapping files.
    pub spec: InputSpec,
}

impl Input {
    /// Returns why v1 can never hold `text` in this member; `None` when it can. v1 answers a name whose slug is too
    /// long with a 500 (trap 7, `states_create_name_101_letters`), and reserves some values (trap 37,
    /// `states_patch_group_triage`).
    pub fn fault_of_v1(&self, text: &str) -> Option<String> {
        if let Some(most) = self.spec.max_slug.filter(|most| slug_length(text) > *most) {
            let name = &self.name;
            return Some(format!(
                "is too long for the backend: it stores at most {most} letters and digits of a {name}"
            ));
        }
        self.spec.refused.get(text).cloned()
    }
}

/// One turn: a thing that a write holds exclusively while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// The thing that is held.
    pub of: TurnTarget,
    /// Whether writes that also share the turn may hold it at the same time.
    pub shared: bool,
    /// The turn is needed only when the body has one of these members; always when empty.
    pub members: Vec<String>,
}

/// A thing that a turn can hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnTarget {
    /// The record the path names.
    Record,
    /// All records of a resource in the project.
    Collection(String),
    /// The rule of this name of the operation's resource. It spans records of the project.
    Rule(String),
}

/// One of the operations of v2.
#[derive(Debug)]
pub struct Operation {
    /// Id, unique.
    pub id: String,
    /// Index of its resource in the plan.
    pub resource: usize,
    /// Method.
    pub method: Method,
    /// Path, beginning with `/api/v2/`.
    pub path: PathTemplate,
    /// Part of the service.
    pub surface: Surface,
    /// One line for people.
    pub summary: String,
    /// Scopes of the operation. A token needs only one of them.
    pub scopes: Vec<String>,
    /// Status of a success.
    pub status: u16,
    /// Form of a success.
    pub answer: Answer,
    /// Read shape of a success.
    pub response: Option<String>,
    /// Mode that a write needs.
    pub mode: Option<TypeMode>,
    /// Whether guests of the project may use the operation although it writes.
    pub guests_may_write: bool,
    /// Values that `expand` accepts.
    pub expand: Vec<String>,
    /// Fields that `search` reads.
    pub search: Vec<String>,
    /// Orders of a list.
    pub order: Option<Order>,
    /// Query parameters.
    pub params: Vec<Param>,
    /// Body.
    pub body: BodyRule,
    /// Errors.
    pub errors: Vec<ErrorCase>,
    /// Step that carries out the operation.
    pub step: Step,
    /// Cost in v1 calls; none while the operation is pending.
    pub calls: Option<Calls>,
    /// v1 calls of the operation, in order. For plain steps they follow from the step; for functions they are declared.
    pub v1: Vec<PlannedCall>,
    /// Turns that a write holds while it runs.
    pub turns: Vec<Turn>,
    /// Feature that must be switched on in the project.
    pub needs_feature: Option<Feature>,
    /// Index of the field by which other records refer to the deleted record. They are detached first.
    pub detach_children: Option<usize>,
    /// Whether the record is looked up in the list before it is deleted.
    pub reads_first: bool,
    /// Rule about who may write to the record.
    pub may: Option<May>,
    /// Line of its declaration in the mapping file.
    pub line: usize,
}

impl Operation {
    /// Checks whether the operation works in this version.
    pub fn works(&self) -> bool {
        self.step != Step::Pending
    }

    /// Returns the maximum number of calls from the first write on. `extras` gives the count of each kind of extra.
    pub fn calls_of_the_write(&self, extras: &[(Extra, usize)]) -> usize {
        let times = |call: &PlannedCall| match call.made {
            Made::Always | Made::UnlessCached => 1,
            Made::ForEach(extra) => extras.iter().filter(|(of, _)| *of == extra).map(|(_, count)| count).sum(),
        };
        self.v1.iter().skip_while(|call| !call.method.writes()).map(times).sum()
    }

    /// Returns the number of calls when everything that may be cached is cached, and each extra occurs once.
    pub fn calls_at_once(&self) -> usize {
        self.v1.iter().filter(|call| call.made != Made::UnlessCached).count()
    }

    /// Checks whether the operation is a list.
    pub fn is_list(&self) -> bool {
        self.answer == Answer::Page
    }
}

/// Returns the length of the slug that v1 derives from a name: compatibility-decomposed; ASCII letters, digits, `_` and
/// `-` kept; a run of blanks and hyphens becomes one hyphen; hyphens and underscores trimmed at both ends
/// (`states_create_name_255_cyrillic`). v1 also treats the vertical tab and the separators U+001C to U+001F as blanks.
fn slug_length(name: &str) -> usize {
    let mut slug = String::with_capacity(name.len());
    for c in name.nfkd().filter(char::is_ascii).map(|c| c.to_ascii_lowercase()) {
        let gap = c.is_ascii_whitespace() || matches!(c, '-' | '\u{b}' | '\u{1c}'..='\u{1f}');
        if gap && !slug.ends_with('-') {
            slug.push('-');
        } else if c.is_ascii_alphanumeric() || c == '_' {
            slug.push(c);
        }
    }
    slug.trim_matches(['-', '_']).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_letters_that_reach_the_slug_count() {
        assert_eq!(slug_length(&"c".repeat(101)), 101);
        assert_eq!(slug_length(&"ж".repeat(255)), 0);
        assert_eq!(slug_length("  In -- Review!  "), "in-review".len());
        assert_eq!(slug_length("Über_"), "uber".len());
        assert_eq!(slug_length("a\u{b}b\u{1c}\u{1f}c\u{1}d"), "a-b-cd".len());
    }
}
