//! The document as a text with a place for the address of the gateway. May use: nothing of this crate.

/// Stands for the public address of the gateway until a request tells it. Not a word anybody would write.
pub(super) const STAND_IN: &str = "https://address-of-this-gateway.invalid";

/// A text cut at every place where the address goes.
#[derive(Debug)]
pub(super) struct Template(Vec<String>);

impl Template {
    pub(super) fn of(text: &str) -> Self {
        Self(text.split(STAND_IN).map(str::to_owned).collect())
    }

    /// Addresses consist of characters that JSON strings and plain YAML scalars take as they are.
    pub(super) fn filled(&self, base: &str) -> String {
        self.0.join(base)
    }
}
