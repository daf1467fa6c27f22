//! Numbers with the noun for what they count, as people write them: `1 call`, `2 calls`.
//!
//! May use: nothing of this crate.

use std::fmt::Display;

/// Returns a count with its noun, of which `one` is the singular.
pub fn amount(count: impl Display, one: &str) -> String {
    let count = count.to_string();
    let end = if count == "1" { "" } else { "s" };
    format!("{count} {one}{end}")
}

#[cfg(test)]
mod tests {
    use super::amount;

    #[test]
    fn one_is_not_many() {
        let told = [amount(0, "call"), amount(1_usize, "work item"), amount("1", "row"), amount(11_i64, "day")];
        assert_eq!(told, ["0 calls", "1 work item", "1 row", "11 days"]);
    }
}
