//! Declarations of tools: what is advertised is made from what is read.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Toolset;
use crate::{Result, Tvix};

/// The greatest number of characters that known project slugs may add to a description.
const KNOWN_MAX: usize = 400;

/// A tool as an agent sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolDefinition {
    /// The name it is called by.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// What it does and when to call it.
    pub description: String,
    /// JSON Schema of its arguments: plain types only, every property described.
    pub input_schema: Value,
    /// JSON Schema of the structure of its successful answers.
    pub output_schema: Value,
    /// What a host should know before it lets the call through.
    pub hints: Hints,
    /// The group it belongs to.
    pub toolset: Toolset,
}

/// What a host should know before it lets a call through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hints {
    /// It changes nothing.
    pub read_only: bool,
    /// It may overwrite or remove.
    pub destructive: bool,
    /// Calling it twice has the effect of calling it once.
    pub idempotent: bool,
}

impl Hints {
    pub(super) const READ: Self = Self { read_only: true, destructive: false, idempotent: true };
    pub(super) const ADD: Self = Self { read_only: false, destructive: false, idempotent: false };
    pub(super) const OVERWRITE: Self =
        Self { read_only: false, destructive: true, idempotent: true };
}

/// The declaration of one tool.
pub(super) struct Spec {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) toolset: Toolset,
    pub(super) hints: Hints,
    pub(super) description: &'static str,
    /// Whether the description ends with the known projects of memories.
    pub(super) names_projects: bool,
    pub(super) params: &'static [Param],
    pub(super) output: fn() -> Value,
}

/// The declaration of one parameter.
pub(super) struct Param {
    pub(super) name: &'static str,
    pub(super) required: bool,
    pub(super) kind: ParamKind,
    pub(super) description: &'static str,
}

/// What a parameter takes.
#[derive(Clone, Copy)]
pub(super) enum ParamKind {
    /// A text of at most `max` characters.
    Text { max: Option<usize> },
    /// A whole number.
    Integer { min: i64, max: Option<i64>, default: i64 },
    /// A list of texts.
    TextList,
    /// An object; `hint` names one of its fields and describes it.
    Object { hint: (&'static str, &'static str) },
}

impl Param {
    pub(super) const fn required(
        name: &'static str,
        kind: ParamKind,
        description: &'static str,
    ) -> Self {
        Self { name, required: true, kind, description }
    }

    pub(super) const fn optional(
        name: &'static str,
        kind: ParamKind,
        description: &'static str,
    ) -> Self {
        Self { name, required: false, kind, description }
    }

    fn schema(&self) -> Value {
        let mut schema = match self.kind {
            ParamKind::Text { max: Some(max) } => json!({"type": "string", "maxLength": max}),
            ParamKind::Text { max: None } => json!({"type": "string"}),
            ParamKind::Integer { min, max: Some(max), default } => {
                json!({"type": "integer", "minimum": min, "maximum": max, "default": default})
            }
            ParamKind::Integer { min, max: None, default } => {
                json!({"type": "integer", "minimum": min, "default": default})
            }
            ParamKind::TextList => json!({"type": "array", "items": {"type": "string"}}),
            ParamKind::Object { hint: (field, description) } => json!({
                "type": "object",
                "properties": {field: {"type": "string", "description": description}},
                "additionalProperties": true,
            }),
        };
        schema["description"] = self.description.into();
        schema
    }
}

impl Spec {
    /// The definition, with `known` projects named where the tool takes one.
    pub(super) fn define(&self, known: &str) -> ToolDefinition {
        let known = if self.names_projects { known } else { "" };
        ToolDefinition {
            name: self.name.to_owned(),
            title: self.title.to_owned(),
            description: format!("{}{known}", self.description),
            input_schema: self.input_schema(),
            output_schema: (self.output)(),
            hints: self.hints,
            toolset: self.toolset,
        }
    }

    fn input_schema(&self) -> Value {
        let properties: Map<String, Value> =
            self.params.iter().map(|param| (param.name.to_owned(), param.schema())).collect();
        let required: Vec<&str> =
            self.params.iter().filter(|param| param.required).map(|param| param.name).collect();
        let mut schema = json!({
            "type": "object",
            "properties": properties,
            "additionalProperties": false,
        });
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        schema
    }
}

/// The known projects of memories, last changed first, as a sentence for the descriptions; empty when
/// there are none.
pub(super) async fn known_projects(tvix: &Tvix) -> Result<String> {
    let mut sentence = String::new();
    let mut length = 0;
    for project in tvix.projects().memory_projects().await? {
        length += project.name.chars().count() + 2;
        if length > KNOWN_MAX {
            break;
        }
        sentence.push_str(if sentence.is_empty() { " Known projects: " } else { ", " });
        sentence.push_str(&project.name);
    }
    if !sentence.is_empty() {
        sentence.push('.');
    }
    Ok(sentence)
}
