//! Days as numbers since 1970, as the program keeps them, and as dates, as people and programs are told.
//!
//! May use: nothing of this crate.

use jiff::civil::Date;
use serde::{Serialize, Serializer};

fn first() -> Date {
    jiff::civil::date(1970, 1, 1)
}

/// The date of a day, such as `2026-11-22`.
pub fn date(day: i64) -> String {
    let date = jiff::Span::new().try_days(day).ok().and_then(|span| first().checked_add(span).ok());
    date.map_or_else(|| day.to_string(), |date| date.to_string())
}

pub(super) fn as_date<S: Serializer>(day: &i64, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&date(*day))
}

/// The same; null for none.
pub(super) fn as_date_or_null<S: Serializer>(day: &Option<i64>, to: S) -> Result<S::Ok, S::Error> {
    day.map(date).serialize(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_a_date() {
        assert_eq!((date(0).as_str(), date(20_779).as_str()), ("1970-01-01", "2026-11-22"));
    }
}
