//! Which call needs which scope: it follows from what the registry of tools says of each.

use tvix_core::tools::{self, Toolset};

use crate::{auth::Scope, message::Message};

/// The scope to read, or to write, what `toolset` holds. None: there is no scope for it.
fn scope(toolset: Toolset, write: bool) -> Option<Scope> {
    match (toolset, write) {
        (Toolset::Memory, false) => Some(Scope::MemoryRead),
        (Toolset::Memory, true) => Some(Scope::MemoryWrite),
        (Toolset::Wiki, false) => Some(Scope::WikiRead),
        (Toolset::Wiki, true) => Some(Scope::WikiWrite),
        _ => None,
    }
}

/// What a message needs. None: a valid token is enough, as for lists, or the name is unknown, which the
/// protocol answers. Resources are of the memory toolset.
pub(crate) fn needed(message: &Message) -> Option<Scope> {
    match message.method() {
        "tools/call" => {
            let (toolset, hints) = tools::reach(message.name())?;
            scope(toolset, !hints.read_only)
        }
        "resources/read" => Some(Scope::MemoryRead),
        _ => None,
    }
}

/// The scopes that mean something while these toolsets are on, in the order of documents and
/// challenges.
pub(crate) fn offered(toolsets: &[Toolset]) -> Vec<Scope> {
    let on = |wanted: &Scope| {
        toolsets.iter().any(|toolset| {
            [false, true].iter().any(|write| scope(*toolset, *write) == Some(*wanted))
        })
    };
    Scope::ALL.into_iter().filter(on).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn needs(method: &str, name: &str) -> Option<Scope> {
        let text = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"name": name}});
        needed(&Message::read(text.to_string().as_bytes()).expect("a message"))
    }

    #[test]
    fn every_tool_needs_the_scope_of_its_toolset() {
        for (tool, scope) in [
            ("add_memory", Scope::MemoryWrite),
            ("search_memory", Scope::MemoryRead),
            ("get_current_date", Scope::MemoryRead),
            ("add_wiki", Scope::WikiWrite),
            ("search_wiki", Scope::WikiRead),
            ("update_wiki", Scope::WikiWrite),
            ("delete_wiki", Scope::WikiWrite),
        ] {
            assert_eq!(needs("tools/call", tool), Some(scope), "{tool}");
        }
        assert_eq!(needs("tools/list", ""), None);
        assert_eq!(needs("resources/read", ""), Some(Scope::MemoryRead));
    }

    #[test]
    fn only_scopes_of_toolsets_that_are_on_are_offered() {
        assert_eq!(offered(&Toolset::DEFAULT), Scope::ALL);
        assert_eq!(offered(&[Toolset::Wiki]), [Scope::WikiRead, Scope::WikiWrite]);
    }
}
