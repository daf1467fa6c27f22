//! Converts the type words of the files to kinds of values. May use: `mapping`, this folder.

use crate::mapping::{Faults, Trail, TypeWord};
use crate::plan::{Kind, ValueType};

/// Returns the kind of value that `word` stands for, with `items` for its elements. A missing or wrong word is
/// reported, and then accepted as any value so that it causes no further faults.
pub(super) fn value_type(
    word: Option<TypeWord>,
    items: Option<TypeWord>,
    trail: &Trail,
    faults: &mut Faults,
) -> ValueType {
    let elements = items.and_then(|items| {
        let kind = single(items);
        if kind.is_none() {
            faults.add(&trail.then("items"), "elements are single values, not lists");
        }
        kind
    });
    match word {
        Some(TypeWord::Array) => ValueType::Array(elements),
        Some(TypeWord::Csv) => ValueType::Csv(elements.unwrap_or(Kind::String)),
        other => {
            if items.is_some() {
                faults.add(&trail.then("items"), "only `array` and `csv` have elements");
            }
            ValueType::One(other.and_then(single).unwrap_or(Kind::Any))
        }
    }
}

/// Returns the kind of this name; `None` for lists.
fn single(word: TypeWord) -> Option<Kind> {
    <&str>::from(word).parse().ok()
}
