//! `docs/known-gaps.md`: what v1 cannot give, collected from the mappings.

use causeway::plan::Plan;
use std::fmt::Write;

const HEAD: &str = "\
# Known gaps

What this service cannot give because v1 cannot, and what it answers instead. Generated from the `gaps` of
the files in `mappings/`; change those, not this file. Traps are numbered as in [v1-traps.md](v1-traps.md).
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
