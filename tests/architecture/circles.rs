//! No files import each other in a circle.
//!
//! A path leads to the file that defines the name, through all re-exports on the way, so that a folder's
//! `mod.rs` may list its files and they may use one another. Unit tests inside a file do not count.

use super::imports::{CRATES, sources_below, tree, without_comments};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A module as the names from the root of the crate to it.
type Module = Vec<String>;

/// The imports between the files of a crate.
struct Crate {
    /// Text without comments and unit tests, by module.
    texts: BTreeMap<Module, String>,
    /// The module behind each name that a module re-exports.
    reexports: BTreeMap<(Module, String), Module>,
}

fn module_at(path: &Path) -> Module {
    let names = path.iter().filter_map(|part| part.to_str()).map(|part| part.trim_end_matches(".rs").to_owned());
    let mut names: Module = names.collect();
    if names.last().is_some_and(|last| last == "mod" || last == "lib") {
        names.pop();
    }
    names
}

fn without_tests(text: &str) -> String {
    let end = text.find("#[cfg(test)]\nmod tests").unwrap_or(text.len());
    without_comments(&text[..end])
}

impl Crate {
    fn of(files: impl IntoIterator<Item = (Module, String)>) -> Self {
        let texts: BTreeMap<Module, String> =
            files.into_iter().map(|(module, text)| (module, without_tests(&text))).collect();
        let mut all = Self { texts, reexports: BTreeMap::new() };
        let modules: Vec<Module> = all.texts.keys().cloned().collect();
        for module in modules {
            for path in all.uses_of_children(&module) {
                if let Some(name) = path.last().cloned() {
                    all.reexports.insert((module.clone(), name), path);
                }
            }
        }
        all
    }

    /// Returns the paths after `use` that begin with a child of the module.
    fn uses_of_children(&self, module: &Module) -> BTreeSet<Module> {
        let mut found = BTreeSet::new();
        for line in statements(&self.texts[module]) {
            let Some((_, rest)) = line.split_once("use ") else { continue };
            let first: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if self.texts.contains_key(&child(module, &first)) {
                tree(rest, module, &mut found);
            }
        }
        found
    }

    /// Every path of a module that leads into this crate, from its root.
    fn paths_in(&self, module: &Module) -> BTreeSet<Module> {
        let text = &self.texts[module];
        let mut found = self.uses_of_children(module);
        for (at, _) in text.match_indices("crate::") {
            if starts_a_path(text, at) && !text[..at].ends_with("pub(in ") {
                tree(&text[at + "crate::".len()..], &[], &mut found);
            }
        }
        for (at, _) in text.match_indices("super::") {
            if !starts_a_path(text, at) {
                continue;
            }
            let (mut rest, mut above) = (&text[at..], module.as_slice());
            while let Some(after) = rest.strip_prefix("super::") {
                (rest, above) = (after, above.split_last().map_or(&[][..], |(_, above)| above));
            }
            tree(rest, above, &mut found);
        }
        for known in self.texts.keys().filter(|known| known.split_last().is_some_and(|(_, above)| above == module))
        {
            let call = format!("{}::", known[known.len() - 1]);
            if text.match_indices(&call).any(|(at, _)| starts_a_path(text, at)) {
                found.insert(child(known, "*"));
            }
        }
        found
    }

    /// Returns the module that defines the item of a path.
    fn defining(&self, path: &[String]) -> Option<Module> {
        let mut path = path.to_vec();
        // Longer chains of re-exports than this would be hard to follow for readers as well.
        'again: for _ in 0..8 {
            for length in (0..=path.len()).rev() {
                let module: Module = path[..length].to_vec();
                if !self.texts.contains_key(&module) {
                    continue;
                }
                let name = path.get(length).cloned().unwrap_or_default();
                match self.reexports.get(&(module.clone(), name)) {
                    Some(passed_on) if *passed_on != path => {
                        path = [passed_on, &path[length + 1..]].concat();
                        continue 'again;
                    }
                    _ => return Some(module),
                }
            }
            return None;
        }
        None
    }

    fn edges(&self) -> BTreeMap<Module, BTreeSet<Module>> {
        let of = |module: &Module| {
            let to = self.paths_in(module).into_iter().filter_map(|path| self.defining(&path));
            to.filter(|to| to != module).collect()
        };
        self.texts.keys().map(|module| (module.clone(), of(module))).collect()
    }
}

/// Statements as lines: imports over several lines become one.
fn statements(text: &str) -> impl Iterator<Item = String> {
    text.split_inclusive([';', '}']).map(|part| part.replace('\n', " ")).collect::<Vec<_>>().into_iter()
}

fn child(module: &Module, name: &str) -> Module {
    [module.as_slice(), &[name.to_owned()]].concat()
}

fn starts_a_path(text: &str, at: usize) -> bool {
    !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':' || c == '$')
}

/// Returns the modules of one circle, in order, if there is a circle.
fn circle(edges: &BTreeMap<Module, BTreeSet<Module>>) -> Option<Vec<Module>> {
    fn follow<'e>(
        at: &'e Module,
        edges: &'e BTreeMap<Module, BTreeSet<Module>>,
        way: &mut Vec<&'e Module>,
        done: &mut BTreeSet<&'e Module>,
    ) -> Option<Vec<Module>> {
        if let Some(start) = way.iter().position(|known| *known == at) {
            return Some(way[start..].iter().map(|module| (*module).clone()).collect());
        }
        if !done.insert(at) {
            return None;
        }
        way.push(at);
        let found = edges.get(at).into_iter().flatten().find_map(|next| follow(next, edges, way, done));
        way.pop();
        found
    }
    let mut done = BTreeSet::new();
    edges.keys().find_map(|module| follow(module, edges, &mut Vec::new(), &mut done))
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    for folder in CRATES {
        let files = sources_below(folder).into_iter().map(|(path, text)| (module_at(&path), text));
        let circle = circle(&Crate::of(files).edges());
        let names = circle.iter().flatten().map(|module| module.join("::")).collect::<Vec<_>>();
        assert!(names.is_empty(), "these files of {folder} import each other in a circle: {}", names.join(" -> "));
    }
}

#[test]
fn circles_are_found_through_reexports_and_relative_paths() {
    let krate = |files: &[(&str, &str)]| {
        let files = files.iter().map(|(name, text)| {
            let module = name.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
            (module, (*text).to_owned())
        });
        circle(&Crate::of(files.collect::<Vec<_>>()).edges()).map(|modules| modules.len())
    };
    let facade = ("a", "mod b;\nmod c;\npub use b::{B, B2};\npub use c::C;\n");
    assert_eq!(krate(&[("", ""), facade, ("a::b", "use super::C;"), ("a::c", "")]), None);
    assert_eq!(
        krate(&[("", ""), facade, ("a::b", "use super::C;"), ("a::c", "fn f(b: crate::a::B2) {}")]),
        Some(2)
    );
    assert_eq!(krate(&[("", ""), facade, ("a::b", "use super::*;"), ("a::c", "")]), Some(2));
    let own = ("a", "mod b;\npub struct Here;\nfn f() { b::g() }");
    assert_eq!(krate(&[("", ""), own, ("a::b", "use super::Here;")]), Some(2));
    assert_eq!(krate(&[("", ""), own, ("a::b", "#[cfg(test)]\nmod tests { use super::super::Here; }")]), None);
}
