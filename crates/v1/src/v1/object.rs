//! Records of v1 are objects.
//!
//! A struct with serde's derive can also be read from a list, whose elements become its members in order. v1 never
//! means that, and a list instead of a record is an error.
//!
//! May use: nothing of this crate.

use serde::de::{Deserialize, Deserializer, Visitor};
use serde::forward_to_deserialize_any;

/// Reads a member that may be null but must be present, with `deserialize_with`. Without this, serde reads a missing
/// member as null.
///
/// # Errors
/// The errors of `T`.
pub fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(given: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(given)
}

/// A `T` that is read only from an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        T::deserialize(Members(from)).map(Self)
    }
}

/// A deserializer that reads an object, whatever type is requested.
struct Members<D>(D);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Members<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct Page {
        total: u32,
        results: Vec<Object<Row>>,
    }

    #[derive(serde::Deserialize)]
    struct Row {
        id: u32,
    }

    #[test]
    fn a_list_is_no_record() {
        let read = |text: &str| serde_json::from_str::<Object<Page>>(text).ok();
        let page = read(r#"{"results": [{"id": 7}], "more": [], "total": 1}"#).expect("a page").0;
        assert_eq!((page.total, page.results[0].0.id), (1, 7));
        for no_page in ["[1, []]", "[1, [{\"id\": 7}]]", r#"{"total": 1, "results": [[7]]}"#, "null", "7", "{}"] {
            assert!(read(no_page).is_none(), "{no_page}");
        }
        assert!(serde_json::from_str::<Page>("[1, []]").is_ok(), "what serde derives does not say it");
    }
}
