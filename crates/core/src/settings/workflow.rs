//! Workflow rules of projects: states in which items may be created, and moves between states (O44).
//!
//! May use: `settings::reader`, `settings::tables`.

use super::reader::Reader;
use super::tables::{Row, Table, Tables, known, optional, tables, text, texts};
use uuid::Uuid;

/// All rules (`[[workflow]]`); none by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkflowSettings(Vec<ProjectWorkflow>);

/// The rules of one project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectWorkflow {
    /// The project.
    pub project: Uuid,
    /// States (names or ids) in which an item may be created; any when not given.
    pub initial: Option<Vec<String>>,
    /// Allowed moves; any when not given.
    pub moves: Option<Vec<Move>>,
}

/// One allowed move between states, by name or id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    /// State before.
    pub from: String,
    /// State after.
    pub to: String,
}

impl WorkflowSettings {
    pub(super) fn read(from: &mut Reader, key: &str) -> Self {
        let unique = |rules: &Tables<ProjectWorkflow>| {
            let mut projects: Vec<Uuid> = rules.0.iter().map(|rules| rules.project).collect();
            projects.sort_unstable();
            projects.windows(2).all(|pair| pair[0] != pair[1])
        };
        from.optional_where(key, ProjectWorkflow::FORM, unique).map_or_else(Self::default, |rules| Self(rules.0))
    }

    /// Returns the rules of `project`, if it has any.
    pub fn of(&self, project: Uuid) -> Option<&ProjectWorkflow> {
        self.0.iter().find(|rules| rules.project == project)
    }
}

impl Row for ProjectWorkflow {
    const FORM: &'static str = "one table per project with `project` (its id) and `initial` (a list of states), \
                                `moves` (a list of `{ from = \"…\", to = \"…\" }`), or both";

    fn of(table: &Table) -> Option<Self> {
        known(table, &["project", "initial", "moves"])?;
        let project = Uuid::try_parse(text(table.get("project")?)?).ok()?;
        let moves = optional(table, "moves", |moves| tables(moves, one_move))?;
        let initial = optional(table, "initial", texts)?;
        (initial.is_some() || moves.is_some()).then_some(Self { project, initial, moves })
    }
}

fn one_move(table: &Table) -> Option<Move> {
    known(table, &["from", "to"])?;
    Some(Move { from: text(table.get("from")?)?.to_owned(), to: text(table.get("to")?)?.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::super::raw::Raw;
    use super::super::value::Setting;
    use super::*;

    fn read(text: &str) -> Option<WorkflowSettings> {
        Tables::from_raw(&Raw::Bare(text.to_owned())).map(|rules| WorkflowSettings(rules.0))
    }

    #[test]
    fn rules_are_tables_with_known_keys() {
        let id = "00000000-0000-4000-8000-000000000001";
        let all = read(&format!(
            "[{{ project = \"{id}\", initial = [\"Backlog\"], moves = [{{ from = \"Backlog\", to = \"Todo\" }}] }}]"
        ));
        let all = all.unwrap();
        let rules = all.of(Uuid::try_parse(id).unwrap()).unwrap();
        assert_eq!(rules.initial.as_deref(), Some(&["Backlog".to_owned()][..]));
        assert_eq!(rules.moves.as_ref().unwrap()[0], Move { from: "Backlog".into(), to: "Todo".into() });
        for faulty in [
            format!("[{{ project = \"{id}\" }}]"),
            format!("[{{ project = \"{id}\", initial = \"Backlog\" }}]"),
            format!("[{{ project = \"{id}\", initial = [], begin = [] }}]"),
            format!("[{{ project = \"{id}\", moves = [{{ from = \"a\" }}] }}]"),
            "[{ project = \"web\", initial = [] }]".to_owned(),
            "soon".to_owned(),
        ] {
            assert_eq!(read(&faulty), None, "{faulty}");
        }
    }
}
