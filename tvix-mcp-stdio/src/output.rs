//! What commands print.

use std::io::{self, BufRead, IsTerminal, Write};

use serde::Serialize;
use serde_json::json;
use tvix_core::{Error, Result};

/// Prints results on stdout, as text or as JSON, and errors on stderr.
#[derive(Debug)]
pub(crate) struct Output {
    json: bool,
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        Self { json }
    }

    /// Prints `value` as JSON or `text` as it is, with a line end. A reader that has gone away is no
    /// failure.
    pub(crate) fn print(&self, value: &impl Serialize, text: &str) -> Result<()> {
        if !self.json {
            return line(&harmless(text));
        }
        let json =
            serde_json::to_string(value).map_err(|error| Error::backend("printing", error))?;
        line(&json)
    }

    /// Prints an error.
    pub(crate) fn error(&self, error: &Error) {
        let text = if self.json {
            json!({"error": error.report()}).to_string()
        } else {
            format!("error: {error}")
        };
        // Nothing is left to do when stderr is gone.
        let _ = writeln!(io::stderr(), "{text}");
    }
}

/// Prints a hint for a person on stderr; nothing that reads stdout sees it.
pub(crate) fn hint(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Asks before something is done that cannot be undone.
///
/// # Errors
/// [`Error::Conflict`] when the answer is no, or nobody is there to answer.
pub(crate) fn confirm(question: &str) -> Result<()> {
    if !io::stdin().is_terminal() {
        return Err(Error::conflict("nobody is there to confirm; add --yes"));
    }
    let _ = write!(io::stderr(), "{question} [y/N] ");
    let _ = io::stderr().flush();
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    match (read, answer.trim().to_lowercase().as_str()) {
        (Ok(_), "y" | "yes") => Ok(()),
        _ => Err(Error::conflict("nothing was deleted")),
    }
}

/// `text` without what could steer a terminal: stored text may hold anything.
fn harmless(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\t' => c,
        c if c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') => {
            '\u{fffd}'
        }
        c => c,
    };
    text.chars().map(shown).collect()
}

fn line(text: &str) -> Result<()> {
    match writeln!(io::stdout(), "{text}") {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::backend("printing", error))
        }
        _ => Ok(()),
    }
}
