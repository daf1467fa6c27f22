//! Validation of a list's query string against the operation's declaration: filters, search, order, page, expansion.
//!
//! All violations are reported in one problem. Unknown parameters are refused on lists (O6), because an ignored
//! filter would return the whole list with 200. That would be the most damaging wrong answer.
//!
//! May use: `plan`, `refusal`.

use super::cursor::Cursor;
use super::parameters::Parameters;
use super::record::Cell;
use super::value;
use crate::plan::{FilterTest, Kind, Operation, Order, Param, ParamRole, Resource, ValueType};
use crate::refusal::{FieldErrors, Refusal};
use std::cmp::Ordering;
use std::collections::HashSet;

/// A valid request for a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListCall {
    /// Conditions that must all hold.
    pub conditions: Vec<Condition>,
    /// Lower-case text that one of the cells must contain.
    pub search: Option<Search>,
    /// Order in effect.
    pub order: OrderBy,
    /// Part of the ordered list to return.
    pub page: PageCall,
    /// Indices into the operation's `expand` values.
    pub expand: Vec<usize>,
}

/// A test on one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// Position among the record's cells.
    pub cell: usize,
    /// The test.
    pub test: Test,
}

/// A test of the value of a cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    /// The cell holds one of these values.
    AnyOf(Vec<Cell>),
    /// The cell is unset (`true`) or set (`false`).
    Unset(bool),
    /// The cell is equal or greater.
    AtLeast(Cell),
    /// The cell is equal or less.
    AtMost(Cell),
}

impl Test {
    /// Checks whether `cell` passes the test.
    pub fn holds_for(&self, cell: &Cell) -> bool {
        match self {
            Self::AnyOf(wanted) => wanted.iter().any(|wanted| cell.holds(wanted)),
            Self::Unset(unset) => cell.is_unset() == *unset,
            Self::AtLeast(bound) => *cell != Cell::Null && cell.order(bound) != Ordering::Less,
            Self::AtMost(bound) => *cell != Cell::Null && cell.order(bound) != Ordering::Greater,
        }
    }
}

/// A search over text cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    /// Positions of the cells to search.
    pub cells: Vec<usize>,
    /// Text to find, in lower case.
    pub needle: String,
}

/// The order in effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderBy {
    /// Field name.
    pub field: String,
    /// Position among the record's cells.
    pub cell: usize,
    /// Whether the order is descending.
    pub descending: bool,
}

/// The part of the ordered list to return.
#[derive(Debug, Clone, PartialEq)]
pub enum PageCall {
    /// Rows from an offset.
    Offset {
        /// Rows to skip.
        offset: usize,
        /// Rows per page.
        per_page: usize,
        /// Whether the answer includes the total.
        count: bool,
    },
    /// Rows after a position.
    Cursor {
        /// The position; none for the first page.
        after: Option<Cursor>,
        /// Rows per page.
        per_page: usize,
        /// Cursor-eligible fields besides `id`, with their cells. The next token carries their values.
        keys: Vec<(String, usize)>,
    },
}

impl PageCall {
    /// Returns the number of rows to skip; 0 in the cursor style.
    pub fn offset(&self) -> usize {
        match self {
            Self::Offset { offset, .. } => *offset,
            Self::Cursor { .. } => 0,
        }
    }

    /// Returns the number of rows per page.
    pub fn per_page(&self) -> usize {
        match self {
            Self::Offset { per_page, .. } | Self::Cursor { per_page, .. } => *per_page,
        }
    }
}

/// Reads a list's query.
///
/// # Errors
/// `validation_error` with every violation, or `ordering_not_cursor_eligible`.
pub fn read_list(
    operation: &Operation,
    resource: &Resource,
    parameters: &Parameters,
    strict: bool,
) -> Result<ListCall, Refusal> {
    parameters.judge()?;
    let mut reader = Reader { operation, resource, parameters, errors: FieldErrors::default() };
    if strict {
        reader.refuse_unknown();
    }
    let conditions = reader.conditions();
    let search = reader.search();
    let expand = read_expand(operation, parameters, &mut reader.errors);
    let order = reader.order();
    let page = reader.page();
    if !reader.errors.is_empty() {
        return Err(Refusal::fields(reader.errors));
    }
    let order = order.ok_or_else(|| Refusal::internal(format!("{} has no order", operation.id)))?;
    check_eligible(operation, resource, &order, &page)?;
    Ok(ListCall { conditions, search, order, page, expand })
}

/// Checks the query of an operation that is not a list. Only `expand` can be wrong there.
///
/// # Errors
/// `validation_error` on `expand` for any value the operation does not declare (O25).
pub fn read_single(operation: &Operation, parameters: &Parameters) -> Result<Vec<usize>, Refusal> {
    parameters.judge()?;
    let mut errors = FieldErrors::default();
    let expand = read_expand(operation, parameters, &mut errors);
    errors.or(expand)
}

