//! Where a record comes from: the client that wrote it, an importer, or the embedding program.

use serde::{Deserialize, Serialize};

use super::one_line;

/// Names that clients send in `clientInfo.name`, folded, with the name shown for them. A client is
/// recognised by the longest of these that its own folded name starts with.
const CLIENTS: &[(&str, &str)] = &[
    ("cursor", "Cursor"),
    ("claudecode", "Claude Code"),
    ("claude", "Claude"),
    ("visualstudiocode", "VS Code"),
    ("vscode", "VS Code"),
    ("chatgpt", "ChatGPT"),
    ("openaimcp", "ChatGPT"),
    ("codex", "Codex"),
    ("geminicli", "Gemini CLI"),
    ("gemini", "Gemini"),
    ("opencode", "OpenCode"),
    ("poke", "Poke"),
    ("openclaw", "OpenClaw"),
    ("hermes", "Hermes"),
];

/// Names that a filter may ask for although no client sends them: integrations, imports, the
/// dashboard.
const OTHERS: &[&str] = &["Slack", "Gmail", "Google Calendar", "Dashboard"];

/// Name of a source, as it is shown. Compared by its [`SourceKey`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Source(String);

/// A source without case, spaces, `-` and `_`: what filters compare.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SourceKey(String);

impl Source {
    /// The greatest length kept of a name, in characters; the rest is cut.
    pub const MAX: usize = 100;

    /// The source called `name`, in the spelling of the known names where it is one of them.
    /// A blank name is [`Source::unknown`].
    pub fn named(name: &str) -> Self {
        let key = SourceKey::of(name);
        let known = CLIENTS.iter().map(|(_, shown)| *shown).chain(OTHERS.iter().copied());
        match known.into_iter().find(|shown| SourceKey::of(shown) == key) {
            Some(shown) => Self(shown.to_owned()),
            None if key.0.is_empty() => Self::unknown(),
            None => Self(one_line(name).trim().chars().take(Self::MAX).collect()),
        }
    }

    /// The source for an MCP client that calls itself `name`: `claude-code` is Claude Code,
    /// `cursor-vscode` is Cursor, a client we do not know keeps its own name.
    pub fn from_client(name: &str) -> Self {
        Self::known_client(name).unwrap_or_else(|| Self::named(name))
    }

    /// Like [`from_client`](Self::from_client), but none for a client that we do not know: a name that
    /// may be that of a library, such as in `User-Agent`, is worth nothing then.
    pub fn known_client(name: &str) -> Option<Self> {
        let key = SourceKey::of(name);
        let known = CLIENTS.iter().filter(|(prefix, _)| key.0.starts_with(prefix));
        known.max_by_key(|(prefix, _)| prefix.len()).map(|(_, shown)| Self((*shown).to_owned()))
    }

    /// A client that did not say its name.
    pub fn unknown() -> Self {
        Self("Unknown".to_owned())
    }

    /// A program that embeds this crate: the default outside of MCP.
    pub fn library() -> Self {
        Self("Library".to_owned())
    }

    /// The name as shown.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What filters compare.
    pub fn key(&self) -> SourceKey {
        SourceKey::of(&self.0)
    }
}

impl SourceKey {
    /// The key of a source called `name`.
    pub fn of(name: &str) -> Self {
        let kept = name.chars().filter(|c| !c.is_whitespace() && !matches!(c, '-' | '_'));
        Self(kept.flat_map(char::to_lowercase).take(Source::MAX).collect())
    }

    /// The key.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_recognised_by_the_names_they_send() {
        for (sent, shown) in [
            ("claude-code", "Claude Code"),
            ("cursor-vscode", "Cursor"),
            ("Visual Studio Code", "VS Code"),
            ("codex-mcp-client", "Codex"),
            ("gemini-cli-mcp-client", "Gemini CLI"),
            ("claude-ai", "Claude"),
            ("my-agent", "my-agent"),
            ("  ", "Unknown"),
        ] {
            assert_eq!(Source::from_client(sent).as_str(), shown, "{sent}");
        }
    }

    #[test]
    fn keys_ignore_case_and_joints() {
        for spelling in ["Claude Code", "claude-code", "CLAUDE_CODE", "claudecode"] {
            assert_eq!(SourceKey::of(spelling), Source::named("Claude Code").key());
            assert_eq!(Source::named(spelling).as_str(), "Claude Code");
        }
    }
}
