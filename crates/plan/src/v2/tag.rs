//! Versions of records as strong entity tags (RFC 9110, 8.8.3).
//!
//! A tag covers everything that is known of a record, including data that v2 does not show. It covers nothing that
//! belongs to other records: expansions and the query do not change it.
//!
//! May use: nothing of this crate.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use std::borrow::Cow;

/// Bytes of the hash in a tag: enough that no two versions of a record ever share a tag.
const SHOWN: usize = 16;

/// Returns the strong tag of a record. `text` is any form of the record that is the same for the same version.
pub fn of(text: &[u8]) -> String {
    let mut tag = String::with_capacity(SHOWN * 4 / 3 + 3);
    tag.push('"');
    URL_SAFE_NO_PAD.encode_string(&Sha256::digest(text)[..SHOWN], &mut tag);
    tag.push('"');
    tag
}

/// Names of the content codings whose forms have tags of their own.
const CODINGS: [&str; 2] = ["gzip", "zstd"];

/// Returns the ending of the tag of a form in `coding`. Tags of plain forms have no point, so they never end like this.
pub fn ending(coding: &str) -> String {
    format!(".{coding}\"")
}

/// Returns the tag of the form in `coding`, given the tag of the plain form.
pub fn coded(tag: &str, coding: &str) -> String {
    format!("{}{}", tag.strip_suffix('"').unwrap_or(tag), ending(coding))
}

/// Returns the tag of the plain form, given the tag of any form.
pub(super) fn plain(tag: &str) -> Cow<'_, str> {
    let plain = CODINGS.iter().find_map(|coding| tag.strip_suffix('"')?.strip_suffix(coding)?.strip_suffix('.'));
    plain.map_or(Cow::Borrowed(tag), |plain| Cow::Owned(format!("{plain}\"")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v2::NamedVersions;

    #[test]
    fn a_tag_is_strong_and_another_for_another_text() {
        let tag = of(b"one");
        assert!(tag.starts_with('"') && tag.ends_with('"') && tag.len() == 24, "{tag}");
        assert_eq!(tag, of(b"one"));
        assert_ne!(tag, of(b"two"));
        assert!(NamedVersions::of_read([tag.as_bytes()].into_iter()).unwrap().has(&tag));
    }

    #[test]
    fn the_tag_of_a_coded_form_stands_for_the_record_too() {
        assert_eq!(coded("\"a\"", "gzip"), "\"a.gzip\"");
        assert_eq!((plain("\"a.zstd\""), plain("\"a.br\"")), ("\"a\"".into(), "\"a.br\"".into()));
    }
}
