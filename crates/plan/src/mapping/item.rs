//! Reads one table into one struct, key by key, so that a bad key costs no other.
//!
//! The known keys are asked of the struct itself (its `Deserialize` names them), so no second list of
//! keys exists that could disagree. May use: this folder.

use super::fault::{Faults, Trail};
use serde::de::value::Error;
use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor};
use serde::forward_to_deserialize_any;
use toml::{Table, Value};

/// Reads `table` into `T`, to which every key is optional, except for the keys in `parts`, which the caller reads itself.
/// The keys in `required` must be there. The flag says whether no fault was found.
pub(super) fn read<T: DeserializeOwned + Default>(
    table: Table,
    required: &[&str],
    parts: &[&str],
    trail: &Trail,
    faults: &mut Faults,
) -> (T, bool) {
    let known: Vec<&str> = keys_of::<T>().iter().chain(parts).copied().collect();
    let mut sound = true;
    let mut good = Table::new();
    for required in required.iter().filter(|key| !table.contains_key(**key)) {
        faults.add(trail, format!("lacks the key `{required}`"));
        sound = false;
    }
    for (key, value) in table {
        if let Err(message) = check::<T>(&key, &value, &known) {
            faults.add(&trail.then(key), message);
            sound = false;
        } else {
            good.insert(key, value);
        }
    }
    (Value::Table(good).try_into().unwrap_or_default(), sound)
}

fn check<T: DeserializeOwned>(key: &str, value: &Value, known: &[&str]) -> Result<(), String> {
    if !known.contains(&key) {
        return Err(unknown(key, known));
    }
    let alone = Table::from_iter([(key.to_owned(), value.clone())]);
    match Value::Table(alone).try_into::<T>() {
        Ok(_) => Ok(()),
        Err(error) => Err(plain(error.message().trim())),
    }
}

/// The reader's words without those of the program.
fn plain(message: &str) -> String {
    let words = [("u16", "a whole number"), ("u32", "a whole number"), ("u64", "a whole number")];
    let more = [("usize", "a whole number"), ("a sequence", "an array")];
    words.into_iter().chain(more).fold(message.to_owned(), |text, (word, plain)| {
        text.replace(&format!("expected {word}"), &format!("expected {plain}"))
    })
}

/// The text about an unknown word, with the nearest known one when it is near enough.
pub(super) fn unknown(key: &str, known: &[&str]) -> String {
    let nearest = known
        .iter()
        .map(|word| (strsim::damerau_levenshtein(key, word), *word))
        .min()
        .filter(|(distance, word)| *distance <= 1 + word.len() / 3);
    match nearest {
        Some((_, word)) => format!("unknown key; did you mean `{word}`?"),
        None => "unknown key".into(),
    }
}

/// Names of the keys `T` mirrors.
pub(super) fn keys_of<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut keys: &'static [&'static str] = &[];
    // Always an error: the catcher never has a value to give.
    let _ = T::deserialize(KeyCatcher(&mut keys));
    keys
}

/// A deserializer that only listens for the keys a struct asks for.
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
