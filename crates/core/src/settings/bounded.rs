//! Settings with a lower or an upper bound that several tables share. May use: this folder.

use super::reader::Reader;
use super::value::Size;
use std::ops::RangeInclusive;
use std::time::Duration;

/// A whole number of a range.
pub(super) fn whole(from: &mut Reader, key: &str, range: RangeInclusive<usize>) -> usize {
    let form = format!("a whole number from {} to {}", range.start(), range.end());
    from.get_where(key, &form, |number| range.contains(number))
}

pub(super) fn at_once(from: &mut Reader, key: &str) -> usize {
    whole(from, key, 1..=1_000_000)
}

/// A size that must not be zero.
pub(super) fn some_bytes(from: &mut Reader, key: &str) -> usize {
    from.get_where(key, "a size above zero such as 4096, \"64KiB\", \"1MiB\" or \"2GiB\"", |size: &Size| size.0 > 0)
        .0
}

/// A duration that must not be zero.
pub(super) fn positive(from: &mut Reader, key: &str) -> Duration {
    from.get_where(key, "a duration above zero, such as \"30s\"", |time: &Duration| !time.is_zero())
}
