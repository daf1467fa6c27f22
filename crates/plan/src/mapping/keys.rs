//! The keys of a table, taken from the `Deserialize` of the struct it is read into. There is no second list of keys
//! that could disagree. May use: nothing of this crate.

use serde::de::value::Error;
use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor};
use serde::forward_to_deserialize_any;

/// Returns the names of the keys of `T`.
pub(super) fn keys_of<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut keys: &'static [&'static str] = &[];
    // This always fails, because the catcher never has a value to give.
    let _ = T::deserialize(KeyCatcher(&mut keys));
    keys
}

/// A deserializer that only records the keys that a struct asks for.
struct KeyCatcher<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for KeyCatcher<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("holds no value"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        *self.0 = keys;
        self.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
