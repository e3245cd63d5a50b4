//! The command line: the same program as the binary `tvix-mcp-stdio`.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command line with `arguments`, the first of which is the program's name, and returns its exit
/// code: 0 good, 1 failed, 2 usage. Without a command it serves MCP on stdin and stdout.
#[pyfunction]
pub(crate) fn run(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| tvix_mcp_stdio::run(arguments))
}
