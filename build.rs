//! Puts the commit into the program: the variable `BUILT_FROM_COMMIT`, else the commit of the working tree, else none.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=BUILT_FROM_COMMIT");
    // A debug build does not depend on the commit, so that it is not rebuilt for each commit.
    if env::var("PROFILE").as_deref() == Ok("release") && Path::new(".git").is_dir() {
        println!("cargo::rerun-if-changed=.git/HEAD");
        println!("cargo::rerun-if-changed=.git/logs/HEAD");
    } else {
        println!("cargo::rerun-if-changed=build.rs");
    }
    let commit = env::var("BUILT_FROM_COMMIT").ok().or_else(of_the_tree).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=BUILT_FROM_COMMIT={commit}");
    println!("cargo::rustc-env=BUILT_FOR_TARGET={}", env::var("TARGET").unwrap_or_default());
}

fn of_the_tree() -> Option<String> {
    let output = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}
