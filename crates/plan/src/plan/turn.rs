//! What a write must have to itself while it runs. May use: nothing of this crate.

/// One thing a write has to itself.
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
