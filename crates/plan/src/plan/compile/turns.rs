//! Stage 2, turns: the things that a write must hold exclusively, and the rules about them.
//!
//! A turn is declared as `NAME`. It ends with ` shared` when other writes may share it, and with ` with MEMBER, MEMBER`
//! when only these body members need it. Without a declaration, a write to v1 takes the whole collection, and a write
//! to the own store takes the record. That is never too little. May use: `mapping`, this folder.

use super::draft::{Builder, Case, Draft};
use crate::mapping::{Faults, Method, Source};
use crate::plan::{BodyRule, PathTemplate, Turn, TurnTarget};

const COLLECTION_OF: &str = "collection of ";
const RECORD: &str = "{pk}";

pub(super) fn build(builder: &Builder, method: Method, path: Option<&PathTemplate>) -> Vec<Turn> {
    let declared = &builder.spec.head.value.turns;
    let resource = builder.file.head.value.resource.as_str();
    if !method.writes() || !declared.is_empty() {
        return declared.iter().map(|text| turn(text, resource)).collect();
    }
    let own = builder.file.head.value.source == Some(Source::Own);
    let names_a_record = path.is_some_and(|path| path.as_str().contains(RECORD));
    let of = match (own, names_a_record) {
        (true, true) => TurnTarget::Record,
        (true, false) => return Vec::new(),
        (false, _) => TurnTarget::Collection(resource.to_owned()),
    };
    vec![Turn { of, shared: false, members: Vec::new() }]
}

fn turn(text: &str, resource: &str) -> Turn {
    let (what, members) = text.split_once(" with ").unwrap_or((text, ""));
    let (name, shared) = what.strip_suffix(" shared").map_or((what, false), |name| (name, true));
    let of = match name {
        "record" => TurnTarget::Record,
        "collection" => TurnTarget::Collection(resource.to_owned()),
        _ => match name.strip_prefix(COLLECTION_OF) {
            Some(other) => TurnTarget::Collection(other.to_owned()),
            None => TurnTarget::Rule(name.to_owned()),
        },
    };
    let members = members.split(',').map(str::trim).filter(|member| !member.is_empty());
    Turn { of, shared, members: members.map(str::to_owned).collect() }
}

pub(super) fn check(draft: &Draft, faults: &mut Faults) {
    for case in draft.cases() {
        if !case.spec.head.value.turns.is_empty() && !case.operation.method.writes() {
            faults.add(&case.trail().then("turns"), "only writes wait for each other");
        }
        case.operation.turns.iter().for_each(|turn| turn_fits(draft, case, turn, faults));
    }
}

fn turn_fits(draft: &Draft, case: Case, turn: &Turn, faults: &mut Faults) {
    let trail = case.trail().then("turns");
    match &turn.of {
        TurnTarget::Record if !case.operation.path.as_str().contains(RECORD) => {
            faults.add(&trail, format!("the path names no record: it lacks {RECORD}"));
        }
        TurnTarget::Collection(name) if !draft.resources.iter().any(|resource| resource.name == *name) => {
            faults.add(&trail, format!("there is no resource `{name}`"));
        }
        TurnTarget::Rule(name) if name.is_empty() || name.contains(char::is_whitespace) => {
            faults.add(&trail, format!("`{name}` is no name of a rule: it is one word"));
        }
        _ => {}
    }
    let inputs = match &case.operation.body {
        BodyRule::Members(inputs) => inputs.as_slice(),
        _ => &[],
    };
    for member in turn.members.iter().filter(|member| !inputs.iter().any(|input| input.name == **member)) {
        faults.add(&trail, format!("the operation takes no member `{member}`"));
    }
}
