//! One operation of v2. May use: `mapping`, this folder.

use super::kind::ValueType;
use super::path::PathTemplate;
use super::rules::May;
use crate::mapping::{Answer, ErrorCase, Feature, InputSpec, Method, Order, ParamSpec, Step, Surface, TypeMode};
use serde::Serialize;
use strum::{EnumString, IntoStaticStr};
use unicode_normalization::UnicodeNormalization;

/// How many v1 calls an operation usually costs, proofs of access excluded; follows from the calls it makes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Calls {
    /// With nothing cached.
    pub cold: u32,
    /// With everything cached.
    pub warm: u32,
    /// Why it is what it is, and when it is more.
    pub why: Option<String>,
}

impl Calls {
    /// The cost of `calls`.
    pub fn of(calls: &[PlannedCall], why: Option<String>) -> Self {
        let count = |made| calls.iter().filter(|call| call.made == made).count() as u32;
        let warm = count(Made::Always);
        Self { cold: warm + count(Made::UnlessKept), warm, why }
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
    /// When the gateway has not at hand what it would tell.
    UnlessKept,
    /// Once for each of these, beyond the usual calls.
    ForEach(Extra),
}

/// What makes an operation take more calls than usual.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Extra {
    /// A record below the one that is deleted, which is detached from it first (trap 39).
    Child,
    /// The same, archived.
    ArchivedChild,
    /// A date that is written by itself (trap 25).
    Date,
    /// A state whose default flag is written by itself (trap 23).
    Default,
    /// A set of which v1 stored a part, so that the write is mended or undone (traps 15, 16).
    DroppedSet,
    /// A value that v1 refuses, so that the write is sent again without it (trap 34).
    RefusedValue,
}

/// A query parameter.
#[derive(Debug)]
pub struct Param {
    /// Name.
    pub name: String,
    /// Kind of value.
    pub value: ValueType,
    /// What it does.
    pub role: ParamRole,
    /// What the files say about it.
    pub spec: ParamSpec,
}

/// What a query parameter does.
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

/// How a filter compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilterTest {
    /// Equal.
    Equal,
    /// Any of the elements.
    In,
    /// Unset (`true`) or set (`false`).
    IsNull,
    /// Not less.
    AtLeast,
    /// Not more.
    AtMost,
}

/// What an operation takes as body.
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
    /// Trimmed, and blank refused (O9).
    pub trim: bool,
    /// Index of the field of the same name in the resource.
    pub field: Option<usize>,
    /// What the files say about it.
    pub spec: InputSpec,
}

impl Input {
    /// Why v1 can never hold `text` here; none when it can. v1 answers a name whose slug is too long with a 500 (trap
    /// 7, `states_create_name_101_letters`), and keeps some values for itself (trap 37, `states_patch_group_triage`).
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

/// One thing a write has to itself while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// What it is.
    pub of: TurnOf,
    /// Others that only share it may have it at the same time.
    pub shared: bool,
    /// Needed only when the body has one of these members; always when empty.
    pub members: Vec<String>,
}

/// What there is to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnOf {
    /// The record the path names.
    Record,
    /// All records of a resource in the project.
    Collection(String),
    /// A rule of that resource that spans records of the project.
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
    /// Any one of these is enough for a token.
    pub scopes: Vec<String>,
    /// Status of a success.
    pub status: u16,
    /// Form of a success.
    pub answer: Answer,
    /// Read shape of a success.
    pub response: Option<String>,
    /// Mode a write needs.
    pub mode: Option<TypeMode>,
    /// Guests of the project may carry it out although it writes.
    pub guests_may_write: bool,
    /// Values `expand` takes.
    pub expand: Vec<String>,
    /// Fields `search` looks at.
    pub search: Vec<String>,
    /// Orders of a list.
    pub order: Option<Order>,
    /// Query parameters.
    pub params: Vec<Param>,
    /// Body.
    pub body: BodyRule,
    /// Errors.
    pub errors: Vec<ErrorCase>,
    /// How it is carried out.
    pub step: Step,
    /// What it costs at v1; none while pending.
    pub calls: Option<Calls>,
    /// The calls it makes, in their order: those of the plain steps follow from the step, those of functions are
    /// declared.
    pub v1: Vec<PlannedCall>,
    /// What it must have to itself while it runs, when it writes.
    pub turns: Vec<Turn>,
    /// What must be switched on in the project.
    pub needs_feature: Option<Feature>,
    /// Index of the field by which records hang on the deleted one; they are detached first.
    pub detach_children: Option<usize>,
    /// Whether the record is looked for in the list before it is deleted.
    pub reads_first: bool,
    /// Who may write to the record.
    pub may: Option<May>,
    /// Line of the mapping file where it is declared.
    pub line: usize,
}

impl Operation {
    /// Whether the operation works in this version.
    pub fn works(&self) -> bool {
        self.step != Step::Pending
    }

    /// How many calls it makes at most from its first write on, when `extras` are that many each.
    pub fn calls_of_the_write(&self, extras: &[(Extra, usize)]) -> usize {
        let times = |call: &PlannedCall| match call.made {
            Made::Always | Made::UnlessKept => 1,
            Made::ForEach(extra) => extras.iter().filter(|(of, _)| *of == extra).map(|(_, count)| count).sum(),
        };
        self.v1.iter().skip_while(|call| !call.method.writes()).map(times).sum()
    }

    /// How many calls it makes when all that may be kept is kept, and each extra is one.
    pub fn calls_at_once(&self) -> usize {
        self.v1.iter().filter(|call| call.made != Made::UnlessKept).count()
    }

    /// Whether it is a list.
    pub fn is_list(&self) -> bool {
        self.answer == Answer::Page
    }
}

/// Length of the slug v1 derives: compatibility-decomposed, ASCII letters, digits, `_` and `-` kept, runs of
/// blanks and hyphens one hyphen, hyphens and underscores trimmed (`states_create_name_255_cyrillic`). To v1 the
/// vertical tab and the separators U+001C to U+001F are blanks too.
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
