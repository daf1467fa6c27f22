//! Calls per day as a small chart.
//!
//! May use: `amount`.

use crate::amount::amount;
use std::fmt::Write;

/// Width and height of a chart, in its own units.
const SIZE: (i64, i64) = (240, 36);
/// Most days in a chart, the latest ones.
const MOST_DAYS: usize = 90;

/// Draws bars of calls of v1 (below) and v2 (above) by day, as SVG with the colours of the page.
pub(super) fn chart(days: &[(i64, i64)]) -> String {
    let days = &days[days.len().saturating_sub(MOST_DAYS)..];
    let highest = days.iter().map(|(v1, v2)| v1 + v2).max().unwrap_or(0).max(1);
    let count = i64::try_from(days.len()).unwrap_or(1).max(1);
    let (v1, v2) = days.iter().fold((0, 0), |(a, b), (c, d)| (a + c, b + d));
    let mut svg = format!(
        "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{} of v1 and {v2} of v2 in {}\" \
         preserveAspectRatio=\"none\">",
        SIZE.0,
        SIZE.1,
        amount(v1, "call"),
        amount(count, "day")
    );
    for (index, (v1, v2)) in days.iter().enumerate() {
        let index = i64::try_from(index).unwrap_or(0);
        let (left, right) = (index * SIZE.0 / count, (index + 1) * SIZE.0 / count);
        let width = (right - left - 1).max(1);
        // A few calls stay visible next to many.
        let height = |calls: i64| if calls == 0 { 0 } else { (calls * SIZE.1 / highest).max(1) };
        let (low, high) = (height(*v1), height(*v2));
        for (class, height, top) in [("v1", low, SIZE.1 - low), ("v2", high, SIZE.1 - low - high)] {
            if height > 0 {
                let _ = write!(
                    svg,
                    "<rect class=\"{class}\" x=\"{left}\" y=\"{}\" width=\"{width}\" height=\"{height}\"/>",
                    top.max(0)
                );
            }
        }
    }
    svg.push_str("</svg>");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_bars_within_the_picture() {
        let svg = chart(&[(1, 1000), (0, 0), (1000, 0)]);
        assert_eq!(svg.matches("<rect").count(), 3);
        assert!(svg.contains("1001 calls of v1 and 1000 of v2 in 3 days"), "{svg}");
        assert!(!svg.contains("y=\"-") && !svg.contains("height=\"0\""), "{svg}");
        assert_eq!(chart(&[]).matches("<rect").count(), 0);
        let many = chart(&vec![(1, 1); 400]);
        assert_eq!(many.matches("<rect").count(), 180);
    }
}
