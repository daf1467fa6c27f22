//! Reads the texts of mapping files: first as a generic table, then every item on its own. May use: this folder.

use super::fault::{Faults, line_at};
use super::item;
use super::legacy::{self, V1Table};
use super::model::{Common, ErrorCase, InputSpec, OperationSpec, Read, ResourceFile, V1Spec};
use super::shapes::{self, ShapeSpec};
use super::surfaces;
use super::texts::Texts;
use super::trail::Trail;
use super::words::Surface;
use indexmap::IndexMap;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use toml::{Spanned, Table, Value};

/// Name of the file that declares no resource.
pub const COMMON: &str = "common.toml";
/// Required keys of each table that has several.
const OF_A_RESOURCE: [&str; 5] = ["resource", "about", "source", "surface", "shape"];
const OF_A_REFUSAL: [&str; 4] = ["on", "status", "code", "detail"];
const OF_AN_OPERATION: [&str; 8] = ["id", "method", "path", "summary", "scopes", "status", "answer", "step"];
const OF_AN_ORDER: [&str; 3] = ["allowed", "default", "cursor"];
/// Message for a value that should declare an error.
const NO_ERROR: &str = "is not [status, \"code\", \"when\"]";

/// Every mapping file, as far as it could be read, and every fault found on the way.
#[derive(Debug)]
pub struct Files {
    /// Declarations for every operation or every list.
    pub common: Common,
    /// Resources, by file name.
    pub resources: Vec<ResourceFile>,
    /// Read shapes by name, as far as they do not follow from fields.
    pub shapes: IndexMap<String, ShapeSpec>,
    /// Declarations about the public operations of v1.
    pub v1: V1Table,
    /// Faults found while reading.
    pub faults: Faults,
}

impl Files {
    /// Reads all texts. Never stops: the result has everything that could be read; the rest is in `faults`.
    pub fn read(texts: &Texts) -> Self {
        let mut faults = Faults::default();
        let mut resources = Vec::new();
        let mut shapes = IndexMap::new();
        for (name, text) in texts.sorted().into_iter().filter(|(name, _)| *name != COMMON) {
            if name.starts_with(shapes::FOLDER) {
                shapes::read(name, text, &mut shapes, &mut faults);
                continue;
            }
            if name.starts_with(legacy::FOLDER) {
                if name != legacy::FILE {
                    let message = format!("is not read; the file of this folder is {}", legacy::FILE);
                    faults.add(&Trail::file(name), message);
                }
                continue;
            }
            let mut reader = Reader { trail: Trail::file(name), faults: &mut faults };
            if let Some(table) = reader.parse(text) {
                resources.extend(reader.resources(name, text, table));
            }
        }
        // Sort as if each resource had a file of its own.
        resources.sort_by_cached_key(|resource| format!("{}.toml", resource.head.value.resource));
        let mut reader = Reader { trail: Trail::file(COMMON), faults: &mut faults };
        let common = match texts.get(COMMON) {
            Some(text) => reader.parse(text).map(|table| reader.common(table)).unwrap_or_default(),
            None => {
                reader.fault("the file is missing");
                Common::default()
            }
        };
        let v1 = texts.get(legacy::FILE).map(|text| legacy::read(text, &mut faults)).unwrap_or_default();
        Self { common, resources, shapes, v1, faults }
    }
}

/// The parts of a file whose place is reported to people.
#[derive(Deserialize)]
struct Places {
    #[serde(default)]
    operations: Vec<Spanned<IgnoredAny>>,
}

/// Returns the lines on which the operations of a file begin, in order; none when its operations are no tables.
fn lines_of_operations(text: &str) -> Vec<usize> {
    let places = toml::from_str(text).unwrap_or(Places { operations: Vec::new() });
    places.operations.iter().map(|place| line_at(text, place.span().start)).collect()
}

/// Reads the parts of one place of a file.
struct Reader<'f> {
    trail: Trail,
    faults: &'f mut Faults,
}

