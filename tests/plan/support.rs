//! The compiled mappings for tests.

use causeway::mapping::{Files, Texts};
use causeway::plan::{Plan, Special, compile};

/// The plan of the embedded mappings.
pub fn plan() -> Plan {
    compiled(&Texts::embedded(), Special::all())
}

/// Returns the plan of these texts; fails the test with the report when there are faults.
pub fn compiled(texts: &Texts, named: impl IntoIterator<Item = Special>) -> Plan {
    compile(&Files::read(texts), named).unwrap_or_else(|faults| panic!("\n{faults}\n"))
}

/// Checks whether files are to be rewritten instead of compared.
pub fn blessing() -> bool {
    std::env::var_os("BLESS").is_some()
}
