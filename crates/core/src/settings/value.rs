//! The types of settings, and how each is written.
//!
//! May use: `settings::raw`.

use super::raw::Raw;
use ipnet::IpNet;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// A type of setting.
pub(super) trait Setting: Sized {
    /// The form of a value, as the end of a sentence that begins with "write …".
    const FORM: &'static str;

    /// Reads the value; `None` when `raw` does not have the right form.
    fn from_raw(raw: &Raw) -> Option<Self>;
}

/// Returns the text of a quoted or untyped value.
pub(super) fn text(raw: &Raw) -> Option<&str> {
    match raw {
        Raw::Bare(text) | Raw::Text(text) => Some(text.trim()),
        _ => None,
    }
}

impl Setting for String {
    const FORM: &'static str = "a text";

    fn from_raw(raw: &Raw) -> Option<Self> {
        text(raw).filter(|text| !text.is_empty()).map(str::to_owned)
    }
}

impl Setting for PathBuf {
    const FORM: &'static str = "a path";

    fn from_raw(raw: &Raw) -> Option<Self> {
        String::from_raw(raw).map(PathBuf::from)
    }
}

impl Setting for bool {
    const FORM: &'static str = "true or false";

    fn from_raw(raw: &Raw) -> Option<Self> {
        match raw {
            Raw::Boolean(value) => Some(*value),
            Raw::Bare(text) => text.trim().parse().ok(),
            _ => None,
        }
    }
}

impl Setting for usize {
    const FORM: &'static str = "a whole number";

    fn from_raw(raw: &Raw) -> Option<Self> {
        match raw {
            Raw::Integer(number) => Self::try_from(*number).ok(),
            Raw::Bare(text) => text.trim().parse().ok(),
            _ => None,
        }
    }
}

/// Longest duration: ten years. Longer ones overflow times that are computed from them, and caches refuse them.
const LONGEST: Duration = Duration::from_hours(87_600);

impl Setting for Duration {
    const FORM: &'static str =
        "a duration such as \"500ms\", \"30s\" or \"10m\", of at most \"87600h\" (ten years)";

    fn from_raw(raw: &Raw) -> Option<Self> {
        let text = text(raw)?;
        if text.starts_with(['P', 'p', '-', '+']) {
            return None;
        }
        Self::try_from(text.parse::<jiff::SignedDuration>().ok()?).ok().filter(|time| *time <= LONGEST)
    }
}

impl Setting for SocketAddr {
    const FORM: &'static str = "an address with a port, such as \"127.0.0.1:8080\" or \"[::]:8080\"";

    fn from_raw(raw: &Raw) -> Option<Self> {
        text(raw)?.parse().ok()
    }
}

impl Setting for IpNet {
    const FORM: &'static str = "an address or a network, such as \"10.0.0.0/8\"";

    fn from_raw(raw: &Raw) -> Option<Self> {
        let text = text(raw)?;
        text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(Self::from))
    }
}

impl<T: Setting> Setting for Vec<T> {
    const FORM: &'static str = T::FORM;

    fn from_raw(raw: &Raw) -> Option<Self> {
        match raw {
            Raw::List(items) => items.iter().map(T::from_raw).collect(),
            Raw::Bare(text) => listed(text).map(|item| T::from_raw(&Raw::Bare(item.to_owned()))).collect(),
            _ => None,
        }
    }
}

fn listed(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty())
}

/// A size in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Size(pub usize);

impl Setting for Size {
    const FORM: &'static str = "a size such as 4096, \"64KiB\", \"1MiB\" or \"2GiB\"";

    fn from_raw(raw: &Raw) -> Option<Self> {
        usize::from_raw(raw).or_else(|| size(text(raw)?)).map(Self)
    }
}

fn size(text: &str) -> Option<usize> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30)];
    let (number, shift) = units.iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift)))?;
    number.trim_end().parse::<usize>().ok()?.checked_mul(1 << shift)
}

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Returns the text. Only the code that needs the secret may call this.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Setting for Secret {
    const FORM: &'static str = "a text";

    fn from_raw(raw: &Raw) -> Option<Self> {
        String::from_raw(raw).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::HttpAddress;

    fn bare<T: Setting>(text: &str) -> Option<T> {
        T::from_raw(&Raw::Bare(text.to_owned()))
    }

    #[test]
    fn durations_are_written_for_people() {
        assert_eq!(bare("30s"), Some(Duration::from_secs(30)));
        assert_eq!(bare("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(bare("10m"), Some(Duration::from_secs(600)));
        assert_eq!(bare("0s"), Some(Duration::ZERO));
        assert_eq!(bare("87600h"), Some(LONGEST));
        for wrong in ["30", "soon", "-5s", "PT5S", "", "87601h", "9000000h"] {
            assert_eq!(bare::<Duration>(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn sizes_have_units_of_1024() {
        assert_eq!(bare("4096"), Some(Size(4096)));
        assert_eq!(bare("64KiB"), Some(Size(65_536)));
        assert_eq!(bare("1 MiB"), Some(Size(1_048_576)));
        assert_eq!(bare::<Size>("1MB"), None);
        assert_eq!(Size::from_raw(&Raw::Integer(-1)), None);
    }

    #[test]
    fn lists_are_arrays_or_separated_by_commas() {
        assert_eq!(bare::<Vec<IpNet>>("10.0.0.0/8, ::1").unwrap().len(), 2);
        assert_eq!(bare::<Vec<IpNet>>("").unwrap().len(), 0);
        assert_eq!(bare::<Vec<IpNet>>("10.0.0.0/8,elsewhere"), None);
    }

    #[test]
    fn quoted_text_is_not_a_number_in_a_file() {
        assert_eq!(usize::from_raw(&Raw::Text("3".into())), None);
        assert_eq!(bool::from_raw(&Raw::Text("true".into())), None);
    }

    #[test]
    fn addresses_lose_their_trailing_slash_and_carry_no_secrets() {
        assert_eq!(bare::<HttpAddress>("https://h.example/base/").unwrap().as_str(), "https://h.example/base");
        for wrong in ["h.example", "ftp://h.example", "https://u:p@h.example", "https://h.example/?q"] {
            assert_eq!(bare::<HttpAddress>(wrong), None, "{wrong}");
        }
    }
}
