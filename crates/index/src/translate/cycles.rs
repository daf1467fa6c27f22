//! Oddities of cycles.
//!
//! May use: `refusal`, `v2`.

use crate::refusal::Refusal;
use crate::v2::body::Given;
use crate::v2::time;
use serde_json::{Map, Value};

/// The zone of a cycle when none is given (O58).
const DEFAULT_ZONE: &str = "UTC";
/// From the second day of the year 1 to the last but one day of the year 9999. v1 shows an instant in the zone of its
/// reader (trap 42, `tz_list_kim`). Every zone can show these instants within the years that v1 has.
const SHOWN_EVERYWHERE: std::ops::Range<time::Micros> = -62_135_510_400_000_000..253_402_214_400_000_000;

/// Turns the dates of a body into instants in UTC. A bare date is midnight in the cycle's `timezone`: the one
/// sent, or else the one stored (O58). v1 would read both in the caller's zone (trap 25,
/// `cycles_patch_naive_date_by_kim`).
///
/// # Errors
/// `validation_error` on a date that v1 cannot show in every zone: for a reader in a zone that cannot show it, the
/// whole list would fail.
pub fn settle_dates(given: &mut Given, stored_zone: Option<&str>) -> Result<(), Refusal> {
    let sent = given.get("timezone").and_then(Value::as_str).map(str::to_owned);
    let zone = sent.or_else(|| stored_zone.map(str::to_owned)).unwrap_or_else(|| DEFAULT_ZONE.to_owned());
    for name in ["start_date", "end_date"] {
        if let Some(Value::String(text)) = given.get(name) {
            let micros = settle(text, &zone).ok_or_else(|| Refusal::field(name, "is out of range"))?;
            given.insert(name.to_owned(), time::write(micros).into());
        }
    }
    Ok(())
}

fn settle(text: &str, zone: &str) -> Option<time::Micros> {
    time::read(text)?.in_zone(zone).filter(|micros| SHOWN_EVERYWHERE.contains(micros))
}

/// Removes the dates from a v1 body. Sent together they lose their time of day, so each one gets a write of its own
/// (trap 25, `cycles_create_full`, `cycles_patch_start_only`).
pub fn take_dates(body: &mut Map<String, Value>) -> Vec<Map<String, Value>> {
    let mut writes = Vec::new();
    for key in ["start_date", "end_date"] {
        if let Some(value) = body.shift_remove(key) {
            writes.push(Map::from_iter([(key.to_owned(), value)]));
        }
    }
    writes
}

/// Adds the members that every update of a cycle must carry. Without the present owner the caller becomes the owner
/// (trap 26, `cycles_patch_owner_null_takes_over`). Without `sort_order` a completed cycle rejects the update (trap 27,
/// `cycles_patch_completed_smuggled`).
pub fn carry(body: &mut Map<String, Value>, stored: &Map<String, Value>) {
    for key in ["owned_by", "sort_order"] {
        if let Some(value) = stored.get(key) {
            body.insert(key.to_owned(), value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_bare_date_is_midnight_in_the_zone_of_the_cycle() {
        let mut given =
            json!({"start_date": "2026-03-02", "timezone": "Asia/Kolkata"}).as_object().unwrap().clone();
        settle_dates(&mut given, Some("UTC")).unwrap();
        assert_eq!(given["start_date"], "2026-03-01T18:30:00.000000Z");
        let mut given = json!({"end_date": "2026-03-02T10:00:00+02:00"}).as_object().unwrap().clone();
        settle_dates(&mut given, Some("America/New_York")).unwrap();
        assert_eq!(given["end_date"], "2026-03-02T08:00:00.000000Z");
    }

    #[test]
    fn a_day_that_some_zone_cannot_show_is_refused() {
        for (day, zone) in [
            ("0001-01-01", "Asia/Kolkata"),
            ("0001-01-01", "UTC"),
            ("9999-12-31", "UTC"),
            ("9999-12-31", "Etc/GMT+12"),
        ] {
            let mut given = json!({"start_date": day}).as_object().unwrap().clone();
            let refusal = settle_dates(&mut given, Some(zone)).unwrap_err();
            assert!(matches!(refusal, Refusal::Validation { errors, .. } if errors[0].field == "start_date"));
        }
        for (text, settled) in [
            ("0001-01-02", "0001-01-02T00:00:00.000000Z"),
            ("9999-12-30T23:59:59.999999Z", "9999-12-30T23:59:59.999999Z"),
        ] {
            let mut given = json!({"end_date": text}).as_object().unwrap().clone();
            settle_dates(&mut given, None).unwrap();
            assert_eq!(given["end_date"], settled);
        }
    }
}
