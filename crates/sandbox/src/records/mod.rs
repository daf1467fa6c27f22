//! The records of the sandbox: kinds of record, tables, the data to start from, and the saving of writes.
//! May use: this folder.

pub(crate) mod chance;
pub(crate) mod clock;
pub(crate) mod demo;
pub(crate) mod generate;
pub(crate) mod kinds;
pub(crate) mod saving;
pub(crate) mod seed;
pub(crate) mod store;
pub(crate) mod table;
