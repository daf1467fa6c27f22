//! Decides who answers an operation in a workspace.
//!
//! The most specific table counts. A table that names the workspace comes before one that does not. Then a table that
//! names the operation comes before one that names its resource, and that before one for all. Two tables that
//! contradict each other at the same level are refused.
//!
//! May use: `plan`, `settings`, `store` (which workspaces have been left).

use crate::plan::{Operation, Plan, Source};
use crate::settings::{EVERY, HttpAddress, Mode, NativeSettings, Serve, most_similar};
use crate::store::LeftWorkspace;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Number of operations that a name covers; a name that covers fewer has priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    Every,
    Resource,
    Operation,
}

#[derive(Debug, Default)]
struct OperationModes {
    everywhere: Option<(Reach, Mode)>,
    workspaces: HashMap<String, (Reach, Mode)>,
}

/// Per operation of the plan, who answers it, and in which workspaces.
#[derive(Debug)]
pub struct Modes(Vec<OperationModes>);

/// Checks whether an operation reads or writes data that only this gateway's store holds: all operations of a resource
/// in the store, and of a resource with a field that v1 cannot hold.
pub fn is_kept(plan: &Plan, operation: &Operation) -> bool {
    let resource = plan.resource_of(operation);
    // A field that clients can write and that v1 does not have.
    let beside =
        resource.fields.iter().any(|field| field.spec.v1.is_none() && !field.spec.read_only && !field.spec.hidden);
    resource.source == Source::Own || resource.keeps_values() || beside
}

impl Modes {
    /// Reads the modes from `settings`; `left` are the workspaces whose records have been carried over.
    ///
    /// # Errors
    /// A sentence with advice: a name is unknown, tables contradict each other, or a v2 would answer for records of
    /// this store that it does not have.
    pub fn new(settings: &NativeSettings, plan: &Arc<Plan>, left: &[LeftWorkspace]) -> Result<Self, String> {
        let mut modes = Self(plan.operations.iter().map(|_| OperationModes::default()).collect());
        for serve in &settings.serve {
            for name in &serve.operations {
                modes.say(plan, serve, name)?;
            }
        }
        if let Some(address) = &settings.base_url {
            modes.judge(plan, address, left)?;
        }
        Ok(modes)
    }

    fn say(&mut self, plan: &Plan, serve: &Serve, name: &str) -> Result<(), String> {
        let (mut found, mut of_workspaces) = (false, false);
        for (index, operation) in plan.operations.iter().enumerate() {
            let reach = match name {
                EVERY => Reach::Every,
                _ if operation.id == name => Reach::Operation,
                _ if plan.resource_of(operation).name == name => Reach::Resource,
                _ => continue,
            };
            found = true;
            of_workspaces |= operation.path.variables().any(|variable| variable == "slug");
            let said = &mut self.0[index];
            if serve.workspaces.is_empty() {
                let here = said.everywhere.get_or_insert((reach, serve.mode));
                put(here, reach, serve.mode, || operation.id.clone())?;
            }
            for workspace in &serve.workspaces {
                let here = said.workspaces.entry(workspace.clone()).or_insert((reach, serve.mode));
                put(here, reach, serve.mode, || format!("{} in workspace {workspace}", operation.id))?;
            }
        }
        match found {
            true if !of_workspaces && !serve.workspaces.is_empty() => {
                Err(format!("native.serve: {name} is of no workspace; leave `workspaces` out for it"))
            }
            true => Ok(()),
            false => Err(unknown(plan, name)),
        }
    }

    /// Checks that another v2 answers operations on records of this gateway's store only where it has all these
    /// records.
    fn judge(&self, plan: &Plan, address: &HttpAddress, left: &[LeftWorkspace]) -> Result<(), String> {
        let address = address.as_str();
        let kept = || (0..plan.operations.len()).filter(|index| is_kept(plan, &plan.operations[*index]));
        let id = |index: usize| plan.operations[index].id.as_str();
        if let Some(index) = kept().find(|index| self.of(*index, None) == Mode::Native) {
            return Err(format!(
                "native.serve: {} shows or changes what only this gateway's store holds, so it is native only in workspaces \
                 that have been left; carry their records over with `causeway leave --to {address} --workspace NAME`, and \
                 name them in `workspaces`",
                id(index)
            ));
        }
        let named: BTreeSet<&String> = self.0.iter().flat_map(|said| said.workspaces.keys()).collect();
        for workspace in named {
            let native = |index: &usize| self.of(*index, Some(workspace)) == Mode::Native;
            let Some(one) = kept().find(native) else { continue };
            let known = left.iter().find(|left| left.slug == *workspace);
            match known.map(|left| HttpAddress::parse(&left.url)) {
                Some(Some(to)) if to.as_str() == address => {}
                Some(_) => {
                    return Err(format!(
                        "native.serve: workspace {workspace} has been left to another address than {address}; set \
                         native.base_url to that one, or run `causeway leave --to {address} --workspace {workspace}`"
                    ));
                }
                None => {
                    return Err(format!(
                        "native.serve: {} shows or changes what only this gateway's store holds, and workspace {workspace} \
                         has not been left; run `causeway leave --to {address} --workspace {workspace}` first",
                        id(one)
                    ));
                }
            }
            if let Some(other) = kept().find(|index| !native(index)) {
                return Err(format!(
                    "native.serve: in workspace {workspace} {} is native and {} is not; what this gateway's store holds \
                     switches together: name [\"{EVERY}\"], or all of it",
                    id(one),
                    id(other)
                ));
            }
        }
        Ok(())
    }

    /// Returns who answers the operation with this index in the plan, in a workspace or outside any.
    pub fn of(&self, operation: usize, workspace: Option<&str>) -> Mode {
        let Some(said) = self.0.get(operation) else { return Mode::default() };
        let here = workspace.and_then(|workspace| said.workspaces.get(workspace)).or(said.everywhere.as_ref());
        here.map_or_else(Mode::default, |(_, mode)| *mode)
    }

    /// Checks whether any operation has this mode anywhere.
    pub fn any(&self, wanted: Mode) -> bool {
        let all = self.0.iter().flat_map(|said| said.workspaces.values().chain(&said.everywhere));
        all.into_iter().any(|(_, mode)| *mode == wanted)
    }

    /// Checks whether the gateway still answers from its store in a workspace.
    pub fn keeps(&self, plan: &Plan, workspace: &str) -> bool {
        let mut all = plan.operations.iter().enumerate();
        all.any(|(index, operation)| is_kept(plan, operation) && self.of(index, Some(workspace)) != Mode::Native)
    }
}

fn put(here: &mut (Reach, Mode), reach: Reach, mode: Mode, what: impl FnOnce() -> String) -> Result<(), String> {
    if here.0 == reach && here.1 != mode {
        let (one, other) = (here.1.word(), mode.word());
        return Err(format!("native.serve: {} is both {one} and {other}; say it once", what()));
    }
    if reach > here.0 {
        *here = (reach, mode);
    }
    Ok(())
}

fn unknown(plan: &Plan, name: &str) -> String {
    let names = plan.operations.iter().map(|operation| operation.id.as_str());
    let names = names.chain(plan.resources.iter().map(|resource| resource.name.as_str())).chain([EVERY]);
    let remedy = most_similar(name, names).map_or_else(
        || format!("`causeway operations` lists all, and \"{EVERY}\" stands for each"),
        |known| format!("did you mean {known}?"),
    );
    format!("native.serve: there is no operation or resource {name}; {remedy}")
}
