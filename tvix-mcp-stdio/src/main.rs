//! `tvix-mcp-stdio`: see [`tvix_mcp_stdio::run`].

use std::process::ExitCode;

fn main() -> ExitCode {
    tvix_mcp_stdio::run(std::env::args_os()).into()
}
