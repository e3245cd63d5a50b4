//! The command line.
//!
//! The doc comments of the flags are what `--help` prints, so they carry no markup.
#![allow(clippy::doc_markdown)]

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use tvix_core::{Error, Result};

use crate::{
    Config,
    auth::{TokenCommand, UserCommand},
    settings::Settings,
};

/// Long-term memory and a wiki for AI agents, on Streamable HTTP.
///
/// Serves MCP at /mcp. Settings come from flags, else from the environment, else from server.toml in
/// the data folder, else they have the defaults named here. In server.toml a flag of a section below
/// stands in the table of that name, without the name: --auth-mode is mode in the table auth.
#[derive(Debug, Parser)]
#[command(name = "tvix-mcp-http", version, max_term_width = 100, after_help = ENDING)]
pub struct Args {
    /// The server's folder: server.toml, auth.redb, users/ [default: the platform's data directory]
    #[arg(long, global = true, env = "TVIX_HTTP_DATA", value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Check the settings, say what they come to, and end
    #[arg(long)]
    pub check: bool,
    /// What to do instead of serving
    #[command(subcommand)]
    pub command: Option<Command>,
    /// What may also stand in server.toml
    #[command(flatten)]
    pub settings: Settings,
}

/// What can be done beside serving, also while servers run on the folder.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Manage the people who may log in
    #[command(subcommand)]
    User(UserCommand),
    /// Manage personal access tokens
    #[command(subcommand)]
    Token(TokenCommand),
}

const ENDING: &str = "Exit codes: 0 good, 1 failed, 2 usage.";

impl Args {
    /// The server's folder.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] naming `data` where none is given and the system knows none.
    pub fn folder(&self) -> Result<PathBuf> {
        let named = self.data.clone().filter(|path| !path.as_os_str().is_empty());
        named.or_else(platform_folder).ok_or_else(|| {
            Error::invalid("data", "no home directory is known; send --data DIR or TVIX_HTTP_DATA")
        })
    }

    /// Everything that was set, checked.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] with the place of what is wrong and what to write instead.
    pub fn config(self) -> Result<Config> {
        let folder = self.folder()?;
        let file = Settings::load(&folder.join("server.toml"))?;
        Config::new(folder, self.settings.over(file))
    }
}

fn platform_folder() -> Option<PathBuf> {
    directories::ProjectDirs::from("", "", "tvix-server").map(|dirs| dirs.data_dir().to_owned())
}
