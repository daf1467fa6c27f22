//! Rich text of custom values, sanitised for each read.
//!
//! A text may have been written while its property was of another kind (O67), and nothing in the store tells it from a
//! sanitised one. Sanitising costs too much for every read, so the outcome is remembered by the hash of the text. A
//! write of rich text is remembered at once. May use: what `run` may use.

use crate::cache::{Bounds, Cache};
use crate::context::Context;
use crate::heavy::{Heavy, Input};
use crate::refusal::Refusal;
use crate::translate::html;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// Most bytes of all remembered outcomes together.
const CAPACITY: u64 = 16 * 1024 * 1024;
/// Bytes of an outcome without its text.
const ENTRY: usize = 128;

/// The form in which a text is shown.
#[derive(Debug, Clone)]
enum Outcome {
    /// The text itself: it is sanitised already.
    Same,
    Other(Arc<str>),
    /// Not shown: it cannot be sanitised, or nothing of it is left.
    Hidden,
}

impl Outcome {
    fn of(text: &str) -> Self {
        match html::readable(text) {
            Some(clean) if clean == text => Self::Same,
            Some(clean) => Self::Other(clean.into()),
            None => Self::Hidden,
        }
    }
}

/// Remembered outcomes; clones are the same.
#[derive(Clone)]
pub(in crate::run) struct RichTexts(Cache<[u8; 32], Outcome>);

impl Default for RichTexts {
    fn default() -> Self {
        let weight = |_: &[u8; 32], outcome: &Outcome| {
            let text = if let Outcome::Other(text) = outcome { text.len() } else { 0 };
            u32::try_from(text + ENTRY).unwrap_or(u32::MAX)
        };
        Self(Cache::weighed(Bounds::of(CAPACITY).keeping_recent(), weight))
    }
}

impl RichTexts {
    /// Remembers a result of the sanitiser, which is about to be stored.
    pub(super) fn note_clean(&self, clean: &str) {
        self.0.insert(Sha256::digest(clean).into(), Outcome::Same);
    }

    /// Returns the form in which each of the texts is shown; none for a text that is not shown. Unknown texts are
    /// sanitised together, on the pool for heavy work unless they are small.
    ///
    /// # Errors
    /// When the request's time ends before a thread is free.
    pub(super) async fn shown(
        &self,
        texts: Vec<String>,
        heavy: &Heavy,
        ctx: &Context,
    ) -> Result<Vec<Option<String>>, Refusal> {
        let keys: Vec<[u8; 32]> = texts.iter().map(|text| Sha256::digest(text).into()).collect();
        let known: Vec<Option<Outcome>> = keys.iter().map(|key| self.0.get(key)).collect();
        let unknown = texts.iter().zip(&known).filter(|(_, known)| known.is_none());
        let size = unknown.map(|(text, _)| text.len()).sum();
        let cache = self.clone();
        let work = move || {
            let mut shown = Vec::with_capacity(texts.len());
            for ((text, known), key) in texts.into_iter().zip(known).zip(keys) {
                let outcome = known.unwrap_or_else(|| {
                    let found = Outcome::of(&text);
                    cache.0.insert(key, found.clone());
                    found
                });
                shown.push(match outcome {
                    Outcome::Same => Some(text),
                    Outcome::Other(clean) => Some(clean.as_ref().to_owned()),
                    Outcome::Hidden => None,
                });
            }
            shown
        };
        heavy.run(Input::OwnHtml, size, ctx, work).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn a_large_text_is_sanitised_once_and_not_at_all_after_its_write() {
        let (heavy, ctx) = (Heavy::new(1, 1 << 20), Context::new("r", Duration::from_secs(60)));
        let texts = RichTexts::default();
        let raw = "<p onclick=x>a</p>".repeat(1_000);
        let clean = "<p>a</p>".repeat(1_000);
        for _ in 0..3 {
            let shown = texts.shown(vec![raw.clone(), "<script>x</script>".into()], &heavy, &ctx).await.unwrap();
            assert_eq!(shown, [Some(clean.clone()), None]);
        }
        assert_eq!(heavy.carried_out(), 1);
        let written = clean.repeat(2);
        texts.note_clean(&written);
        let shown = texts.shown(vec![written.clone()], &heavy, &ctx).await.unwrap();
        assert_eq!((shown, heavy.carried_out()), (vec![Some(written)], 1));
    }

    #[tokio::test]
    async fn many_small_texts_count_as_one_large_text() {
        let (heavy, ctx) = (Heavy::new(1, 1 << 20), Context::new("r", Duration::from_secs(60)));
        let many = (0..1_000).map(|number| format!("<i>{number}</i>")).collect();
        let shown = RichTexts::default().shown(many, &heavy, &ctx).await.unwrap();
        assert_eq!((shown[999].as_deref(), heavy.carried_out()), (Some("<i>999</i>"), 1));
    }
}
