//! `docs/known-gaps.md`: what v1 cannot give, collected from the mappings.

use causeway::plan::Plan;
use std::fmt::Write;

const HEAD: &str = "\
# Known gaps

Parts of v2 that the gateway cannot offer because v1 lacks them, and its answers in these cases. This page is generated from
the `gaps` of the files in `mappings/`; change these files, not this page. Traps are numbered as in
[v1-traps.md](v1-traps.md).
";

/// The document.
pub fn markdown(plan: &Plan) -> String {
    let mut text = HEAD.to_owned();
    for resource in plan.resources.iter().filter(|resource| !resource.gaps.is_empty()) {
        let _ = write!(text, "\n## {}\n\n{}\n\n", resource.name.replace('_', " "), resource.about);
        for gap in &resource.gaps {
            let _ = writeln!(text, "- {gap}");
        }
    }
    text
}
