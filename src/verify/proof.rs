//! Overall result of a verification, and what is missing for a proof.
//!
//! May use: `amount`, `plan`, `report`.

use super::report::{Line, Report, Verdict};
use crate::amount::amount;
use crate::plan::Plan;
use std::collections::BTreeMap;
use std::fmt;

/// Overall result of a verification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// A check failed.
    Broken,
    /// No check failed, but something that had to be proven was not. Holds the reasons, each with advice on which
    /// option to give, and the number of operations per reason.
    Missing(BTreeMap<String, usize>),
    /// Every read was carried out; for writes only refusals were shown.
    Reads,
    /// Every operation was carried out.
    All,
}

impl Report {
    /// Returns the overall result. With writes all operations must have been carried out, without them all reads.
    pub fn proof(&self, plan: &Plan, write: bool) -> Proof {
        if !self.is_good() {
            return Proof::Broken;
        }
        let counts = |id: &str| write || plan.operation(id).is_none_or(|operation| !operation.method.writes());
        let skipped = |line: &&Line| line.verdict == Verdict::Skipped && counts(&line.operation);
        let skipped: Vec<&str> = self.lines.iter().filter(skipped).map(|line| line.told.as_str()).collect();
        let any = |begins: &str| skipped.iter().any(|told| told.starts_with(begins));
        // The key was allowed to switch the mode, and the mode stayed as it was.
        let mode_stays = write && any(OTHER_MODE) && !any(MAY_NOT);
        let mut missing = BTreeMap::new();
        for told in &skipped {
            let advice = if mode_stays { WORKSPACE_LEVEL } else { what_to_give(told, write) };
            *missing.entry(format!("{told}; {advice}")).or_default() += 1;
        }
        match (missing.is_empty(), write) {
            (false, _) => Proof::Missing(missing),
            (true, true) => Proof::All,
            (true, false) => Proof::Reads,
        }
    }
}

impl Proof {
    /// Returns the verdict in capitals.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Broken => "FAILED",
            Self::Missing(_) => "NOT PROVEN",
            Self::Reads => "READS PROVEN",
            Self::All => "PROVEN",
        }
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())?;
        match self {
            Self::Broken => Ok(()),
            Self::Missing(reasons) => reasons
                .iter()
                .try_for_each(|(reason, count)| write!(f, "\n  {}: {reason}", amount(count, "operation"))),
            Self::Reads => {
                f.write_str(": writes were only shown to refuse; --write carries them out in a project of its own")
            }
            Self::All => f.write_str(": every operation was carried out"),
        }
    }
}

/// Beginning of a reason that is caused by the key.
pub(super) const MAY_NOT: &str = "this key may not";

/// Beginning of a reason that is caused by the mode of the workspace.
pub(super) const OTHER_MODE: &str = "the workspace is in the other mode";

const WORKSPACE_LEVEL: &str = "the gateway has types.workspace_level = false, so only with true can all be proven";

fn what_to_give(reason: &str, write: bool) -> &'static str {
    match reason {
        // With writes all records are created, unless the key's owner may not create them.
        _ if write || reason.starts_with(MAY_NOT) => "give --key of an admin of the workspace",
        _ if reason.contains("--workspace") => "give --workspace SLUG",
        _ if reason.contains("--project") => "give --project ID of a project the key belongs to",
        _ => "give --project ID of a project that has one, or --write, which makes a project with everything in it",
    }
}
