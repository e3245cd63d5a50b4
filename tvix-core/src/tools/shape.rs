//! Definitions in the shapes that the interfaces of model vendors take, for agents without MCP.

use serde_json::{Value, json};

use super::ToolDefinition;
use crate::{Error, Result};

/// An interface that takes definitions of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Shape {
    /// Chat Completions by `OpenAI`, and the many that copy it.
    OpenAi,
    /// Responses by `OpenAI`.
    OpenAiResponses,
    /// Messages by Anthropic.
    Anthropic,
    /// `generateContent` by Google.
    Gemini,
}

impl Shape {
    /// Every shape with its name.
    pub const ALL: [(&'static str, Self); 4] = [
        ("openai", Self::OpenAi),
        ("openai-responses", Self::OpenAiResponses),
        ("anthropic", Self::Anthropic),
        ("gemini", Self::Gemini),
    ];

    /// The shape of this name.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] naming `format` and the names there are.
    pub fn named(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|(known, _)| *known == name);
        found.map(|(_, shape)| shape).ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.iter().map(|(known, _)| *known).collect();
            Error::invalid("format", format_args!("got {name:?}, send one of {}", known.join(", ")))
        })
    }

    /// What goes into the field `tools` of a request.
    pub fn tools(self, definitions: &[ToolDefinition]) -> Vec<Value> {
        let each = |shape: fn(&ToolDefinition) -> Value| definitions.iter().map(shape).collect();
        match self {
            Self::OpenAi => each(|tool| json!({"type": "function", "function": function(tool)})),
            Self::OpenAiResponses => each(|tool| {
                let mut function = function(tool);
                function["type"] = "function".into();
                function
            }),
            Self::Anthropic => each(|tool| {
                let ToolDefinition { name, description, input_schema, .. } = tool;
                json!({"name": name, "description": description, "input_schema": input_schema})
            }),
            Self::Gemini => {
                let declarations: Vec<Value> = definitions.iter().map(declaration).collect();
                vec![json!({"function_declarations": declarations})]
            }
        }
    }
}

fn function(tool: &ToolDefinition) -> Value {
    let ToolDefinition { name, description, input_schema, .. } = tool;
    json!({"name": name, "description": description, "parameters": input_schema})
}

/// A function as Gemini takes it: one without parameters has none, since an object without properties
/// is refused.
fn declaration(tool: &ToolDefinition) -> Value {
    let mut function = function(tool);
    reduce(&mut function["parameters"]);
    let bare = function["parameters"]["properties"] == json!({});
    if let (true, Value::Object(fields)) = (bare, &mut function) {
        fields.remove("parameters");
    }
    function
}

/// Leaves what the schema object of `OpenAPI` has: Gemini refuses a request that holds more.
fn reduce(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    fields.remove("additionalProperties");
    fields.remove("default");
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(reduce);
    }
    if let Some(items) = fields.get_mut("items") {
        reduce(items);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::{CallContext, definitions};

    #[test]
    fn every_shape_holds_every_tool_with_its_parameters() {
        let definitions = definitions(&CallContext::default());
        for (name, shape) in Shape::ALL {
            assert_eq!(Shape::named(name).ok(), Some(shape));
            let text = Value::from(shape.tools(&definitions)).to_string();
            for tool in &definitions {
                assert!(text.contains(&format!("\"name\":\"{}\"", tool.name)), "{name}: {text}");
            }
            assert!(text.contains("\"required\":[\"query\"]"), "{name}: {text}");
        }
        assert!(Shape::named("mcp").is_err());
    }

    #[test]
    fn gemini_is_sent_no_word_it_refuses() {
        let tools = Shape::Gemini.tools(&definitions(&CallContext::default()));
        let text = Value::from(tools.clone()).to_string();
        assert!(!text.contains("additionalProperties") && !text.contains("\"default\":"), "{text}");
        let declarations = tools[0]["function_declarations"].as_array().expect("a list");
        let bare = declarations.iter().find(|tool| tool["name"] == "get_current_date");
        assert!(bare.is_some_and(|tool| tool.get("parameters").is_none()), "{text}");
    }
}
