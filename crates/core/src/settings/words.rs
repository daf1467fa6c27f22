//! The word that somebody probably meant who wrote one that there is not.
//!
//! May use: nothing of this crate.

/// Similarity (0 to 1) from which a word counts as a misspelling of another.
const SIMILAR: f64 = 0.6;

/// The one of `known` that is most similar to `word`, when one is similar enough.
pub fn most_similar<K: AsRef<str>>(word: &str, known: impl IntoIterator<Item = K>) -> Option<K> {
    let scored =
        known.into_iter().map(|known| (strsim::normalized_damerau_levenshtein(word, known.as_ref()), known));
    let similar = scored.filter(|(score, _)| *score >= SIMILAR);
    similar.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_another_word_is_not() {
        let known = ["states", "labels", "cycles"];
        assert_eq!(most_similar("lables", known), Some("labels"));
        assert_eq!(most_similar("webhooks", known), None);
    }
}
