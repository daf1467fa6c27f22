//! The kinds of database, and the differences of their SQL.
//!
//! May use: nothing of this crate.

/// Kind of database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One file, one gateway process.
    Sqlite,
    /// A server, shared by several gateway processes.
    Postgres,
}

impl Kind {
    /// Returns the kind for the scheme of a URL.
    pub fn of(url: &str) -> Option<Self> {
        match url.split_once(':')?.0 {
            "sqlite" => Some(Self::Sqlite),
            "postgres" | "postgresql" => Some(Self::Postgres),
            _ => None,
        }
    }

    /// Builds a subselect of the elements of a JSON array of strings, given as one parameter such as `$2`.
    pub fn elements(self, parameter: &str) -> String {
        match self {
            Self::Sqlite => format!("(SELECT value FROM json_each({parameter}))"),
            Self::Postgres => format!("(SELECT jsonb_array_elements_text({parameter}::jsonb))"),
        }
    }
}
