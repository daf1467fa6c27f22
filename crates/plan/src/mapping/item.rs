//! Reads one table into one struct, key by key, so that a bad key does not affect the others. May use: this folder.

use super::fault::Faults;
use super::keys::keys_of;
use super::trail::Trail;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

/// Reads `table` into `T`, in which every key is optional. Skips the keys in `parts`, which the caller reads itself.
/// The keys in `required` must be present. The returned flag says whether no fault was found.
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

/// Replaces the words of Rust in a reader's message by plain words.
fn plain(message: &str) -> String {
    let words = [("u16", "a whole number"), ("u32", "a whole number"), ("u64", "a whole number")];
    let more = [("usize", "a whole number"), ("a sequence", "an array")];
    words.into_iter().chain(more).fold(message.to_owned(), |text, (word, plain)| {
        text.replace(&format!("expected {word}"), &format!("expected {plain}"))
    })
}

/// Returns the text about an unknown word, with the nearest known word if one is similar enough.
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