/// Reads a parameter that is for the operation itself: comma-separated words of its list, each once.
///
/// # Errors
/// `validation_error` on the parameter for every word outside the list.
pub fn read_words(operation: &Operation, parameters: &Parameters, name: &str) -> Result<Vec<String>, Refusal> {
    let param = operation.params.iter().find(|param| param.name == name);
    let param = param.ok_or_else(|| Refusal::internal(format!("{} takes no {name}", operation.id)))?;
    let (mut words, mut errors) = (Vec::new(), FieldErrors::default());
    for word in elements(parameters.given(name).unwrap_or_default()) {
        match param.spec.allowed.iter().any(|known| known == word) {
            true => words.push(word.to_owned()),
            false => errors.add(name, value::not_one_of(word, &param.spec.allowed)),
        }
    }
    errors.or(words)
}

/// Returns the elements of a comma-separated value without blanks around them, each once, without empty ones (O26).
fn elements(text: &str) -> impl Iterator<Item = &str> {
    let mut seen = HashSet::new();
    text.split(',').map(str::trim).filter(move |element| !element.is_empty() && seen.insert(*element))
}

fn check_eligible(
    operation: &Operation,
    resource: &Resource,
    order: &OrderBy,
    page: &PageCall,
) -> Result<(), Refusal> {
    let eligible = operation.order.as_ref().is_some_and(|rules| rules.cursor.contains(&order.field));
    let PageCall::Cursor { after, .. } = page else { return Ok(()) };
    if !eligible {
        let sign = if order.descending { "-" } else { "" };
        return Err(Refusal::OrderingNotCursorEligible { ordering: format!("{sign}{}", order.field) });
    }
    let resumable = |cursor: &Cursor| order.field == "id" || carries_key(cursor, resource, &order.field);
    if after.as_ref().is_some_and(|cursor| !resumable(cursor)) {
        return Err(Refusal::field("cursor", "is not a token of this list"));
    }
    Ok(())
}

/// Checks whether a token carries a sort value of the field's kind. A token of another list may not carry one, and a
/// value of another kind cannot be compared.
fn carries_key(cursor: &Cursor, resource: &Resource, field: &str) -> bool {
    let kind = resource.field(field).map(|field| field.value);
    match cursor.key(field) {
        Some(Cell::Instant(_)) => kind == Some(ValueType::One(Kind::DateTime)),
        Some(Cell::Number(_)) => matches!(kind, Some(ValueType::One(Kind::Integer | Kind::Number))),
        Some(Cell::Null) => true,
        _ => false,
    }
}

fn read_expand(operation: &Operation, parameters: &Parameters, errors: &mut FieldErrors) -> Vec<usize> {
    let mut wanted = Vec::new();
    let Some(text) = parameters.given("expand") else { return wanted };
    for element in elements(text) {
        match operation.expand.iter().position(|known| known == element) {
            Some(index) => wanted.push(index),
            None => errors.add("expand", unknown_expand(operation, element)),
        }
    }
    wanted
}

fn unknown_expand(operation: &Operation, element: &str) -> String {
    if operation.expand.is_empty() {
        return format!("`{element}` cannot be expanded here; this resource expands nothing");
    }
    format!("`{element}` cannot be expanded here; known: {}", operation.expand.join(", "))
}

struct Reader<'a> {
    operation: &'a Operation,
    resource: &'a Resource,
    parameters: &'a Parameters,
    errors: FieldErrors,
}

