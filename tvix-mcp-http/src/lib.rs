//! Tvix on Streamable HTTP: one server, many people, each with a private store.
//!
//! The way of a request: `observe` gives it an id and writes its line in the log, `gate` looks
//! at Host and Origin, `mcp` asks the [`auth::Authenticator`] who calls, holds the limits, reads the
//! body and checks the scope, `tenants` opens the caller's folder, and rmcp with
//! [`tvix_core::mcp::Server`] answers. The tools are those of `tvix-core`; nothing here knows them.

use std::{ffi::OsString, io::Write, process::ExitCode};

use clap::Parser;

mod args;
pub mod auth;
mod callers;
mod challenge;
mod client;
mod config;
#[cfg(feature = "conformance-fixtures")]
mod fixtures;
mod gate;
mod limits;
mod logging;
mod mcp;
mod message;
mod metrics;
mod observe;
mod origin;
mod refusal;
mod router;
mod scopes;
mod serve;
mod settings;
mod tenants;
#[cfg(feature = "tls")]
mod tls;
mod values;

pub use args::{Args, Command};
pub use client::ClientAddress;
pub use config::Config;
pub use refusal::Reason;
pub use serve::serve;

/// Exit code for a call that failed.
const FAILED: u8 = 1;

/// Runs the program with `args` (the first is its name) and returns its exit code: 0 good, 1 failed,
/// 2 usage.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args = match Args::try_parse_from(args) {
        Ok(args) => args,
        Err(error) => {
            // Nothing is left to do when the terminal is gone.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(FAILED));
        }
    };
    match start(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::from(FAILED)
        }
    }
}

fn start(mut args: Args) -> tvix_core::Result<()> {
    if let Some(command) = args.command.take() {
        return callers::manage(&args.folder()?, command);
    }
    let check = args.check;
    let config = args.config()?;
    if check {
        // Nothing is left to do when the reader is gone.
        let _ = writeln!(std::io::stdout(), "{}", config.summary());
        return Ok(());
    }
    logging::start(&config);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| tvix_core::Error::backend("starting", error))?;
    let done = runtime.block_on(serve::run(config));
    runtime.shutdown_background();
    done
}
