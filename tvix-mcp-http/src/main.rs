//! `tvix-mcp-http`: see [`tvix_mcp_http::run`].

use std::process::ExitCode;

fn main() -> ExitCode {
    tvix_mcp_http::run(std::env::args_os())
}
