//! The demands of a gateway on a PostgreSQL database: the rights of its user, and the encoding.
//!
//! May use: this folder.

use super::error::StoreError;
use super::place::opening;
use super::rows::{query, sql};
use super::service::Store;
use super::tables::{PASSING, TABLES};
use sqlx::Row;

/// Statement that reads whether the user may make tables, and the name of the schema.
const MAY_MAKE: &str = "SELECT COALESCE(has_schema_privilege(current_schema(), 'CREATE'), FALSE)::int::bigint, \
                        COALESCE(current_schema()::text, '')";

impl Store {
    /// Checks that the user of the store may do what a gateway does: make missing tables, and write. A SQLite file has
    /// no users.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] that says what is not permitted, and the remedy.
    pub async fn expect_privileges(&self) -> Result<(), StoreError> {
        let Some(url) = self.engine.url_of_postgres() else { return Ok(()) };
        let denied =
            |what: String| Err(opening(StoreError::Unavailable(format!("permission denied {what}")), &url));
        let pool = self.engine.pool_of_any_version();
        if !self.steps_to_take().await?.is_empty() {
            let row = query(MAY_MAKE, &[]).fetch_one(pool).await?;
            let (may_make, schema): (i64, String) = (row.try_get(0)?, row.try_get(1)?);
            if may_make == 0 {
                return denied(format!("to make tables in the schema {schema:?}"));
            }
        }
        match sqlx::query(sql(first_read_only_table())).fetch_optional(pool).await? {
            None => Ok(()),
            Some(row) => denied(format!("to write the table {}", row.try_get::<String, _>(0)?)),
        }
    }

    /// Checks that the database can hold all text. PostgreSQL refuses signs that the encoding of a database does not
    /// have; with `SQL_ASCII` it takes the bytes of every text. A store in another encoding can still be exported.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] for another encoding, with the remedy.
    pub async fn expect_unicode(&self) -> Result<(), StoreError> {
        let Some(url) = self.engine.url_of_postgres() else { return Ok(()) };
        let encoding = query("SELECT current_setting('server_encoding')", &[]);
        let row = encoding.fetch_one(self.engine.pool_of_any_version()).await?;
        match row.try_get::<String, _>(0)?.as_str() {
            "UTF8" | "SQL_ASCII" => Ok(()),
            other => Err(opening(StoreError::Unavailable(format!("its encoding is {other}")), &url)),
        }
    }
}

/// Returns a statement that reads the name of a table that the user may not write. Tables that do not exist yet are
/// left out. Entries of the audit log are only added.
fn first_read_only_table() -> String {
    let names: Vec<String> = TABLES.iter().chain(&PASSING).map(|name| format!("('{name}')")).collect();
    let may = |right: &str| format!("has_table_privilege(to_regclass(name), '{right}')");
    format!(
        "SELECT name FROM (VALUES {}) AS known (name) \
         WHERE NOT ({} AND (name = 'audit_log' OR {} AND {})) LIMIT 1",
        names.join(", "),
        may("INSERT"),
        may("UPDATE"),
        may("DELETE")
    )
}
