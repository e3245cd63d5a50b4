//! Flags and commands.
//!
//! The doc comments of the flags are what `--help` prints, so they carry no markup.
#![allow(clippy::doc_markdown)]

use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand};
use tvix_core::{
    Error, Result,
    config::{Config, LOG_LEVELS},
    import::Format,
    profile::{Profile as UserProfile, ProfileSource},
    shared::{self, Handle},
    storage::Page,
    tools::Toolset,
    types::ProjectSlug,
};

/// Long-term memory and a wiki for AI agents.
///
/// Without a command this is an MCP server on stdin and stdout: a client such as Claude Code, Cursor
/// or Codex starts it. Try `tvix-mcp-stdio demo` first. Everything is kept in one folder on this
/// machine and works offline.
#[derive(Debug, Parser)]
#[command(name = "tvix-mcp-stdio", version, max_term_width = 100, after_help = CLIENTS)]
pub struct Args {
    /// The data folder [default: TVIX_HOME, else the platform's data directory]
    #[arg(long, global = true, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// The tools to offer, exactly: memory, wiki [default: both]
    #[arg(long, value_name = "LIST", value_parser = toolsets)]
    pub toolsets: Option<Toolsets>,
    /// The project of memories that are added without one, in this process only; never a filter
    #[arg(long, value_name = "SLUG", value_parser = ProjectSlug::new)]
    pub project: Option<ProjectSlug>,
    /// How much to log on stderr: off, error, warn, info, debug, trace [default: warn]
    #[arg(long, global = true, value_name = "LEVEL", value_parser = LOG_LEVELS, hide_possible_values = true)]
    pub log: Option<String>,
    /// Print JSON instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// What to do; without a command, serve
    #[command(subcommand)]
    pub command: Option<Command>,
}

const CLIENTS: &str = "Connect a client:
  Claude Code   claude mcp add --scope user tvix -- /path/to/tvix-mcp-stdio
  Cursor        ~/.cursor/mcp.json: {\"mcpServers\": {\"tvix\": {\"command\": \"/path/to/tvix-mcp-stdio\"}}}

Exit codes: 0 good, 1 failed, 2 usage.";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Store and search a few examples in a temporary folder, to see what Tvix does
    Demo,
    /// Print the version
    Version,
    /// Show or change your profile
    #[command(subcommand)]
    Profile(Profile),
    /// List projects, or file everything of one under another
    #[command(subcommand)]
    Project(Project),
    /// List, show, move or delete memories
    #[command(subcommand)]
    Memory(Memory),
    /// List, show or delete wiki documents
    #[command(subcommand)]
    Wiki(Wiki),
    /// Check the data folder and what is in it
    Doctor {
        /// Mend what is derived from the documents; never removes or changes a document
        #[arg(long)]
        repair: bool,
    },
    /// Build the text index anew
    Reindex,
    /// Write everything into one file, while others may write
    Backup {
        /// The file to make
        file: PathBuf,
    },
    /// Make a data folder from a backup; the folder must hold no documents
    Restore {
        /// The backup
        file: PathBuf,
    },
    /// Write all memories and wiki documents as JSON lines
    Export {
        /// The file to make [default: stdout]
        file: Option<PathBuf>,
    },
    /// Take in an export, or what another program remembers
    Import {
        /// What PATH holds: tvix (an export), mcp-memory (JSON lines of the MCP memory server), claude
        /// (memories.json), markdown (a folder)
        #[arg(value_parser = parse_format)]
        kind: Format,
        /// The file or folder
        path: PathBuf,
        /// Say what would be stored, and store nothing
        #[arg(long)]
        dry_run: bool,
    },
}

/// Commands for the profile.
#[derive(Debug, Subcommand)]
pub enum Profile {
    /// Print the profile
    Show,
    /// Set a key: display_name, role, interests (separated by commas), instructions or timezone
    Set {
        /// The key
        #[arg(value_parser = UserProfile::KEYS)]
        key: String,
        /// Its value
        value: String,
    },
}

/// Commands for projects.
#[derive(Debug, Subcommand)]
pub enum Project {
    /// List the projects of memories and of the wiki
    List,
    /// File everything of one project under another
    Move {
        /// The project to empty
        from: String,
        /// The project to fill
        to: String,
        /// Move wiki documents instead of memories
        #[arg(long)]
        wiki: bool,
    },
}

