//! The report for a terminal.
//!
//! May use: `printable`, this folder.

use super::findings::{Class, Findings, Outcome, Report, RunMode, WorkspaceReport};
use super::ids::Kind;
use crate::printable::printable;
use std::fmt::Write;
use strum::VariantArray;

/// Largest number of text lines per class; the JSON report has all lines.
const MOST: usize = 20;

/// Returns the report, at most 100 characters wide except for long names.
pub fn text(report: &Report) -> String {
    let mut text = String::new();
    for one in &report.workspaces {
        let _ = writeln!(text, "Workspace {} to {}\n", one.slug, report.target);
        table(&mut text, one, report.run_mode);
        if let Some(carried) = &one.carried {
            class(&mut text, carried, Class::Left, "Refused on the way");
        }
        for &this in Class::VARIANTS {
            class(&mut text, &one.findings, this, this.heading());
        }
        let _ = writeln!(text, "{}\n", verdict(one, report.run_mode));
    }
    if !report.others.is_empty() {
        let _ = writeln!(
            text,
            "Not looked at: workspaces {} of which the store holds something too; name their slugs with --workspace.",
            report.others.join(", ")
        );
    }
    text
}

fn table(text: &mut String, one: &WorkspaceReport, run_mode: RunMode) {
    let carried = if run_mode == RunMode::Carry && one.carried.is_some() { "CARRIED" } else { "TO CARRY" };
    let _ = writeln!(
        text,
        "{:<20} {:>8} {:>8} {:>8} {:>9} {:>11} {:>10}",
        "", "HERE", "ALIKE", carried, "CONFLICTS", "NOT CARRIED", "IMPOSSIBLE"
    );
    for &kind in Kind::VARIANTS {
        let line = one.findings.lines.get(&kind).copied().unwrap_or_default();
        let carried = match &one.carried {
            Some(carried) => carried.lines.get(&kind).map_or(0, |line| line.carried),
            None => line.carried,
        };
        let _ = writeln!(
            text,
            "{:<20} {:>8} {:>8} {:>8} {:>9} {:>11} {:>10}",
            kind.word(),
            line.here,
            line.alike,
            carried,
            line.conflicts,
            line.left,
            line.impossible
        );
    }
    text.push('\n');
}

fn class(text: &mut String, findings: &Findings, this: Class, heading: &str) {
    let told: Vec<&String> =
        findings.told.iter().filter(|(class, _)| *class == this).map(|(_, told)| told).collect();
    if told.is_empty() {
        return;
    }
    let _ = writeln!(text, "{heading}:");
    for words in told.iter().take(MOST) {
        let _ = writeln!(text, "  - {}", printable(words));
    }
    if told.len() > MOST {
        let _ = writeln!(text, "  - and {} more (--json has all)", told.len() - MOST);
    }
    text.push('\n');
}

fn verdict(one: &WorkspaceReport, run_mode: RunMode) -> &'static str {
    let stays = one.findings.count(Class::Left) > 0;
    let conflicts = one.findings.count(Class::Conflict) > 0;
    match (one.outcome, run_mode, &one.carried) {
        (Outcome::Planned, ..) if stays && one.findings.carries() => {
            "Nothing was written. Without --dry-run the rest is carried, and what stands under \"Not carried\" is not: put \
             that right first."
        }
        (Outcome::Planned, ..) if stays => {
            "Nothing was written. What stands under \"Not carried\" would stay here alone: put that right first."
        }
        (Outcome::Planned, ..) if one.findings.carries() => {
            "Nothing was written. Without --dry-run this is carried."
        }
        (Outcome::Planned, ..) => "Nothing was written, and there is nothing to carry.",
        (Outcome::Stopped, ..) => {
            "Nothing was written, because of the conflicts. Make both sides alike, or let --update overwrite what is \
             there."
        }
        (Outcome::Alike, RunMode::Carry, None) => {
            "There was nothing to do: both sides are alike. The workspace is left."
        }
        (Outcome::Alike, ..) => "Both sides are alike. The workspace is left.",
        (Outcome::Unlike, RunMode::Check, _) if conflicts => {
            "The sides are not alike. A run without --check stops at the conflicts: make both sides alike first, or \
             let --update overwrite what is there."
        }
        (Outcome::Unlike, RunMode::Check, _) if one.findings.carries() => {
            "The sides are not alike. Run the command without --check to carry the rest."
        }
        (Outcome::Unlike, ..) if conflicts => {
            "The sides are not alike: the lines above say what is not there as it is here. Put that right and run the \
             command again, or let --update overwrite what is there."
        }
        (Outcome::Unlike, ..) => {
            "The sides are not alike: the lines above say what is not there as it is here. Run the command again when \
             that is put right."
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dry_run_tells_what_would_not_be_carried() {
        let mut findings = Findings::default();
        findings.of(Kind::Type).carried = 1;
        let told = |findings: &Findings| {
            let one = WorkspaceReport {
                slug: "acme".into(),
                outcome: Outcome::Planned,
                findings: findings.clone(),
                carried: None,
            };
            verdict(&one, RunMode::DryRun)
        };
        assert!(told(&findings).ends_with("Without --dry-run this is carried."));
        findings.leave(Kind::Value, 1, "a value");
        assert!(told(&findings).contains("the rest is carried"));
        findings.of(Kind::Type).carried = 0;
        assert!(told(&findings).contains("would stay here alone"));
    }

    #[test]
    fn a_run_that_ends_with_conflicts_names_the_option_that_overwrites() {
        let mut findings = Findings::default();
        let told = |findings: &Findings| unlike(findings, RunMode::Carry);
        findings.leave(Kind::Value, 1, "a value");
        assert!(!told(&findings).contains("--update"));
        findings.conflict(Kind::Item, "a work item");
        assert!(told(&findings).contains("--update"));
    }

    #[test]
    fn a_check_names_a_run_that_carries_only_when_that_run_does_carry() {
        let mut findings = Findings::default();
        let told = |findings: &Findings| unlike(findings, RunMode::Check);
        findings.leave(Kind::Value, 1, "a value");
        assert!(told(&findings).contains("when that is put right"));
        findings.of(Kind::Type).carried = 1;
        assert!(told(&findings).ends_with("Run the command without --check to carry the rest."));
        findings.conflict(Kind::Item, "a work item");
        assert!(told(&findings).contains("stops at the conflicts") && told(&findings).contains("--update"));
    }

    /// Returns the verdict on sides that are not equal.
    fn unlike(findings: &Findings, run_mode: RunMode) -> &'static str {
        let (outcome, carried) = (Outcome::Unlike, None);
        let one = WorkspaceReport { slug: "acme".into(), outcome, findings: findings.clone(), carried };
        verdict(&one, run_mode)
    }
}
