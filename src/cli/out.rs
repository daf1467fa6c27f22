//! What commands print: text for a terminal or the next program.
//!
//! May use: nothing of this crate.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write, stdout};
use std::process::exit;

/// Writes to standard output. When the reader has left, as `head` does, the process ends with 1 and says nothing.
pub(super) fn write(text: Arguments<'_>) {
    if let Err(fault) = stdout().lock().write_fmt(text) {
        if fault.kind() != ErrorKind::BrokenPipe {
            eprintln!("the output could not be written: {fault}");
        }
        exit(1);
    }
}

/// Prints text as [`std::print`] does, where the reader may have left.
macro_rules! print_out {
    ($($text:tt)*) => { $crate::cli::out::write(format_args!($($text)*)) };
}

/// The same with the end of a line.
macro_rules! say {
    ($($text:tt)*) => { $crate::cli::out::write(format_args!("{}\n", format_args!($($text)*))) };
}

pub(super) use {print_out, say};
