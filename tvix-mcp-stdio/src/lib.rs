//! Tvix on stdin and stdout: an MCP server that Claude Code, Cursor, Codex and others start, and the
//! command line for the person whose memories it keeps.
//!
//! The binary holds no logic of its own: it reads flags and environment, opens the data folder and
//! hands the service to the MCP server, or calls the same traits for a command and prints what they
//! answer.

use std::ffi::OsString;

use clap::Parser;

mod args;
mod care;
mod commands;
mod demo;
mod input;
mod logging;
mod output;
mod progress;
mod serve;

pub use args::{Args, Command, config, data_folder};

use output::Output;

/// Exit code for a call that failed.
const FAILED: u8 = 1;

/// Runs the program with `args` (the first is its name) and returns its exit code: 0 good, 1 failed,
/// 2 usage.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let args = match Args::try_parse_from(args) {
        Ok(args) => args,
        Err(error) => {
            // Nothing is left to do when the terminal is gone.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(FAILED);
        }
    };
    let output = Output::new(args.json);
    match start(&args, &output) {
        Ok(()) => 0,
        Err(error) => {
            output.error(&error);
            FAILED
        }
    }
}

/// The server and the commands do little at a time and must start fast, so one thread runs them all;
/// the store and the index have threads of their own.
fn start(args: &Args, output: &Output) -> tvix_core::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| tvix_core::Error::backend("starting", error))?;
    let done = runtime.block_on(async {
        match &args.command {
            None => serve::serve(args).await,
            Some(command) => commands::run(command, args, output).await,
        }
    });
    // A blocking read of a terminal cannot be cancelled; waiting for it would keep the process.
    runtime.shutdown_background();
    done
}