impl Reader<'_> {
    fn at(&mut self, part: &str) -> Reader<'_> {
        Reader { trail: self.trail.then(part), faults: self.faults }
    }

    fn fault(&mut self, message: impl Into<String>) {
        self.faults.add(&self.trail, message);
    }

    fn parse(&mut self, text: &str) -> Option<Table> {
        text.parse().map_err(|error| self.faults.add_unreadable(&self.trail, text, &error)).ok()
    }

    fn common(&mut self, mut table: Table) -> Common {
        let paging = self.items(table.remove("paging"), "paging", &["type"]);
        let order_by = self.section(table.remove("order_by"), "order_by", &["notes"]).value;
        let expand = self.section(table.remove("expand"), "expand", &["notes"]).value;
        let mut errors = self.table(table.remove("errors"), "errors");
        let every_operation = self.at("errors").errors(errors.remove("every_operation"), "every_operation");
        let modes = self.at("errors").errors_of_modes(errors.remove("mode"));
        self.at("errors").unknown_keys(&errors, &["every_operation", "mode"]);
        self.unknown_keys(&table, &["paging", "order_by", "expand", "errors"]);
        Common { paging, order_by, expand, every_operation, modes, is_read: true }
    }

    fn unknown_keys(&mut self, rest: &Table, known: &[&str]) {
        for key in rest.keys() {
            self.at(key).fault(item::unknown(key, known));
        }
    }

    /// Reads one resource, or one for each surface that the file is about.
    fn resources(&mut self, file: &str, text: &str, mut table: Table) -> Vec<ResourceFile> {
        let Some(value) = table.remove("surfaces") else { return vec![self.resource(file, text, table, None)] };
        let named = surfaces::named(value).unwrap_or_else(|message| {
            self.at("surfaces").fault(message);
            surfaces::all()
        });
        if table.contains_key("surface") {
            self.at("surface").fault("`surfaces` says it already");
        }
        let mut resources = Vec::new();
        for surface in named {
            let mut table = surfaces::only(table.clone(), surface);
            table.insert("surface".into(), surface.as_str().into());
            let trail = self.trail.on(Some(surface));
            let mut reader = Reader { trail, faults: self.faults };
            resources.push(reader.resource(file, text, table, Some(surface)));
        }
        resources
    }

    fn resource(&mut self, file: &str, text: &str, mut table: Table, surface: Option<Surface>) -> ResourceFile {
        let has_v1 = table.contains_key("v1");
        let mut v1 = self.table(table.remove("v1"), "v1");
        let refusals = self.at("v1").list(v1.remove("refusals"), "refusals", &OF_A_REFUSAL);
        let fields = self.items(table.remove("fields"), "fields", &["type"]);
        let declared = self.table(table.remove("inputs"), "inputs");
        let inputs: IndexMap<String, Read<InputSpec>> = self.items(Some(declared.clone().into()), "inputs", &[]);
        self.inputs_have_types(&inputs);
        let lines = lines_of_operations(text);
        let operations = self.operations(table.remove("operations"), &lines, surface, &declared);
        let head = self.item(table, &OF_A_RESOURCE, &["surfaces", "v1", "fields", "inputs", "operations"]);
        let v1: Option<Read<V1Spec>> = has_v1.then(|| self.at("v1").item(v1, &[], &["refusals"]));
        ResourceFile { file: file.into(), surface, head, v1, refusals, fields, inputs, operations }
    }

    /// Checks that every body member is declared with its kind. An operation that takes it need not repeat the kind.
    fn inputs_have_types(&mut self, inputs: &IndexMap<String, Read<InputSpec>>) {
        for (name, _) in inputs.iter().filter(|(_, input)| input.sound && input.value.kind.is_none()) {
            self.at("inputs").at(name).fault("lacks the key `type`");
        }
    }

    /// Reads the operations. Of a file about several surfaces, it reads those of this surface.
    fn operations(
        &mut self,
        value: Option<Value>,
        lines: &[usize],
        surface: Option<Surface>,
        inputs: &Table,
    ) -> Vec<OperationSpec> {
        let elsewhere = |table: &Table| {
            let only = table.get("surface").and_then(Value::as_str);
            surface.is_some_and(|this| only.is_some_and(|only| only != this.as_str()))
        };
        let mut operations = Vec::new();
        let tables = self.tables(value, "operations").into_iter().enumerate();
        for (index, table) in tables.filter(|(_, table)| !elsewhere(table)) {
            let name = match table.get("id").and_then(Value::as_str) {
                Some(id) => id.to_owned(),
                None => format!("operations.{}", index + 1),
            };
            let line = lines.get(index).copied().unwrap_or(1);
            operations.push(self.at(&name).operation(table, line, inputs));
        }
        operations
    }

    fn operation(&mut self, mut table: Table, line: usize, inputs: &Table) -> OperationSpec {
        let order = table.remove("order").map(|value| self.section(Some(value), "order", &OF_AN_ORDER));
        let errors = self.errors(table.remove("errors"), "errors");
        let query = self.items(table.remove("query"), "query", &["type"]);
        let body = table.remove("body").map(|value| self.body(value, inputs));
        let head = self.item(table, &OF_AN_OPERATION, &["order", "errors", "query", "body"]);
        OperationSpec { line, head, order, errors, query, body }
    }

    /// Reads the members of a body: the declaration of each in `inputs`, with the operation's own keys laid over it.
    fn body(&mut self, value: Value, inputs: &Table) -> IndexMap<String, InputSpec> {
        let mut members = IndexMap::new();
        for (name, value) in self.table(Some(value), "body") {
            let changes = self.at("body").table(Some(value), &name);
            let mut member = inputs.get(&name).and_then(Value::as_table).cloned().unwrap_or_default();
            member.extend(changes.clone());
            self.at("body").at(&name).item::<InputSpec>(changes, &[], &[]);
            // Its faults were already reported at their own places.
            let (member, _) = item::read(member, &[], &[], &self.trail, &mut Faults::default());
            members.insert(name, member);
        }
        members
    }

    fn item<T: DeserializeOwned + Default>(&mut self, table: Table, required: &[&str], parts: &[&str]) -> Read<T> {
        let (value, sound) = item::read(table, required, parts, &self.trail, self.faults);
        Read { value, sound }
    }

    fn section<T: DeserializeOwned + Default>(
        &mut self,
        value: Option<Value>,
        part: &str,
        required: &[&str],
    ) -> Read<T> {
        match value {
            None | Some(Value::Table(_)) => {
                let table = self.table(value, part);
                self.at(part).item(table, required, &[])
            }
            // The wrong kind of value is reported; its missing keys are not reported as well.
            other => {
                self.table(other, part);
                Read::default()
            }
        }
    }

    fn items<T: DeserializeOwned + Default>(
        &mut self,
        value: Option<Value>,
        part: &str,
        required: &[&str],
    ) -> IndexMap<String, Read<T>> {
        let mut items = IndexMap::new();
        for (name, value) in self.table(value, part) {
            let read = self.at(part).section(Some(value), &name, required);
            items.insert(name, read);
        }
        items
    }

    fn list<T: DeserializeOwned + Default>(
        &mut self,
        value: Option<Value>,
        part: &str,
        required: &[&str],
    ) -> Vec<Read<T>> {
        let mut items = Vec::new();
        for (index, table) in self.tables(value, part).into_iter().enumerate() {
            items.push(self.at(&format!("{part}.{}", index + 1)).item(table, required, &[]));
        }
        items
    }

    fn errors(&mut self, value: Option<Value>, part: &str) -> Vec<ErrorCase> {
        let mut errors = Vec::new();
        for (index, entry) in self.array(value, part).into_iter().enumerate() {
            match entry.try_into::<ErrorCase>() {
                Ok(error) => errors.push(error),
                Err(_) => self.at(&format!("{part}.{}", index + 1)).fault(NO_ERROR),
            }
        }
        errors
    }

    fn errors_of_modes(&mut self, value: Option<Value>) -> Vec<(String, ErrorCase)> {
        let mut errors = Vec::new();
        for (mode, value) in self.table(value, "mode") {
            match value.try_into() {
                Ok(error) => errors.push((mode, error)),
                Err(_) => self.at("mode").at(&mode).fault(NO_ERROR),
            }
        }
        errors
    }

    fn table(&mut self, value: Option<Value>, part: &str) -> Table {
        match value {
            None => Table::new(),
            Some(Value::Table(table)) => table,
            Some(other) => {
                self.at(part).fault(format!("is a {}, not a table", other.type_str()));
                Table::new()
            }
        }
    }

    fn array(&mut self, value: Option<Value>, part: &str) -> Vec<Value> {
        match value {
            None => Vec::new(),
            Some(Value::Array(entries)) => entries,
            Some(other) => {
                self.at(part).fault(format!("is a {}, not an array", other.type_str()));
                Vec::new()
            }
        }
    }

    fn tables(&mut self, value: Option<Value>, part: &str) -> Vec<Table> {
        let mut tables = Vec::new();
        for (index, entry) in self.array(value, part).into_iter().enumerate() {
            match entry {
                Value::Table(table) => tables.push(table),
                other => self
                    .at(&format!("{part}.{}", index + 1))
                    .fault(format!("is a {}, not a table", other.type_str())),
            }
        }
        tables
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys::keys_of;
    use super::super::model::{FieldSpec, Head, OperationHead, Order, ParamSpec, V1Refusal};
    use super::*;

    /// The keys and words of the language are taken from the structs that read it.
    #[test]
    fn every_key_is_explained() {
        let text = include_str!("../../../../mappings/README.md");
        let structs = [
            keys_of::<Head>(),
            keys_of::<V1Spec>(),
            keys_of::<V1Refusal>(),
            keys_of::<FieldSpec>(),
            keys_of::<InputSpec>(),
            keys_of::<ParamSpec>(),
            keys_of::<OperationHead>(),
            keys_of::<Order>(),
        ];
        let tables =
            ["surfaces", "v1", "refusals", "fields", "inputs", "operations", "errors", "order", "query", "body"];
        for key in structs.concat().into_iter().chain(tables) {
            assert!(text.contains(&format!("`{key}`")), "mappings/README.md does not explain `{key}`");
        }
    }
}
