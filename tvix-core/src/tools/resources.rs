//! `tvix://profile` and `tvix://recent`.

use serde_json::json;

use super::{Resource, Toolset, excerpt::excerpt, memory::episode};
use crate::{
    Error, Result, Tvix,
    memory::MemoryRecord,
    storage::{Filter, Page},
};

const PROFILE: &str = "tvix://profile";
const RECENT: &str = "tvix://recent";
/// How many memories `tvix://recent` lists.
const RECENT_COUNT: usize = 10;
/// What it shows of each, in characters.
const RECENT_CONTENT: usize = 1_000;

/// The resources of these toolsets.
pub(super) fn list(toolsets: &[Toolset]) -> Vec<Resource> {
    let profile = Resource {
        uri: PROFILE.to_owned(),
        name: "profile".to_owned(),
        title: "User profile".to_owned(),
        description: "The user's settings: display name, role, interests, instructions, time zone."
            .to_owned(),
        mime_type: "application/json".to_owned(),
    };
    let recent = toolsets.contains(&Toolset::Memory).then(|| Resource {
        uri: RECENT.to_owned(),
        name: "recent".to_owned(),
        title: "Recent memories".to_owned(),
        description:
            "The ten most recent memories, by event time where known, else by capture time."
                .to_owned(),
        ..profile.clone()
    });
    std::iter::once(profile).chain(recent).collect()
}

/// The JSON text of the resource `uri`, which [`list`] names.
pub(super) async fn read(tvix: &Tvix, uri: &str) -> Result<String> {
    match uri {
        RECENT => recent(tvix).await,
        _ => to_text(&tvix.profile_source().read()?),
    }
}

async fn recent(tvix: &Tvix) -> Result<String> {
    let recent = tvix.memory().recent(&Filter::default(), Page::first(RECENT_COUNT)).await?;
    let memories: Vec<_> = recent.records.iter().map(shortened).collect();
    to_text(&json!({"memories": memories}))
}

fn shortened(memory: &MemoryRecord) -> serde_json::Value {
    let mut shown = episode(memory);
    shown["content"] = json!(&memory.content[excerpt(&memory.content, &(0..0), RECENT_CONTENT)]);
    shown
}

fn to_text(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::backend("writing a resource", error))
}
