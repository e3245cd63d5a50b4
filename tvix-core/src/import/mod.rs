//! Reading what other programs, and exports of this one, hold: each format is a function from a file
//! to an iterator of records. Storing them is [`Admin::import`](crate::Admin::import).
//!
//! What cannot be read is an error in its place, with its place; reading goes on after it.

use std::{
    fs::File,
    io::BufReader,
    path::{Path, PathBuf},
};

use crate::{Error, Result, admin::Record};

mod claude;
mod export;
mod lines;
mod markdown;
mod mcp_memory;

pub use claude::{project_names, read as read_claude};
pub use export::read as read_export;
pub use lines::Lines;
pub use markdown::{document as markdown_document, read as read_markdown};
pub use mcp_memory::read as read_mcp_memory;

/// What stands at one place of an input.
#[derive(Debug)]
pub struct Item {
    /// The place: `line 7`, or the path of a file.
    pub at: String,
    /// The record, or why it cannot be read.
    pub record: Result<Record>,
}

/// The formats that can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// An export of Tvix.
    Tvix,
    /// The JSON lines of the official MCP memory server: entities, observations, relations.
    McpMemory,
    /// `memories.json` of a Claude data export, or the folder it lies in.
    Claude,
    /// A folder of Markdown files, for the wiki.
    Markdown,
}

/// Records in the order of their input.
pub type Items = Box<dyn Iterator<Item = Item> + Send>;

impl Format {
    /// Every format, with its name on the command line.
    pub const ALL: [(&'static str, Self); 4] = [
        ("tvix", Self::Tvix),
        ("mcp-memory", Self::McpMemory),
        ("claude", Self::Claude),
        ("markdown", Self::Markdown),
    ];

    /// Begins to read `path`.
    ///
    /// # Errors
    /// [`Error::Backend`] when it cannot be opened; [`Error::InvalidInput`] when it is plainly of
    /// another format.
    pub fn open(self, path: &Path) -> Result<Items> {
        match self {
            Self::Tvix => Ok(Box::new(read_export(open(path)?)?)),
            Self::McpMemory => Ok(Box::new(read_mcp_memory(open(path)?))),
            Self::Claude => open_claude(path),
            Self::Markdown => Ok(Box::new(read_markdown(path)?)),
        }
    }
}

fn open(path: &Path) -> Result<BufReader<File>> {
    let failed = |error| Error::backend(format!("reading {}", path.display()), error);
    let file = File::open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.is_dir() {
        let reason = format!("{} is a folder, send a file", path.display());
        return Err(Error::invalid("path", reason));
    }
    Ok(BufReader::new(file))
}

/// The projects' names lie in a file beside the memories.
fn open_claude(path: &Path) -> Result<Items> {
    let file: PathBuf = if path.is_dir() { path.join("memories.json") } else { path.to_owned() };
    let names = match open(&file.with_file_name("projects.json")) {
        Ok(projects) => project_names(projects).unwrap_or_default(),
        Err(_) => std::collections::BTreeMap::default(),
    };
    Ok(Box::new(read_claude(open(&file)?, &names)?))
}