impl Reader<'_> {
    fn refuse_unknown(&mut self) {
        for name in self.parameters.names() {
            let known = self.operation.params.iter().any(|param| param.name == name);
            // `expand` has its own refusal. `fields`, a habit of v1's clients, is accepted and ignored (O6).
            if known || name == "expand" || name == "fields" || self.errors.iter().any(|e| e.field == name) {
                continue;
            }
            if self.errors.is_full() {
                // The list of errors is full, so this error is only counted.
                self.errors.add(name, "");
                continue;
            }
            let nearest = nearest(name, self.operation.params.iter().map(|param| param.name.as_str()));
            let hint = nearest.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            self.errors.add(name, format!("is not a parameter of this list{hint}"));
        }
    }

    fn conditions(&mut self) -> Vec<Condition> {
        let operation = self.operation;
        let filters = operation.params.iter().filter_map(|param| match &param.role {
            ParamRole::Filter(filter) => Some((param, filter)),
            _ => None,
        });
        let mut conditions = Vec::new();
        for (param, filter) in filters {
            let Some(text) = self.parameters.given(&param.name) else { continue };
            let Some(cell) = self.resource.cell_index(&filter.field) else { continue };
            match read_test(param, filter.test, text) {
                Ok(Some(test)) => conditions.push(Condition { cell, test }),
                Ok(None) => {}
                Err(message) => self.errors.add(&param.name, message),
            }
        }
        conditions
    }

    fn search(&mut self) -> Option<Search> {
        let needle = value::small_letters(value::trimmed(self.parameters.given("search")?));
        if needle.is_empty() || self.operation.search.is_empty() {
            return None;
        }
        let cells = self.operation.search.iter().filter_map(|field| self.resource.cell_index(field)).collect();
        Some(Search { cells, needle })
    }

    fn order(&mut self) -> Option<OrderBy> {
        let rules = self.operation.order.as_ref()?;
        let asked = self.parameters.given("order_by").filter(|asked| is_allowed(rules, asked));
        let text = asked.unwrap_or(&rules.default);
        let field = text.strip_prefix('-').unwrap_or(text);
        let cell = self.resource.cell_index(field)?;
        Some(OrderBy { field: field.into(), cell, descending: text.starts_with('-') })
    }

    fn page(&mut self) -> PageCall {
        let per_page = self.per_page();
        let token = self.parameters.get("cursor");
        if token.is_none() && self.parameters.get("paginate") != Some("cursor") {
            return PageCall::Offset { offset: self.offset(), per_page, count: self.count() };
        }
        let after = token.filter(|token| !token.is_empty()).and_then(|token| {
            let cursor = Cursor::decode(token);
            if cursor.is_none() {
                self.errors.add("cursor", "is not a token of this list");
            }
            cursor
        });
        PageCall::Cursor { after, per_page, keys: self.cursor_keys() }
    }

    fn cursor_keys(&self) -> Vec<(String, usize)> {
        let eligible = self.operation.order.iter().flat_map(|rules| &rules.cursor);
        let others = eligible.filter(|field| *field != "id");
        others.filter_map(|field| Some((field.clone(), self.resource.cell_index(field)?))).collect()
    }

    fn number_rule(&self, name: &str) -> (u64, u64) {
        let param = self.operation.params.iter().find(|param| param.name == name);
        let default = param.and_then(|param| param.spec.default.as_ref()?.as_u64()).unwrap_or(0);
        (default, param.and_then(|param| param.spec.max).unwrap_or(u64::MAX))
    }

    fn per_page(&mut self) -> usize {
        let (default, max) = self.number_rule("per_page");
        let Some(text) = self.parameters.given("per_page") else { return default as usize };
        match value::whole_number(text) {
            Some(n) if n >= 1 => n.min(max) as usize,
            Some(_) => self.reject("per_page", "must be at least 1", default),
            None => self.reject("per_page", "must be a whole number of at least 1", default),
        }
    }

    fn offset(&mut self) -> usize {
        let (default, max) = self.number_rule("offset");
        let Some(text) = self.parameters.given("offset") else { return default as usize };
        match value::whole_number(text) {
            Some(n) if n <= max => n as usize,
            Some(_) => {
                let message = format!("must not exceed {max}; walk further with paginate=cursor");
                self.reject("offset", &message, default)
            }
            None => self.reject("offset", "must be a whole number of at least 0", default),
        }
    }

    fn count(&self) -> bool {
        let text = self.parameters.given("count").unwrap_or("true").to_ascii_lowercase();
        text != "false" && text != "0"
    }

    fn reject(&mut self, field: &str, message: &str, instead: u64) -> usize {
        self.errors.add(field, message);
        instead as usize
    }
}

fn is_allowed(rules: &Order, asked: &str) -> bool {
    rules.allowed.iter().any(|field| field == asked.strip_prefix('-').unwrap_or(asked))
}

fn read_test(param: &Param, test: FilterTest, text: &str) -> Result<Option<Test>, String> {
    let kind = match param.value {
        ValueType::One(kind) | ValueType::Csv(kind) => kind,
        ValueType::Array(_) => return Ok(None),
    };
    let read = |text: &str| value::read_filter(kind, &param.spec.allowed, text);
    Ok(Some(match test {
        FilterTest::Equal => Test::AnyOf(vec![read(text)?]),
        FilterTest::IsNull => Test::Unset(value::read_boolean(text).ok_or("must be true or false")?),
        FilterTest::AtLeast => Test::AtLeast(value::read_lower_bound(kind, &param.spec.allowed, text)?),
        FilterTest::AtMost => Test::AtMost(read(text)?),
        FilterTest::In => {
            let cells = elements(text).map(read).collect::<Result<Vec<_>, _>>()?;
            if cells.is_empty() {
                // A value of commas or blanks alone would filter nothing.
                return Err("names no value".into());
            }
            Test::AnyOf(cells)
        }
    }))
}

/// Longest name, in bytes, for which a similar name is searched. The time of the search grows with the length.
const LONGEST_NAME: usize = 100;

/// Returns the known name nearest to `name`, if one is similar enough.
pub fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    known
        .filter(|_| name.len() <= LONGEST_NAME)
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}