/// Which part of a list is printed.
#[derive(Debug, clap::Args)]
pub struct Part {
    /// How many to list
    #[arg(long, default_value_t = 20, value_parser = at_least_one)]
    limit: usize,
    /// How many to skip
    #[arg(long, default_value_t = 0)]
    offset: usize,
}

impl Part {
    /// The same as a page of a list.
    pub(crate) fn page(&self) -> Page {
        Page { offset: self.offset, limit: self.limit }
    }
}

/// Commands for memories.
#[derive(Debug, Subcommand)]
pub enum Memory {
    /// List memories, the most recent first
    List {
        /// Only this project
        #[arg(long, value_name = "SLUG")]
        project: Option<String>,
        /// Which part of the list
        #[command(flatten)]
        part: Part,
    },
    /// Print one memory whole
    Show {
        /// Its id
        id: String,
    },
    /// Move a memory to another project
    Move {
        /// Its id
        id: String,
        /// The project
        slug: String,
    },
    /// Delete memories for good
    Delete {
        /// Their ids
        #[arg(required = true)]
        ids: Vec<String>,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

/// Commands for the wiki.
#[derive(Debug, Subcommand)]
pub enum Wiki {
    /// List documents, the last edited first
    List {
        /// Which part of the list
        #[command(flatten)]
        part: Part,
    },
    /// Print one document whole
    Show {
        /// Its id
        id: String,
    },
    /// Delete documents for good
    Delete {
        /// Their ids
        #[arg(required = true)]
        ids: Vec<String>,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

/// The data folder: the one that was `named`, else `TVIX_HOME`, else the platform's data directory for
/// `tvix`; never the working directory.
///
/// # Errors
/// [`Error::InvalidInput`] when none is named and no home directory is known.
pub fn data_folder(named: Option<PathBuf>) -> Result<PathBuf> {
    let named = named.or_else(|| std::env::var_os("TVIX_HOME").map(PathBuf::from));
    let named = named.filter(|path| !path.as_os_str().is_empty());
    named.or_else(platform_folder).ok_or_else(|| {
        Error::invalid("data", "no home directory is known; send --data DIR or set TVIX_HOME")
    })
}

/// What is configured for the data folder `folder`: the environment before `config.toml`.
///
/// # Errors
/// [`Error::InvalidInput`] naming the variable, or the file and key.
pub fn config(folder: &Path) -> Result<Config> {
    Config::load(folder)?.overlay(|name| std::env::var(name).ok())
}

impl Args {
    /// The data folder.
    pub(crate) fn folder(&self) -> Result<PathBuf> {
        data_folder(self.data.clone())
    }

    /// Flags before environment before `config.toml`.
    pub(crate) fn config(&self, folder: &Path) -> Result<Config> {
        let mut config = config(folder)?;
        if let Some(Toolsets(toolsets)) = &self.toolsets {
            config.toolsets.clone_from(toolsets);
        }
        if let Some(level) = &self.log {
            config.set_log(level)?;
        }
        Ok(config)
    }

    /// The data folder, shared with other processes, and what is configured for this one.
    pub(crate) async fn open(&self) -> Result<(Handle, Config)> {
        let folder = self.folder()?;
        let config = self.config(&folder)?;
        crate::logging::start(&config.log);
        Ok((shared::open(&folder, config.settings.clone()).await?, config))
    }

    /// The profile in the data folder: a file of its own, which needs no open store.
    pub(crate) fn profile(&self) -> Result<ProfileSource> {
        Ok(ProfileSource::File(self.folder()?.join("profile.toml")))
    }
}

/// A list of toolsets, read from one argument.
#[derive(Debug, Clone)]
pub struct Toolsets(pub Vec<Toolset>);

fn toolsets(list: &str) -> Result<Toolsets> {
    Toolset::parse_list(list).map(Toolsets)
}

fn at_least_one(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "send a number from 1 on".to_owned())
}

fn parse_format(text: &str) -> std::result::Result<Format, String> {
    let found = Format::ALL.into_iter().find(|(name, _)| *name == text);
    found.map(|(_, format)| format).ok_or_else(|| {
        let names: Vec<&str> = Format::ALL.iter().map(|(name, _)| *name).collect();
        format!("send one of {}", names.join(", "))
    })
}

fn platform_folder() -> Option<PathBuf> {
    directories::ProjectDirs::from("", "", "tvix").map(|dirs| dirs.data_dir().to_owned())
}
