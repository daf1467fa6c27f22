//! Families of figures with one name, and how they are written.
//!
//! The crate `prometheus-client` writes OpenMetrics. The older text form of Prometheus is made from it: there the
//! description of a counter has the name of its samples, and the unit lines and the end line are missing.
//!
//! May use: `tally`.

use crate::tally::Spread;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use std::fmt;

pub(super) type Label<'l> = (&'static str, &'l str);

/// The value of one figure.
#[derive(Debug, Clone)]
enum Value {
    Counter(f64),
    Gauge(f64),
    Spread(Spread),
}

/// The kind of the figures of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Figures that only grow.
    Counter,
    /// Figures that go up and down.
    Gauge,
    /// Counts of values by size.
    Histogram,
}

#[derive(Debug, Clone)]
pub(super) struct Family {
    name: &'static str,
    help: &'static str,
    kind: Kind,
    samples: Vec<(Vec<(&'static str, String)>, Value)>,
}

impl Family {
    /// Creates a family without figures. `name` has no `_total`; `help` has no full stop.
    pub(super) fn new(kind: Kind, name: &'static str, help: &'static str) -> Self {
        Self { name, help, kind, samples: Vec::new() }
    }

    /// Adds one figure; a whole number for a counter.
    #[must_use]
    pub(super) fn with(mut self, labels: &[Label<'_>], value: f64) -> Self {
        let value = if self.kind == Kind::Counter { Value::Counter(value) } else { Value::Gauge(value) };
        self.samples.push((owned(labels), value));
        self
    }

    /// Adds a figure for each of `rows`; `label` is the name of the label that tells them apart.
    pub(super) fn by<'r>(self, label: &'static str, rows: impl IntoIterator<Item = (&'r str, f64)>) -> Self {
        rows.into_iter().fold(self, |family, (value, figure)| family.with(&[(label, value)], figure))
    }

    /// Adds one histogram.
    #[must_use]
    pub(super) fn with_spread(mut self, labels: &[Label<'_>], spread: Spread) -> Self {
        self.samples.push((owned(labels), Value::Spread(spread)));
        self
    }

    fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Counter => MetricType::Counter,
            Kind::Gauge => MetricType::Gauge,
            Kind::Histogram => MetricType::Histogram,
        };
        let mut encoder = encoder.encode_descriptor(self.name, &format!("{}.", self.help), None, kind)?;
        for (labels, value) in &self.samples {
            if labels.is_empty() {
                value.encode(&mut encoder)?;
            } else {
                value.encode(&mut encoder.encode_family(labels)?)?;
            }
        }
        Ok(())
    }
}

/// Creates a family with one counter.
pub(super) fn counter(name: &'static str, help: &'static str, value: u64) -> Family {
    Family::new(Kind::Counter, name, help).with(&[], value as f64)
}

/// Creates a family with one gauge.
pub(super) fn gauge(name: &'static str, help: &'static str, value: f64) -> Family {
    Family::new(Kind::Gauge, name, help).with(&[], value)
}

fn owned(labels: &[Label<'_>]) -> Vec<(&'static str, String)> {
    labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect()
}

impl Value {
    fn encode(&self, encoder: &mut MetricEncoder<'_>) -> fmt::Result {
        match self {
            Self::Counter(value) => encoder.encode_counter::<NoLabelSet, f64, f64>(value, None),
            Self::Gauge(value) => encoder.encode_gauge(value),
            Self::Spread(spread) => {
                encoder.encode_histogram::<NoLabelSet>(spread.sum, spread.count, &spread.steps, None)
            }
        }
    }
}

/// Families that are ready to be written.
#[derive(Debug)]
struct Gathered(Vec<Family>);

impl Collector for Gathered {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|family| family.encode(&mut encoder))
    }
}

pub(super) fn openmetrics(families: Vec<Family>) -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Gathered(families)));
    let mut written = String::new();
    text::encode(&mut written, &registry)?;
    Ok(written)
}

/// Converts OpenMetrics text into the text form of Prometheus.
pub(super) fn prometheus(openmetrics: &str) -> String {
    let counters: Vec<&str> =
        openmetrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter")).collect();
    let mut written = String::with_capacity(openmetrics.len());
    for line in openmetrics.lines() {
        let comment = ["# HELP ", "# TYPE "].into_iter().find_map(|word| Some((word, line.strip_prefix(word)?)));
        match comment {
            Some((word, rest)) => {
                let (name, said) = rest.split_once(' ').unwrap_or((rest, ""));
                let total = if counters.contains(&name) { "_total" } else { "" };
                written.push_str(&format!("{word}{name}{total} {said}\n"));
            }
            None if line.starts_with('#') => {}
            None => {
                written.push_str(line);
                written.push('\n');
            }
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::Durations;
    use std::time::Duration;

    #[test]
    fn both_forms_say_the_same() {
        let durations = Durations::default();
        durations.add(Duration::from_millis(2));
        let families = vec![
            Family::new(Kind::Counter, "causeway_things", "Things that were counted")
                .with(&[("kind", "a\"b\\c\nd")], 3.0),
            Family::new(Kind::Gauge, "causeway_size_bytes", "Size").with(&[], 1.5),
            Family::new(Kind::Histogram, "causeway_time_seconds", "Time")
                .with_spread(&[("of", "x")], durations.spread()),
        ];
        let open = openmetrics(families).unwrap();
        assert!(
            open.starts_with("# HELP causeway_things Things that were counted.\n# TYPE causeway_things counter\n")
        );
        assert!(open.ends_with("# EOF\n"), "{open}");
        let plain = prometheus(&open);
        assert!(plain.contains("# TYPE causeway_things_total counter\n"), "{plain}");
        assert!(plain.contains("causeway_things_total{kind=\"a\\\"b\\\\c\\nd\"} 3.0\n"), "{plain}");
        assert!(plain.contains("causeway_time_seconds_bucket{le=\"+Inf\",of=\"x\"} 1"), "{plain}");
        assert!(plain.contains("causeway_time_seconds_count{of=\"x\"} 1"), "{plain}");
        assert!(plain.contains("# TYPE causeway_size_bytes gauge\ncauseway_size_bytes 1.5\n"), "{plain}");
        assert!(!plain.contains("EOF"));
    }
}
