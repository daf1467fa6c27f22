//! Puts the commit into the program: the variable `BUILT_FROM_COMMIT`, else the commit of the working tree, else none.
//! Has the linker put the functions of an optimised program in order, so that an idle gateway needs less memory.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-env-changed=BUILT_FROM_COMMIT");
    let is_optimised = env::var("PROFILE").as_deref() == Ok("release");
    // A debug build does not depend on the commit, so that it is not rebuilt for each commit.
    if is_optimised && Path::new(".git").is_dir() {
        println!("cargo::rerun-if-changed=.git/HEAD");
        println!("cargo::rerun-if-changed=.git/logs/HEAD");
    } else {
        println!("cargo::rerun-if-changed=build.rs");
    }
    let commit = env::var("BUILT_FROM_COMMIT").ok().or_else(of_the_tree).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=BUILT_FROM_COMMIT={commit}");
    println!("cargo::rustc-env=BUILT_FOR_TARGET={}", env::var("TARGET").unwrap_or_default());
    if is_optimised {
        order_functions();
    }
}

fn of_the_tree() -> Option<String> {
    let output = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}

/// Has the program linked by `scripts/link-in-order`, where this works: with gcc and LLD, as Rust links on Linux by
/// itself. A program that is linked in another way is the same but for its memory.
fn order_functions() {
    println!("cargo::rerun-if-changed=scripts/link-in-order");
    println!("cargo::rerun-if-changed=deploy/function-order.txt");
    let script = env::current_dir().unwrap_or_default().join("scripts/link-in-order");
    let arguments = ["-wrapper".to_owned(), script.display().to_string()];
    if script.is_file() && can_link_with(&arguments).unwrap_or_default() {
        for argument in arguments {
            println!("cargo::rustc-link-arg-bin=causeway={argument}");
        }
    }
}

/// Links a small program with these arguments, as cargo links the real one.
fn can_link_with(arguments: &[String]) -> Option<bool> {
    let program = PathBuf::from(env::var_os("OUT_DIR")?).join("small");
    let source = program.with_extension("rs");
    fs::write(&source, "fn main() {}").ok()?;
    let mut rustc = Command::new(env::var_os("RUSTC")?);
    rustc.arg(source).arg("-o").arg(program).arg("--target").arg(env::var_os("TARGET")?);
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    rustc.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        rustc.arg(format!("-Clinker={linker}"));
    }
    rustc.args(arguments.iter().map(|argument| format!("-Clink-arg={argument}")));
    Some(rustc.output().ok()?.status.success())
}
