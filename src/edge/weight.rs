//! Weights of the elements of `Accept` and `Accept-Encoding`. May use: nothing.

/// Returns the weight `q` among the parameters of an element (RFC 9110, 12.4.2): 1 when it is absent, 0 when it cannot
/// be read.
pub(crate) fn weight<'p>(parameters: impl Iterator<Item = &'p str>) -> f32 {
    let mut named = parameters.filter_map(|parameter| parameter.split_once('='));
    let weight = named.find(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
    weight.map_or(1.0, |(_, text)| text.trim().parse().unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_has_no_case_and_other_parameters_do_not_matter() {
        for (element, expected) in [
            ("gzip", 1.0),
            ("gzip;q=0", 0.0),
            ("gzip; Q=0.5", 0.5),
            ("text/html;level=1 ; q = 0.25", 0.25),
            ("text/html;q=much", 0.0),
            ("text/html;quick=0", 1.0),
        ] {
            let found = weight(element.split(';').skip(1));
            assert!((found - expected).abs() < f32::EPSILON, "{element}: {found}");
        }
    }
}
