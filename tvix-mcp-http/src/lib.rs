//! Tvix on Streamable HTTP: one server, many people, each with a private store.

use std::{ffi::OsString, process::ExitCode};

pub mod auth;

/// Runs the program with `args` (the first is its name) and returns its exit code: 0 good, 1 failed,
/// 2 usage.
pub fn run(_args: impl IntoIterator<Item = OsString>) -> ExitCode {
    ExitCode::FAILURE
}
